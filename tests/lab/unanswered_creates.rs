//! Our rule 10 to TS 29.500 §6.11.2.2 (Rel-17): while a create is unanswered nothing is deleted, its late answer
//! decides: a DELETE sent while the PUT is in flight would get 404, and then the PUT would land.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, assert_504, assert_504_t, create_a, is, lab_with_udm, lab_with_udr, ms, reg_a, send,
};
use h2::Reason;
use mock5g::lab::Builder;
use sbi::event::Kind;

const SLOT: &str = "/smf-registrations/";

#[actix::test]
async fn nothing_is_deleted_while_the_put_is_unanswered() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    stub.wait_for("the other release", |r| r.method == "DELETE" && r.answered.is_some()).await;
    assert_eq!(stub.count("DELETE", SLOT), 0, "it was deleted while its PUT was in flight");
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn once_its_connection_is_gone_a_known_uri_is_deleted_and_404_closes_it() {
    for lost in [Reply::hang_up(), Reply::reset(Reason::INTERNAL_ERROR), Reply::reset(Reason::CANCEL)] {
        let stub = Stub::start().await;
        stub.on("PUT", SLOT, lost);
        stub.on("DELETE", SLOT, Reply::problem(404, "CONTEXT_NOT_FOUND"));
        let lab = lab_with_udm(&stub).start().await;
        let answer = send(&lab, create_a(&lab).pair(0, "10000")).await;
        assert_504(&answer, true, "TARGET_NF_NOT_REACHABLE");
        lab.expect_nothing_hanging().await;
        assert_eq!((stub.count("PUT", SLOT), stub.count("DELETE", SLOT)), (1, 1));
    }
}

fn settling_soon(lab: Builder) -> Builder {
    lab.policy("smf", |p| {
        p.release.settle = ms(300);
        p.release.backoff = ms(10);
        p.release.tries = 4;
    })
}

#[actix::test]
async fn after_settle_ms_a_404_does_not_close_it_since_the_put_may_still_land() {
    let stub = Stub::start().await;
    stub.on("PUT", SLOT, Reply::silence());
    for _ in 0..2 {
        stub.once("DELETE", SLOT, Reply::problem(404, "CONTEXT_NOT_FOUND"));
    }
    let lab = settling_soon(lab_with_udm(&stub)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(
        (stub.count("DELETE", SLOT), verdict.released),
        (3, 2),
        "it was looked for until it was there"
    );
}

#[actix::test]
async fn what_is_never_found_is_reported_in_the_end() {
    let stub = Stub::start().await;
    stub.on("PUT", SLOT, Reply::silence());
    stub.on("DELETE", SLOT, Reply::problem(404, "CONTEXT_NOT_FOUND"));
    let lab = settling_soon(lab_with_udm(&stub)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let verdict = lab.verdict().await;
    assert_eq!((stub.count("DELETE", SLOT), verdict.hanging), (4, 1), "{verdict:?}");
    let hanging = lab.wait_for("a report", is("smf", Kind::ResourceHanging)).await;
    assert!(hanging.uri.unwrap().contains(SLOT));
}

#[actix::test]
async fn what_was_certainly_not_processed_is_not_deleted() {
    let stub = Stub::start().await;
    stub.on("PUT", SLOT, Reply::reset(Reason::REFUSED_STREAM));
    let lab = lab_with_udm(&stub).start().await;
    assert_504(&send(&lab, create_a(&lab).pair(0, "10000")).await, true, "TARGET_NF_NOT_REACHABLE");
    lab.expect_nothing_hanging().await;
    assert_eq!(stub.count("DELETE", SLOT), 0);
}

#[actix::test]
async fn a_refused_create_needs_no_release() {
    for status in [400, 403, 404, 409, 429, 500, 503] {
        let stub = Stub::start().await;
        stub.on("PUT", SLOT, Reply::status(status));
        let lab = lab_with_udr(&stub).start().await;
        let answer = send(&lab, reg_a(&lab)).await;
        assert!(answer.status.is_client_error() || answer.status.is_server_error(), "{status}: {answer:?}");
        lab.expect_nothing_hanging().await;
        assert_eq!(stub.methods(), ["GET", "PUT"], "{status}");
    }
}

#[actix::test]
async fn a_gateways_error_does_not_say_that_a_known_uri_was_not_written() {
    for status in [502, 504] {
        let stub = Stub::start().await;
        stub.on("PUT", SLOT, Reply::status(status));
        let lab = lab_with_udr(&stub).start().await;
        assert!(send(&lab, reg_a(&lab)).await.status.is_server_error());
        lab.expect_nothing_hanging().await;
        assert_eq!(stub.methods(), ["GET", "PUT", "DELETE"], "{status}");
    }
}
