//! What a creator owes for one create: a pure state machine, facts in, steps out.

use crate::planted::planted;
use serde::{Deserialize, Serialize};

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
    /// Every state, in order.
    pub const ALL: [State; 8] = [
        State::Intended,
        State::InFlight,
        State::Held,
        State::Owned,
        State::Releasing,
        State::Released,
        State::Void,
        State::Hanging,
    ];

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
    /// It may exist, and there is no way to find out where.
    CannotBeFound,
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
        Fact::CannotBeFound,
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
    Lost,
}

/// What outlives a crash of an [`Obligation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remains {
    /// Its create was answered.
    pub(super) answered: bool,
    /// An older attempt of ours left something at the same URI.
    pub(super) inherits: bool,
    /// Its create, or that one's, may still be carried out.
    pub(super) may_land: bool,
}

/// One create and what is owed for it.
///
/// `wanted` stands beside the state, since giving up and being answered are independent: while a create is
/// unanswered nothing is released, its late answer decides. `inherits`: an older attempt of ours left something at
/// the same URI, so there is something to release even if this create never happened. `may_land`: this create, or
/// the one inherited from, may still be carried out, so that finding nothing proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Obligation {
    state: State,
    wanted: bool,
    inherits: bool,
    may_land: bool,
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
            may_land: false,
            outcome: Outcome::Unanswered,
            tries_left: tries,
        }
    }

    /// One that was found after a restart: nobody answers its create any more, and without an owner nobody wants it.
    pub(super) fn recovered(remains: Remains, is_owned: bool, tries: u32) -> Self {
        let Remains { answered, inherits, may_land } = remains;
        Obligation {
            state: if is_owned { State::Owned } else { State::Releasing },
            wanted: is_owned,
            inherits,
            may_land,
            outcome: if answered { Outcome::Answered } else { Outcome::Lost },
            tries_left: tries,
        }
    }

    /// What has to be known of it after a restart.
    pub(super) fn remains(&self) -> Remains {
        let answered = self.outcome == Outcome::Answered;
        Remains { answered, inherits: self.inherits, may_land: self.may_land }
    }

    /// How far it has come.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes over what an older attempt left at the same URI.
    pub fn inherit(&mut self, older: &Obligation) {
        if planted!(InheritNothing) {
            return;
        }
        self.inherits = true;
        self.may_land = older.may_land;
    }

    /// Takes in a fact. Facts that cannot be in this state change nothing.
    pub fn on(&mut self, fact: Fact) -> Option<Step> {
        use State::*;
        match (self.state, fact) {
            (Intended, Fact::Sent) => self.become_(InFlight),

            (Intended | InFlight, Fact::NotSent | Fact::Refused) if self.outcome == Outcome::Unanswered => {
                self.outcome = Outcome::Answered;
                if self.inherits || planted!(RefusedIsMade) { self.exists() } else { self.become_(Void) }
            }
            (InFlight, Fact::Created) if self.outcome == Outcome::Unanswered => {
                self.outcome = Outcome::Answered;
                self.exists()
            }
            (InFlight, Fact::LostForGood) if self.outcome == Outcome::Unanswered => self.lost(),
            (InFlight, Fact::LostForNow) if self.outcome == Outcome::Unanswered => {
                self.may_land = true;
                self.lost()
            }

            (Releasing, Fact::GaveUp | Fact::Disowned) if planted!(ReleaseTwice) => Some(Step::Release),
            (Intended | InFlight | Held, Fact::GaveUp) => {
                self.wanted = false;
                self.given_up()
            }
            (Held, Fact::Committed) => self.become_(Owned),
            (Owned, Fact::Disowned) if planted!(EndIsRelease) => self.become_(Released),
            (Owned, Fact::Disowned) => self.release(),
            (Owned, Fact::EndedByProducer) => self.become_(Released),

            (Held | Owned, Fact::Superseded) if planted!(ReleaseSuperseded) => self.release(),
            (Held | Owned | Releasing, Fact::Superseded) => self.become_(Void),
            (InFlight, Fact::Superseded) if self.outcome != Outcome::Unanswered => self.become_(Void),

            (Releasing, Fact::ReleaseConfirmed) => self.become_(Released),
            (Releasing, Fact::ReleaseFoundNothing) if !self.may_land || planted!(NothingIsProof) => {
                self.become_(if self.outcome == Outcome::Answered { Released } else { Void })
            }
            (Releasing, Fact::ReleaseFoundNothing | Fact::ReleaseFailed) => self.failed(),
            (Releasing, Fact::CannotBeFound) => self.hang(),
            _ => None,
        }
    }

    fn become_(&mut self, state: State) -> Option<Step> {
        self.state = state;
        None
    }

    /// The resource exists: held if the attempt still runs, else to be released.
    fn exists(&mut self) -> Option<Step> {
        if self.wanted || planted!(KeepLateSuccess) {
            self.become_(State::Held)
        } else if planted!(ForgetLateSuccess) {
            self.become_(State::Void)
        } else {
            self.release()
        }
    }

    /// The resource may exist. A running attempt is about to give up; one that has is past waiting.
    fn lost(&mut self) -> Option<Step> {
        if planted!(LostIsRefused) {
            return self.become_(State::Void);
        }
        self.outcome = Outcome::Lost;
        if self.wanted { None } else { self.release() }
    }

    fn given_up(&mut self) -> Option<Step> {
        match (self.state, self.outcome) {
            // It will not be sent any more.
            (State::Intended, _) => self.on(Fact::NotSent),
            (State::InFlight, Outcome::Unanswered) if !planted!(ReleaseWhileUnanswered) => None,
            _ => self.release(),
        }
    }

    fn release(&mut self) -> Option<Step> {
        self.state = State::Releasing;
        Some(Step::Release)
    }

    fn failed(&mut self) -> Option<Step> {
        if planted!(ForgetFailure) {
            return None;
        }
        if !planted!(TryForEver) {
            self.tries_left = self.tries_left.saturating_sub(1);
        }
        if self.tries_left > 0 && !planted!(NeverTryAgain) {
            return Some(Step::Retry);
        }
        self.hang()
    }

    fn hang(&mut self) -> Option<Step> {
        self.state = State::Hanging;
        (!planted!(HangInSilence)).then_some(Step::Report)
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
        inherits: bool,
        sent: bool,
        answered: bool,
        made: bool,
        may_land: bool,
        gave_up: bool,
        superseded: bool,
        releases: u32,
        retries: u32,
    }

    impl Seen {
        fn unanswered(&self) -> bool {
            self.sent && !self.answered
        }

        fn take(&mut self, fact: Fact, step: Option<Step>) {
            match fact {
                Fact::Sent => self.sent = true,
                Fact::Created => (self.made, self.answered) = (true, true),
                Fact::LostForNow => (self.may_land, self.answered) = (true, true),
                Fact::NotSent | Fact::Refused | Fact::LostForGood => self.answered = true,
                Fact::GaveUp | Fact::Disowned => self.gave_up = true,
                Fact::Superseded => self.superseded = true,
                _ => {}
            }
            self.releases += u32::from(step == Some(Step::Release));
            self.retries += u32::from(step == Some(Step::Retry));
        }
    }

    fn take(before: &Obligation, seen: &mut Seen, fact: Fact) -> Obligation {
        let mut after = before.clone();
        let step = after.on(fact);
        if before.state().is_final() {
            assert_eq!((&after, step), (before, None), "final states stay");
        }
        if before.state() == State::Releasing && fact == Fact::ReleaseFailed {
            assert!(matches!(step, Some(Step::Retry | Step::Report)), "a failure has a consequence");
        }
        if before.state() == State::Owned && after.state() != State::Owned {
            let ends = [Fact::Disowned, Fact::EndedByProducer, Fact::Superseded];
            assert!(
                ends.contains(&fact),
                "only its owner, its producer or a newer attempt ends what is owned"
            );
        }
        if after != *before {
            seen.take(fact, step);
            check(&after, seen, fact, step);
        } else {
            assert_eq!(step, None, "what changes nothing asks for nothing");
        }
        after
    }

    fn check(after: &Obligation, seen: &Seen, fact: Fact, step: Option<Step>) {
        let state = after.state();
        if seen.unanswered() {
            assert_eq!((state, step), (State::InFlight, None), "an unanswered create is waited for");
        }
        if step == Some(Step::Release) {
            assert!(seen.gave_up, "what is wanted is not released");
            assert!(seen.sent || seen.inherits, "what never was is not released");
        }
        assert!(
            seen.releases <= 1 && seen.retries < TRIES,
            "a release starts once and is tried so many times"
        );
        assert_eq!(step == Some(Step::Report), state == State::Hanging, "what hangs is reported");
        if seen.gave_up && (seen.answered || !seen.sent) {
            assert!(
                state == State::Releasing || state.is_final(),
                "what was given up is not kept: {state:?}"
            );
        }
        if matches!(fact, Fact::NotSent | Fact::Refused | Fact::GaveUp) {
            assert!(state != State::Void || !seen.inherits, "what an older attempt left is never forgotten");
        }
        match state {
            State::Held | State::Owned => assert!(seen.made || seen.inherits, "only what exists is held"),
            State::Void => assert!(!seen.made || seen.superseded, "what was made is never forgotten"),
            State::Released => {
                let proofs = [Fact::ReleaseConfirmed, Fact::ReleaseFoundNothing, Fact::EndedByProducer];
                assert!(proofs.contains(&fact), "what is released was confirmed to be");
            }
            _ => {}
        }
        if state.is_final() && seen.may_land && state != State::Hanging {
            assert_ne!(fact, Fact::ReleaseFoundNothing, "a create that may still land is looked for again");
        }
    }

    /// From wherever it has come to, it ends: at the latest when the owner ends, nothing is heard and every try fails.
    fn check_that_it_ends(obligation: &Obligation) {
        for last in [Fact::ReleaseConfirmed, Fact::ReleaseFailed] {
            let mut obligation = obligation.clone();
            for fact in [Fact::GaveUp, Fact::Disowned, Fact::LostForGood] {
                obligation.on(fact);
            }
            for _ in 0..TRIES {
                obligation.on(last);
            }
            assert!(obligation.state().is_final(), "{obligation:?} is stuck");
        }
    }

    /// A create with nothing before it, with a release that it took over, and with one that may still be needed again.
    fn beginnings() -> Vec<(Obligation, Seen)> {
        let mut older = Obligation::new(TRIES);
        let plain = (older.clone(), Seen::default());
        let heir_of = |older: &Obligation| {
            let mut heir = Obligation::new(TRIES);
            heir.inherit(older);
            (heir, Seen { inherits: true, may_land: older.may_land, ..Seen::default() })
        };
        let after_an_answer = heir_of(&older);
        for fact in [Fact::Sent, Fact::GaveUp, Fact::LostForNow] {
            older.on(fact);
        }
        vec![plain, after_an_answer, heir_of(&older)]
    }

    /// Those that this test alone finds. The others are elsewhere in the release logic: docs/simulation.md.
    #[cfg(feature = "planted-faults")]
    #[test]
    fn faults_planted_in_the_machine_are_caught() {
        use crate::planted::Fault;
        for fault in [
            Fault::ReleaseWhileUnanswered,
            Fault::ForgetLateSuccess,
            Fault::KeepLateSuccess,
            Fault::RefusedIsMade,
            Fault::NothingIsProof,
            Fault::TryForEver,
            Fault::ForgetFailure,
            Fault::HangInSilence,
            Fault::EndIsRelease,
            Fault::ReleaseSuperseded,
            Fault::ReleaseTwice,
            Fault::InheritNothing,
        ] {
            fault.plant();
            let caught = std::panic::catch_unwind(every_order_of_facts_up_to_length_8_keeps_the_promises);
            Fault::weed();
            assert!(caught.is_err(), "{fault:?} is not caught");
        }
    }

    #[test]
    fn every_order_of_facts_up_to_length_8_keeps_the_promises() {
        for beginning in beginnings() {
            let mut reached = HashSet::from([beginning]);
            for _ in 0..MAX_FACTS {
                let mut next = HashSet::new();
                for (obligation, seen) in &reached {
                    check_that_it_ends(obligation);
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

    #[test]
    fn an_heir_that_is_never_sent_releases_what_it_inherits() {
        let mut heir = Obligation::new(TRIES);
        heir.inherit(&Obligation::new(TRIES));
        assert_eq!(heir.on(Fact::GaveUp), Some(Step::Release));
        assert_eq!((heir.on(Fact::Sent), heir.state()), (None, State::Releasing), "it leaves no more");
        heir.on(Fact::ReleaseFoundNothing);
        assert_eq!(heir.state(), State::Released);
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
