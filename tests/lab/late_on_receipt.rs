//! TS 29.500 §6.11.2.2 (Rel-17), our rule 1: a request that is late on receipt is refused before its body is read and
//! before anything is asked upstream.

use crate::support::raw::Connection;
use crate::support::{
    Headers, REGISTRATION_AT_UDR, SUPI, assert_504_t, create_a, every_read_and_write, lab, problem, reg_a,
    request, send,
};
use http::Method;
use sbi::event::Kind;
use sbi::header::{MAX_RSP_TIME, SENDER_TIMESTAMP};
use sbi::policy::Mode;

#[actix::test]
async fn late_request_is_refused_before_any_upstream_call() {
    let lab = lab().start().await;
    let calls = every_read_and_write(&lab);
    let expected = calls.len();
    for call in calls {
        let wrapped = call.path().ends_with("/sm-contexts");
        assert_504_t(&send(&lab, call.pair(-3_000, "1000")).await, wrapped);
    }
    let (mut refused, mut sent) = (0, 0);
    for event in lab.events() {
        refused += usize::from(event.event == Kind::RequestRefusedLate);
        sent += usize::from(event.event == Kind::UpstreamSent);
    }
    assert_eq!((refused, sent), (expected, 0), "{}", lab.transcript());
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn it_is_refused_before_its_body_is_read() {
    let lab = lab().start().await;
    for call in [create_a(&lab), reg_a(&lab), request(&lab, Method::PUT, "udr", "/nudr-dr/v2/x")] {
        let root = call.uri.strip_suffix(call.path()).unwrap().to_owned();
        let mut connection = Connection::open(&root).await;
        let head_only = connection.begin(&call.clone().pair(-3_000, "1000")).await;
        let answer = head_only.answer().await.unwrap();
        assert_504_t(&answer, call.path().ends_with("/sm-contexts"));
        let next = connection.answer(&call.pair(-3_000, "1000")).await;
        assert_eq!(next.status, 504, "the connection goes on");
    }
}

#[actix::test]
async fn the_refusal_says_who_refuses_and_why() {
    let lab = lab().start().await;
    let call = reg_a(&lab).pair(-3_000, "1000");
    let stamp = call.headers[SENDER_TIMESTAMP].to_str().unwrap().to_owned();
    let answer = send(&lab, call).await;
    let udm = lab.process().nf("udm").unwrap().party.instance_id;
    assert_eq!(answer.headers["server"], format!("UDM-{udm}"));
    let problem = problem(&answer, false);
    assert_eq!(problem["title"], "Gateway Timeout");
    let detail = problem["detail"].as_str().unwrap();
    for part in [&*stamp, " ago by this NF's clock (", "its client waits 1000 ms"] {
        assert!(detail.contains(part), "{part:?} in {detail:?}");
    }
}

#[actix::test]
async fn equality_is_late() {
    let lab = lab().start().await;
    assert_504_t(&send(&lab, reg_a(&lab).pair(0, "0")).await, false);
    assert_eq!(lab.count("udm", Kind::UpstreamSent), 0);
}

#[actix::test]
async fn only_both_headers_together_make_a_deadline() {
    let lab = lab().start().await;
    let sm_data = || request(&lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data"));
    for lonely in [SENDER_TIMESTAMP, MAX_RSP_TIME] {
        let mut call = sm_data().pair(-3_000, "0");
        call.headers.remove(lonely);
        assert_eq!(send(&lab, call).await.status, 200);
    }
    assert_eq!(lab.count("udm", Kind::TimingMalformed), 1, "a lonely stamp is legal, a lonely limit is not");
}

#[actix::test]
async fn an_operator_may_turn_the_check_off_or_tolerate_some_skew() {
    let lab = lab().policy("udm", |p| p.deadline.mode = Mode::Off);
    let lab = lab.policy("udr", |p| p.deadline.skew_tolerance_ms = 60_000).start().await;
    for nf in ["udm", "udr"] {
        let calls = every_read_and_write(&lab).into_iter().filter(|c| c.uri.starts_with(&lab.api_root(nf)));
        for call in calls {
            let answer = send(&lab, call.pair(-3_000, "1000")).await;
            assert_ne!(answer.status, 504, "{answer:?}");
        }
    }
    let beyond = request(&lab, Method::GET, "udr", REGISTRATION_AT_UDR).pair(-120_000, "1000");
    assert_504_t(&send(&lab, beyond).await, false);
}
