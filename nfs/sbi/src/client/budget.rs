//! How long an upstream call may take.

use super::Upstream;
use crate::clock::{Clock, Instant};
use crate::header::{MaxRspTime, Pair};
use crate::party::Served;
use crate::planted::planted;
use crate::policy::Policy;
use crate::turns::NoTurn;
use std::time::Duration;

/// Which limit bounds a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The deadline of the request that is being served, less the margin.
    ClientDeadline,
    /// This NF's own timer.
    OwnTimer,
}

/// Until when a call is waited for: the earlier of the own timer and the served request's deadline less the margin,
/// counted from the decision to call, so that connecting and queueing count too.
///
/// TS 29.500 §6.11.2.2 (Rel-17) does not say what a server announces upstream; our choice: what is really left.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    until: Instant,
    bound: Bound,
}

impl Budget {
    /// The budget of a call that is decided on now; `None` if the served request has no time left for one.
    pub fn of(served: &Served, policy: &Policy, now: Instant) -> Option<Budget> {
        let own = Budget::own(served.own_timer.unwrap_or(policy.max_rsp_time), now);
        if planted!(WorkOn) {
            return Some(own);
        }
        let budget = match served.work_deadline().map(|d| d.work_until(policy.deadline.margin_ms)) {
            Some(until) if until <= own.until => Budget { until, bound: Bound::ClientDeadline },
            _ => own,
        };
        (budget.until > now).then_some(budget)
    }

    /// A budget of a call of this NF's own, whoever is being served.
    pub fn own(timer: Duration, now: Instant) -> Budget {
        Budget { until: now + timer, bound: Bound::OwnTimer }
    }

    /// When the wait ends.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Which limit that is.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Milliseconds left.
    pub fn left_ms(&self, now: Instant) -> f64 {
        self.until.saturating_duration_since(now).as_secs_f64() * 1000.0
    }

    /// The pair for a request that leaves now. None if the wait is too long to be expressed: a clamped value would
    /// make servers give up early.
    pub fn pair(&self, clock: &Clock) -> Option<Pair> {
        let left = self.until.saturating_duration_since(clock.now()).as_millis();
        let max = MaxRspTime::from_ms(u64::try_from(left).unwrap_or(u64::MAX))?;
        Some(Pair::new(clock.stamp(), max))
    }

    /// What it means that the wait ended: the client's time, or our own timer.
    pub(crate) fn passed(&self) -> Upstream {
        match self.bound {
            Bound::ClientDeadline => Upstream::TimedOut,
            Bound::OwnTimer => Upstream::OwnTimer(None),
        }
    }
}

impl Budget {
    /// What it means that a turn was not to be had within this budget.
    pub(crate) fn no_turn(&self, no_turn: NoTurn) -> Upstream {
        match no_turn {
            NoTurn::TimedOut => self.passed(),
            NoTurn::Crowded => Upstream::Congested(no_turn.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline::Deadline;
    use crate::event::{RequestId, TraceId};

    fn served(left_ms: i64, only_releases: bool) -> Served {
        let clock = Clock::system();
        let pair = Pair::new(clock.stamp(), MaxRspTime::from_ms(left_ms.unsigned_abs()).expect("in range"));
        let deadline = Some(Deadline::on_receipt(pair, &clock, 0));
        Served { request: RequestId(1), trace: TraceId(1), deadline, only_releases, own_timer: None }
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_limit_bounds_a_call() {
        let (policy, now) = (Policy::default(), Instant::now());
        let bound = |ms| Budget::of(&served(ms, false), &policy, now).map(|b| b.bound());
        assert_eq!(bound(500), Some(Bound::ClientDeadline));
        assert_eq!(bound(20_000), Some(Bound::OwnTimer));
        assert_eq!(bound(5), None, "the margin is all that is left");
    }

    #[test]
    fn a_late_release_gets_a_budget_of_its_own() {
        let budget = Budget::of(&served(0, true), &Policy::default(), Instant::now());
        assert_eq!(budget.map(|b| b.bound()), Some(Bound::OwnTimer));
    }

    #[test]
    fn a_wait_that_cannot_be_expressed_is_not_announced() {
        let (clock, now) = (Clock::system(), Instant::now());
        assert!(Budget::own(Duration::from_secs(200), now).pair(&clock).is_none());
        let pair = Budget::own(Duration::from_secs(2), now).pair(&clock).expect("expressible");
        assert!((1_900..=2_000).contains(&pair.max.ms()));
    }
}
