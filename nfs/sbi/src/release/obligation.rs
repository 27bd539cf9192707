//! What a creator owes for one create: a pure state machine, facts in, steps out.

/// How far a create and its release have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Decided on, not sent.
    Intended,
    /// Sent; its outcome is not known.
    InFlight,
    /// The resource exists; the attempt that made it is still running.
    Held,
    /// The resource exists and has an owner.
    Owned,
    /// It is not wanted any more; its release is queued, running or tried again.
    Releasing,
    /// It is gone, or is another's now.
    Released,
    /// There is nothing to release: it was never made, or a newer attempt took its place.
    Void,
    /// It may exist, and cannot be released or addressed.
    Hanging,
}

impl State {
    /// Whether nothing is left to do.
    pub fn is_final(self) -> bool {
        matches!(self, State::Released | State::Void | State::Hanging)
    }

    /// As in the ledger: `in-flight`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Intended => "intended",
            State::InFlight => "in-flight",
            State::Held => "held",
            State::Owned => "committed",
            State::Releasing => "releasing",
            State::Released => "released",
            State::Void => "void",
            State::Hanging => "hanging",
        }
    }
}

/// Something that became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The create leaves now.
    Sent,
    /// The create was certainly not processed.
    NotSent,
    /// The create was answered with an error.
    Refused,
    /// The create was answered with success.
    Created,
    /// No answer, and none will come: the stream or connection ended.
    LostForGood,
    /// No answer within the time to settle; the peer may still be at it.
    LostForNow,
    /// The attempt gave up.
    GaveUp,
    /// The attempt succeeded: the resource has an owner.
    Committed,
    /// The owner ended.
    Disowned,
    /// The producer ended the resource by itself.
    EndedByProducer,
    /// A newer attempt took over the same URI.
    Superseded,
    /// The release was confirmed.
    ReleaseConfirmed,
    /// The release found nothing there.
    ReleaseFoundNothing,
    /// The release failed, or was not answered.
    ReleaseFailed,
}

impl Fact {
    /// Every fact.
    pub const ALL: &[Fact] = &[
        Fact::Sent,
        Fact::NotSent,
        Fact::Refused,
        Fact::Created,
        Fact::LostForGood,
        Fact::LostForNow,
        Fact::GaveUp,
        Fact::Committed,
        Fact::Disowned,
        Fact::EndedByProducer,
        Fact::Superseded,
        Fact::ReleaseConfirmed,
        Fact::ReleaseFoundNothing,
        Fact::ReleaseFailed,
    ];
}

/// What has to be done because of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Release it.
    Release,
    /// Try the release again, after a pause.
    Retry,
    /// Tell that it is hanging.
    Report,
}

/// What is known of the create's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outcome {
    Unanswered,
    Answered,
    LostForGood,
    LostForNow,
}

/// One create and what is owed for it.
///
/// `wanted` stands beside the state, since giving up and being answered are independent: while a create is
/// unanswered nothing is released, its late answer decides. `inherits`: an older attempt of ours left something at
/// the same URI, so there is something to release even if this create never happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Obligation {
    state: State,
    wanted: bool,
    inherits: bool,
    outcome: Outcome,
    tries_left: u32,
}

impl Obligation {
    /// A create that is decided on. Its release will be tried `tries` times.
    pub fn new(tries: u32) -> Self {
        Obligation {
            state: State::Intended,
            wanted: true,
            inherits: false,
            outcome: Outcome::Unanswered,
            tries_left: tries,
        }
    }

    /// How far it has come.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes over what an older attempt left at the same URI.
    pub fn inherit(&mut self) {
        self.inherits = true;
    }

    /// Takes in a fact. Facts that cannot be in this state change nothing.
    pub fn on(&mut self, fact: Fact) -> Option<Step> {
        use State::*;
        match (self.state, fact) {
            (Intended, Fact::Sent) => self.become_(InFlight),

            (Intended | InFlight, Fact::NotSent | Fact::Refused) if self.outcome == Outcome::Unanswered => {
                self.outcome = Outcome::Answered;
                if self.inherits { self.exists() } else { self.become_(Void) }
            }
            (InFlight, Fact::Created) if self.outcome == Outcome::Unanswered => {
                self.outcome = Outcome::Answered;
                self.exists()
            }
            (InFlight, Fact::LostForGood) if self.outcome == Outcome::Unanswered => {
                self.lost(Outcome::LostForGood)
            }
            (InFlight, Fact::LostForNow) if self.outcome == Outcome::Unanswered => {
                self.lost(Outcome::LostForNow)
            }

            (Intended | InFlight | Held, Fact::GaveUp) => {
                self.wanted = false;
                self.given_up()
            }
            (Held, Fact::Committed) => self.become_(Owned),
            (Owned, Fact::Disowned) => self.release(),
            (Owned, Fact::EndedByProducer) => self.become_(Released),

            (Held | Owned | Releasing, Fact::Superseded) => self.become_(Void),
            (InFlight, Fact::Superseded) if self.outcome != Outcome::Unanswered => self.become_(Void),

            (Releasing, Fact::ReleaseConfirmed) => self.become_(Released),
            (Releasing, Fact::ReleaseFoundNothing) if self.outcome == Outcome::Answered => {
                self.become_(Released)
            }
            (Releasing, Fact::ReleaseFoundNothing) if self.outcome == Outcome::LostForGood => {
                self.become_(Void)
            }
            (Releasing, Fact::ReleaseFoundNothing | Fact::ReleaseFailed) => self.failed(),
            _ => None,
        }
    }

