//! TS 29.500 §6.11.2.2 (Rel-17) with clocks that are wrong: a deadline is converted once, on receipt, and is counted by
//! the monotonic clock from then on. Case 42.

use crate::world::{self, STRANGER, held, ms, one_session, play, transcript};
use amf::Outcome;
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use mock5g::simulation::Weather;
use mock5g::subscribers::supi;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::header::{MaxRspTime, Pair, SenderTimestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::time::{Instant, sleep};

const HOURS_MS: i64 = 3_600_000;
const EVERYBODY: [&str; 4] = ["amf", "smf", "udm", "udr"];

fn patient_lab() -> Builder {
    world::quick_lab(Lab::builder()).policies(|p| p.max_rsp_time = ms(5_000))
}

/// Starts a session whose last upstream answer takes `upstream_ms`, and steps the clocks of `nfs` at 500 ms. How it ended,
/// and after how many milliseconds.
async fn stepped(
    lab: &Rc<Lab>,
    nfs: &[&str],
    by_ms: i64,
    upstream_ms: u64,
    patience_ms: u64,
) -> (Outcome, u64) {
    lab.fault(
        Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").delay_ms(upstream_ms).once(),
    );
    let begin = Instant::now();
    let session = PduSession::default().max_rsp_time_ms(patience_ms);
    let step = async {
        sleep(ms(500)).await;
        nfs.iter().for_each(|nf| lab.step_clock(nf, by_ms));
    };
    let (outcome, ()) = tokio::join!(lab.establish(session), step);
    (outcome, begin.elapsed().as_millis() as u64)
}

#[test]
fn a_step_of_the_wall_clock_at_the_smf_does_not_fire_a_deadline() {
    for by_ms in [2 * HOURS_MS, -2 * HOURS_MS] {
        play(patient_lab(), Weather::calm(1), move |lab| async move {
            let (outcome, after_ms) = stepped(&lab, &["smf"], by_ms, 1_000, 3_000).await;
            assert_eq!(outcome.as_str(), "established", "{by_ms}: {}", transcript(&lab));
            assert!((1_000..1_200).contains(&after_ms), "{after_ms} ms");
            assert_eq!(lab.expect_nothing_hanging().await.committed, 5);
        });
    }
}

#[test]
fn a_step_of_the_wall_clock_at_the_smf_does_not_cancel_a_deadline() {
    for by_ms in [2 * HOURS_MS, -2 * HOURS_MS] {
        play(patient_lab(), Weather::calm(1), move |lab| async move {
            let (outcome, after_ms) = stepped(&lab, &["smf"], by_ms, 2_000, 1_000).await;
            assert_eq!(outcome.as_str(), "gave_up", "{by_ms}: {}", transcript(&lab));
            assert!((990..1_100).contains(&after_ms), "{after_ms} ms");
            assert_eq!(lab.count("smf", Kind::RequestRefusedLate), 1, "{}", transcript(&lab));
            lab.expect_nothing_hanging().await;
            assert_eq!(held(&lab).await, BTreeMap::new());
        });
    }
}

#[test]
fn after_the_host_slept_the_request_under_way_and_the_next_are_served() {
    for by_ms in [2 * HOURS_MS, -2 * HOURS_MS] {
        play(patient_lab(), Weather::calm(1), move |lab| async move {
            let (outcome, _) = stepped(&lab, &EVERYBODY, by_ms, 1_000, 3_000).await;
            assert_eq!(outcome.as_str(), "established", "{by_ms}: {}", transcript(&lab));
            let next = lab.establish(PduSession::of(1).max_rsp_time_ms(500)).await;
            assert_eq!(next.as_str(), "established", "{by_ms}: {}", transcript(&lab));
            assert_eq!(lab.expect_nothing_hanging().await.committed, 10);
        });
    }
}

/// Case 42: CREATE-A with Max-Rsp-Time 3000 takes 1000 ms upstream; at 500 ms the wall clock is stepped, and the next request
/// is stamped by the new clock.
async fn case_42(lab: Rc<Lab>, nfs: &'static [&'static str], by_ms: i64) {
    let (outcome, after_ms) = stepped(&lab, nfs, by_ms, 1_000, 3_000).await;
    assert_eq!(outcome.as_str(), "established", "{by_ms}: {}", transcript(&lab));
    assert!((1_000..1_200).contains(&after_ms), "{by_ms}: {after_ms} ms");
    let next = lab.establish(PduSession::of(1).max_rsp_time_ms(500)).await;
    if nfs == EVERYBODY {
        assert_eq!(next.as_str(), "established", "{by_ms}: {}", transcript(&lab));
    }
    for nf in EVERYBODY {
        let told = lab.events().into_iter().filter(|e| &*e.nf == nf && e.event == Kind::ClockStepped);
        let told: Vec<_> = told.filter_map(|e| e.detail).collect();
        assert_eq!(told.len(), usize::from(nfs.contains(&nf)), "{nf} {told:?}: {}", transcript(&lab));
        assert!(told.iter().all(|what| what.contains(&format!("by {by_ms} ms"))), "{told:?}");
    }
    lab.expect_nothing_hanging().await;
}

