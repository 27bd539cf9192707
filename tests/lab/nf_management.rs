//! TS 29.510 (Rel-17): who registers at the NRF, who hears of it, and what it says to bad input.

use crate::support::stub::{Reply, Stub};
use crate::support::{Headers, assert_504_t, is, problem, request, send, with};
use http::Method;
use mock5g::lab::Lab;
use nrf::HeartBeats;
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::party::NfType;
use serde_json::{Value, json};

pub const UDM: &str = "11111111-2222-4222-8222-000000000001";
pub const SMF: &str = "11111111-2222-4222-8222-000000000002";
pub const INSTANCES: &str = "/nnrf-nfm/v1/nf-instances";
pub const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";
pub const JSON_PATCH: &str = "application/json-patch+json";

/// An NRF alone.
pub async fn nrf() -> Lab {
    Lab::builder().with_nrf(HeartBeats::default()).only(&[NfType::Nrf]).start().await
}

pub fn profile(id: &str, nf_type: &str) -> Value {
    json!({
        "nfInstanceId": id, "nfType": nf_type, "nfStatus": "REGISTERED", "ipv4Addresses": ["127.0.0.1"],
        "nfServices": [{
            "serviceInstanceId": "1", "serviceName": "nudm-sdm", "scheme": "http", "nfServiceStatus": "REGISTERED",
            "versions": [{"apiVersionInUri": "v2", "apiFullVersion": "2.0.0"}],
            "ipEndPoints": [{"ipv4Address": "127.0.0.1", "port": 7712}],
        }],
    })
}

pub fn call(lab: &Lab, method: Method, path: &str) -> Call {
    request(lab, method, "nrf", path)
}

pub fn put(lab: &Lab, id: &str, body: &Value) -> Call {
    call(lab, Method::PUT, &format!("{INSTANCES}/{id}")).with_json(body)
}

pub async fn registered(lab: &Lab, id: &str, nf_type: &str) -> Answer {
    let answer = send(lab, put(lab, id, &profile(id, nf_type))).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer
}

pub fn patch(lab: &Lab, path: &str, patch: &Value) -> Call {
    call(lab, Method::PATCH, path).with_body(JSON_PATCH, patch.to_string())
}

pub async fn found(lab: &Lab, query: &str) -> Vec<String> {
    let path = format!("/nnrf-disc/v1/nf-instances?{query}");
    let answer = send(lab, call(lab, Method::GET, &path)).await;
    let result: Value = answer.json().unwrap_or_else(|| panic!("{answer:?}"));
    let ids = result["nfInstances"].as_array().unwrap_or_else(|| panic!("{result}")).iter();
    ids.map(|profile| profile["nfInstanceId"].as_str().unwrap().to_owned()).collect()
}

pub const FIND_UDM: &str = "target-nf-type=UDM&requester-nf-type=SMF";

#[actix::test]
async fn an_instance_is_registered_found_changed_and_gone() {
    let lab = nrf().await;
    let path = format!("{INSTANCES}/{UDM}");
    let answer = registered(&lab, UDM, "UDM").await;
    assert_eq!(answer.location(), Some(&*format!("{}{path}", lab.api_root("nrf"))));
    assert_eq!(answer.json::<Value>().unwrap()["heartBeatTimer"], 10);
    assert_eq!(found(&lab, FIND_UDM).await, [UDM]);

    let replaced = send(&lab, put(&lab, UDM, &with(profile(UDM, "UDM"), "priority", json!(3)))).await;
    assert_eq!((replaced.status.as_u16(), &replaced.json::<Value>().unwrap()["priority"]), (200, &json!(3)));
    let beat = json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}, {"op": "add", "path": "/load", "value": 7}]);
    assert_eq!(send(&lab, patch(&lab, &path, &beat)).await.status, 204);
    let there: Value = send(&lab, call(&lab, Method::GET, &path)).await.json().unwrap();
    assert_eq!((&there["load"], &there["priority"]), (&json!(7), &json!(3)));

    assert_eq!(send(&lab, call(&lab, Method::DELETE, &path)).await.status, 204);
    for gone in [Method::GET, Method::DELETE] {
        assert_eq!(send(&lab, call(&lab, gone, &path)).await.status, 404);
    }
    assert_eq!(send(&lab, patch(&lab, &path, &beat)).await.status, 404, "its NF then registers anew");
    assert_eq!(found(&lab, FIND_UDM).await, [""; 0]);
}

