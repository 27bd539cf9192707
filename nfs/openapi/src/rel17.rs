//! The files as 3GPP publishes them, which lie beside this project: `MOCK5G_OPENAPI_DIR` says where.

use crate::Checker;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use sbi::schema::SchemaCheck;
use sbi::traffic::Content;
use std::path::PathBuf;

fn checker() -> Option<Checker> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/openapi/rel17");
    let dir = std::env::var_os("MOCK5G_OPENAPI_DIR").map_or_else(|| PathBuf::from(default), PathBuf::from);
    if dir.is_dir() {
        return Some(Checker::open(&dir).expect("OpenAPI files"));
    }
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!ci, "no OpenAPI files in {}: set MOCK5G_OPENAPI_DIR", dir.display());
    println!("skipped: no OpenAPI files in {} (MOCK5G_OPENAPI_DIR says where they are)", dir.display());
    None
}

fn content(media_type: &'static str, body: &str) -> Content {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    Content::new(headers, Bytes::copy_from_slice(body.as_bytes()))
}

const CREATE: &str = r#"{"supi": "imsi-001010000000001", "pduSessionId": 5, "dnn": "internet", "sNssai": {"sst": 1},
    "servingNfId": "11111111-1111-4111-8111-111111111111", "servingNetwork": {"mcc": "001", "mnc": "01"},
    "anType": "3GPP_ACCESS", "smContextStatusUri": "http://amf/status/1"}"#;

#[test]
fn requests_of_each_api_are_found_and_judged() {
    let Some(checker) = checker() else { return };
    let json = |body: &str| content("application/json", body);
    let part = |body: &str| {
        let part = format!("--x\r\nContent-Type: application/json\r\n\r\n{body}\r\n--x--\r\n");
        content("multipart/related; boundary=x", &part)
    };
    let notified = json(r#"{"statusInfo": {"resourceStatus": "RELEASED"}}"#);
    let register = r#"{"smfInstanceId": "22222222-2222-4222-8222-222222222222", "pduSessionId": 5,
        "singleNssai": {"sst": 1}, "plmnId": {"mcc": "001", "mnc": "01"}}"#;
    let at_udr = "/nudr-dr/v2/subscription-data/imsi-1/context-data/smf-registrations/5";
    for (method, uri, content, expected) in [
        (Method::POST, "/nsmf-pdusession/v1/sm-contexts", part(CREATE), ""),
        (
            Method::POST,
            "/nsmf-pdusession/v1/sm-contexts",
            part(&CREATE.replace("001", "0x1")),
            "/servingNetwork/mcc: ",
        ),
        (Method::POST, "/nsmf-pdusession/v1/sm-contexts", part("{}"), "/servingNfId: missing"),
        (Method::POST, "http://amf/status/1", notified, ""),
        (Method::POST, "http://amf/status/1", json("{}"), "/statusInfo: missing"),
        (
            Method::GET,
            "/nudm-sdm/v2/imsi-1/sm-data?single-nssai=%7B%22sst%22%3A1%7D&dnn=internet",
            Content::default(),
            "",
        ),
        (
            Method::GET,
            "/nudm-sdm/v2/imsi-1/sm-data?single-nssai=%7B%22sst%22%3A999%7D",
            Content::default(),
            "query single-nssai: ",
        ),
        (Method::PUT, "/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5", json(register), ""),
        (Method::PUT, at_udr, json(&register.replace("\"plmnId\"", "\"plmn\"")), "/plmnId: missing"),
        (
            Method::PUT,
            "/nudr-dr/v1/subscription-data/imsi-1/context-data/smf-registrations/5",
            json(register),
            "",
        ),
        (Method::GET, "/nudr-dr/v2/policy-data/ues/imsi-1/sm-data", Content::default(), ""),
    ] {
        let judged =
            checker.request(&method, uri, &content).unwrap_or_else(|| panic!("no operation: {method} {uri}"));
        let told = judged.told();
        assert!(
            if expected.is_empty() { told.is_empty() } else { told.contains(expected) },
            "{method} {uri}: {told}"
        );
    }
    let plain = checker
        .request(&Method::POST, "/nsmf-pdusession/v1/sm-contexts", &json(CREATE))
        .expect("an operation");
    assert!(
        plain.problem().is_none() && plain.told().starts_with("header Content-Type: "),
        "{}",
        plain.told()
    );
    let unknown = checker.request(&Method::PUT, "/nudm-ueau/v1/imsi-1/auth-events", &Content::default());
    assert!(unknown.is_none());
}

#[test]
fn answers_are_judged_and_a_504_is_allowed_everywhere() {
    let Some(checker) = checker() else { return };
    let registrations = "/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5";
    let late = content("application/problem+json", r#"{"status": 504, "cause": "TIMED_OUT_REQUEST"}"#);
    let told = |method, uri, status, content: &Content| {
        let status = StatusCode::from_u16(status).expect("a status");
        checker.answer(&method, uri, status, content).expect("an operation").told()
    };
    for (method, uri) in [
        (Method::PUT, registrations),
        (Method::POST, "/nsmf-pdusession/v1/sm-contexts"),
        (Method::POST, "/nausf-auth/v1/ue-authentications"),
    ] {
        assert_eq!(told(method, uri, 504, &late), "", "{uri}");
    }
    let wrapped = content("application/json", r#"{"error": {"status": 504, "cause": "TIMED_OUT_REQUEST"}}"#);
    assert_eq!(told(Method::POST, "/nsmf-pdusession/v1/sm-contexts", 504, &wrapped), "");
    let created = content("application/json", "{}");
    let told = told(Method::PUT, registrations, 201, &created);
    assert!(told.contains("header Location: missing") && told.contains("/smfInstanceId: missing"), "{told}");
}
