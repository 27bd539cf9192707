//! The operator plane of `mock5g nf`, on HTTP/1.1 and HTTP/2 alike.

use super::support::{Answer, Core, NfProcess, Protocol, json_create, request};
use serde_json::json;

const BOTH: [Protocol; 2] = [Protocol::Http1, Protocol::H2c];

fn get(protocol: Protocol, nf: &NfProcess, path: &str) -> Answer {
    request(protocol, "GET", &format!("{}{path}", nf.admin()), "", b"")
}

/// Case 48: health is told on HTTP/1.1 and h2c.
#[test]
fn every_path_answers_on_both_protocols() {
    let nfs = ["amf", "smf", "udm", "udr"].map(|nf_type| NfProcess::start(nf_type, &[]));
    for (protocol, version) in BOTH.into_iter().zip(["1.1", "2"]) {
        for nf in &nfs {
            for (path, said) in [
                ("/livez", json!({"status": "alive"})),
                ("/readyz", json!({"status": "ready"})),
                ("/mock5g/v1/held", json!([])),
                ("/mock5g/v1/resources", json!([])),
                ("/mock5g/v1/events", json!([])),
            ] {
                let answer = get(protocol, nf, path);
                assert_eq!((answer.status, answer.version.as_str()), (200, version), "{path}: {answer:?}");
                assert_eq!(answer.header("content-type"), "application/json", "{path}");
                assert_eq!(answer.json(), said, "{path}");
            }
        }
    }
}

#[test]
fn head_is_answered_without_a_body() {
    let udm = NfProcess::start("udm", &[]);
    for protocol in BOTH {
        for path in ["/livez", "/readyz"] {
            let answer = request(protocol, "HEAD", &format!("{}{path}", udm.admin()), "", b"");
            let length = get(protocol, &udm, path).body.len().to_string();
            assert_eq!((answer.status, answer.header("content-length")), (200, &*length), "{answer:?}");
            assert!(answer.body.is_empty(), "{answer:?}");
        }
    }
}

#[test]
fn errors_are_problems_that_say_what_would_have_been_right() {
    let udm = NfProcess::start("udm", &[]);
    for protocol in BOTH {
        for (method, path, status, said) in [
            ("GET", "/nope", 404, "below /mock5g/v1: nfs"),
            ("GET", "/mock5g/v1/held?state=open", 400, "expected nf"),
            ("POST", "/livez", 405, "Method Not Allowed"),
            ("GET", "/mock5g/v1/held?nf=smf", 404, "there is udm"),
            ("GET", "/mock5g/v1/resources?state=lost", 400, "expected open or one of"),
            ("GET", "/mock5g/v1/events?after=-1", 400, "a whole number"),
            ("GET", "/mock5g/v1/events?after=1&after=2", 400, "expected one value"),
            ("GET", "/mock5g/v1/events?nf=smf", 404, "there is udm"),
        ] {
            let answer = request(protocol, method, &format!("{}{path}", udm.admin()), "", b"");
            assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
            assert_eq!(answer.header("content-type"), "application/problem+json", "{method} {path}");
            let problem = answer.json();
            assert_eq!(problem["status"], status);
            assert!(problem["detail"].as_str().unwrap().contains(said), "{method} {path}: {problem}");
        }
    }
}

#[test]
fn resources_and_events_can_be_narrowed_down() {
    let core = Core::start();
    let (content_type, body) = json_create(core.amf.sbi());
    let created = request(Protocol::H2c, "POST", &core.sm_contexts(), &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}");
    let many = |path: &str| core.smf.tells(path).as_array().unwrap().len();
    assert_eq!(many("/mock5g/v1/resources"), 2);
    assert_eq!(many("/mock5g/v1/resources?state=committed"), 2);
    assert_eq!(many("/mock5g/v1/resources?state=hanging"), 0);
    let events = core.smf.tells("/mock5g/v1/events?nf=smf");
    let third = events[2]["seq"].as_u64().unwrap();
    assert_eq!(core.smf.tells(&format!("/mock5g/v1/events?after={third}"))[0], events[3]);
}