#[test]
fn case_42_a_step_of_the_host_is_told_once_by_each_nf_and_moves_no_deadline() {
    for by_ms in [2 * HOURS_MS, -2 * HOURS_MS] {
        play(patient_lab(), Weather::calm(1), move |lab| case_42(lab, &EVERYBODY, by_ms));
    }
}

#[test]
fn case_42_a_step_of_one_nf_is_told_once_by_it_alone() {
    for by_ms in [2 * HOURS_MS, -2 * HOURS_MS] {
        for nfs in [&["smf"], &["udm"], &["udr"]] {
            play(patient_lab(), Weather::calm(1), move |lab| case_42(lab, nfs, by_ms));
        }
    }
}

/// Whose clock it is, is told of by its peers: ahead at once, since nothing arrives before it was sent.
#[test]
fn a_clock_that_is_off_is_told_once_in_each_direction_and_again_when_it_is_right() {
    play(patient_lab(), Weather::calm(1), |lab| async move {
        let measured = |by: &str, of: &str| -> Vec<String> {
            let told =
                |e: &Event| &*e.nf == by && e.event == Kind::SkewMeasured && e.peer.as_deref() == Some(of);
            lab.events().into_iter().filter(told).filter_map(|e| e.detail).collect()
        };
        let rounds = async |count: u64| {
            for n in 0..count {
                lab.establish(PduSession::of(n).max_rsp_time_ms(4_000)).await;
                sleep(ms(1_000)).await;
            }
        };
        rounds(3).await;
        assert_eq!(lab.count("smf", Kind::SkewMeasured), 0, "{}", transcript(&lab));
        lab.step_clock("amf", 3_000);
        rounds(3).await;
        let ahead = measured("smf", "amf");
        assert!(ahead.len() == 1 && ahead[0].contains("ahead"), "{ahead:?}");
        let behind = measured("amf", "smf");
        assert!(behind.len() == 1 && behind[0].contains("behind"), "{behind:?}");
        lab.step_clock("amf", -3_000);
        rounds(40).await;
        for (by, of) in [("smf", "amf"), ("amf", "smf")] {
            let told = measured(by, of);
            assert!(told.len() <= 2, "{told:?}");
        }
        assert!(measured("smf", "amf")[1].contains("agrees"), "{}", transcript(&lab));
        assert_eq!(measured("udm", "smf"), [""; 0], "the others agree");
    });
}

