//! TS 29.500 §5.2.7.2 (Rel-17): a body that cannot be used is answered with a cause and the parameters that are wrong;
//! nothing is created upstream, and the connection goes on for others.

use crate::support::raw::Connection;
use crate::support::{
    AMF_A, AMF_REGISTRATION, AMF_REGISTRATION_AT_UDR, AUTHENTICATION_STATUS, REGISTRATION_AT_UDR, SMF_A,
    SUBS_TO_NOTIFY, SUBSCRIPTIONS, SUBSCRIPTIONS_AT_UDR, SUPI, amf_registration_of, assert_no_panic,
    auth_event, body_a, changed_data, create, create_a, held, lab, problem, purge_of, reg_a, registration_of,
    request, send, subscribe, subscription, to_notify, with,
};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::client::Call;
use sbi::event::Kind;
use serde_json::{Value, json};

const FORMAT: &str = "INVALID_MSG_FORMAT";
const MISSING: &str = "MANDATORY_IE_MISSING";
const INCORRECT: &str = "MANDATORY_IE_INCORRECT";
const OPTIONAL: &str = "OPTIONAL_IE_INCORRECT";

/// An operation with a body, and a body that it takes.
fn operations(lab: &Lab) -> Vec<Call> {
    let post = |nf, path: &str| request(lab, Method::POST, nf, path);
    let put = |nf, path: &str| request(lab, Method::PUT, nf, path);
    vec![
        create_a(lab),
        post("smf", "/nsmf-pdusession/v1/sm-contexts/0-1/retrieve").with_json(&json!({"smContextType": "X"})),
        post("smf", "/nsmf-pdusession/v1/sm-contexts/0-1/release").with_json(&json!({"cause": "X"})),
        subscribe(lab, &subscription()),
        reg_a(lab),
        put("udr", REGISTRATION_AT_UDR).with_json(&registration_of(SMF_A)),
        post("udr", SUBSCRIPTIONS_AT_UDR).with_json(&subscription()),
        put("udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")).with_json(&subscription()),
        post("amf", &format!("/namf-callback/v1/sm-context-status/{SUPI}/5/1"))
            .with_json(&json!({"statusInfo": {"resourceStatus": "UPDATED"}})),
        put("udr", AMF_REGISTRATION_AT_UDR).with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9")),
        put("udr", AUTHENTICATION_STATUS).with_json(&auth_event()),
        post("udr", SUBS_TO_NOTIFY).with_json(&to_notify("http://127.0.0.1:9")),
        post("udm", &format!("/nudm-callback/v1/data-changes/{SUPI}/1"))
            .with_json(&json!({"notifyItems": []})),
        request(lab, Method::PATCH, "udm", &format!("{SUBSCRIPTIONS}/1"))
            .with_json(&json!({"expires": null})),
        put("udm", AMF_REGISTRATION).with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9")),
        request(lab, Method::PATCH, "udm", AMF_REGISTRATION).with_json(&purge_of(AMF_A)),
        post("smf", "/nsmf-callback/v1/sdm-subscriptions/0-x").with_json(&changed_data()),
        post("amf", &format!("/namf-callback/v1/{SUPI}/sdm-notify/x")).with_json(&changed_data()),
        post("amf", &format!("/namf-callback/v1/{SUPI}/dereg-notify/x"))
            .with_json(&json!({"deregReason": "UE_INITIAL_REGISTRATION"})),
        post("amf", &format!("/namf-comm/v1/ue-contexts/{SUPI}/n1-n2-messages"))
            .with_json(&json!({"pduSessionId": 5})),
        post("smf", "/nsmf-pdusession/v1/sm-contexts/0-x/modify")
            .with_json(&json!({"upCnxState": "DEACTIVATED"})),
    ]
}

fn wraps_errors(call: &Call) -> bool {
    call.path().ends_with("/sm-contexts") || call.path().ends_with("/modify")
}

/// Asserts that `call` is refused with this cause and these wrong parameters.
async fn expect(connection: &mut Connection, call: &Call, cause: &str, params: &[&str]) {
    let what = format!("{} {} {:?}", call.method, call.uri, call.body);
    let answer = connection.answer(call).await;
    let problem = problem(&answer, call.method == Method::POST && wraps_errors(call));
    assert_eq!((&problem["status"], &problem["cause"]), (&json!(400), &json!(cause)), "{what}: {problem}");
    let named = problem["invalidParams"].as_array().cloned().unwrap_or_default();
    let named: Vec<_> = named.iter().map(|p| p["param"].as_str().unwrap_or_default()).collect();
    assert_eq!(named, params, "{what}: {problem}");
    assert!(problem["detail"].as_str().is_some_and(|d| !d.is_empty()), "{what}: {problem}");
}

