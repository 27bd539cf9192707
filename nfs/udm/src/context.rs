//! What a UDM keeps for others, and whose it is in the ledger.

use crate::udm::Core;
use api::common::{PduSessionId, Supi};
use api::nudm_sdm::SdmSubscription;
use api::nudm_uecm::SmfRegistration;
use sbi::event::RequestId;
use sbi::release::OwnerKey;

/// Which registration: of which PDU session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegistrationKey {
    pub(crate) supi: Supi,
    pub(crate) pdu_session_id: PduSessionId,
}

/// A registration that an SMF wrote.
pub(crate) struct Registration {
    pub(crate) value: SmfRegistration,
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
pub(crate) struct Subscription {
    pub(crate) value: SdmSubscription,
    pub(crate) request: RequestId,
    /// When it ends by itself, wall-clock ms since the Unix epoch.
    pub(crate) expires_unix_ms: Option<i64>,
    /// How many answers that name it are on their way.
    pub(crate) answers: u32,
    /// Whether one of them was handed over.
    pub(crate) kept: bool,
}

/// Names the owner of what one request created for a context: `kind request id supi`. The SUPI comes last since it may
/// hold anything.
pub(crate) fn owner(kind: &str, supi: &Supi, id: &str, request: RequestId) -> OwnerKey {
    format!("{kind} {} {id} {supi}", request.0)
}

enum Owned {
    Registration(RegistrationKey),
    Subscription(SubscriptionKey),
}

fn parse(owner: &str) -> Option<Owned> {
    let mut words = owner.splitn(4, ' ');
    let (kind, _request, id, supi) =
        (words.next()?, words.next()?, words.next()?, words.next()?.parse().ok()?);
    match kind {
        "registration" => {
            Some(Owned::Registration(RegistrationKey { supi, pdu_session_id: id.parse().ok()? }))
        }
        _ => Some(Owned::Subscription(SubscriptionKey { supi, id: id.to_owned() })),
    }
}

impl Core {
    /// The answer to what created `owner` was handed over: what it replaces ends.
    pub(crate) fn keep(&self, owner: &str) {
        self.shard.ledger.delivered(owner);
        match parse(owner) {
            Some(Owned::Registration(key)) => drop(self.registrations.borrow_mut().replaced_by(&key, owner)),
            Some(Owned::Subscription(key)) => {
                let mut subscriptions = self.subscriptions.borrow_mut();
                if let Some(subscription) = subscriptions.get_mut(&key, owner) {
                    subscription.kept = true;
                }
            }
            None => {}
        }
    }

    /// It was not: what was made for it ends, and what it would have replaced lives on. A subscription that another
    /// answer names too stays as long as that one may still arrive, or has.
    pub(crate) async fn drop_owner(&self, owner: &str) {
        let named = parse(owner);
        if let Some(Owned::Subscription(key)) = &named
            && let Some(subscription) = self.subscriptions.borrow_mut().get_mut(key, owner)
        {
            subscription.answers -= 1;
            if subscription.kept || subscription.answers > 0 {
                return;
            }
        }
        match named {
            Some(Owned::Registration(key)) => drop(self.registrations.borrow_mut().remove(&key, owner)),
            Some(Owned::Subscription(key)) => drop(self.subscriptions.borrow_mut().remove(&key, owner)),
            None => {}
        }
        self.shard.ledger.disown(owner).await;
    }
}
