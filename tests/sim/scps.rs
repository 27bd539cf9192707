//! TS 29.500 §6.11.2.2 (Rel-17): whatever SCPs a request passes, and however they forward it, its deadline stays the same to the
//! millisecond, and nothing is left hanging behind them.

use crate::world::{held, quick_lab, transcript};
use http::{HeaderMap, HeaderName};
use mock5g::lab::{Builder, Lab, PduSession};
use mock5g::simulation::Weather;
use nrf::HeartBeats;
use sbi::client::{Answer, Call};
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::header::{SenderTimestamp, TARGET_API_ROOT, TRACEPARENT, Timing};
use sbi::journal::Crash;
use sbi::policy::Forward;
use sbi::traffic::{Direction, Exchange};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const MOST_HOPS: usize = 6;

/// All call through so many SCPs; those whose bit is set stamp anew.
fn through(hops: usize, restamping: usize) -> Builder {
    let lab = quick_lab(Lab::builder()).through_scps(hops, false);
    (0..hops)
        .filter(|n| restamping >> n & 1 == 1)
        .fold(lab, |lab, n| lab.policy(&name(n), |policy| policy.deadline.forward = Forward::Restamp))
}

fn name(n: usize) -> String {
    if n == 0 { "scp".into() } else { format!("scp-{}", n + 1) }
}

/// What tells one request from another, and until when its client waits.
fn deadline(exchange: &Exchange) -> (String, i64) {
    let headers: &HeaderMap = &exchange.request.headers;
    let which = format!("{} {} {:?}", exchange.method, exchange.uri, headers.get(TRACEPARENT));
    let pair = Timing::read(headers).pair().unwrap_or_else(|| panic!("{which} has no deadline"));
    (which, pair.expires_at_unix_ms())
}

fn received(lab: &Lab, nf: &str) -> Vec<(String, i64)> {
    let all = lab.process().env.traffic.after(Some(nf), 0).into_iter().map(|(_, exchange)| exchange);
    all.filter(|exchange| exchange.direction == Direction::Received).map(|e| deadline(&e)).collect()
}

