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
    /// Under which name the UDR keeps it, and tells of changes.
    pub(crate) stored_as: String,
    pub(crate) request: RequestId,
    /// When it ends by itself, wall-clock ms since the Unix epoch.
    pub(crate) expires_unix_ms: Option<i64>,
}

/// Names the owner of what one request created for a context: `kind request id supi`. The SUPI comes last since it may
/// hold anything.
pub(crate) fn owner(kind: &str, supi: &Supi, id: &str, request: RequestId) -> OwnerKey {
    format!("{kind} {} {id} {supi}", request.0)
}

/// What an answer that was handed over has replaced.
#[derive(Default)]
pub(crate) struct Replaced {
    /// What they own in the UDR is at places of its own, and to be released.
    owners: Vec<OwnerKey>,
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
    /// The answer to what created `owner` was handed over: what it replaces ends. What is left to do for that is given
    /// back, to be done in [`Core::end_replaced`].
    pub(crate) fn keep(&self, owner: &str) -> Replaced {
        self.shard.ledger.delivered(owner);
        match parse(owner) {
            Some(Owned::Registration(key)) => drop(self.registrations.borrow_mut().replaced_by(&key, owner)),
            Some(Owned::Subscription(key)) => {
                let older = self.subscriptions.borrow_mut().replaced_by(&key, owner);
                return Replaced { owners: older.into_iter().map(|(owner, _)| owner).collect() };
            }
            None => {}
        }
        Replaced::default()
    }

    /// Ends what was replaced.
    pub(crate) async fn end_replaced(&self, replaced: Replaced) {
        for owner in &replaced.owners {
            self.shard.ledger.disown(owner).await;
        }
    }

    /// It was not: what was made for it ends, and what it would have replaced lives on.
    pub(crate) async fn drop_owner(&self, owner: &str) {
        match parse(owner) {
            Some(Owned::Registration(key)) => drop(self.registrations.borrow_mut().remove(&key, owner)),
            Some(Owned::Subscription(key)) => drop(self.subscriptions.borrow_mut().remove(&key, owner)),
            None => {}
        }
        self.shard.ledger.disown(owner).await;
    }
}
