//! The check on receipt, before the body is read.

use super::kind::RequestKind;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::header::{Fraction, Malformed, Parsed, SenderTimestamp, Timing};
use crate::policy::{DeadlinePolicy, LateRelease, Mode};
use http::HeaderMap;

/// An age beyond which clocks are said to differ: no client waits so long.
pub const ABSURD_AGE_MS: i64 = 60_000;

/// How far ahead of this NF's clock a stamp may lie before clocks are said to differ.
pub const USUAL_LEAD_MS: i64 = 1_000;

/// What the timing headers of a request say.
#[derive(Debug, Default)]
pub struct Admission {
    /// Until when its client waits.
    pub deadline: Option<Deadline>,
    /// What is wrong with the headers; then they count as absent.
    pub malformed: Option<Malformed>,
    /// The stamp had no milliseconds and was read as `.999`.
    pub completed: bool,
    /// The request's age on receipt, if it shows that the clocks differ (or that it is a replay): beyond
    /// [`ABSURD_AGE_MS`], or more than [`USUAL_LEAD_MS`] in the future.
    pub skew_ms: Option<i64>,
    /// When it was sent by its sender's clock and arrived by this NF's, in ms since the Unix epoch, if it says so to the
    /// millisecond.
    pub sent_and_arrived: Option<(SenderTimestamp, i64)>,
    /// Why the headers do not count, whatever they say.
    pub ignored: Option<String>,
}

impl Admission {
    /// Reads the headers of a request that has just arrived.
    ///
    /// TS 29.500 §6.11.2.2 (Rel-17). Our choices: malformed headers are ignored and counted, `strict` answers 400.
    pub fn read(headers: &HeaderMap, policy: &DeadlinePolicy, clock: &Clock) -> Self {
        if policy.mode == Mode::Off {
            return Admission::default();
        }
        let timing = if policy.strict { Timing::read_strict(headers) } else { Timing::read(headers) };
        match timing {
            Timing::Absent => Admission::default(),
            _ if let Some(why) = policy.peers.objection(headers) => {
                Admission { ignored: Some(why), ..Admission::default() }
            }
            Timing::StampOnly(Parsed { stamp, fraction: Fraction::Milliseconds }) => {
                let arrived_ms = clock.unix_us().div_euclid(1_000);
                Admission { sent_and_arrived: Some((stamp, arrived_ms)), ..Admission::default() }
            }
            Timing::StampOnly(_) => Admission::default(),
            Timing::Malformed(malformed) => Admission { malformed: Some(malformed), ..Admission::default() },
            Timing::Pair(pair) => {
                let deadline = Deadline::on_receipt(pair, clock, policy.skew_tolerance_ms);
                let age = deadline.age_on_receipt_ms();
                let arrived_ms = pair.stamp.unix_ms().saturating_add(age);
                Admission {
                    deadline: Some(deadline),
                    sent_and_arrived: (pair.fraction == Fraction::Milliseconds)
                        .then_some((pair.stamp, arrived_ms)),
                    completed: pair.fraction == Fraction::Missing,
                    skew_ms: (!(-USUAL_LEAD_MS..=ABSURD_AGE_MS).contains(&age)).then_some(age),
                    ..Admission::default()
                }
            }
        }
    }

    /// Whether the request is refused now: its client has stopped waiting.
    pub fn is_late(&self, kind: RequestKind, policy: &DeadlinePolicy, clock: &Clock) -> bool {
        let expired = self.deadline.is_some_and(|d| d.expired(clock.now()));
        expired && !(kind == RequestKind::Release && policy.late_release == LateRelease::Perform)
    }
}
