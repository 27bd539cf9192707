//! Faults that are planted on purpose, to see that the tests find them: docs/simulation.md lists them. They exist only with
//! the feature `planted-faults`, which no ordinary build switches on; elsewhere `planted!` is `false`.

#[cfg(feature = "planted-faults")]
use std::cell::Cell;

/// Whether a fault is planted.
#[cfg(feature = "planted-faults")]
macro_rules! planted {
    ($fault:ident) => {
        $crate::planted::Fault::$fault.is_planted()
    };
}

/// Whether a fault is planted: never.
#[cfg(not(feature = "planted-faults"))]
macro_rules! planted {
    ($fault:ident) => {
        $crate::planted::never()
    };
}

#[cfg(not(feature = "planted-faults"))]
pub(crate) const fn never() -> bool {
    false
}

pub(crate) use planted;

/// Declares [`Fault`].
#[cfg(feature = "planted-faults")]
macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A fault in the release logic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[doc = $doc])+ $name,)+ }

        impl Fault {
            /// Each.
            pub const ALL: &[Fault] = &[$(Fault::$name,)+];

            /// What is wrong with it, for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Fault::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

#[cfg(feature = "planted-faults")]
thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

#[cfg(feature = "planted-faults")]
impl Fault {
    /// The fault of this name.
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.iter().copied().find(|fault| format!("{fault:?}") == name)
    }

    /// Plants it on the calling thread, instead of another one.
    pub fn plant(self) {
        PLANTED.set(Some(self));
    }

    /// Plants none on the calling thread.
    pub fn weed() {
        PLANTED.set(None);
    }

    pub(crate) fn is_planted(self) -> bool {
        PLANTED.get() == Some(self)
    }
}

#[cfg(feature = "planted-faults")]
faults! {
    /// Giving up releases although the create is unanswered.
    ReleaseWhileUnanswered,
    /// A success that comes after giving up is forgotten.
    ForgetLateSuccess,
    /// A success that comes after giving up is kept.
    KeepLateSuccess,
    /// A create that was refused counts as made.
    RefusedIsMade,
    /// A lost answer counts as a refusal.
    LostIsRefused,
    /// Finding nothing closes an entry whose create may still land.
    NothingIsProof,
    /// A release that failed is not tried again: it hangs at once.
    NeverTryAgain,
    /// A release that failed is tried without end.
    TryForEver,
    /// A release that failed is forgotten.
    ForgetFailure,
    /// What hangs is not reported.
    HangInSilence,
    /// The end of an owner counts as the release of what it owned.
    EndIsRelease,
    /// What was superseded is released all the same.
    ReleaseSuperseded,
    /// A second giving up starts a second release.
    ReleaseTwice,
    /// What an older attempt left at the same URI is not taken over.
    InheritNothing,
    /// The release of an older attempt does not yield to what a newer one has written.
    HitTheNewer,
    /// Giving up releases whatever was made for the same subscriber.
    KeyBySubscriber,
    /// Of what an attempt made the oldest is not released.
    SkipTheOldest,
    /// What was made first is released first.
    OldestFirst,
    /// One release that fails stops the others.
    FirstFailureStops,
    /// Of what an attempt made only the first gets an owner.
    OwnOnlyOne,
    /// What an attempt made is committed, and has no owner.
    OwnNothing,
    /// A resource that contexts share is released when the first of them ends.
    CountNobody,
    /// A resource that is being released can be joined.
    JoinTheDying,
    /// A newer create replaces the contexts of every producer, not of its own alone.
    SupersedeEverywhere,
    /// What stood at a fixed URI before is not remembered.
    ForgetWhatStoodThere,
    /// What stood there is put back even after the newer value was handed over.
    PutBackTooLate,
    /// What a hand-over has replaced stays owned.
    ReplaceNothing,
    /// The `Location` of a create is not remembered.
    ForgetLocation,
    /// A gateway's 502 or 504 counts as the producer's refusal.
    TrustGateways,
    /// An answer that comes late is dropped.
    DropLateAnswers,
    /// A create of which nothing was heard counts as not sent.
    SilenceIsNotSent,
    /// Creates and releases of one place overtake one another.
    TakeNoSlot,
    /// A release has the budget that its client's deadline leaves it.
    ReuseDeadDeadline,
    /// A release goes to the URI that the create was sent to, wherever the resource is.
    IgnoreLocation,
    /// A release that finds nothing has failed.
    NothingIsFailure,
    /// Whatever is answered to a release confirms it.
    AnyAnswerConfirms,
    /// A release without an answer is confirmed.
    SilenceConfirms,
    /// A lost create is repeated although the older context is there.
    RepeatOverOlder,
    /// What a repeated create has found is not released.
    FindAndLeave,
    /// Any entry of a collection is taken for the lost one.
    TakeAnyEntry,
    /// A success is handed over after the deadline.
    SucceedTooLate,
    /// A request is refused before its deadline.
    RefuseTooEarly,
    /// The work goes on after the deadline.
    WorkOn,
    /// A success that could not be handed over counts as delivered.
    UndeliveredIsDelivered,
    /// Answers leave before ends are on record.
    AnswerBeforeTheEnd,
    /// A create leaves before its intent is on record.
    IntendLater,
    /// A success leaves before its context is on record.
    AcknowledgeBeforeTheWrite,
    /// Contexts are not put on record.
    WriteNoContext,
    /// The end of a context is not put on record.
    WriteNoEnd,
    /// Batches are written in part.
    TearBatches,
    /// After a restart nothing that is owed is released.
    ResumeNothing,
    /// After a restart everything is taken for owed.
    OweEverything,
    /// After a restart numbers begin anew.
    CountAnew,
}
