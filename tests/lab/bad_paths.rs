//! TS 29.500 §5.2.7.2 (Rel-17): an unknown API, an unknown structure below a known one, a variable that cannot be, and a
//! method that a resource does not have are each told apart.

use crate::support::raw::Connection;
use crate::support::{
    AMF_REGISTRATION, AMF_REGISTRATION_AT_UDR, AUTHENTICATION_STATUS, REGISTRATION, REGISTRATION_AT_UDR,
    SUBS_TO_NOTIFY, SUBSCRIPTIONS, SUBSCRIPTIONS_AT_UDR, SUPI, assert_no_panic, changed_data, lab, problem,
    request, send,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::event::Kind;
use serde_json::{Value, json};

async fn refused(lab: &Lab, method: Method, nf: &str, path: &str) -> Value {
    let wrapped = method == Method::POST && path == "/nsmf-pdusession/v1/sm-contexts";
    problem(&send(lab, request(lab, method, nf, path)).await, wrapped)
}

async fn expect_quiet(lab: &Lab) {
    assert!(!lab.events().iter().any(|e| e.event == Kind::UpstreamSent), "{}", lab.transcript());
    lab.expect_nothing_hanging().await;
    assert_no_panic(lab);
}

#[actix::test]
async fn an_unknown_api_or_version_is_400_invalid_api() {
    let lab = lab().start().await;
    for (nf, path) in [
        ("smf", "/nnrf-disc/v1/nf-instances"),
        ("smf", "/nsmf-pdusession/v2/sm-contexts"),
        ("smf", "/"),
        ("udm", "/nsmf-pdusession/v1/sm-contexts"),
        ("udm", "/nudm-sdm/v1/imsi-001010000000001/sm-data"),
        ("udm", "/nudm-sdmx/v2"),
        ("udr", "/nudr-dr/v3/subscription-data"),
        ("udr", "/nudm-sdm/v2/x"),
        ("amf", "/namf-comm/v2/ue-contexts"),
    ] {
        let problem = refused(&lab, Method::GET, nf, path).await;
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(400), &json!("INVALID_API")),
            "{nf} {path}"
        );
    }
    expect_quiet(&lab).await;
}

#[actix::test]
async fn an_unknown_structure_is_404() {
    let lab = lab().start().await;
    let ue_at_udr = format!("/nudr-dr/v2/subscription-data/{SUPI}");
    for (nf, path) in [
        ("smf", "/nsmf-pdusession/v1"),
        ("smf", "/nsmf-pdusession/v1/sm-contexts/0-1/nothing"),
        ("smf", "/nsmf-callback/v1/x"),
        ("udm", "/nudm-sdm/v2"),
        ("udm", &format!("/nudm-sdm/v2/{SUPI}/sms-data")),
        ("udm", "/nudm-callback/v1/data-changes"),
        ("udm", &format!("/nudm-uecm/v1/{SUPI}/registrations/nothing")),
        ("udm", &format!("{REGISTRATION}/deeper")),
        ("udr", &ue_at_udr),
        ("udr", &format!("{ue_at_udr}/context-data/amf-non-3gpp-access")),
        ("udr", &format!("{ue_at_udr}/00101/provisioned-data/sms-data")),
        ("udr", &format!("{ue_at_udr}/authentication-data/nothing")),
        ("udr", &format!("/nudr-dr/v2/policy-data/ues/{SUPI}/operator-specific-data")),
        ("udr", "/nudr-dr/v2/policy-data/subs-to-notify"),
        ("udr", "/nudr-dr/v2/subscription-data/subs-to-notify/1/2"),
        ("udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1/2")),
        ("amf", "/namf-callback/v1/sm-context-status"),
    ] {
        let problem = refused(&lab, Method::GET, nf, path).await;
        let expected = (&json!(404), &json!("RESOURCE_URI_STRUCTURE_NOT_FOUND"));
        assert_eq!((&problem["status"], &problem["cause"]), expected, "{nf} {path}");
    }
    expect_quiet(&lab).await;
}