/// Nothing was created by anyone, and nobody panicked.
async fn expect_nothing_done(lab: &Lab) {
    lab.settle().await;
    for nf in ["smf", "udm", "udr"] {
        assert_eq!(held(lab, nf).await, Vec::<String>::new());
        assert_eq!(lab.count(nf, Kind::UpstreamSent), 0, "{}", lab.transcript());
    }
    assert_no_panic(lab);
}

#[actix::test]
async fn what_is_no_json_object_is_an_invalid_format_for_every_operation() {
    let lab = lab().start().await;
    for operation in operations(&lab) {
        let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
        let truncated = &operation.body[..operation.body.len() - 3];
        let deep = "[".repeat(100_000);
        for body in [
            truncated,
            b"[]",
            b"null",
            b"\"x\"",
            b"17",
            b"{]",
            b"\xff\xfe{}",
            b"{\"a\":1,\"a\":2}",
            deep.as_bytes(),
        ] {
            let call = operation.clone().with_body("application/json", body.to_vec());
            expect(&mut connection, &call, FORMAT, &[]).await;
        }
    }
    expect_nothing_done(&lab).await;
}

/// The operations whose body is a JSON Patch, each on something that is there, and what it may set.
async fn patches(lab: &Lab) -> Vec<(Call, &'static str, Value)> {
    let there = request(lab, Method::PUT, "udr", AMF_REGISTRATION_AT_UDR);
    let there = send(lab, there.with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9"))).await;
    assert_eq!(there.status, 201);
    let wish = request(lab, Method::POST, "udr", SUBS_TO_NOTIFY).with_json(&to_notify("http://127.0.0.1:9"));
    let wish = send(lab, wish).await.location().unwrap().to_owned();
    let credentials = AUTHENTICATION_STATUS.replace("-status", "-subscription");
    let patch = |path: &str| request(lab, Method::PATCH, "udr", path);
    vec![
        (patch(AMF_REGISTRATION_AT_UDR), "/imsVoPs", json!("HOMOGENEOUS_SUPPORT")),
        (patch(&credentials), "/sequenceNumber/sqn", json!("00000000002a")),
        (Call::new(Method::PATCH, wish), "/expiry", json!("2100-01-01T00:00:00Z")),
    ]
}

#[actix::test]
async fn what_is_no_json_patch_is_refused_and_changes_nothing() {
    let lab = lab().start().await;
    for (call, path, value) in patches(&lab).await {
        let mut connection = Connection::open(call.uri.strip_suffix(call.path()).unwrap()).await;
        let there = send(&lab, Call::get(&call.uri)).await.body;
        let step = json!({"op": "replace", "path": path, "value": value});
        let many = vec![step.clone(); 65];
        let deep = "[".repeat(100_000);
        let no = |name: &str| json!([with(step.clone(), name, Value::Null)]).to_string();
        let set = |name: &str, value: Value| json!([with(step.clone(), name, value)]).to_string();
        for (body, cause, params) in [
            ("".into(), FORMAT, &[][..]),
            ("null".into(), FORMAT, &[]),
            (step.to_string(), FORMAT, &[]),
            ("[{]".into(), FORMAT, &[]),
            ("[{\"op\":\"add\",\"op\":\"add\"}]".into(), FORMAT, &[]),
            (deep, FORMAT, &[]),
            (json!(many).to_string(), FORMAT, &[]),
            (no("op"), MISSING, &["/0/op"]),
            (no("path"), MISSING, &["/0/path"]),
            (no("value"), INCORRECT, &["/0/value"]),
            (set("op", json!("test")), INCORRECT, &["/0/op"]),
            (set("op", json!(1)), INCORRECT, &["/0/op"]),
            (set("path", json!("")), INCORRECT, &["/0/path"]),
            (set("path", json!("/not/there")), INCORRECT, &["/0/path"]),
        ] {
            let call = call.clone().with_body("application/json-patch+json", body);
            expect(&mut connection, &call, cause, params).await;
        }
        assert_eq!(send(&lab, Call::get(&call.uri)).await.body, there, "{}", call.uri);
        let good = call.with_body("application/json-patch+json", json!([step]).to_string());
        assert_eq!(connection.answer(&good).await.status, 204, "{good:?}");
    }
    assert_no_panic(&lab);
}

#[actix::test]
async fn no_body_is_an_invalid_format_where_one_is_needed() {
    let lab = lab().start().await;
    let optional = |call: &Call| call.path().ends_with("/retrieve") || call.path().ends_with("/release");
    for operation in operations(&lab).into_iter().filter(|call| !optional(call)) {
        let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
        expect(&mut connection, &operation.with_body("application/json", ""), FORMAT, &[]).await;
    }
    expect_nothing_done(&lab).await;
}

#[actix::test]
async fn a_mandatory_ie_that_is_missing_is_named() {
    let lab = lab().start().await;
    let mandatory: [(usize, &[&str]); 14] = [
        (
            0,
            &[
                "servingNfId",
                "servingNetwork",
                "anType",
                "smContextStatusUri",
                "supi",
                "pduSessionId",
                "dnn",
                "sNssai",
            ],
        ),
        (3, &["nfInstanceId", "callbackReference", "monitoredResourceUris"]),
        (4, &["smfInstanceId", "pduSessionId", "singleNssai", "plmnId"]),
        (5, &["smfInstanceId", "pduSessionId", "singleNssai", "plmnId"]),
        (6, &["nfInstanceId", "callbackReference", "monitoredResourceUris"]),
        (8, &["statusInfo"]),
        (9, &["amfInstanceId", "deregCallbackUri", "guami", "ratType"]),
        (10, &["nfInstanceId", "success", "timeStamp", "authType", "servingNetworkName"]),
        (11, &["callbackReference", "monitoredResourceUris"]),
        (14, &["amfInstanceId", "deregCallbackUri", "guami", "ratType"]),
        (15, &["guami"]),
        (16, &["notifyItems"]),
        (17, &["notifyItems"]),
        (18, &["deregReason"]),
    ];
    let operations = operations(&lab);
    for (operation, names) in mandatory.map(|(n, names)| (&operations[n], names)) {
        let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
        let body: Value = serde_json::from_slice(&operation.body).unwrap();
        for name in names {
            let call = operation.clone().with_json(&with(body.clone(), name, Value::Null));
            expect(&mut connection, &call, MISSING, &[&format!("/{name}")]).await;
        }
    }
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let all = ["/nfInstanceId", "/callbackReference", "/monitoredResourceUris"];
    expect(&mut connection, &subscribe(&lab, &json!({})), MISSING, &all).await;
    expect_nothing_done(&lab).await;
}

/// A wrong value in an attribute, and how it is refused: cause and the deepest attribute that is wrong.
type Wrong = (&'static str, Value, &'static str, &'static str);

async fn expect_each(operation: &Call, table: Vec<Wrong>) {
    let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
    let body: Value = serde_json::from_slice(&operation.body).unwrap();
    for (name, value, cause, param) in table {
        let mut body = body.clone();
        body[name] = value;
        expect(&mut connection, &operation.clone().with_json(&body), cause, &[param]).await;
    }
}

#[actix::test]
async fn an_ie_of_an_sm_context_that_is_mistyped_is_named() {
    let lab = lab().start().await;
    let table = vec![
        ("servingNetwork", json!("00101"), INCORRECT, "/servingNetwork"),
        ("servingNetwork", json!(null), INCORRECT, "/servingNetwork"),
        ("servingNetwork", json!({"mcc": "001"}), INCORRECT, "/servingNetwork/mnc"),
        ("servingNetwork", json!({"mcc": 1, "mnc": "01"}), INCORRECT, "/servingNetwork/mcc"),
        ("servingNfId", json!("amf"), INCORRECT, "/servingNfId"),
        ("anType", json!(3), INCORRECT, "/anType"),
        ("smContextStatusUri", json!({}), INCORRECT, "/smContextStatusUri"),
        ("pduSessionId", json!("5"), OPTIONAL, "/pduSessionId"),
        ("pduSessionId", json!(300), OPTIONAL, "/pduSessionId"),
        ("pduSessionId", json!(-1), OPTIONAL, "/pduSessionId"),
        ("pduSessionId", json!(5.5), OPTIONAL, "/pduSessionId"),
        ("supi", json!("imsi-1"), OPTIONAL, "/supi"),
        ("supi", json!("001010000000001"), OPTIONAL, "/supi"),
        ("dnn", json!(""), OPTIONAL, "/dnn"),
        ("sNssai", json!({"sst": 1, "sd": "10"}), OPTIONAL, "/sNssai/sd"),
        ("sNssai", json!({"sst": 256}), OPTIONAL, "/sNssai/sst"),
        ("sNssai", json!([1]), OPTIONAL, "/sNssai"),
        ("n1SmMsg", json!("n1"), OPTIONAL, "/n1SmMsg"),
    ];
    expect_each(&create_a(&lab), table).await;
    expect_nothing_done(&lab).await;
}

#[actix::test]
async fn an_ie_of_a_registration_that_is_mistyped_is_named() {
    let lab = lab().start().await;
    let table = vec![
        ("smfInstanceId", json!("smf"), INCORRECT, "/smfInstanceId"),
        ("pduSessionId", json!("5"), INCORRECT, "/pduSessionId"),
        ("pduSessionId", json!(300), INCORRECT, "/pduSessionId"),
        ("singleNssai", json!({"sd": "0000a1"}), INCORRECT, "/singleNssai/sst"),
        ("plmnId", json!("00101"), INCORRECT, "/plmnId"),
        ("dnn", json!(7), OPTIONAL, "/dnn"),
    ];
    expect_each(&reg_a(&lab), table.clone()).await;
    expect_each(&reg_a(&lab), vec![("pduSessionId", json!(6), INCORRECT, "/pduSessionId")]).await;
    let at_udr = request(&lab, Method::PUT, "udr", REGISTRATION_AT_UDR).with_json(&registration_of(SMF_A));
    expect_each(&at_udr, table).await;
    expect_nothing_done(&lab).await;
}

#[actix::test]
async fn an_ie_of_a_subscription_that_is_mistyped_is_named() {
    let lab = lab().start().await;
    let table = vec![
        ("nfInstanceId", json!(1), INCORRECT, "/nfInstanceId"),
        ("callbackReference", json!(null), INCORRECT, "/callbackReference"),
        ("monitoredResourceUris", json!([]), INCORRECT, "/monitoredResourceUris"),
        ("monitoredResourceUris", json!([1]), INCORRECT, "/monitoredResourceUris/0"),
        ("implicitUnsubscribe", json!("true"), OPTIONAL, "/implicitUnsubscribe"),
        ("uniqueSubscription", json!(1), OPTIONAL, "/uniqueSubscription"),
        ("singleNssai", json!({"sst": "1"}), OPTIONAL, "/singleNssai/sst"),
    ];
    expect_each(&subscribe(&lab, &subscription()), table.clone()).await;
    expect_each(&subscribe(&lab, &subscription()), vec![("expires", json!("soon"), OPTIONAL, "/expires")])
        .await;
    let at_udr = request(&lab, Method::POST, "udr", SUBSCRIPTIONS_AT_UDR).with_json(&subscription());
    expect_each(&at_udr, table).await;
    expect_nothing_done(&lab).await;
}

#[actix::test]
async fn an_ie_of_a_status_notification_that_is_mistyped_is_named() {
    let lab = Lab::builder().start().await;
    lab.establish(PduSession::default()).await;
    let path = format!("/namf-callback/v1/sm-context-status/{SUPI}/5/1");
    let good = request(&lab, Method::POST, "amf", &path).with_json(&json!({}));
    let table = vec![
        ("statusInfo", json!("RELEASED"), INCORRECT, "/statusInfo"),
        ("statusInfo", json!({}), INCORRECT, "/statusInfo/resourceStatus"),
        ("statusInfo", json!({"resourceStatus": 1}), INCORRECT, "/statusInfo/resourceStatus"),
    ];
    expect_each(&good, table).await;
    lab.expect_nothing_hanging().await;
    assert_eq!(lab.count("amf", Kind::StatusNotified), 0, "the session lives on");
}

#[actix::test]
async fn an_unknown_subscriber_is_said_to_be_unknown_and_nothing_is_created() {
    const UNKNOWN: &str = "imsi-001019999999999";
    let lab = lab().start().await;
    let elsewhere = |call: Call| Call { uri: call.uri.replace(SUPI, UNKNOWN), ..call };
    let registrations = REGISTRATION_AT_UDR.strip_suffix("/5").unwrap();
    let get = |nf, path: &str| request(&lab, Method::GET, nf, path);
    let calls = vec![
        create(&lab, &with(body_a(&lab), "supi", json!(UNKNOWN))),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data")),
        subscribe(&lab, &subscription()),
        reg_a(&lab),
        request(&lab, Method::PUT, "udm", AMF_REGISTRATION)
            .with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9")),
        request(&lab, Method::PATCH, "udm", AMF_REGISTRATION).with_json(&purge_of(AMF_A)),
        get("udm", AMF_REGISTRATION),
        get("udm", crate::support::REGISTRATION),
        get("udm", crate::support::REGISTRATION.strip_suffix("/5").unwrap()),
        request(&lab, Method::DELETE, "udm", crate::support::REGISTRATION),
        get("udr", &format!("/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data/sm-data")),
        get("udr", registrations),
        get("udr", REGISTRATION_AT_UDR),
        request(&lab, Method::PUT, "udr", REGISTRATION_AT_UDR).with_json(&registration_of(SMF_A)),
        request(&lab, Method::DELETE, "udr", REGISTRATION_AT_UDR),
        get("udr", &format!("/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data")),
        get("udr", &AUTHENTICATION_STATUS.replace("-status", "-subscription")),
        request(&lab, Method::PUT, "udr", AUTHENTICATION_STATUS).with_json(&auth_event()),
        get("udr", AMF_REGISTRATION_AT_UDR),
        request(&lab, Method::PUT, "udr", AMF_REGISTRATION_AT_UDR)
            .with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9")),
        get("udr", &format!("/nudr-dr/v2/policy-data/ues/{SUPI}/sm-data")),
        get("udr", SUBSCRIPTIONS_AT_UDR),
        request(&lab, Method::POST, "udr", SUBSCRIPTIONS_AT_UDR).with_json(&subscription()),
        get("udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")),
        request(&lab, Method::DELETE, "udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")),
    ];
    for call in calls.into_iter().map(elsewhere) {
        let (what, wrapped) =
            (format!("{} {}", call.method, call.uri), call.path().ends_with("/sm-contexts"));
        let problem = problem(&send(&lab, call).await, wrapped);
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(404), &json!("USER_NOT_FOUND")),
            "{what}"
        );
    }
    lab.expect_nothing_hanging().await;
    assert!(!lab.events().iter().any(|e| e.event == Kind::ResourceCreated), "{}", lab.transcript());
    assert_no_panic(&lab);
}

