//! TS 29.504 §5.2.2, TS 29.505 §5.2 and TS 29.519 §5.2 (Rel-17): what a UDR answers of a subscriber, in either version
//! of its API, and what consumers write there.

use crate::support::raw::Connection;
use crate::support::{
    AMF_A, AMF_B, AMF_REGISTRATION_AT_UDR, AUTHENTICATION_STATUS, Headers, REGISTRATION_AT_UDR, SMF_A, SUPI,
    amf_registration_of, assert_504_t, auth_event, held, is, lab, registration_of, request, send, with,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::fault::Rule;
use serde_json::{Value, json};
use udr::FirstPut;

/// What a GET of this path at the UDR is answered with, the same in both versions.
async fn read(lab: &Lab, path: &str) -> Value {
    let get = |version| send(lab, request(lab, Method::GET, "udr", &format!("/nudr-dr/{version}/{path}")));
    let (v1, v2) = (get("v1").await, get("v2").await);
    assert_eq!((v1.status.as_u16(), v2.status.as_u16()), (200, 200), "{path}: {v2:?}");
    assert_eq!(v1.body, v2.body, "{path}");
    v2.json().unwrap()
}

#[actix::test]
async fn each_data_set_is_there_in_every_serving_network() {
    let lab = lab().start().await;
    for plmn in ["00101", "999700"] {
        let data = format!("subscription-data/{SUPI}/{plmn}/provisioned-data");
        let am = read(&lab, &format!("{data}/am-data")).await;
        assert_eq!(am["nssai"]["defaultSingleNssais"], json!([{"sst": 1}]), "{am}");
        assert_eq!(am["subscribedUeAmbr"]["uplink"], "1000 Mbps");
        let selection = read(&lab, &format!("{data}/smf-selection-subscription-data")).await;
        let infos = &selection["subscribedSnssaiInfos"];
        assert_eq!(infos["1"]["dnnInfos"], json!([{"dnn": "internet", "defaultDnnIndicator": true}]));
        assert_eq!(read(&lab, &format!("{data}/sm-data")).await.as_array().unwrap().len(), 2);
    }
}

#[actix::test]
async fn several_data_sets_come_in_one_answer() {
    let lab = lab().start().await;
    let data = format!("subscription-data/{SUPI}/00101/provisioned-data");
    for (query, expected) in [
        ("", &["amData", "smData", "smfSelData"][..]),
        ("?dataset-names=AM%2CSMF_SEL", &["amData", "smfSelData"]),
        ("?dataset-names=SM,TRACE", &["smData"]),
    ] {
        let answer = read(&lab, &format!("{data}{query}")).await;
        assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), expected, "{query}");
    }
    let none = request(&lab, Method::GET, "udr", &format!("/nudr-dr/v2/{data}?dataset-names=TRACE"));
    assert_eq!(send(&lab, none).await.problem().cause.as_deref(), Some("DATA_NOT_FOUND"));
}

#[actix::test]
async fn only_the_fields_that_are_asked_for_are_answered() {
    let lab = lab().start().await;
    let data = format!("subscription-data/{SUPI}/00101/provisioned-data");
    let nssai = read(&lab, &format!("{data}/am-data?fields=nssai")).await;
    assert_eq!(nssai.as_object().unwrap().keys().collect::<Vec<_>>(), ["nssai"]);
}

#[actix::test]
async fn credentials_are_those_of_the_subscriber() {
    let lab = lab().start().await;
    let path = format!("subscription-data/{SUPI}/authentication-data/authentication-subscription");
    let expected = json!({
        "authenticationMethod": "5G_AKA", "encPermanentKey": "465b5ce8b199b49faa5f0a2ee238a6bc",
        "sequenceNumber": {"sqn": "000000000000"}, "authenticationManagementField": "8000",
        "encOpcKey": "e8ed289deba952e4283b54e88e6183ca",
    });
    assert_eq!(read(&lab, &path).await, expected);
}