#[actix::test]
async fn a_wrong_method_is_405() {
    let lab = lab().start().await;
    let registrations = REGISTRATION.strip_suffix("/5").unwrap();
    for (method, nf, path) in [
        (Method::GET, "smf", "/nsmf-pdusession/v1/sm-contexts"),
        (Method::DELETE, "smf", "/nsmf-pdusession/v1/sm-contexts"),
        (Method::DELETE, "smf", "/nsmf-pdusession/v1/sm-contexts/0-1/release"),
        (Method::GET, "smf", "/nsmf-pdusession/v1/sm-contexts/0-1/retrieve"),
        (Method::PUT, "udm", registrations),
        (Method::POST, "udm", REGISTRATION),
        (Method::PATCH, "udm", REGISTRATION),
        (Method::DELETE, "udm", AMF_REGISTRATION),
        (Method::GET, "udm", SUBSCRIPTIONS),
        (Method::PUT, "udm", &format!("{SUBSCRIPTIONS}/1")),
        (Method::PUT, "udm", &format!("/nudm-sdm/v2/{SUPI}")),
        (Method::POST, "udm", &format!("/nudm-sdm/v2/{SUPI}/ue-context-in-smf-data")),
        (Method::GET, "udm", &format!("/nudm-callback/v1/data-changes/{SUPI}/1")),
        (Method::POST, "udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data")),
        (Method::PATCH, "udr", REGISTRATION_AT_UDR),
        (Method::DELETE, "udr", SUBSCRIPTIONS_AT_UDR),
        (Method::DELETE, "udr", AMF_REGISTRATION_AT_UDR),
        (Method::GET, "udr", SUBS_TO_NOTIFY),
        (Method::PUT, "udr", &format!("{SUBS_TO_NOTIFY}/1")),
        (Method::POST, "udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")),
        (Method::GET, "amf", &format!("/namf-callback/v1/sm-context-status/{SUPI}/5/1")),
        (Method::from_bytes(b"BREW").unwrap(), "udm", REGISTRATION),
    ] {
        let problem = refused(&lab, method.clone(), nf, path).await;
        assert_eq!(problem["status"], 405, "{method} {nf} {path}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|d| !d.is_empty()), "{problem}");
    }
    expect_quiet(&lab).await;
}

#[actix::test]
async fn a_variable_that_cannot_be_is_named() {
    let lab = lab().start().await;
    let session = |id: &str| REGISTRATION.replace("/5", &format!("/{id}"));
    let at_udr = |id: &str| REGISTRATION_AT_UDR.replace("/5", &format!("/{id}"));
    for (method, nf, path, param) in [
        (Method::GET, "udm", "/nudm-sdm/v2/imsi-1/sm-data".into(), "{supi}"),
        (Method::GET, "udm", "/nudm-sdm/v2/001010000000001/sm-data".into(), "{supi}"),
        (Method::DELETE, "udm", SUBSCRIPTIONS.replace(SUPI, "imsi-x") + "/1", "{ueId}"),
        (Method::GET, "udm", REGISTRATION.replace(SUPI, "imsi-%00"), "{ueId}"),
        (Method::GET, "udm", "/nudm-sdm/v2/imsi-1?dataset-names=AM".into(), "{supi}"),
        (Method::POST, "udm", "/nudm-callback/v1/data-changes/imsi-1/1".into(), "{supi}"),
        (Method::GET, "udm", AMF_REGISTRATION.replace(SUPI, "imsi-1"), "{ueId}"),
        (Method::GET, "udm", session("300"), "{pduSessionId}"),
        (Method::GET, "udm", session("-1"), "{pduSessionId}"),
        (Method::DELETE, "udm", session("five"), "{pduSessionId}"),
        (Method::DELETE, "udm", session("5.0"), "{pduSessionId}"),
        (Method::GET, "udr", at_udr("256"), "{pduSessionId}"),
        (Method::DELETE, "udr", REGISTRATION_AT_UDR.replace(SUPI, "x"), "{ueId}"),
        (
            Method::GET,
            "udr",
            format!("/nudr-dr/v2/subscription-data/{SUPI}/1/provisioned-data/sm-data"),
            "{servingPlmnId}",
        ),
    ] {
        let problem = refused(&lab, method.clone(), nf, &path).await;
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(400), &json!("MANDATORY_IE_INCORRECT")),
            "{path}"
        );
        assert_eq!(problem["invalidParams"][0]["param"], param, "{path}");
    }
    expect_quiet(&lab).await;
}

#[actix::test]
async fn a_notification_about_what_is_not_there_is_404() {
    let lab = lab().start().await;
    for (nf, path) in [
        ("smf", "/nsmf-callback/v1/sdm-subscriptions/1".to_owned()),
        ("smf", "/nsmf-callback/v1/sdm-subscriptions/0-x".to_owned()),
        ("amf", format!("/namf-callback/v1/{SUPI}/sdm-notify/1")),
    ] {
        let call = request(&lab, Method::POST, nf, &path).with_json(&changed_data());
        let problem = problem(&send(&lab, call).await, false);
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(404), &json!("CONTEXT_NOT_FOUND")),
            "{path}"
        );
    }
    expect_quiet(&lab).await;
}

