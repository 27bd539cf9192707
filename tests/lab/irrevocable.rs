//! Our rule 6 to TS 29.500 §6.11.2.2 (Rel-17): what cannot be taken back leaves only after the last checkpoint. Here
//! that is RELEASED to the AMF of a context that a newer one replaces, TS 29.502 §5.2.2.6 (Rel-17).

use crate::support::stub::Stub;
use crate::support::{Headers, assert_504_t, body_a, create, lab, send, with};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::fault::Rule;
use serde_json::{Value, json};

/// BODY-A from an AMF that wants to hear at `stub`.
fn body_of(lab: &Lab, stub: &Stub) -> Value {
    with(body_a(lab), "smContextStatusUri", json!(format!("{}/status", stub.root())))
}

#[actix::test]
async fn the_old_amf_hears_nothing_while_the_newer_create_may_still_fail() {
    let (old, new) = (Stub::start().await, Stub::start().await);
    let lab = lab().start().await;
    let context = send(&lab, create(&lab, &body_of(&lab, &old))).await.location().unwrap().to_owned();
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(500).once());
    assert_504_t(&send(&lab, create(&lab, &body_of(&lab, &new)).pair(0, "300")).await, true);
    lab.settle().await;
    assert_eq!((old.journal().len(), new.journal().len()), (0, 0), "{}", lab.transcript());
    let retrieved = send(&lab, Call::new(Method::POST, format!("{context}/retrieve"))).await;
    assert_eq!(retrieved.status, 200, "the older context lives on");
}

#[actix::test]
async fn the_old_amf_hears_of_the_end_once_the_newer_success_is_out() {
    let (old, new) = (Stub::start().await, Stub::start().await);
    let lab = lab().start().await;
    let context = send(&lab, create(&lab, &body_of(&lab, &old))).await.location().unwrap().to_owned();
    assert_eq!(send(&lab, create(&lab, &body_of(&lab, &new))).await.status, 201);
    let told = old.wait("POST", "/status").await;
    let info = &told.json()["statusInfo"];
    assert_eq!(info["resourceStatus"], "RELEASED");
    assert_eq!(info["cause"], "REL_DUE_TO_DUPLICATE_SESSION_ID");
    let retrieved = send(&lab, Call::new(Method::POST, format!("{context}/retrieve"))).await;
    assert_eq!((retrieved.status.as_u16(), new.journal().len()), (404, 0));
}

#[actix::test]
async fn the_amf_that_replaces_its_own_context_is_not_told() {
    let amf = Stub::start().await;
    let lab = lab().start().await;
    for _ in 0..2 {
        assert_eq!(send(&lab, create(&lab, &body_of(&lab, &amf))).await.status, 201);
    }
    lab.settle().await;
    assert_eq!(amf.journal().len(), 0);
}
