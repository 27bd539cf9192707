//! The check on receipt: one implementation for NFs, SCP and SEPP, before the body is read.

use super::kind::RequestKind;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::header::{Fraction, Malformed, SENDER_TIMESTAMP, Timing};
use crate::policy::{DeadlinePolicy, LateRelease, Mode};
use http::HeaderMap;

/// An age beyond which clocks are said to differ: no client waits so long.
pub const ABSURD_AGE_MS: i64 = 60_000;

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
    /// [`ABSURD_AGE_MS`], or in the future.
    pub skew_ms: Option<i64>,
}

impl Admission {
    /// Reads the headers of a request that has just arrived.
    ///
    /// TS 29.500 §6.11.2.2 (Rel-17). Our choices: malformed headers are ignored and counted, `strict` answers 400.
    pub fn read(headers: &HeaderMap, policy: &DeadlinePolicy, clock: &Clock) -> Self {
        if policy.mode == Mode::Off || !headers.contains_key(SENDER_TIMESTAMP) && !has_max(headers) {
            return Admission::default();
        }
        let timing = if policy.strict { Timing::read_strict(headers) } else { Timing::read(headers) };
        match timing {
            Timing::Absent | Timing::StampOnly => Admission::default(),
            Timing::Malformed(malformed) => Admission { malformed: Some(malformed), ..Admission::default() },
            Timing::Pair(pair) => {
                let deadline = Deadline::on_receipt(pair, clock, policy.skew_tolerance_ms);
                let age = deadline.age_on_receipt_ms();
                let latest = if pair.fraction == Fraction::Missing { -999 } else { 0 };
                Admission {
                    deadline: Some(deadline),
                    malformed: None,
                    completed: pair.fraction == Fraction::Missing,
                    skew_ms: (age > ABSURD_AGE_MS || age < latest).then_some(age),
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

fn has_max(headers: &HeaderMap) -> bool {
    headers.contains_key(crate::header::MAX_RSP_TIME)
}
