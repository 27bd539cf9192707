//! Cases about what comes in: headers that should be there, bodies, queries and slices in forms that real NFs send.

use crate::support::raw::Connection;
use crate::support::stub::{Reply, Stub};
use crate::support::{
    Headers, SUPI, assert_504_t, assert_no_panic, body_a, create, create_a, lab, lab_with_udm, problem,
    reg_a, request, send, with,
};
use http::Method;
use mock5g::lab::Lab;
use regex_lite::Regex;
use sbi::client::Call;
use sbi::event::Kind;
use serde_json::{Value, json};

#[actix::test]
async fn case_24_a_request_without_user_agent_is_served() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let agents = ["SMF", "SMF-22222222-2222-4222-8222-222222222222 smf1.example", "curl/8.5.0", ""];
    assert_eq!(connection.answer(&reg_a(&lab)).await.status, 201, "none at all");
    for agent in agents {
        let answer = connection.answer(&reg_a(&lab).header("user-agent", agent)).await;
        assert!(answer.status.is_success(), "{agent:?}: {answer:?}");
    }
}

#[actix::test]
async fn case_24_each_call_of_ours_says_which_nf_calls() {
    let udm = Stub::start().await;
    let lab = lab_with_udm(&udm).start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 201);
    let agent = Regex::new("^SMF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    let journal = udm.journal();
    assert!(journal.len() >= 3, "{journal:#?}");
    for received in journal {
        let sent = received.headers["user-agent"].to_str().unwrap();
        assert!(agent.is_match(sent), "{sent}");
    }
}

/// The creation of an SM context, with 4 octets of N1.
fn multipart(lab: &Lab, content_type: &str, boundary: &str, preamble: &str) -> Call {
    let json = with(body_a(lab), "n1SmMsg", json!({"contentId": "n1"}));
    let n1 = "Content-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1\r\n\r\n\x2e\x05\x01";
    let root = format!("Content-Type: application/json\r\n\r\n{json}");
    let parts = format!("{preamble}--{boundary}\r\n{root}\r\n--{boundary}\r\n{n1}");
    let end = format!("\r\n--{boundary}--\r\n");
    create(lab, &json!({})).with_body(content_type, [parts.as_bytes(), &[0xc1], end.as_bytes()].concat())
}

#[actix::test]
async fn case_28_a_legal_multipart_body_is_read_and_an_empty_one_is_not() {
    const ODD: &str = "Multipart/Related; start=\"<j>\"; type=application/json; boundary=b=_1/2";
    const QUOTED: &str = "multipart/related; boundary=\"b=_1/2\"";
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for (content_type, preamble) in [(ODD, "\r\n"), (QUOTED, "")] {
        let answer = connection.answer(&multipart(&lab, content_type, "b=_1/2", preamble)).await;
        assert_eq!(answer.status, 201, "{content_type}: {answer:?}");
    }
    let empty = create(&lab, &json!({})).with_body(QUOTED, Vec::new());
    let refused = problem(&connection.answer(&empty).await, true);
    assert_eq!((&refused["status"], &refused["cause"]), (&json!(400), &json!("INVALID_MSG_FORMAT")));
    let late = create(&lab, &json!({})).with_body(QUOTED, "garbage".as_bytes().to_vec());
    assert_504_t(&connection.answer(&late.pair(-9_000, "1000")).await, true);
    assert_no_panic(&lab);
}

