//! TS 29.502 §5.2.2.6 (Rel-17): an SMF tells the AMF what became of an SM context.

use crate::support::stub::Stub;
use crate::support::{body_a, create, established_at, notification, send, status_uri};
use mock5g::lab::{Lab, PduSession};
use sbi::release::State;
use serde_json::json;

#[actix::test]
async fn released_ends_the_session_and_nothing_is_released_twice() {
    let smf = Stub::start().await;
    let (lab, uri) = established_at(&smf).await;
    for unchanged in ["UPDATED", "UNCHANGED", "SOMETHING_NEW"] {
        assert_eq!(send(&lab, notification(&uri, unchanged)).await.status, 204, "{unchanged}");
    }
    assert_eq!(send(&lab, notification(&uri, "RELEASED")).await.status, 204);
    let again = send(&lab, notification(&uri, "RELEASED")).await;
    assert_eq!((again.status.as_u16(), again.problem().cause.as_deref()), (404, Some("CONTEXT_NOT_FOUND")));
    lab.settle().await;
    let created = lab.process().resources().await.into_iter().filter(|r| r.by == "amf");
    assert_eq!(created.map(|r| r.state).collect::<Vec<_>>(), [State::Released]);
    assert_eq!(smf.methods(), ["POST"]);
}

#[actix::test]
async fn what_is_told_late_of_an_older_context_does_not_end_the_newer_one() {
    let smf = Stub::start().await;
    let (lab, older) = established_at(&smf).await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
    assert_eq!(send(&lab, notification(&older, "RELEASED")).await.status, 404);
    let newer = status_uri(&smf.received("POST", "/sm-contexts")[1]);
    assert_eq!(send(&lab, notification(&newer, "UPDATED")).await.status, 204, "the newer one lives");
    assert_eq!(lab.release(&PduSession::default()).await, amf::Released::Asked);
    assert_eq!(smf.count("POST", "/release"), 1);
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
