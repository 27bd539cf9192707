//! Whether a success reached its client's stream.

use crate::planted::planted;
use crate::release::{Committed, OwnerKey};
use actix::Recipient;

/// Tells an actor whether the answer to a create or update was handed to its client. If it was, what the new context
/// replaces ends; if not, the new one does, which is on its way to the record when the message has been handled.
#[derive(actix::Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Handover {
    /// The context that was created.
    pub owner: OwnerKey,
    /// Whether its client was answered.
    pub delivered: bool,
}

/// A success on its way to its client; the actor is told what became of it.
pub struct Delivery {
    actor: Recipient<Handover>,
    handover: Handover,
    is_told: bool,
    /// It is the actor's business only if its client is not answered.
    is_of_failures: bool,
}

impl Delivery {
    /// The delivery of what was committed.
    pub fn of(committed: &Committed, actor: Recipient<Handover>) -> Self {
        Delivery::local(committed.owner().clone(), actor)
    }

    /// The delivery of something made in this NF alone, under the name `owner`.
    pub fn local(owner: impl Into<OwnerKey>, actor: Recipient<Handover>) -> Self {
        let handover = Handover { owner: owner.into(), delivered: false };
        Delivery { actor, handover, is_told: false, is_of_failures: false }
    }

    /// The same, for an actor that wants to hear of it only if it fails.
    #[must_use]
    pub fn told_if_it_fails(mut self) -> Self {
        self.is_of_failures = true;
        self
    }

    /// The answer was handed over.
    pub(super) fn done(mut self) {
        self.handover.delivered = true;
        self.is_told = self.is_of_failures;
    }

    /// The answer will never be; ends when the actor knows.
    pub(super) async fn refused(mut self) {
        self.is_told = true;
        // An actor that is gone holds nothing any more.
        let _ = self.actor.send(self.outcome()).await;
    }

    fn outcome(&self) -> Handover {
        let delivered = self.handover.delivered || planted!(UndeliveredIsDelivered);
        Handover { delivered, ..self.handover.clone() }
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Delivery").field(&self.handover).finish()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.is_told {
            self.actor.do_send(self.outcome());
        }
    }
}