    fn become_(&mut self, state: State) -> Option<Step> {
        self.state = state;
        None
    }

    /// The resource exists: held if the attempt still runs, else to be released.
    fn exists(&mut self) -> Option<Step> {
        if self.wanted { self.become_(State::Held) } else { self.release() }
    }

    /// The resource may exist. A running attempt is about to give up; one that has is past waiting.
    fn lost(&mut self, outcome: Outcome) -> Option<Step> {
        self.outcome = outcome;
        if self.wanted { None } else { self.release() }
    }

    fn given_up(&mut self) -> Option<Step> {
        match (self.state, self.outcome) {
            (State::Intended, _) if self.inherits => self.release(),
            (State::Intended, _) => self.become_(State::Void),
            (State::InFlight, Outcome::Unanswered) => None,
            _ => self.release(),
        }
    }

    fn release(&mut self) -> Option<Step> {
        self.state = State::Releasing;
        Some(Step::Release)
    }

    fn failed(&mut self) -> Option<Step> {
        self.tries_left = self.tries_left.saturating_sub(1);
        if self.tries_left > 0 {
            return Some(Step::Retry);
        }
        self.state = State::Hanging;
        Some(Step::Report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const TRIES: u32 = 2;
    const MAX_FACTS: usize = 8;

    /// What an observer remembers of one order of facts.
    #[derive(Clone, PartialEq, Eq, Hash, Default)]
    struct Seen {
        made: bool,
        unanswered: bool,
        lost_for_now: bool,
        gave_up: bool,
        superseded: bool,
        releases: u32,
    }

    fn take(before: &Obligation, seen: &mut Seen, fact: Fact) -> Obligation {
        let mut after = before.clone();
        let step = after.on(fact);
        if before.state().is_final() {
            assert_eq!((&after, step), (before, None), "final states stay");
        }
        let changed = after != *before;
        match fact {
            Fact::Sent if changed => seen.unanswered = true,
            Fact::Created if changed => seen.made = true,
            Fact::LostForNow if changed => seen.lost_for_now = true,
            Fact::GaveUp if changed => seen.gave_up = true,
            Fact::Superseded if changed => seen.superseded = true,
            _ => {}
        }
        if changed
            && matches!(
                fact,
                Fact::Created | Fact::Refused | Fact::NotSent | Fact::LostForGood | Fact::LostForNow
            )
        {
            seen.unanswered = false;
        }
        if step == Some(Step::Release) {
            seen.releases += 1;
            assert!(!seen.unanswered, "nothing is released while its create is unanswered");
            assert!(
                seen.gave_up || fact == Fact::GaveUp || fact == Fact::Disowned,
                "what is wanted is not released"
            );
        }
        if changed {
            check(&after, seen, fact, step);
        }
        after
    }

    fn check(after: &Obligation, seen: &Seen, fact: Fact, step: Option<Step>) {
        assert!(seen.releases <= 1, "a release starts once");
        assert_eq!(step == Some(Step::Report), after.state() == State::Hanging, "what hangs is reported");
        if after.state() == State::Void && seen.made {
            assert!(seen.superseded, "what was made is never forgotten");
        }
        if after.state() == State::Owned {
            assert!(seen.made || after.inherits, "only what exists has an owner");
            assert!(!seen.gave_up, "what was given up gets no owner");
        }
        if matches!(after.state(), State::Released | State::Void) && seen.lost_for_now {
            assert_ne!(fact, Fact::ReleaseFoundNothing, "a create that may still land is looked for again");
        }
    }

    #[test]
    fn every_order_of_facts_up_to_length_8_keeps_the_promises() {
        for inherits in [false, true] {
            let mut start = Obligation::new(TRIES);
            if inherits {
                start.inherit();
            }
            let mut reached = HashSet::from([(start, Seen::default())]);
            for _ in 0..MAX_FACTS {
                let mut next = HashSet::new();
                for (obligation, seen) in &reached {
                    for fact in Fact::ALL {
                        let mut seen = seen.clone();
                        next.insert((take(obligation, &mut seen, *fact), seen));
                    }
                }
                reached = next;
            }
            let states: HashSet<_> = reached.iter().map(|(o, _)| o.state()).collect();
            assert_eq!(states.len(), 8, "every state is reached: {states:?}");
        }
    }

    fn run(facts: &[Fact]) -> (State, Vec<Option<Step>>) {
        let mut obligation = Obligation::new(TRIES);
        let steps = facts.iter().map(|f| obligation.on(*f)).collect();
        (obligation.state(), steps)
    }

    #[test]
    fn a_late_success_is_released() {
        let (state, steps) = run(&[Fact::Sent, Fact::GaveUp, Fact::Created]);
        assert_eq!((state, steps), (State::Releasing, vec![None, None, Some(Step::Release)]));
    }

    #[test]
    fn a_late_refusal_needs_nothing() {
        assert_eq!(run(&[Fact::Sent, Fact::GaveUp, Fact::Refused]).0, State::Void);
    }

    #[test]
    fn a_release_that_keeps_failing_is_reported_as_hanging() {
        let facts = [Fact::Sent, Fact::Created, Fact::GaveUp, Fact::ReleaseFailed, Fact::ReleaseFailed];
        let (state, steps) = run(&facts);
        assert_eq!((state, steps[3], steps[4]), (State::Hanging, Some(Step::Retry), Some(Step::Report)));
    }
}
