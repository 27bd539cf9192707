//! Our rule 18 to TS 29.500 §6.11.2.2 (Rel-17): attempts, not identities. An old attempt's release never hits what a
//! newer attempt made; creates and releases at a fixed URI are waited for, within the newer attempt's own deadline.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, SMF_A, SMF_B, assert_504_t, body_a, create, create_a, is_about, lab_with_udm, lab_with_udr, ms,
    register, send, with,
};
use sbi::event::Kind;
use serde_json::{Value, json};

const SLOT: &str = "/smf-registrations/";

/// The writes at the slot, in order: method, and who or what was written.
fn writes(stub: &Stub, attribute: &str) -> Vec<(String, Value)> {
    let writes = stub.journal().into_iter().filter(|r| r.path.contains(SLOT) && r.method != "GET");
    writes.map(|r| (r.method.clone(), r.json()[attribute].clone())).collect()
}

#[actix::test]
async fn a_create_in_flight_holds_back_a_retry_on_its_slot_and_is_then_superseded() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    let retry = send(&lab, create(&lab, &with(body_a(&lab), "dnn", json!("ims"))));
    let opened = async {
        stub.wait_for("the retry", |r| r.method == "POST" && r.json()["dnn"] == "ims").await;
        assert_eq!(stub.count("PUT", SLOT), 1, "it overtook the create in flight");
        gate.open();
    };
    let (answer, ()) = tokio::join!(retry, opened);
    assert_eq!(answer.status, 201, "{}", lab.transcript());
    lab.settle().await;
    assert_eq!(writes(&stub, "dnn"), [("PUT".into(), json!("internet")), ("PUT".into(), json!("ims"))]);
}

#[actix::test]
async fn a_retry_waits_for_the_slot_within_its_own_deadline_only() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    for _ in 0..2 {
        assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    }
    assert_eq!((stub.count("PUT", SLOT), stub.count("DELETE", SLOT)), (1, 0));
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn a_release_that_was_sent_is_waited_for_before_the_newer_attempt_writes() {
    let (stub, late, slow) = (Stub::start().await, Gate::closed(), Gate::closed());
    stub.once("PUT", SLOT, Reply::status(201).behind(&late));
    stub.once("DELETE", SLOT, Reply::status(204).behind(&slow));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.timer = ms(60_000)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    late.open();
    stub.wait("DELETE", SLOT).await;
    let retry = send(&lab, create(&lab, &with(body_a(&lab), "dnn", json!("ims"))));
    let opened = async {
        stub.wait_for("the retry", |r| r.method == "POST" && r.json()["dnn"] == "ims").await;
        assert_eq!(stub.count("PUT", SLOT), 1, "it wrote while the release was under way");
        slow.open();
    };
    let (answer, ()) = tokio::join!(retry, opened);
    assert_eq!(answer.status, 201);
    lab.settle().await;
    let methods: Vec<_> = writes(&stub, "dnn").into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, ["PUT", "DELETE", "PUT"]);
}

#[actix::test]
async fn a_queued_release_is_cancelled_when_a_newer_attempt_takes_the_slot() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("PUT", SLOT, Reply::status(201).behind(&gate));
    stub.on("DELETE", SLOT, Reply::status(503));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.backoff = ms(20_000)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    gate.open();
    lab.wait_for("a failed release", is_failed_at_slot).await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 201);
    lab.settle().await;
    let methods: Vec<_> = writes(&stub, "dnn").into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, ["PUT", "DELETE", "PUT"], "the queued release is never sent again");
}

fn is_failed_at_slot(event: &sbi::event::Event) -> bool {
    event.event == Kind::ReleaseFailed && event.uri.as_ref().is_some_and(|uri| uri.contains(SLOT))
}

#[actix::test]
async fn a_newer_attempt_that_gives_up_releases_what_the_older_one_left() {
    let (stub, late, later) = (Stub::start().await, Gate::closed(), Gate::closed());
    stub.once("PUT", SLOT, Reply::status(201).behind(&late));
    stub.once("PUT", SLOT, Reply::problem(403, "UNKNOWN_5GS_SUBSCRIPTION").behind(&later));
    stub.once("DELETE", SLOT, Reply::status(503));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.backoff = ms(20_000)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    late.open();
    lab.wait_for("a failed release", is_failed_at_slot).await;
    later.open();
    assert_eq!(send(&lab, create_a(&lab)).await.status, 403);
    lab.expect_nothing_hanging().await;
    let methods: Vec<_> = writes(&stub, "dnn").into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, ["PUT", "DELETE", "PUT", "DELETE"], "the refused PUT changed nothing");
}

#[actix::test]
async fn at_the_udr_too_a_newer_write_waits_for_the_older_ones_fate() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("PUT", SLOT, Reply::status(204).behind(&gate));
    let lab = lab_with_udr(&stub).start().await;
    assert_504_t(&send(&lab, register(&lab, SMF_A).pair(0, "250")).await, false);
    let retry = send(&lab, register(&lab, SMF_B));
    let opened = async {
        let received = is_about("udm", Kind::RequestReceived, "PUT", SLOT);
        lab.wait_for("the retry", |e| received(e) && e.budget_left_ms.is_none()).await;
        assert_eq!(stub.count("PUT", SLOT), 1);
        gate.open();
    };
    let (answer, ()) = tokio::join!(retry, opened);
    assert_eq!(answer.status, 201, "{}", lab.transcript());
    lab.settle().await;
    let writes = writes(&stub, "smfInstanceId");
    assert_eq!(writes.last(), Some(&("PUT".into(), json!(SMF_B))), "{writes:?}");
}