/// A DELETE on a fixed URI that looks older than what is there is refused; the clocks are what differs.
#[test]
fn an_smf_whose_clock_was_set_back_still_releases() {
    play(patient_lab(), Weather::calm(1), |lab| async move {
        let outcome = lab.establish(PduSession::default()).await;
        assert_eq!(outcome.as_str(), "established", "{}", transcript(&lab));
        lab.step_clock("smf", -2 * HOURS_MS);
        lab.release(&PduSession::default()).await;
        lab.expect_nothing_hanging().await;
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}

/// Its new attempt is the more recent one, though its clock says that it began hours before.
#[test]
fn after_the_clocks_were_set_back_a_session_is_still_established_again() {
    play(patient_lab(), Weather::calm(1), |lab| async move {
        for by_ms in [-2 * HOURS_MS, 0, -2 * HOURS_MS] {
            let outcome = lab.establish(PduSession::default()).await;
            assert_eq!(outcome.as_str(), "established", "{}", transcript(&lab));
            EVERYBODY.iter().for_each(|nf| lab.step_clock(nf, by_ms));
        }
        assert_eq!(lab.expect_nothing_hanging().await.committed, 5);
    });
}

/// The AMF's stamps look `by_ms` younger or older to the SMF than they are.
#[test]
fn skew_between_amf_and_smf_moves_the_deadline_and_leaves_nothing() {
    for (amf_ms, patience_ms, expected) in [
        (0, 500, "established"),
        (-300, 500, "established"),
        (-300, 310, "gave_up"),
        (-2 * HOURS_MS, 500, "gave_up"),
        (300, 500, "established"),
        (2 * HOURS_MS, 500, "established"),
    ] {
        play(patient_lab(), Weather::calm(1), move |lab| async move {
            lab.step_clock("amf", amf_ms);
            lab.fault(
                Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").delay_ms(100).once(),
            );
            let outcome = lab.establish(PduSession::default().max_rsp_time_ms(patience_ms)).await;
            assert_eq!(outcome.as_str(), expected, "{amf_ms}: {}", transcript(&lab));
            lab.expect_nothing_hanging().await;
            let established = expected == "established";
            let expected = if established { one_session("smf") } else { BTreeMap::new() };
            assert_eq!(held(&lab).await, expected, "{amf_ms}: {}", transcript(&lab));
        });
    }
}

/// An AMF whose clock is ahead gives up before the SMF knows that it has: the late 201 is released.
#[test]
fn a_201_that_only_the_smf_takes_for_in_time_is_released() {
    play(patient_lab(), Weather::calm(1), |lab| async move {
        lab.step_clock("amf", 1_000);
        lab.fault(Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").delay_ms(800).once());
        let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
        assert_eq!(outcome.as_str(), "gave_up", "{}", transcript(&lab));
        lab.expect_nothing_hanging().await;
        assert_eq!(lab.count("amf", Kind::ResponseLate), 1, "{}", transcript(&lab));
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}

/// Registers session 5 of the first subscriber for an SMF, whose client waits so long.
fn register(lab: &Lab, smf: &str, patience_ms: u64) -> Call {
    let body = json!({
        "smfInstanceId": smf, "pduSessionId": 5, "dnn": "internet",
        "singleNssai": {"sst": 1}, "plmnId": {"mcc": "001", "mnc": "01"},
    });
    let path = api::nudm_uecm::smf_registration(&supi(0), api::common::PduSessionId(5));
    let mut call = Call::new(Method::PUT, format!("{}{path}", lab.api_root("udm"))).with_json(&body);
    let stamp = SenderTimestamp::from_unix_ms(lab.client().now_unix_ms());
    Pair::new(stamp, MaxRspTime::from_ms(patience_ms).unwrap()).write(&mut call.headers);
    call
}

/// A UDR carries out a DELETE for as long as its own clock says that the UDM waits for it. Until then, the UDM lets
/// nothing else into the slot.
#[test]
fn a_release_that_only_the_udr_takes_for_in_time_does_not_hit_the_next_registration() {
    const BEHIND_MS: i64 = 33;
    let lab = patient_lab().policies(|p| p.deadline.skew_tolerance_ms = 40);
    play(lab, Weather::calm(1), |lab| async move {
        lab.step_clock("udr", -BEHIND_MS);
        let timer = lab.process().nf("udm").unwrap().party.policy.release.timer.as_millis() as u64;
        lab.fault(Rule::at("udr").on_response().matching("PUT", "").delay_ms(300).once());
        lab.fault(Rule::at("udr").matching("DELETE", "").delay_ms(timer + 10).once());
        let given_up = lab.client().send(register(&lab, STRANGER, 200)).await.unwrap();
        assert_eq!(given_up.status, 504);
        lab.wait_for("the release", |e| &*e.nf == "udm" && e.event == Kind::ReleaseSent).await;
        let newer = "88888888-8888-4888-8888-888888888888";
        let answer = lab.client().send(register(&lab, newer, 3_000)).await.unwrap();
        assert!(answer.status.is_success(), "{answer:?} {}", transcript(&lab));
        lab.settle().await;
        let there = lab.client().send(Call { method: Method::GET, ..register(&lab, newer, 3_000) }).await;
        let there: Value = there.unwrap().json().unwrap();
        assert_eq!(there["smfInstanceId"], newer, "{}", transcript(&lab));
    });
}