#[actix::test]
async fn what_is_not_subscribed_is_denied_and_nothing_is_created() {
    let lab = lab().start().await;
    for (name, value, cause) in [
        ("dnn", json!("mms"), "DNN_DENIED"),
        ("sNssai", json!({"sst": 2}), "SNSSAI_DENIED"),
        ("sNssai", json!({"sst": 1, "sd": "0000b2"}), "SNSSAI_DENIED"),
    ] {
        let problem = problem(&send(&lab, create(&lab, &with(body_a(&lab), name, value))).await, true);
        assert_eq!(problem["status"].as_u64().map(|s| s / 100), Some(4), "{problem}");
        assert!(problem["cause"] == cause || problem["cause"] == "DATA_NOT_FOUND", "{problem}");
    }
    lab.expect_nothing_hanging().await;
    assert!(!lab.events().iter().any(|e| e.event == Kind::ResourceCreated));
}

#[actix::test]
async fn a_good_request_on_the_same_connection_succeeds_after_all_that() {
    let lab = lab().start().await;
    let mut smf = Connection::open(&lab.api_root("smf")).await;
    let bad = [
        json!({}),
        with(body_a(&lab), "servingNetwork", json!("00101")),
        with(body_a(&lab), "dnn", json!(1)),
    ];
    let pending = smf.send(&create(&lab, &with(body_a(&lab), "pduSessionId", json!(6)))).await;
    for body in bad {
        assert_eq!(smf.answer(&create(&lab, &body)).await.status, 400);
    }
    assert_eq!(pending.answer().await.unwrap().status, 201, "its neighbour was harmed");
    assert_eq!(smf.answer(&create_a(&lab)).await.status, 201);
    let mut udm = Connection::open(&lab.api_root("udm")).await;
    assert_eq!(udm.answer(&subscribe(&lab, &json!([]))).await.status, 400);
    assert_eq!(udm.answer(&subscribe(&lab, &subscription())).await.status, 201);
    assert!(held(&lab, "udm").await.iter().any(|path| path.starts_with(SUBSCRIPTIONS)));
}