#[actix::test]
async fn what_is_not_there_is_404_by_its_kind() {
    let lab = lab().start().await;
    let sm_contexts = "/nsmf-pdusession/v1/sm-contexts";
    let long = "x".repeat(3_000);
    for (method, nf, path, cause) in [
        (Method::POST, "smf", format!("{sm_contexts}/0-1/retrieve"), "CONTEXT_NOT_FOUND"),
        (Method::POST, "smf", format!("{sm_contexts}/0-1/release"), "CONTEXT_NOT_FOUND"),
        (Method::POST, "smf", format!("{sm_contexts}/99-1/release"), "CONTEXT_NOT_FOUND"),
        (Method::POST, "smf", format!("{sm_contexts}/{long}/release"), "CONTEXT_NOT_FOUND"),
        (Method::POST, "smf", format!("{sm_contexts}/%2e%2e/release"), "CONTEXT_NOT_FOUND"),
        (Method::DELETE, "udm", format!("{SUBSCRIPTIONS}/1"), "SUBSCRIPTION_NOT_FOUND"),
        (Method::DELETE, "udm", format!("{SUBSCRIPTIONS}/{long}"), "SUBSCRIPTION_NOT_FOUND"),
        (Method::DELETE, "udm", REGISTRATION.into(), "CONTEXT_NOT_FOUND"),
        (Method::GET, "udm", REGISTRATION.into(), "CONTEXT_NOT_FOUND"),
        (Method::GET, "udm", AMF_REGISTRATION.into(), "CONTEXT_NOT_FOUND"),
        (Method::DELETE, "udr", REGISTRATION_AT_UDR.into(), "CONTEXT_NOT_FOUND"),
        (Method::GET, "udr", AMF_REGISTRATION_AT_UDR.into(), "CONTEXT_NOT_FOUND"),
        (Method::GET, "udr", AUTHENTICATION_STATUS.into(), "DATA_NOT_FOUND"),
        (Method::DELETE, "udr", AUTHENTICATION_STATUS.into(), "DATA_NOT_FOUND"),
        (Method::GET, "udr", format!("{SUBS_TO_NOTIFY}/1"), "SUBSCRIPTION_NOT_FOUND"),
        (Method::DELETE, "udr", format!("{SUBS_TO_NOTIFY}/{long}"), "SUBSCRIPTION_NOT_FOUND"),
        (Method::DELETE, "udr", format!("{SUBSCRIPTIONS_AT_UDR}/1"), "SUBSCRIPTION_NOT_FOUND"),
    ] {
        let problem = refused(&lab, method.clone(), nf, &path).await;
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(404), &json!(cause)),
            "{method} {nf} {path}"
        );
    }
    lab.expect_nothing_hanging().await;
    assert_no_panic(&lab);
}

#[actix::test]
async fn a_query_that_cannot_be_read_is_named() {
    let lab = lab().start().await;
    let many = (0..100).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    for (query, param) in [
        ("single-nssai=1", Some("query single-nssai")),
        ("single-nssai=%7B%22sst%22%3A", Some("query single-nssai")),
        ("single-nssai=%7B%22sst%22%3A%221%22%7D", Some("query single-nssai")),
        ("plmn-id=00101", Some("query plmn-id")),
        ("dnn=%zz", Some("query dnn")),
        ("dnn=%ff", Some("query dnn")),
        ("dnn=a&dnn=b", Some("query dnn")),
        (&*many, None),
    ] {
        let path = format!("/nudm-sdm/v2/{SUPI}/sm-data?{query}");
        let problem = refused(&lab, Method::GET, "udm", &path).await;
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(400), &json!("INVALID_QUERY_PARAM")),
            "{query}"
        );
        assert_eq!(problem["invalidParams"][0]["param"].as_str(), param, "{query}");
    }
    let path = format!("{REGISTRATION}?smf-instance-id=smf");
    let problem = refused(&lab, Method::DELETE, "udm", &path).await;
    assert_eq!(problem["invalidParams"][0]["param"], "query smf-instance-id");
    expect_quiet(&lab).await;
}

#[actix::test]
async fn after_all_that_the_connection_goes_on() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    for (method, path) in
        [(Method::GET, "/x"), (Method::PATCH, REGISTRATION), (Method::GET, "/nudm-sdm/v2/%zz/sm-data")]
    {
        let answer = connection.answer(&request(&lab, method, "udm", path)).await;
        assert!(answer.status.is_client_error(), "{path}: {answer:?}");
    }
    let good = request(&lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data"));
    assert_eq!(connection.answer(&good).await.status, 200);
    assert_no_panic(&lab);
}
