//! TS 29.501 §4.3 (Rel-17), and the OpenAPI files of each API: what our NFs send is as the files say. Every lab is judged
//! at its end; here, that this can fail.

use crate::support::lab;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mock5g::lab::{Lab, PduSession};
use sbi::event::{RequestId, TraceId};
use sbi::traffic::{Content, Direction, Exchange};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Whether there are files; `.cargo/config.toml` says where, so that no run goes without unnoticed.
fn has_files() -> bool {
    let dir = std::env::var_os("MOCK5G_OPENAPI_DIR").expect("cargo sets MOCK5G_OPENAPI_DIR");
    Path::new(&dir).is_dir()
}

fn json(body: &str) -> Content {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Content::new(headers, Bytes::copy_from_slice(body.as_bytes()))
}

/// A registration that an NF sent, or that it received and answered.
fn exchange(nf: &str, direction: Direction, request: &str, answer: &str) -> Exchange {
    Exchange {
        unix_us: 0,
        nf: nf.into(),
        direction,
        served: RequestId(1),
        trace: TraceId(1),
        peer: "udm".into(),
        method: Method::PUT,
        uri: "http://udm/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5".into(),
        request: json(request),
        answer: Some((StatusCode::OK, json(answer))),
        faulted: false,
    }
}

/// How a lab ends if this was recorded in it.
fn end_of(lab: Lab, planted: Exchange) -> Result<(), String> {
    lab.process().env.traffic.record(planted);
    let end = catch_unwind(AssertUnwindSafe(|| drop(lab)));
    end.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

const GOOD: &str = r#"{"smfInstanceId": "22222222-2222-4222-8222-222222222222", "pduSessionId": 5,
    "singleNssai": {"sst": 1}, "plmnId": {"mcc": "001", "mnc": "01"}}"#;

#[actix::test]
async fn a_wrong_request_of_ours_fails_its_lab() {
    let wrong = GOOD.replace("\"001\"", "\"1\"");
    let end = end_of(lab().start().await, exchange("smf", Direction::Sent, &wrong, GOOD));
    if has_files() {
        let failed = end.expect_err("a failure");
        assert!(failed.contains("smf sends PUT http://udm/nudm-uecm/"), "{failed}");
        assert!(failed.contains("/plmnId/mcc: \"1\" does not match"), "{failed}");
    }
}

#[actix::test]
async fn a_wrong_answer_of_ours_fails_its_lab() {
    let planted = exchange("udm", Direction::Received, "{}", &GOOD.replace("pduSessionId", "id"));
    let end = end_of(lab().start().await, planted);
    if has_files() {
        let failed = end.expect_err("a failure");
        assert!(
            failed.contains("udm answers 200 to PUT") && failed.contains("/pduSessionId: missing"),
            "{failed}"
        );
    }
}

#[actix::test]
async fn what_is_not_ours_or_was_changed_by_a_fault_is_not_judged() {
    let wrong = |direction| exchange("smf", direction, "{}", "{}");
    for planted in [
        Exchange { nf: "client".into(), ..wrong(Direction::Sent) },
        Exchange { faulted: true, ..wrong(Direction::Received) },
        Exchange { answer: None, ..wrong(Direction::Received) },
        Exchange { uri: "/no/operation".into(), ..wrong(Direction::Sent) },
        Exchange { request: Content { cut: true, ..json("{") }, ..wrong(Direction::Sent) },
    ] {
        let what = format!("{planted:?}");
        assert_eq!(end_of(lab().start().await, planted), Ok(()), "{what}");
    }
}

#[actix::test]
async fn a_session_from_beginning_to_end_is_schema_true() {
    let lab = lab().start().await;
    lab.establish(PduSession::default()).await;
    lab.release(&PduSession::default()).await;
    lab.expect_nothing_hanging().await;
    lab.stop().await;
}
