//! TS 29.500 table 5.2.7.2-1 (Rel-17), our rule 4: `TIMED_OUT_REQUEST` says that the client's time is over, and
//! nothing else; what this NF's own timer or a dead upstream ends is `TARGET_NF_NOT_REACHABLE`.

use crate::support::stub::{Reply, Stub};
use crate::support::{
    Headers, assert_504, create_a, deadline_ms, lab, lab_with_udm, lab_with_udr, ms, now_ms, reg_a, send,
};
use h2::Reason;
use mock5g::lab::{Builder, Lab};
use sbi::party::NfType;
use sbi::policy::Policy;
use tokio::net::TcpSocket;

const CLIENT: &str = "TIMED_OUT_REQUEST";
const TARGET: &str = "TARGET_NF_NOT_REACHABLE";

/// Asserts this cause for CREATE-A at an SMF and for REG-A at a UDM whose upstreams answer the first read so. The
/// clients wait `max`, if they say so.
async fn expect(cause: &str, reply: Reply, max: Option<&str>, change: impl Fn(&mut Policy)) {
    let stub = Stub::start().await;
    stub.on("GET", "/", reply);
    for at_smf in [true, false] {
        let lab = if at_smf { lab_with_udm(&stub) } else { lab_with_udr(&stub) };
        judge(cause, lab.policies(&change).start().await, at_smf, max).await;
    }
}

async fn judge(cause: &str, lab: Lab, at_smf: bool, max: Option<&str>) {
    let call = if at_smf { create_a(&lab) } else { reg_a(&lab) };
    let call = max.map_or(call.clone(), |max| call.pair(0, max));
    let not_before = if cause == CLIENT { deadline_ms(&call) } else { 0 };
    assert_504(&send(&lab, call).await, at_smf, cause);
    assert!(now_ms() >= not_before, "the 504 left before the deadline");
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn silence_until_the_clients_deadline_is_timed_out_request() {
    expect(CLIENT, Reply::silence(), Some("250"), |_| {}).await;
}

#[actix::test]
async fn silence_until_our_own_timer_is_target_not_reachable() {
    expect(TARGET, Reply::silence(), None, |p| p.max_rsp_time = ms(150)).await;
    expect(TARGET, Reply::silence(), Some("30000"), |p| p.max_rsp_time = ms(150)).await;
}

#[actix::test]
async fn a_504_timed_out_on_a_budget_that_was_passed_on_is_the_clients_deadline() {
    expect(CLIENT, Reply::problem(504, CLIENT), Some("250"), |_| {}).await;
}

#[actix::test]
async fn a_504_timed_out_on_our_own_timer_is_target_not_reachable() {
    expect(TARGET, Reply::problem(504, CLIENT), None, |_| {}).await;
    expect(TARGET, Reply::problem(504, CLIENT), Some("60000"), |p| p.max_rsp_time = ms(5_000)).await;
}

#[actix::test]
async fn a_504_of_any_other_cause_is_target_not_reachable() {
    expect(TARGET, Reply::problem(504, TARGET), Some("10000"), |_| {}).await;
    expect(TARGET, Reply::status(504), Some("10000"), |_| {}).await;
}

#[actix::test]
async fn an_exchange_that_the_upstream_ends_is_target_not_reachable() {
    for reply in [Reply::reset(Reason::INTERNAL_ERROR), Reply::reset(Reason::CANCEL), Reply::hang_up()] {
        expect(TARGET, reply, Some("10000"), |_| {}).await;
    }
}

#[actix::test]
async fn a_refused_connection_is_target_not_reachable() {
    // Bound, so that no other test gets the port, and never listening.
    let port = TcpSocket::new_v4().unwrap();
    port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}", port.local_addr().unwrap());
    let start = |lab: Builder, peer| lab.peer(peer, &nobody).start();
    for (peer, at_smf) in [(NfType::Udm, true), (NfType::Udr, false)] {
        judge(TARGET, start(lab(), peer).await, at_smf, Some("10000")).await;
    }
}
