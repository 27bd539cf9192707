//! Until when the client of a request waits, in monotonic time.

use crate::clock::{Clock, Instant};
use crate::header::{Pair, SenderTimestamp};
use std::time::Duration;

/// The moment at which the client of a request stops waiting: Sender-Timestamp + Max-Rsp-Time.
///
/// TS 29.500 §6.11.2.2 (Rel-17). The standard does not say which side equality falls on; our choice: expired when
/// `now >= deadline`. Converted from wall-clock time once, on receipt.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    pair: Pair,
    received: Instant,
    received_unix_us: i64,
    left_at_receipt_us: i64,
}

impl Deadline {
    /// Converts the pair of a request that has just arrived. `tolerance_ms` is added for clocks that are not quite
    /// synchronised.
    pub fn on_receipt(pair: Pair, clock: &Clock, tolerance_ms: u64) -> Self {
        let received_unix_us = clock.unix_us();
        let expires_us = pair.expires_at_unix_ms().saturating_mul(1000);
        let tolerance_us = i64::try_from(tolerance_ms).unwrap_or(i64::MAX).saturating_mul(1000);
        let left_at_receipt_us = expires_us.saturating_sub(received_unix_us).saturating_add(tolerance_us);
        Deadline { pair, received: clock.now(), received_unix_us, left_at_receipt_us }
    }

    /// The deadline in monotonic time; the moment of receipt where it had passed by then.
    pub fn at(&self) -> Instant {
        self.received + Duration::from_micros(self.left_at_receipt_us.max(0).unsigned_abs())
    }

    /// Whether the client has stopped waiting.
    pub fn expired(&self, now: Instant) -> bool {
        self.left_us(now) <= 0
    }

    /// Milliseconds that the client still waits; negative once it has stopped.
    pub fn left_ms(&self, now: Instant) -> f64 {
        self.left_us(now) as f64 / 1000.0
    }

    fn left_us(&self, now: Instant) -> i64 {
        let since = now.saturating_duration_since(self.received).as_micros();
        self.left_at_receipt_us.saturating_sub(i64::try_from(since).unwrap_or(i64::MAX))
    }

    /// When work for a create or update stops: `margin_ms` before the deadline, so that the releases start and the
    /// answer is ready in time.
    pub fn work_until(&self, margin_ms: u64) -> Instant {
        let margin = Duration::from_millis(margin_ms);
        self.at().checked_sub(margin).unwrap_or(self.received).max(self.received)
    }

    /// When the request was sent, by its sender's clock.
    pub fn sent(&self) -> SenderTimestamp {
        self.pair.stamp
    }

    /// Age of the request on receipt, in ms: negative if its stamp lies in the future of this NF's clock.
    pub fn age_on_receipt_ms(&self) -> i64 {
        self.received_unix_us.div_euclid(1000).saturating_sub(self.pair.stamp.unix_ms())
    }

    /// Why a request is refused as late, for a person: its age, its limit and this NF's clock, so that clocks that
    /// differ can be told from slow peers.
    pub fn explain(&self, now: Instant, clock: &Clock) -> String {
        let here = now.saturating_duration_since(self.received).as_millis();
        let age = i128::from(self.age_on_receipt_ms()) + i128::try_from(here).unwrap_or(0);
        format!(
            "the request was sent at {}, {} ago by this NF's clock ({}); its client waits {} ms",
            self.pair.stamp,
            human_ms(age),
            clock.stamp(),
            self.pair.max.ms(),
        )
    }
}

/// Milliseconds as a person reads them: `812 ms`, `5.0 min`, `1.5 years`.
fn human_ms(ms: i128) -> String {
    const UNITS: [(f64, &str); 5] =
        [(31_557_600e3, "years"), (86_400e3, "days"), (3_600e3, "h"), (60e3, "min"), (10e3, "s")];
    let size = ms.unsigned_abs() as f64;
    match UNITS.iter().find(|(unit, _)| size >= *unit) {
        Some((_, "s")) => format!("{:.1} s", ms as f64 / 1e3),
        Some((unit, name)) => format!("{:.1} {name} ({ms} ms)", ms as f64 / unit),
        None => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::MaxRspTime;

    fn deadline(sent_ms_ago: i64, max_ms: u64) -> (Deadline, Clock) {
        let clock = Clock::system();
        let stamp = SenderTimestamp::from_unix_ms(clock.stamp().unix_ms() - sent_ms_ago);
        let pair = Pair::new(stamp, MaxRspTime::from_ms(max_ms).expect("in range"));
        (Deadline::on_receipt(pair, &clock, 0), clock)
    }

    #[test]
    fn equality_is_expired() {
        let (deadline, _) = deadline(0, 500);
        assert!(!deadline.expired(deadline.at() - Duration::from_micros(1)));
        assert!(deadline.expired(deadline.at()));
    }

    #[test]
    fn a_stamp_of_1970_and_one_far_ahead_do_not_overflow() {
        let (old, clock) = deadline(1_800_000_000_000, 99_999);
        assert!(old.expired(clock.now()));
        assert!(old.explain(clock.now(), &clock).contains("years"));
        let (ahead, clock) = deadline(-300_000, 10_000);
        assert!(!ahead.expired(clock.now()));
        assert!(ahead.age_on_receipt_ms() < -299_000);
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_no_deadline() {
        let (deadline, clock) = deadline(0, 3_000);
        clock.step_ms(7_200_000);
        assert!(!deadline.expired(clock.now()));
        clock.step_ms(-14_400_000);
        assert!(deadline.left_ms(clock.now()) <= 3_000.0);
    }

    #[test]
    fn work_stops_the_margin_before_the_deadline_but_not_before_receipt() {
        let (far, _) = deadline(0, 500);
        assert_eq!(far.at() - far.work_until(5), Duration::from_millis(5));
        let (near, _) = deadline(0, 3);
        assert_eq!(near.work_until(5), near.received);
    }
}
