//! TS 29.500 §6.11.2.2 (Rel-17): a request that has timed out is refused, and what it had created is released.

use amf::Outcome;
use mock5g::lab::{Lab, PduSession};
use sbi::fault::Rule;

#[actix::test]
async fn everything_in_time_is_established() {
    let lab = Lab::builder().start().await;
    let outcome = lab.establish(PduSession::default()).await;
    assert!(matches!(outcome, Outcome::Established { .. }), "{outcome:?}\n{}", lab.transcript());
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 5, committed 5, released 0, hanging 0");
    lab.release(&PduSession::default()).await;
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 5, committed 0, released 5, hanging 0");
    lab.stop().await;
}

#[actix::test]
async fn a_late_third_answer_releases_what_came_before() {
    let lab = Lab::builder().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(800).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
    assert!(matches!(outcome, Outcome::GaveUp { .. }), "{outcome:?}\n{}", lab.transcript());
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 4, committed 0, released 4, hanging 0", "{}", lab.transcript());
    lab.stop().await;
}
