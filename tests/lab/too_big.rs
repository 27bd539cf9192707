//! Bodies are taken up to 1 MiB, header blocks up to 64 KiB: more is refused, and the connection goes on (our choice;
//! TS 29.500 (Rel-17) names no limit).

use crate::support::raw::{Connection, http1, tcp, to_the_end};
use crate::support::{
    Headers, REGISTRATION_AT_UDR, SMF_A, SUBSCRIPTIONS_AT_UDR, SUPI, assert_no_panic, body_a, create,
    create_a, held, lab, problem, reg_a, registration_of, request, send, subscribe, subscription, with,
};
use api::decode::MAX_KEPT_BYTES;
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::server::MAX_HEADER_BYTES;
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

/// A body of exactly so many bytes, made longer by an attribute that nobody knows.
fn padded(body: Value, bytes: usize) -> Vec<u8> {
    let empty = with(body.clone(), "vendorPadding", json!("")).to_string().len();
    let padded = with(body, "vendorPadding", json!("x".repeat(bytes - empty))).to_string();
    assert_eq!(padded.len(), bytes);
    padded.into()
}

/// The operations with a body: the request and its JSON.
fn operations(lab: &Lab) -> Vec<(Call, Value)> {
    let status = json!({"statusInfo": {"resourceStatus": "RELEASED"}});
    let status_path = format!("/namf-callback/v1/sm-context-status/{SUPI}/5/1");
    let release = "/nsmf-pdusession/v1/sm-contexts/0-1/release";
    vec![
        (create_a(lab), body_a(lab)),
        (request(lab, Method::POST, "smf", release), json!({})),
        (subscribe(lab, &subscription()), subscription()),
        (reg_a(lab), registration_of(SMF_A)),
        (request(lab, Method::PUT, "udr", REGISTRATION_AT_UDR), registration_of(SMF_A)),
        (request(lab, Method::POST, "udr", SUBSCRIPTIONS_AT_UDR), subscription()),
        (request(lab, Method::POST, "amf", &status_path), status),
    ]
}

#[actix::test]
async fn a_body_over_1_mib_is_413_and_the_connection_goes_on() {
    let lab = lab().start().await;
    for (operation, body) in operations(&lab) {
        let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
        for bytes in [MIB + 1, 3 * MIB] {
            let call = operation.clone().with_body("application/json", padded(body.clone(), bytes));
            let answer = connection.answer(&call).await;
            let problem = problem(&answer, false);
            assert_eq!(problem["status"], 413, "{} {}", operation.method, operation.uri);
        }
        let small = connection.answer(&operation.clone().with_json(&json!([]))).await;
        assert_eq!(small.status, 400, "{small:?}");
    }
    for nf in ["smf", "udm", "udr"] {
        assert_eq!((lab.count(nf, Kind::UpstreamSent), held(&lab, nf).await.len()), (0, 0));
    }
    assert_no_panic(&lab);
}

#[actix::test]
async fn a_body_of_1_mib_is_taken() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let call = create(&lab, &json!({})).with_body("application/json", padded(body_a(&lab), MIB));
    assert_eq!(connection.answer(&call).await.status, 201);
}

/// What is kept for others has a smaller bound: it stays. (A UDM adds an id to what it sends on to its UDR.)
#[actix::test]
async fn what_is_kept_is_taken_up_to_64_kib() {
    let lab = lab().start().await;
    for (operation, body) in operations(&lab).into_iter().filter(|(call, _)| call.path().contains("/nud")) {
        for (bytes, taken) in [(MAX_KEPT_BYTES - 100, true), (MAX_KEPT_BYTES + 1, false)] {
            let call = operation.clone().with_body("application/json", padded(body.clone(), bytes));
            let answer = send(&lab, call).await;
            let expected = if taken { answer.status.is_success() } else { answer.status == 413 };
            assert!(expected, "{bytes} bytes: {} {}: {answer:?}", operation.method, operation.uri);
        }
    }
}

#[actix::test]
async fn a_body_over_1_mib_over_http1_is_413() {
    let lab = lab().start().await;
    let body = padded(registration_of(SMF_A), MIB + 1);
    let socket = tcp(&lab.api_root("udm"), &http1(&reg_a(&lab).with_body("application/json", body))).await;
    let answer = to_the_end(socket).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{}", answer.chars().take(300).collect::<String>());
}

#[actix::test]
async fn a_header_block_over_64_kib_is_431_and_the_connection_goes_on() {
    let lab = lab().start().await;
    for nf in ["amf", "smf", "udm", "udr"] {
        let mut connection = Connection::open(&lab.api_root(nf)).await;
        let big = request(&lab, Method::GET, nf, "/x").header("x-big", &"x".repeat(MAX_HEADER_BYTES));
        let answer = connection.answer(&big).await;
        assert_eq!(answer.status, 431, "{nf}");
        assert_eq!(connection.answer(&request(&lab, Method::GET, nf, "/x")).await.status, 400, "{nf}");
    }
    assert_no_panic(&lab);
}

#[actix::test]
async fn a_header_block_under_64_kib_is_taken() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let call = reg_a(&lab).header("x-big", &"x".repeat(MAX_HEADER_BYTES - 2_000));
    assert_eq!(connection.answer(&call).await.status, 201);
}

#[actix::test]
async fn over_http1_a_header_block_over_64_kib_is_431() {
    let lab = lab().start().await;
    let call = reg_a(&lab).header("x-big", &"x".repeat(2 * MAX_HEADER_BYTES));
    let answer = to_the_end(tcp(&lab.api_root("udm"), &http1(&call)).await).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{}", answer.chars().take(300).collect::<String>());
    assert_eq!(lab.count("udm", Kind::RequestReceived), 0);
}

#[actix::test]
async fn a_body_that_does_not_end_before_the_deadline_is_a_504() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let endless = connection.begin(&reg_a(&lab).pair(0, "200")).await;
    crate::support::assert_504_t(&endless.answer().await.unwrap(), false);
    assert_eq!(connection.answer(&reg_a(&lab)).await.status, 201);
}

#[actix::test]
async fn an_answer_that_comes_before_the_body_is_whole_reaches_its_client() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let unread = [
        (request(&lab, Method::PUT, "smf", "/nsmf-pdusession/v1/sm-contexts"), 405),
        (request(&lab, Method::POST, "smf", "/nothing/v1"), 400),
        (create_a(&lab).pair(-3_000, "1000"), 504),
    ];
    for (call, status) in unread {
        let answer = connection.answer(&call.with_body("application/json", vec![b' '; MIB / 2])).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}
