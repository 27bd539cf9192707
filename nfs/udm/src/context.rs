//! What a UDM keeps for others, and whose it is in the ledger.

use crate::dereg_notify::Deregistered;
use crate::udm::Core;
use api::common::{PduSessionId, Supi};
use api::nudm_sdm::SdmSubscription;
use api::nudm_uecm::{Amf3GppAccessRegistration, DeregistrationReason, SmfRegistration};
use sbi::event::RequestId;
use sbi::release::OwnerKey;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Which registration: of which PDU session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegistrationKey {
    pub(crate) supi: Supi,
    pub(crate) pdu_session_id: PduSessionId,
}

/// A registration that an SMF wrote.
#[derive(Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) value: SmfRegistration,
    #[serde(skip)]
    pub(crate) request: RequestId,
    pub(crate) written_unix_ms: i64,
}

/// A registration that an AMF wrote.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct AmfRegistration {
    pub(crate) value: Amf3GppAccessRegistration,
    /// What it replaces in the UDR, until its answer was handed over.
    pub(crate) older: Option<Amf3GppAccessRegistration>,
    /// The same since then, until that AMF has heard of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) untold: Option<Amf3GppAccessRegistration>,
    /// Another AMF has taken its place, for this reason, and it has not heard of that yet. Kept on record alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaced: Option<DeregistrationReason>,
    #[serde(skip)]
    pub(crate) request: RequestId,
    pub(crate) written_unix_ms: i64,
}

/// Which subscription.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SubscriptionKey {
    pub(crate) supi: Supi,
    pub(crate) id: String,
}

/// A subscription that a consumer made.
#[derive(Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) value: SdmSubscription,
    /// Under which name the UDR keeps it, and tells of changes.
    pub(crate) stored_as: String,
    #[serde(skip)]
    pub(crate) request: RequestId,
    /// When it ends by itself, wall-clock ms since the Unix epoch.
    pub(crate) expires_unix_ms: Option<i64>,
    /// How many answers that name it are on their way.
    #[serde(skip)]
    pub(crate) answers: u32,
    /// Whether one of them was handed over: after a restart that is taken for granted.
    #[serde(skip, default = "is_kept")]
    pub(crate) kept: bool,
}

fn is_kept() -> bool {
    true
}

/// Names the owner of what one request created for a context: `kind request id supi`. The SUPI comes last since it may
/// hold anything.
pub(crate) fn owner(kind: &str, supi: &Supi, id: &str, request: RequestId) -> OwnerKey {
    format!("{kind} {} {id} {supi}", request.0).into()
}

/// What an answer that was handed over has replaced.
#[derive(Default)]
pub(crate) struct Replaced {
    /// What they own in the UDR is at places of its own, and to be released.
    pub(crate) owners: Vec<OwnerKey>,
    /// The AMFs that another one has replaced.
    pub(crate) deregistered: Vec<Deregistered>,
}

/// What an owner's name says it is.
pub(crate) enum Owned {
    Registration(RegistrationKey),
    AmfRegistration(Supi),
    Subscription(SubscriptionKey),
}

pub(crate) fn parse(owner: &str) -> Option<Owned> {
    let mut words = owner.splitn(4, ' ');
    let (kind, _request, id, supi) =
        (words.next()?, words.next()?, words.next()?, words.next()?.parse().ok()?);
    match kind {
        "registration" => {
            Some(Owned::Registration(RegistrationKey { supi, pdu_session_id: id.parse().ok()? }))
        }
        "amf-registration" => Some(Owned::AmfRegistration(supi)),
        _ => Some(Owned::Subscription(SubscriptionKey { supi, id: id.to_owned() })),
    }
}

impl Core {
    /// The answer to what created `owner` was handed over: what it replaces ends. What is left to do for that is given
    /// back, to be done in [`Core::end_replaced`].
    pub(crate) fn keep(&self, owner: &str) -> Replaced {
        self.shard.ledger.delivered(owner);
        match parse(owner) {
            Some(Owned::Registration(key)) => {
                let replaced = self.registrations.borrow_mut().replaced_by(&key, owner);
                replaced.iter().for_each(|(older, _)| self.shard.ledger.end_context(older));
            }
            Some(Owned::AmfRegistration(supi)) => return self.keep_amf(&supi, owner),
            Some(Owned::Subscription(key)) => {
                let mut subscriptions = self.subscriptions.borrow_mut();
                if let Some(subscription) = subscriptions.get_mut(&key, owner) {
                    subscription.kept = true;
                }
                let older = subscriptions.replaced_by(&key, owner);
                let owners = older.into_iter().map(|(owner, _)| owner).collect();
                return Replaced { owners, deregistered: Vec::new() };
            }
            None => {}
        }
        Replaced::default()
    }

    /// Ends what was replaced, and tells AMFs that they are no longer registered.
    pub(crate) async fn end_replaced(self: &Rc<Self>, replaced: Replaced) {
        self.disown_all(&replaced.owners).await;
        for deregistered in replaced.deregistered {
            self.tell_deregistered(deregistered).await;
        }
    }

    /// All of them have ended.
    pub(crate) async fn disown_all(&self, owners: &[OwnerKey]) {
        let ledger = &self.shard.ledger;
        owners.iter().for_each(|owner| ledger.end_context(owner));
        for owner in owners {
            ledger.let_go(owner).await;
        }
    }

    /// It was not: what was made for it ends, and what it would have replaced lives on. A subscription that another
    /// answer names too stays as long as that one may still arrive, or has. Whether what it owns is to be released.
    pub(crate) fn drop_owner(&self, owner: &OwnerKey) -> bool {
        let named = parse(owner);
        if let Some(Owned::Subscription(key)) = &named
            && let Some(subscription) = self.subscriptions.borrow_mut().get_mut(key, owner)
        {
            subscription.answers -= 1;
            if subscription.kept || subscription.answers > 0 {
                return false;
            }
        }
        match named {
            Some(Owned::Registration(key)) => drop(self.registrations.borrow_mut().remove(&key, owner)),
            Some(Owned::AmfRegistration(supi)) => {
                drop(self.amf_registrations.borrow_mut().remove(&supi, owner));
            }
            Some(Owned::Subscription(key)) => drop(self.subscriptions.borrow_mut().remove(&key, owner)),
            None => {}
        }
        self.shard.ledger.end_context(owner);
        true
    }
}