#[actix::test]
async fn case_30_a_hole_is_refused_before_anything_is_asked_upstream() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let whole = body_a(&lab).to_string();
    let with = |name, value| with(body_a(&lab), name, value).to_string();
    for body in [
        with("servingNetwork", Value::Null),
        with("servingNetwork", json!("00101")),
        "{}".into(),
        "[]".into(),
        "null".into(),
        whole[..whole.len() / 2].into(),
        with("pduSessionId", json!("5")),
        with("pduSessionId", json!(300)),
    ] {
        let call = create(&lab, &json!({})).with_body("application/json", body.clone());
        let refused = problem(&connection.answer(&call).await, true);
        assert_eq!(refused["status"], 400, "{body}: {refused}");
    }
    for (nf, method, path, statuses) in [
        ("udm", Method::PUT, format!("/nudm-uecm/v1/{SUPI}/registrations/smf-registrations"), 404..=405),
        ("smf", Method::GET, "/nnrf-disc/v1/nf-instances".into(), 400..=404),
    ] {
        let answer = send(&lab, request(&lab, method, nf, &path)).await;
        assert!(statuses.contains(&answer.status.as_u16()), "{path}: {answer:?}");
        problem(&answer, false);
    }
    assert_eq!(lab.count("smf", Kind::UpstreamSent), 0);
    assert_eq!(connection.answer(&create_a(&lab)).await.status, 201, "on the same connection");
    assert_no_panic(&lab);
}

/// The UDM's answer to this query for sm-data.
async fn sm_data(connection: &mut Connection, lab: &Lab, query: &str) -> (u16, Value) {
    let path = format!("/nudm-sdm/v2/{SUPI}/sm-data?{query}");
    let answer = connection.answer(&request(lab, Method::GET, "udm", &path)).await;
    (answer.status.as_u16(), answer.json().unwrap())
}

/// A bare quotation mark is no part of any URI (RFC 3986 §3.4): see `docs/choices.md`.
#[actix::test]
async fn case_32_json_in_a_query_is_read_in_every_encoding() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    for slice in ["%7B%22sst%22%3A1%7D", "%7b%0A%09%22sst%22%3A%091%0A%7d", "{%22sst%22:1}"] {
        let query = format!("dnn=internet&single-nssai={slice}");
        let (status, body) = sm_data(&mut connection, &lab, &query).await;
        assert_eq!((status, body.as_array().unwrap().len()), (200, 1), "{slice}: {body}");
        let dnns = body[0]["dnnConfigurations"].as_object().unwrap();
        assert_eq!(dnns.keys().collect::<Vec<_>>(), ["internet"], "{slice}");
    }
    for (query, named) in [("single-nssai=1", "query single-nssai"), ("plmn-id=00101", "query plmn-id")] {
        let (status, refused) = sm_data(&mut connection, &lab, query).await;
        assert_eq!((status, &refused["invalidParams"][0]["param"]), (400, &json!(named)), "{refused}");
    }
}

#[actix::test]
async fn case_34_a_slice_without_sd_is_the_slice_with_ffffff() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for (slice, status) in [
        (json!({"sst": 1}), 201),
        (json!({"sst": 1, "sd": "FFFFFF"}), 201),
        (json!({"sst": 1, "sd": ""}), 400),
        (json!({"sst": 1, "sd": "10"}), 400),
    ] {
        let answer = connection.answer(&create(&lab, &with(body_a(&lab), "sNssai", slice.clone()))).await;
        assert_eq!(answer.status, status, "{slice}: {answer:?}");
    }
    let path = format!("/nudm-sdm/v2/{SUPI}/smf-select-data");
    let select: Value = send(&lab, request(&lab, Method::GET, "udm", &path)).await.json().unwrap();
    let key = Regex::new(r"^\d{1,3}(-[0-9A-Fa-f]{6})?$").unwrap();
    let keys: Vec<_> = select["subscribedSnssaiInfos"].as_object().unwrap().keys().collect();
    assert!(!keys.is_empty() && keys.iter().all(|k| key.is_match(k)), "{keys:?}");
}

#[actix::test]
async fn case_34_no_sd_is_invented() {
    let udm = Stub::start().await;
    udm.on("GET", "/sm-data", Reply::json(200, &json!(crate::support::profile())));
    let lab = lab_with_udm(&udm).start().await;
    let call = create(&lab, &with(body_a(&lab), "sNssai", json!({"sst": 1})));
    assert_eq!(send(&lab, call).await.status, 201, "{}", lab.transcript());
    let read = &udm.received("GET", "/sm-data")[0];
    assert!(!read.path.contains("sd%22"), "{}", read.path);
    let put = udm.received("PUT", "/smf-registrations/")[0].json();
    assert_eq!(put["singleNssai"], json!({"sst": 1}));
}
