//! NFs that crash and are started anew within a run, as the same party at the same place.

use crate::crash_at::{self, CrashAt};
use crate::world::{self, held, ms, transcript};
use mock5g::lab::{Lab, PduSession};
use mock5g::simulation::{Dice, Medium, Weather};
use sbi::event::Kind;
use sbi::fault::Rule;
use sbi::journal::Crash;
use std::collections::BTreeMap;
use tokio::time::sleep;

/// While its slow journal lags behind, each NF crashes at every step of a UE's life.
#[test]
fn a_crash_at_any_time_leaves_nothing() {
    let only = std::env::var("MOCK5G_CELL").ok();
    let wanted = |crash: &CrashAt| only.as_ref().is_none_or(|only| *only == crash.name());
    let failed: Vec<_> = crash_at::all().filter(wanted).filter(|crash| crash.fails()).collect();
    let names: Vec<_> = failed.iter().map(CrashAt::name).collect();
    assert!(
        names.is_empty(),
        "{names:?} left something behind; play one alone with\n  \
         MOCK5G_CELL={} cargo test --release -p tests --test sim a_crash_at_any_time",
        names[0]
    );
}

/// What the UDR has written is still there; what was asked of it while it was down is asked again.
#[test]
fn a_udr_that_crashes_is_back_and_nothing_is_left() {
    for crash_ms in (0..300).step_by(7) {
        let lab = world::quick_lab(Lab::builder()).journal("udr", Medium::memory(Dice::of_seed(crash_ms)));
        world::play(lab, Weather::calm(1), move |lab| async move {
            lab.establish(PduSession::of(1)).await;
            lab.fault(Rule::at("udr").matching("PUT", "").delay_ms(60).once());
            let crash = async {
                sleep(ms(crash_ms)).await;
                lab.crash("udr", Crash::Process).await;
                sleep(ms(100)).await;
                lab.restart("udr").await;
            };
            let session = PduSession::default().max_rsp_time_ms(200);
            let (outcome, ()) = tokio::join!(lab.establish(session), crash);
            let verdict = lab.verdict().await;
            let established = usize::from(outcome.as_str() == "established");
            let what = format!("{crash_ms} {outcome:?} {verdict:?}\n{}", transcript(&lab));
            assert!(verdict.is_clean() && verdict.committed == 5 + 5 * established, "{what}");
            lab.release(&PduSession::of(1)).await;
            lab.release(&PduSession::default()).await;
            lab.expect_nothing_hanging().await;
            assert_eq!(held(&lab).await, BTreeMap::new(), "{what}");
        });
    }
}

/// Its memory is gone with it: its consumer finds nothing to release there, and what it made itself is an orphan.
#[test]
fn an_smf_that_crashes_has_forgotten_and_serves_again() {
    world::play(world::quick_lab(Lab::builder()), Weather::calm(1), |lab| async move {
        let before = lab.api_root("smf");
        lab.establish(PduSession::default()).await;
        lab.step_clock("smf", 20);
        let clock = lab.process().nf("smf").unwrap().party.env.clock.clone();
        lab.crash("smf", Crash::Process).await;
        let refused = lab.establish(PduSession::of(1).max_rsp_time_ms(300)).await;
        assert_eq!(refused.as_str(), "refused", "{}", transcript(&lab));
        lab.restart("smf").await;
        assert_eq!(lab.api_root("smf"), before);
        assert_eq!(lab.process().nf("smf").unwrap().party.env.clock.unix_us(), clock.unix_us());
        let verdict = lab.verdict().await;
        assert_eq!((verdict.left.len(), verdict.missing.len()), (2, 1), "{verdict:#?}");
        let retry = lab.establish(PduSession::default()).await;
        assert_eq!(retry.as_str(), "established", "{}", transcript(&lab));
        assert_eq!(lab.verdict().await.missing, [""; 0], "{}", transcript(&lab));
    });
}

#[test]
fn what_a_crashed_amf_was_asked_for_has_no_outcome() {
    world::play(world::quick_lab(Lab::builder()), Weather::calm(1), |lab| async move {
        lab.fault(Rule::at("udm").matching("PUT", "").delay_ms(500).once());
        let crash = async {
            lab.wait_for("the create", |e| &*e.nf == "smf" && e.event == Kind::RequestReceived).await;
            lab.crash("amf", Crash::Process).await;
        };
        let (outcome, ()) = tokio::join!(lab.try_establish(PduSession::default()), crash);
        assert_eq!(outcome, None, "{}", transcript(&lab));
        assert_eq!(lab.try_release(&PduSession::default()).await, None);
        lab.restart("amf").await;
        lab.settle().await;
        // The SMF could not hand its success over, and so has released it.
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
        assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
    });
}