#[actix::test]
async fn the_sequence_number_of_the_credentials_is_patched_or_nothing_is() {
    let lab = lab().start().await;
    let path = format!("subscription-data/{SUPI}/authentication-data/authentication-subscription");
    let patched = |items: Value| {
        let call = request(&lab, Method::PATCH, "udr", &format!("/nudr-dr/v2/{path}"));
        let call = call.with_body("application/json-patch+json", items.to_string());
        async { send(&lab, call).await }
    };
    let set = |sqn: Value| json!([{"op": "replace", "path": "/sequenceNumber/sqn", "value": sqn}]);
    assert_eq!(patched(set(json!("00000000002A"))).await.status, 204);
    let whole = json!([{"op": "replace", "path": "/sequenceNumber", "value": {"sqn": "000000000041", "sqnScheme": "GENERAL"}}]);
    assert_eq!(patched(whole).await.status, 204);
    for wrong in [set(json!("41")), set(json!("00000000004g")), set(json!(65)), set(Value::Null)] {
        let answer = patched(wrong.clone()).await;
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    let longer = json!([{"op": "add", "path": "/sequenceNumber/x", "value": "x".repeat(5_000)}]);
    let another = json!([{"op": "replace", "path": "/encOpcKey", "value": "00"}]);
    for forbidden in [longer, another] {
        let answer = patched(forbidden).await;
        assert_eq!(answer.problem().cause.as_deref(), Some("MODIFICATION_NOT_ALLOWED"), "{answer:?}");
    }
    let taken_away = json!([{"op": "remove", "path": "/authenticationMethod"}]);
    assert_eq!(patched(taken_away).await.status, 400);
    let there = read(&lab, &path).await;
    let number = json!({"sqn": "000000000041", "sqnScheme": "GENERAL"});
    assert_eq!((&there["sequenceNumber"], &there["authenticationMethod"]), (&number, &json!("5G_AKA")));
}

#[actix::test]
async fn a_sequence_number_that_an_authentication_used_is_not_used_again() {
    let lab = lab().start().await;
    let path = format!("subscription-data/{SUPI}/authentication-data/authentication-subscription");
    let put = |event: Value| request(&lab, Method::PUT, "udr", AUTHENTICATION_STATUS).with_json(&event);
    for (success, sqn) in [(true, "000000000020"), (false, "000000000020"), (true, "000000000040")] {
        let event = with(auth_event(), "success", json!(success));
        assert_eq!(send(&lab, put(event)).await.status, 204);
        assert_eq!(read(&lab, &path).await["sequenceNumber"]["sqn"], sqn);
    }
    lab.provision(&SUPI.parse().unwrap(), crate::support::profile());
    assert_eq!(read(&lab, &path).await["sequenceNumber"]["sqn"], "000000000040", "provisioning keeps it");
}

#[actix::test]
async fn the_first_put_is_answered_as_the_operator_wants() {
    for (first_put, status) in [(FirstPut::Created, 201), (FirstPut::NoContent, 204)] {
        let lab = lab().first_put(first_put).start().await;
        let answer = send(&lab, put(&lab, AMF_A)).await;
        assert_eq!((answer.status.as_u16(), answer.location().is_some()), (status, status == 201));
        assert_eq!(send(&lab, put(&lab, AMF_A)).await.status, 204);
        let registration = request(&lab, Method::PUT, "udr", REGISTRATION_AT_UDR);
        let answer = send(&lab, registration.with_json(&registration_of(SMF_A))).await;
        assert_eq!(answer.status, status);
    }
}

#[actix::test]
async fn policy_data_are_narrowed_to_slice_and_data_network() {
    let lab = lab().start().await;
    let policy = format!("policy-data/ues/{SUPI}");
    assert_eq!(read(&lab, &format!("{policy}/am-data")).await, json!({}));
    let slice = "snssai=%7B%22sst%22%3A1%2C%22sd%22%3A%220000a1%22%7D";
    for (query, slices) in [
        ("", &["1", "1-0000a1"][..]),
        (&*format!("?{slice}"), &["1-0000a1"]),
        ("?dnn=ims", &["1-0000a1"]),
        ("?dnn=internet", &["1", "1-0000a1"]),
    ] {
        let data = read(&lab, &format!("{policy}/sm-data{query}")).await;
        let found = data["smPolicySnssaiData"].as_object().unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), slices, "{query}");
    }
    let nothing = request(&lab, Method::GET, "udr", &format!("/nudr-dr/v2/{policy}/sm-data?dnn=mms"));
    assert_eq!(send(&lab, nothing).await.problem().cause.as_deref(), Some("DATA_NOT_FOUND"));
}

#[actix::test]
async fn an_authentication_is_known_until_it_is_deleted() {
    let lab = lab().start().await;
    let call = |method| request(&lab, method, "udr", AUTHENTICATION_STATUS);
    for _ in 0..2 {
        assert_eq!(send(&lab, call(Method::PUT).with_json(&auth_event())).await.status, 204);
    }
    assert_eq!(send(&lab, call(Method::GET)).await.json::<Value>(), Some(auth_event()));
    assert_eq!(held(&lab, "udr").await, [AUTHENTICATION_STATUS]);
    assert_eq!(send(&lab, call(Method::DELETE)).await.status, 204);
    assert_eq!(send(&lab, call(Method::GET)).await.status, 404);
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new());
}

fn put(lab: &Lab, amf: &str) -> Call {
    let body = amf_registration_of(amf, "http://127.0.0.1:9");
    request(lab, Method::PUT, "udr", AMF_REGISTRATION_AT_UDR).with_json(&body)
}

fn patch(lab: &Lab, items: &Value) -> Call {
    let call = request(lab, Method::PATCH, "udr", AMF_REGISTRATION_AT_UDR);
    call.with_body("application/json-patch+json", items.to_string())
}