/// Every request that a producer received says what the first SCP was told.
fn expect_the_same_deadlines(lab: &Lab, hops: usize, restamping: usize) {
    let told: BTreeMap<_, _> = received(lab, "scp").into_iter().collect();
    let mut compared = 0;
    for nf in ["smf", "udm", "udr"] {
        for (which, until) in received(lab, nf) {
            assert_eq!(told.get(&which), Some(&until), "{hops} hops, {restamping:b}: {which}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared} requests went through {hops} SCPs:\n{}", transcript(lab));
}

async fn play(lab: Rc<Lab>, hops: usize, restamping: usize) {
    for n in 0..hops {
        // Some are behind, some ahead.
        lab.set_clock(&name(n), (n as i64 - 2) * 17);
    }
    lab.fault(Rule::at("udr").matching("PUT", "/smf-registrations/").delay_ms(700).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", transcript(&lab));
    let retry = lab.establish(PduSession::default().max_rsp_time_ms(5_000)).await;
    assert_eq!(retry.as_str(), "established", "{}", transcript(&lab));
    lab.release(&PduSession::default()).await;
    lab.expect_nothing_hanging().await;
    assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    expect_the_same_deadlines(&lab, hops, restamping);
}

#[test]
fn a_deadline_survives_any_chain_of_scps_to_the_millisecond() {
    for hops in 1..=MOST_HOPS {
        for restamping in 0..1 << hops {
            let scenario = move |lab| play(lab, hops, restamping);
            through(hops, restamping).simulate(Weather::calm(restamping as u64), scenario);
        }
    }
}

/// How long each hop of case 14 takes.
const HOP_MS: u64 = 150;

/// Reads access and mobility data through the chain, as a client that waits `max_ms`. The answer, how long it took, and until
/// when the client waits.
async fn ask_for_am_data(lab: &Lab, max_ms: i64) -> (Answer, i64, i64) {
    let sent = lab.client().now_unix_ms();
    let mut call = Call::get(format!("http://scp/nudm-sdm/v2/imsi-001010000000001/am-data?n={max_ms}"));
    let stamp = SenderTimestamp::from_unix_ms(sent).to_string();
    for (name, value) in [
        (TARGET_API_ROOT, "http://udm".to_owned()),
        (HeaderName::from_static("3gpp-sbi-sender-timestamp"), stamp),
        (HeaderName::from_static("3gpp-sbi-max-rsp-time"), max_ms.to_string()),
    ] {
        call.headers.insert(name, value.parse().expect("a header value"));
    }
    let answer = lab.client().send(call).await.expect("an answer");
    (answer, lab.client().now_unix_ms() - sent, sent + max_ms)
}

async fn play_case_14(lab: Rc<Lab>, hops: usize) {
    (0..hops).for_each(|n| lab.fault(Rule::at(&name(n)).matching("GET", "/am-data").delay_ms(HOP_MS)));
    let signed: Vec<_> =
        (0..hops).map(|n| lab.process().nf(&name(n)).expect("an SCP").party.signature()).collect();

    let (answer, took_ms, _) = ask_for_am_data(&lab, 500).await;
    let problem = answer.problem();
    assert_eq!((answer.status.as_u16(), problem.cause.as_deref()), (504, Some("TIMED_OUT_REQUEST")));
    let server = answer.headers["server"].to_str().expect("text");
    assert!(signed.iter().any(|scp| scp == server), "{server} is none of {signed:?}");
    assert!(problem.detail.is_some_and(|detail| detail.starts_with(server)), "{answer:?}");
    // Those who have nothing to say yet are given a moment.
    assert!((500..560).contains(&took_ms), "{took_ms} ms");
    lab.settle().await;
    let at = |nf: &str, kind: Kind| lab.events().iter().any(|e| &*e.nf == nf && e.event == kind);
    assert!(at("scp-4", Kind::RequestReceived), "three hops take {} ms:\n{}", 3 * HOP_MS, lab.transcript());
    assert!(!at("scp-4", Kind::UpstreamSent), "the fourth takes too long:\n{}", lab.transcript());
    assert_eq!(received(&lab, "scp-5"), [], "time had run out before it");
    assert_eq!(received(&lab, "udm"), [], "it was not troubled");

    let (answer, _, until) = ask_for_am_data(&lab, 2_000).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let via: Vec<_> = answer.headers.get_all("via").iter().map(|via| via.to_str().expect("text")).collect();
    assert!(signed.iter().all(|scp| via.iter().any(|via| via.ends_with(scp))), "{via:?}");
    let at_udm: Vec<_> = received(&lab, "udm").into_iter().map(|(_, until)| until).collect();
    assert_eq!(at_udm, [until], "the deadline of its client");
}

/// The sample: five hops of 150 ms each. The kind: whichever of them stamp anew.
#[test]
fn case_14_a_chain_of_proxies_keeps_one_clock_and_each_504_names_who_speaks() {
    const HOPS: usize = 5;
    for restamping in 0..1 << HOPS {
        through(HOPS, restamping)
            .simulate(Weather::calm(restamping as u64), move |lab| play_case_14(lab, HOPS));
    }
}

/// Case 36: an NRF that was restarted knows nobody. Its NFs are told so by their next heart-beat.
#[test]
fn case_36_a_lab_is_whole_again_a_heart_beat_after_its_nrf_was_restarted() {
    for down_ms in [0, 700, 30_000] {
        for interval_s in [2, 10] {
            // The hosts of a simulation have short names, which are no FQDNs.
            let lab = quick_lab(Lab::builder()).with_nrf(HeartBeats { interval_s }).unjudged();
            lab.simulate(Weather::calm(down_ms), move |lab| async move {
                lab.until_registered().await;
                lab.crash("nrf", Crash::Process).await;
                tokio::time::sleep(Duration::from_millis(down_ms)).await;
                let down = lab.events().len();
                lab.restart("nrf").await;
                tokio::time::sleep(Duration::from_secs(interval_s + 2)).await;
                let anew = lab.events()[down..].iter().filter(|e| is_registration(e)).count();
                assert_eq!(anew, 4, "AMF, SMF, UDM and UDR:\n{}", transcript(&lab));
                let outcome = lab.establish(PduSession::default()).await;
                assert_eq!(outcome.as_str(), "established", "{}", transcript(&lab));
                lab.release(&PduSession::default()).await;
                lab.expect_nothing_hanging().await;
            });
        }
    }
}

/// Whether the NRF has taken a registration.
fn is_registration(event: &Event) -> bool {
    event.event == Kind::NfChanged && event.detail.as_deref().is_some_and(|d| d.contains("NF_REGISTERED"))
}
