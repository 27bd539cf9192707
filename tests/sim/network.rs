//! Networks that fail: what can be released is, and what cannot is told.

use crate::world::{self, held, ms, one_session, transcript};
use mock5g::lab::{Lab, PduSession};
use mock5g::simulation::Weather;
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use std::collections::BTreeMap;
use tokio::time::sleep;

fn play<S: Future<Output = ()> + 'static>(scenario: impl FnOnce(std::rc::Rc<Lab>) -> S + 'static) {
    world::play(world::quick_lab(Lab::builder()), Weather::calm(1), scenario);
}

/// The connection stays open on both sides and carries nothing any more, until pings find out.
#[test]
fn a_create_on_a_dead_connection_is_settled_over_a_new_one() {
    play(|lab| async move {
        lab.establish(PduSession::of(1)).await;
        lab.fault(Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").delay_ms(100).once());
        let cut = async {
            sleep(ms(100)).await;
            lab.network().partition("smf", "udm");
            sleep(ms(1_000)).await;
            lab.network().repair("smf", "udm");
        };
        let session = PduSession::default().max_rsp_time_ms(400);
        let (outcome, ()) = tokio::join!(lab.establish(session), cut);
        assert_eq!(outcome.as_str(), "gave_up", "{}", transcript(&lab));
        lab.release(&PduSession::of(1)).await;
        lab.expect_nothing_hanging().await;
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}

#[test]
fn messages_that_are_held_back_for_a_while_do_no_harm() {
    for (a, b) in [("amf", "smf"), ("smf", "udm"), ("udm", "udr")] {
        play(move |lab| async move {
            lab.network().hold(a, b);
            let slow = async {
                sleep(ms(700)).await;
                lab.network().release(a, b);
            };
            let session = PduSession::default().max_rsp_time_ms(400);
            let (outcome, ()) = tokio::join!(lab.establish(session), slow);
            assert_eq!(outcome.as_str(), "gave_up", "{}", transcript(&lab));
            let retry = lab.establish(PduSession::default()).await;
            assert_eq!(retry.as_str(), "established", "{}", transcript(&lab));
            lab.expect_nothing_hanging().await;
            assert_eq!(held(&lab).await, one_session("smf"), "{a} {b} {}", transcript(&lab));
        });
    }
}

#[test]
fn what_cannot_be_released_is_told() {
    play(|lab| async move {
        lab.establish(PduSession::default()).await;
        lab.fault(Rule::at("udm").matching("DELETE", "/smf-registrations/").effect(Effect::status(503)));
        lab.release(&PduSession::default()).await;
        let verdict = lab.verdict().await;
        assert_eq!(lab.count("smf", Kind::ResourceHanging), 1, "{}", transcript(&lab));
        assert!(verdict.left.iter().any(|l| l.ends_with("(reported by smf)")), "{verdict:#?}");
    });
}

/// Its stream is reset when `settle_ms` ends, yet its producer may be at it for longer: finding nothing proves nothing.
#[test]
fn a_put_of_which_nothing_is_ever_heard_is_looked_for_and_told() {
    play(|lab| async move {
        lab.fault(Rule::at("udm").matching("PUT", "/smf-registrations/").effect(Effect::Drop).once());
        lab.establish(PduSession::default().max_rsp_time_ms(400)).await;
        let verdict = lab.verdict().await;
        assert!(lab.count("smf", Kind::ReleaseSent) > 2, "{}", transcript(&lab));
        assert_eq!(verdict.hanging, 1, "{verdict:#?}\n{}", transcript(&lab));
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}

/// A gateway answers for a producer that has done what it was asked for.
#[test]
fn behind_a_gateways_504_the_registration_is_looked_for() {
    play(|lab| async move {
        let html = Effect::json(504, "\"upstream timed out\"");
        lab.fault(Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").effect(html).once());
        let outcome = lab.establish(PduSession::default()).await;
        assert_eq!(outcome.as_str(), "refused", "{}", transcript(&lab));
        lab.expect_nothing_hanging().await;
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}