fn purge(lab: &Lab) -> Call {
    patch(lab, &json!([{"op": "replace", "path": "PurgeFlag", "value": true}]))
}

async fn registered(lab: &Lab) -> Answer {
    send(lab, request(lab, Method::GET, "udr", AMF_REGISTRATION_AT_UDR)).await
}

#[actix::test]
async fn the_registration_of_an_amf_is_created_replaced_and_purged() {
    let lab = lab().start().await;
    let first = send(&lab, put(&lab, AMF_A)).await;
    assert_eq!(first.status, 201);
    assert_eq!(first.location(), Some(&*format!("{}{AMF_REGISTRATION_AT_UDR}", lab.api_root("udr"))));
    assert_eq!(send(&lab, put(&lab, AMF_B)).await.status, 204);
    assert_eq!(held(&lab, "udr").await, [AMF_REGISTRATION_AT_UDR]);
    assert_eq!(send(&lab, purge(&lab)).await.status, 204);
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new(), "nothing is registered any more");
    let last: Value = registered(&lab).await.json().unwrap();
    assert_eq!(last, with(amf_registration_of(AMF_B, "http://127.0.0.1:9"), "purgeFlag", json!(true)));
    assert_eq!(send(&lab, put(&lab, AMF_A)).await.status, 201, "after a purge it is a new one");
}

#[actix::test]
async fn a_patch_that_would_spoil_a_registration_is_refused_and_changes_nothing() {
    let lab = lab().start().await;
    assert_eq!(send(&lab, purge(&lab)).await.problem().cause.as_deref(), Some("CONTEXT_NOT_FOUND"));
    send(&lab, put(&lab, AMF_A)).await;
    let before = registered(&lab).await.body;
    for (items, cause) in [
        (json!([{"op": "remove", "path": "/guami"}]), "MANDATORY_IE_MISSING"),
        (json!([{"op": "replace", "path": "/guami", "value": "020040"}]), "MANDATORY_IE_INCORRECT"),
        (json!([{"op": "add", "path": "/a/b", "value": 1}]), "MANDATORY_IE_INCORRECT"),
        (
            json!([{"op": "add", "path": "/pei", "value": 1}, {"op": "frob", "path": "/x"}]),
            "MANDATORY_IE_INCORRECT",
        ),
        (json!({"purgeFlag": true}), "INVALID_MSG_FORMAT"),
    ] {
        let answer = send(&lab, patch(&lab, &items)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.problem().cause.as_deref()),
            (400, Some(cause)),
            "{items}"
        );
    }
    let large = json!([{"op": "add", "path": "/x", "value": "x".repeat(1 << 16)}]);
    assert_eq!(send(&lab, patch(&lab, &large)).await.status, 413);
    assert_eq!(registered(&lab).await.body, before);
    let pei = json!([{"op": "add", "path": "/pei", "value": "imeisv-1"}]);
    assert_eq!(send(&lab, patch(&lab, &pei)).await.status, 204);
    assert_eq!(registered(&lab).await.json::<Value>().unwrap()["pei"], "imeisv-1");
}

#[actix::test]
async fn of_late_patches_only_a_purge_is_carried_out() {
    let lab = lab().start().await;
    send(&lab, put(&lab, AMF_A)).await;
    let pei = json!([{"op": "add", "path": "/pei", "value": "imeisv-1"}]);
    assert_504_t(&send(&lab, patch(&lab, &pei).pair(0, "0")).await, false);
    assert_eq!(registered(&lab).await.json::<Value>().unwrap()["pei"], Value::Null);
    let delayed = purge(&lab).pair(-3_000, "1000");
    assert_504_t(&send(&lab, delayed).await, false);
    assert_eq!(held(&lab, "udr").await, [AMF_REGISTRATION_AT_UDR], "it was written after that was sent");
    assert_504_t(&send(&lab, purge(&lab).pair(0, "0")).await, false);
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new());
}

#[actix::test]
async fn a_write_whose_answer_cannot_be_handed_over_is_taken_back() {
    // On one worker what follows comes after the taking back.
    let lab = lab().workers(1).start().await;
    send(&lab, put(&lab, AMF_A)).await;
    lab.fault(Rule::at("udr").delay_ms(100).matching("PUT", "amf-3gpp-access").once());
    let mut connection = Connection::open(&lab.api_root("udr")).await;
    let exchange = connection.send(&put(&lab, AMF_B)).await;
    lab.wait_for("it is under way", is("udr", Kind::FaultApplied)).await;
    exchange.reset();
    lab.wait_for("the end", is("udr", Kind::ResponseUndeliverable)).await;
    assert_eq!(registered(&lab).await.json::<Value>().unwrap()["amfInstanceId"], AMF_A);
}
