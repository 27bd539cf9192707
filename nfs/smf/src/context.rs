//! The SM contexts of one shard.

use crate::udm::Allowed;
use api::common::{NfInstanceId, PduSessionId, Supi};
use api::nas::Header;
use api::nsmf_pdusession::{Cause, Session, UpCnxState};
use sbi::contexts::Contexts;
use sbi::event::RequestId;
use sbi::header::OriginationTimestamp;
use sbi::release::OwnerKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Which PDU session: there is one SM context for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    pub(crate) supi: Supi,
    pub(crate) pdu_session_id: PduSessionId,
}

impl SessionKey {
    pub(crate) fn of(session: &Session) -> Self {
        SessionKey { supi: session.supi.clone(), pdu_session_id: session.pdu_session_id }
    }
}

/// An SM context that the SMF holds for an AMF.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Held {
    /// What the subscription lets it have.
    pub(crate) allowed: Rc<Allowed>,
    /// The AMF that created it.
    pub(crate) amf: NfInstanceId,
    /// Where the AMF wants to hear of the context's end.
    pub(crate) status_uri: String,
    /// Whether it is registered at the UDM.
    pub(crate) is_registered: bool,
    /// Which session it is.
    pub(crate) session: Session,
    /// What the UE asked for, if that was sent along.
    pub(crate) establishment: Option<Header>,
    /// Whether its user plane is there.
    pub(crate) user_plane: UpCnxState,
    /// When the procedure that created it began, if that was said.
    pub(crate) originated: Option<OriginationTimestamp>,
    /// It ends, and its AMF has not heard of that yet: why. Kept on record alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ending: Option<Cause>,
    /// Its end is on its way to the record: it is not changed there any more, and as good as gone for whoever finds it by
    /// its session.
    #[serde(skip)]
    pub(crate) is_ending: bool,
    /// The request that created it.
    #[serde(skip)]
    pub(crate) request: RequestId,
}

/// The contexts by session, and sessions by the references that were handed out.
#[derive(Default)]
pub(crate) struct SmContexts {
    pub(crate) by_session: Contexts<SessionKey, Held>,
    by_reference: BTreeMap<OwnerKey, SessionKey>,
}

impl SmContexts {
    pub(crate) fn add(&mut self, key: SessionKey, reference: OwnerKey, held: Held) {
        self.by_reference.insert(reference.clone(), key.clone());
        self.by_session.push(key, reference, held);
    }

    /// The context that was handed out under `reference`.
    pub(crate) fn get_mut(&mut self, reference: &str) -> Option<&mut Held> {
        let key = self.by_reference.get(reference)?;
        self.by_session.get_mut(key, reference)
    }

    /// Its end is about to be put on record; whether it is there.
    pub(crate) fn mark_ending(&mut self, reference: &str) -> bool {
        let held = self.get_mut(reference);
        held.map(|held| held.is_ending = true).is_some()
    }

    /// The newest context of a session that does not end.
    pub(crate) fn newest(&self, key: &SessionKey) -> Option<&(OwnerKey, Held)> {
        self.by_session.of(key).rfind(|(_, held)| !held.is_ending)
    }

    pub(crate) fn session_of(&self, reference: &str) -> Option<SessionKey> {
        self.by_reference.get(reference).cloned()
    }

    pub(crate) fn remove(&mut self, reference: &str) -> Option<Held> {
        let key = self.by_reference.remove(reference)?;
        let held = self.by_session.remove(&key, reference)?;
        Some(held)
    }

    /// The newest context of each session that has an older one too.
    pub(crate) fn newest_of_several(&self) -> Vec<OwnerKey> {
        self.by_session.newest_of_several()
    }

    /// Removes what the context `reference` replaces.
    pub(crate) fn replaced_by(&mut self, reference: &str) -> Vec<(OwnerKey, Held)> {
        let Some(key) = self.session_of(reference) else { return Vec::new() };
        let replaced = self.by_session.replaced_by(&key, reference);
        for (reference, _) in &replaced {
            self.by_reference.remove(reference);
        }
        replaced
    }
}
