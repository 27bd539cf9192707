//! How long it takes to read both timing headers of a request and to check its deadline, against the same headers
//! without the two.

mod aims;
mod stats;

use aims::verdict;
use http::{HeaderMap, HeaderName, HeaderValue};
use sbi::clock::Clock;
use sbi::header::{MaxRspTime, Pair};
use sbi::policy::DeadlinePolicy;
use sbi::server::{Admission, RequestKind};
use stats::median;
use std::hint::black_box;
use std::time::Instant;

const AIM_NS: f64 = 100.0;
const ROUNDS: usize = 501;
const CHECKS_PER_ROUND: u32 = 2_000;

fn main() {
    let clock = Clock::system();
    let without = usual_headers();
    let with = with_deadline(&without, &clock);
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| (ns_per_check(&with, &clock), ns_per_check(&without, &clock))).collect();
    let with_ns = median(rounds.iter().map(|round| round.0));
    let without_ns = median(rounds.iter().map(|round| round.1));
    let cost_ns = median(rounds.iter().map(|(with, without)| with - without));
    println!(
        "headers   parse and check of both, with/without {:.2}: costs {cost_ns:.0} ns (aim {AIM_NS:.0}: {}), {:.0} ns of it to read clocks",
        with_ns / without_ns,
        verdict(cost_ns, AIM_NS, AIM_NS),
        ns_per_clock_readings(&clock),
    );
    println!(
        "          with {with_ns:.1} ns ({} headers), without {without_ns:.1} ns ({} headers); \
         medians of {ROUNDS} rounds of {CHECKS_PER_ROUND} checks each",
        with.len(),
        without.len(),
    );
}

/// What an SMF of a real core sends beside the timing headers.
fn usual_headers() -> HeaderMap {
    [
        ("user-agent", "SMF-4947a69a-f61b-4bc1-b9da-47c9c5d14b64"),
        ("accept", "application/json, application/problem+json"),
        ("content-type", "application/json"),
        ("content-length", "436"),
        ("3gpp-sbi-discovery-target-nf-type", "UDM"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ]
    .into_iter()
    .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
    .collect()
}

fn with_deadline(headers: &HeaderMap, clock: &Clock) -> HeaderMap {
    let mut headers = headers.clone();
    Pair::new(clock.stamp(), MaxRspTime::MAX).write(&mut headers);
    let admission = Admission::read(&headers, &DeadlinePolicy::default(), clock);
    assert!(admission.deadline.is_some(), "the headers that are measured are legal: {admission:?}");
    headers
}

fn ns_per_check(headers: &HeaderMap, clock: &Clock) -> f64 {
    let policy = DeadlinePolicy::default();
    let begin = Instant::now();
    for _ in 0..CHECKS_PER_ROUND {
        let admission = Admission::read(black_box(headers), &policy, clock);
        assert!(!black_box(&admission).is_late(RequestKind::Read, &policy, clock));
    }
    begin.elapsed().as_nanos() as f64 / f64::from(CHECKS_PER_ROUND)
}

/// A check reads the wall clock once and the monotonic clock twice: on receipt, and when it decides.
fn ns_per_clock_readings(clock: &Clock) -> f64 {
    let round = || {
        let begin = Instant::now();
        for _ in 0..CHECKS_PER_ROUND {
            black_box((clock.unix_us(), clock.now(), clock.now()));
        }
        begin.elapsed().as_nanos() as f64 / f64::from(CHECKS_PER_ROUND)
    };
    median((0..ROUNDS).map(|_| round()))
}