#[actix::test]
async fn the_list_has_links_to_all_or_to_those_of_a_type() {
    let lab = nrf().await;
    registered(&lab, UDM, "UDM").await;
    registered(&lab, SMF, "SMF").await;
    for (query, listed, total) in
        [("", 3, 3), ("?nf-type=SMF", 1, 1), ("?limit=2", 2, 3), ("?nf-type=XYZ", 0, 0)]
    {
        let answer = send(&lab, call(&lab, Method::GET, &format!("{INSTANCES}{query}"))).await;
        assert_eq!(answer.headers["content-type"], "application/3gppHal+json");
        let list: Value = answer.json().unwrap();
        assert_eq!(list["_links"]["item"].as_array().map_or(0, Vec::len), listed, "{query}: {list}");
        assert_eq!(list["totalItemCount"], total, "{query}: {list}");
    }
}

pub async fn subscribe(lab: &Lab, root: &str, more: &Value) -> String {
    let mut body = json!({"nfStatusNotificationUri": format!("{root}/told"), "reqNfInstanceId": SMF});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = send(lab, call(lab, Method::POST, SUBSCRIPTIONS).with_json(&body)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.location().unwrap().strip_prefix(&lab.api_root("nrf")).unwrap().to_owned()
}

#[actix::test]
async fn who_has_subscribed_is_told_until_it_unsubscribes() {
    let (lab, stub) = (nrf().await, Stub::start().await);
    stub.on("POST", "/told", Reply::status(204));
    let subscription = subscribe(&lab, stub.root(), &json!({"subscrCond": {"nfType": "UDM"}})).await;
    registered(&lab, UDM, "UDM").await;
    let told = stub.wait("POST", "/told").await;
    assert_eq!(told.headers["3gpp-sbi-callback"], "Nnrf_NFManagement_NFStatusNotify");
    assert!(told.pair().is_some(), "it says until when the NRF waits");
    let told = told.json();
    assert_eq!(told["event"], "NF_REGISTERED");
    assert_eq!(told["nfInstanceUri"], format!("{}{INSTANCES}/{UDM}", lab.api_root("nrf")));
    assert_eq!(told["nfProfile"]["nfServices"][0]["serviceName"], "nudm-sdm");
    send(&lab, call(&lab, Method::DELETE, &format!("{INSTANCES}/{UDM}"))).await;
    let told =
        stub.wait_for("the end", |r| r.path == "/told" && r.json()["event"] == "NF_DEREGISTERED").await;
    assert_eq!(told.json().get("nfProfile"), None);

    let later = json!([{"op": "replace", "path": "/validityTime", "value": "2030-01-01T00:00:00Z"}]);
    let answer = send(&lab, patch(&lab, &subscription, &later)).await;
    let until = answer.json::<Value>().unwrap()["validityTime"].as_str().unwrap().to_owned();
    assert!(until.starts_with("20") && !until.starts_with("2030"), "it lasts a day at most: {until}");
    assert_eq!(send(&lab, call(&lab, Method::DELETE, &subscription)).await.status, 204);
    assert_eq!(send(&lab, call(&lab, Method::DELETE, &subscription)).await.status, 404);
    registered(&lab, UDM, "UDM").await;
    lab.settle().await;
    assert_eq!(stub.count("POST", "/told"), 2);
}

/// A URI without a path crashed an NRF in public.
#[actix::test]
async fn a_notification_uri_without_a_path_is_one() {
    let (lab, stub) = (nrf().await, Stub::start().await);
    stub.on("POST", "/", Reply::status(204));
    let body = json!({"nfStatusNotificationUri": stub.root()});
    assert_eq!(send(&lab, call(&lab, Method::POST, SUBSCRIPTIONS).with_json(&body)).await.status, 201);
    registered(&lab, UDM, "UDM").await;
    assert_eq!(stub.wait("POST", "/").await.json()["event"], "NF_REGISTERED");
}

#[actix::test]
async fn a_registration_that_comes_too_late_is_refused_and_nobody_is_told() {
    let lab = nrf().await;
    let late = put(&lab, UDM, &profile(UDM, "UDM")).pair(-2_000, "1000");
    assert_504_t(&send(&lab, late).await, false);
    assert_eq!(found(&lab, FIND_UDM).await, [""; 0]);
    assert!(!lab.events().iter().any(is("nrf", Kind::NfChanged)), "{}", lab.transcript());
}

/// What crashed NRFs or was half understood in public, and what is asked of a mandatory attribute.
#[actix::test]
async fn bad_input_has_its_own_clear_answer_and_changes_nothing() {
    let lab = nrf().await;
    registered(&lab, SMF, "SMF").await;
    let without = |name: &str| {
        let mut body = profile(UDM, "UDM");
        body.as_object_mut().unwrap().remove(name);
        body
    };
    let changed = |name: &str, value: Value| with(profile(UDM, "UDM"), name, value);
    let many: Vec<_> = (0..65).map(|_| profile(UDM, "UDM")["nfServices"][0].clone()).collect();
    let puts = [
        (without("nfStatus"), 400, "MANDATORY_IE_MISSING", "nfStatus"),
        (without("nfType"), 400, "MANDATORY_IE_MISSING", "nfType"),
        (without("ipv4Addresses"), 400, "MANDATORY_IE_MISSING", "fqdn"),
        (changed("nfInstanceId", json!(SMF)), 400, "MANDATORY_IE_INCORRECT", "nfInstanceId"),
        (changed("nfStatus", json!(7)), 400, "MANDATORY_IE_INCORRECT", "nfStatus"),
        (changed("nfServices", json!(many)), 400, "OPTIONAL_IE_INCORRECT", "services"),
        (changed("heartBeatTimer", json!("soon")), 400, "OPTIONAL_IE_INCORRECT", "heartBeatTimer"),
        (json!([]), 400, "INVALID_MSG_FORMAT", ""),
    ];
    for (body, status, cause, named) in puts {
        let answer = send(&lab, put(&lab, UDM, &body)).await;
        expect_problem(&answer, status, cause, named);
    }
    let callback = |uri: &str| {
        call(&lab, Method::POST, SUBSCRIPTIONS).with_json(&json!({"nfStatusNotificationUri": uri}))
    };
    for uri in ["told", "ftp://127.0.0.1/told", ""] {
        let answer = send(&lab, callback(uri)).await;
        expect_problem(&answer, 400, "MANDATORY_IE_INCORRECT", "nfStatusNotificationUri");
    }
    let merge = call(&lab, Method::PATCH, &format!("{INSTANCES}/{SMF}"))
        .with_body("application/merge-patch+json", "{}");
    assert_eq!(send(&lab, merge).await.status, 415);
    let another = json!([{"op": "replace", "path": "/nfInstanceId", "value": UDM}]);
    let answer = send(&lab, patch(&lab, &format!("{INSTANCES}/{SMF}"), &another)).await;
    expect_problem(&answer, 403, "MODIFICATION_NOT_ALLOWED", "");
    let of_the_nrf = lab.process().nf("nrf").unwrap().party.instance_id.to_string();
    let answer = send(&lab, put(&lab, &of_the_nrf, &profile(&of_the_nrf, "NRF"))).await;
    expect_problem(&answer, 403, "MODIFICATION_NOT_ALLOWED", "");

    let features = "f".repeat(40_000);
    let queries = [
        ("target-nf-type=UDM".to_owned(), "MANDATORY_QUERY_PARAM_MISSING", "requester-nf-type"),
        ("target-nf-type=&requester-nf-type=SMF".into(), "MANDATORY_QUERY_PARAM_MISSING", "target-nf-type"),
        (format!("{FIND_UDM}&limit=-1"), "INVALID_QUERY_PARAM", "limit"),
        (format!("{FIND_UDM}&snssais=%5B"), "INVALID_QUERY_PARAM", "snssais"),
        (format!("{FIND_UDM}&target-nf-instance-id=7"), "INVALID_QUERY_PARAM", "target-nf-instance-id"),
        (
            format!("{FIND_UDM}&service-names={}", "a,".repeat(70)),
            "OPTIONAL_QUERY_PARAM_INCORRECT",
            "service-names",
        ),
    ];
    for (query, cause, named) in queries {
        let answer =
            send(&lab, call(&lab, Method::GET, &format!("/nnrf-disc/v1/nf-instances?{query}"))).await;
        expect_problem(&answer, 400, cause, named);
    }
    let oversized =
        format!("/nnrf-disc/v1/nf-instances?{FIND_UDM}&service-names=a&required-features={features}");
    let answer = send(&lab, call(&lab, Method::GET, &oversized)).await;
    assert!(matches!(answer.status.as_u16(), 200 | 400 | 414 | 431), "{answer:?}");
    assert_eq!(
        found(&lab, "target-nf-type=NO_SUCH&requester-nf-type=SMF").await,
        [""; 0],
        "a type of tomorrow"
    );
    let token = call(&lab, Method::POST, "/oauth2/token")
        .with_body("application/x-www-form-urlencoded", "grant_type=client_credentials");
    assert_eq!(send(&lab, token).await.status, 501);
    assert_eq!(found(&lab, FIND_UDM).await, [""; 0], "nothing of it was registered");
    let there: Value =
        send(&lab, call(&lab, Method::GET, &format!("{INSTANCES}/{SMF}"))).await.json().unwrap();
    assert_eq!(there["nfInstanceId"], SMF);
    crate::support::assert_no_panic(&lab);
}

pub fn expect_problem(answer: &Answer, status: u16, cause: &str, named: &str) {
    let problem = problem(answer, false);
    assert_eq!((answer.status.as_u16(), &problem["cause"]), (status, &json!(cause)), "{problem}");
    assert!(problem.to_string().contains(named), "{named} is not in {problem}");
}
