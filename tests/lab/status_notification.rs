//! TS 29.502 §5.2.2.6 (Rel-17): an SMF tells the AMF what became of an SM context.

use crate::support::{SUPI, body_a, create, request, send};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::client::Call;
use serde_json::json;

fn notification(lab: &Lab, status: &str) -> Call {
    let path = format!("/namf-callback/v1/sm-context-status/{SUPI}/5");
    request(lab, Method::POST, "amf", &path).with_json(&json!({"statusInfo": {"resourceStatus": status}}))
}

#[actix::test]
async fn released_ends_the_session_and_nothing_is_released_twice() {
    let lab = Lab::builder().start().await;
    lab.establish(PduSession::default()).await;
    for unchanged in ["UPDATED", "UNCHANGED", "SOMETHING_NEW"] {
        assert_eq!(send(&lab, notification(&lab, unchanged)).await.status, 204, "{unchanged}");
    }
    assert_eq!(send(&lab, notification(&lab, "RELEASED")).await.status, 204);
    let again = send(&lab, notification(&lab, "RELEASED")).await;
    assert_eq!((again.status.as_u16(), again.problem().cause.as_deref()), (404, Some("CONTEXT_NOT_FOUND")));
    lab.settle().await;
    let created = lab.process().resources().await.into_iter().filter(|r| r.by == "amf");
    assert_eq!(created.map(|r| r.state).collect::<Vec<_>>(), ["released"]);
}

#[actix::test]
async fn an_smf_tells_the_amf_whose_context_another_amf_replaced() {
    let lab = Lab::builder().start().await;
    lab.establish(PduSession::default()).await;
    let mut body = body_a(&lab);
    (body["sNssai"], body["smContextStatusUri"]) = (json!({"sst": 1}), json!("http://127.0.0.1:9/gone"));
    assert_eq!(send(&lab, create(&lab, &body)).await.status, 201);
    lab.wait_for("the news", |e| e.event == sbi::event::Kind::StatusNotified).await;
    lab.settle().await;
    assert_eq!(lab.release(&PduSession::default()).await, amf::Released::Unknown, "the session has ended");
}
