//! TS 29.500 §6.11.2.2 (Rel-17): whatever SCPs a request passes, and however they forward it, its deadline stays the same to the
//! millisecond, and nothing is left hanging behind them.

use crate::world::{held, quick_lab, transcript};
use http::HeaderMap;
use mock5g::lab::{Builder, Lab, PduSession};
use mock5g::simulation::Weather;
use sbi::fault::Rule;
use sbi::header::{TRACEPARENT, Timing};
use sbi::policy::Forward;
use sbi::traffic::{Direction, Exchange};
use std::collections::BTreeMap;
use std::rc::Rc;

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
