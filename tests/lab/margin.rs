//! Our rule 3 to TS 29.500 §6.11.2.2 (Rel-17): work stops `margin_ms` before the deadline and releases start at once;
//! the 504 leaves at the deadline, never before it; a success in time leaves at once.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, assert_504_t, create_a, deadline_ms, is, lab, lab_with_udm, lab_with_udr, now_ms, place, reg_a,
    send,
};
use sbi::event::Kind;

#[actix::test]
async fn no_upstream_call_starts_once_only_the_margin_is_left() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("GET", "/sm-data", Reply::json(200, &serde_json::json!([])).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.deadline.margin_ms = 300).start().await;
    let call = create_a(&lab).pair(0, "500");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    assert!(now_ms() >= deadline, "the 504 left before the deadline");
    gate.open();
    lab.settle().await;
    assert_eq!(stub.methods(), ["GET"]);
}

#[actix::test]
async fn a_request_with_nothing_but_the_margin_left_asks_nothing_upstream() {
    let lab = lab().policies(|p| p.deadline.margin_ms = 60_000).start().await;
    for (call, wrapped) in [(create_a(&lab), true), (reg_a(&lab), false)] {
        let call = call.pair(0, "300");
        let deadline = deadline_ms(&call);
        assert_504_t(&send(&lab, call).await, wrapped);
        assert!(now_ms() >= deadline, "the 504 left before the deadline");
    }
    assert!(!lab.events().iter().any(|e| e.event == Kind::UpstreamSent), "{}", lab.transcript());
}

#[actix::test]
async fn releases_start_before_the_504_leaves() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/", Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.deadline.margin_ms = 700).start().await;
    let call = create_a(&lab).pair(0, "1200");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    assert!(now_ms() >= deadline, "the 504 left before the deadline");
    let released = place(&lab, "release", is("smf", Kind::ReleaseSent));
    let refused = place(&lab, "refusal", is("smf", Kind::RequestRefusedLate));
    assert!(released < refused, "{}", lab.transcript());
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn the_504_never_leaves_before_the_deadline() {
    let stub = Stub::start().await;
    stub.on("GET", "/smf-registrations/", Reply::silence());
    let lab = lab_with_udr(&stub).start().await;
    for max in ["0", "1", "4", "5", "6", "17", "40", "111"] {
        let call = reg_a(&lab).pair(0, max);
        let deadline = deadline_ms(&call);
        assert_504_t(&send(&lab, call).await, false);
        assert!(now_ms() >= deadline, "Max-Rsp-Time {max}");
    }
}

#[actix::test]
async fn a_success_in_time_leaves_at_once() {
    let lab = lab().start().await;
    assert_eq!(send(&lab, create_a(&lab).pair(0, "99999")).await.status, 201);
    let sent = lab.wait_for("the answer", is("smf", Kind::ResponseSent)).await;
    assert!(sent.budget_left_ms.unwrap() > 40_000.0, "it was held back: {sent:?}");
}
