//! Our rule 9 to TS 29.500 §6.11.2.2 (Rel-17): when the wait ends a read is cancelled; a create goes on in the
//! background, so that its late answer is seen: a late success is released, a late failure is noted.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, SUBSCRIPTIONS, assert_504_t, create_a, is, is_about, lab_with_udm, lab_with_udr, ms, reg_a, send,
};
use h2::Reason;
use mock5g::lab::PduSession;
use sbi::event::Kind;
use sbi::fault::Rule;

#[actix::test]
async fn a_read_is_cancelled_when_its_wait_ends() {
    let stub = Stub::start().await;
    stub.on("GET", "/", Reply::silence());
    for at_smf in [true, false] {
        let lab = if at_smf { lab_with_udm(&stub) } else { lab_with_udr(&stub) };
        let lab = lab.start().await;
        let call = if at_smf { create_a(&lab) } else { reg_a(&lab) };
        assert_504_t(&send(&lab, call.pair(0, "200")).await, at_smf);
        let path = if at_smf { "/sm-data" } else { "/smf-registrations/" };
        let reset = stub.wait_for("a reset", |r| r.path.contains(path) && r.reset.is_some()).await;
        assert_eq!(reset.reset, Some(Reason::CANCEL));
    }
}

#[actix::test]
async fn a_create_goes_on_and_its_late_success_is_released() {
    for (method, path) in [("POST", "/sdm-subscriptions"), ("PUT", "/smf-registrations/")] {
        let (stub, gate) = (Stub::start().await, Gate::closed());
        let location = format!("{}/made/1", stub.root());
        stub.on(method, path, Reply::status(201).header("location", location).behind(&gate));
        let lab = lab_with_udm(&stub).start().await;
        assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
        assert_eq!(stub.received(method, path)[0].reset, None, "the stream is still open");
        gate.open();
        let late = lab.wait_for("a late answer", is_about("smf", Kind::ResponseLate, method, path)).await;
        assert_eq!(late.status, Some(201));
        lab.expect_nothing_hanging().await;
        let released = stub.journal().into_iter().filter(|r| r.method == "DELETE").count();
        assert_eq!(released, if method == "PUT" { 2 } else { 1 }, "{:#?}", stub.journal());
    }
}

#[actix::test]
async fn a_late_failure_is_noted_and_nothing_is_released() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/", Reply::problem(403, "UNKNOWN_5GS_SUBSCRIPTION").behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    gate.open();
    let late = lab.wait_for("a late answer", is("smf", Kind::ResponseLate)).await;
    assert_eq!(late.status, Some(403));
    lab.expect_nothing_hanging().await;
    assert_eq!(stub.count("DELETE", "/smf-registrations/"), 0);
}

#[actix::test]
async fn a_late_create_is_awaited_at_most_settle_ms() {
    let stub = Stub::start().await;
    stub.on("PUT", "/smf-registrations/", Reply::silence());
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.settle = ms(400)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let put = stub.wait_for("the end of the PUT", |r| r.method == "PUT" && r.reset.is_some()).await;
    assert_eq!(put.reset, Some(Reason::CANCEL));
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn settle_ms_never_cuts_short_what_was_announced() {
    let stub = Stub::start().await;
    stub.on("PUT", "/smf-registrations/", Reply::status(201).after_ms(150));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.settle = ms(0)).start().await;
    assert_eq!(send(&lab, create_a(&lab).pair(0, "20000")).await.status, 201, "{}", lab.transcript());
}

#[actix::test]
async fn the_amfs_late_201_is_released() {
    let lab = mock5g::lab::Lab::builder().start().await;
    lab.fault(Rule::at("smf").on_response().matching("POST", "/sm-contexts$").delay_ms(600).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(300)).await;
    assert_eq!(outcome.as_str(), "gave_up");
    lab.wait_for("the late 201", is("amf", Kind::ResponseLate)).await;
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 5, committed 0, released 5, hanging 0");
}

/// The head alone tells what was created, and where.
#[actix::test]
async fn a_201_whose_body_never_ends_is_released_at_its_location() {
    let stub = Stub::start().await;
    let location = format!("{}{SUBSCRIPTIONS}/1", stub.root());
    stub.once("POST", "/sdm-subscriptions", Reply::status(201).header("location", &location).without_end());
    let lab = lab_with_udm(&stub).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 1, committed 0, released 1, hanging 0");
    assert_eq!(stub.methods(), ["GET", "POST", "DELETE"]);
    stub.expect_no_leak();
}
