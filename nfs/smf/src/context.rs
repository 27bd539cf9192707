//! The SM contexts of one shard.

use api::common::{NfInstanceId, PduSessionId, Supi};
use api::nas::Header;
use api::nsmf_pdusession::{Session, SmContext, UpCnxState};
use sbi::contexts::Contexts;
use sbi::event::RequestId;
use std::collections::BTreeMap;

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
#[derive(Clone)]
pub(crate) struct Held {
    /// What a retrieve answers.
    pub(crate) context: SmContext,
    /// The AMF that created it.
    pub(crate) amf: NfInstanceId,
    /// Where the AMF wants to hear of the context's end.
    pub(crate) status_uri: String,
    /// The value of its registration at the UDM, once it is made.
    pub(crate) registration: Option<serde_json::Value>,
    /// Which session it is.
    pub(crate) session: Session,
    /// What the UE asked for, if that was sent along.
    pub(crate) establishment: Option<Header>,
    /// Whether its user plane is there.
    pub(crate) user_plane: UpCnxState,
    /// Where the UDM tells of changes: sessions of one subscriber with the same DNN and slice share it.
    pub(crate) sdm_callback: String,
    /// The request that created it.
    pub(crate) request: RequestId,
}

/// The contexts by session, sessions by the references that were handed out, and how many contexts hear of changes at
/// which callback.
#[derive(Default)]
pub(crate) struct SmContexts {
    pub(crate) by_session: Contexts<SessionKey, Held>,
    by_reference: BTreeMap<String, SessionKey>,
    callbacks: BTreeMap<String, usize>,
}

impl SmContexts {
    pub(crate) fn add(&mut self, key: SessionKey, reference: String, held: Held) {
        *self.callbacks.entry(held.sdm_callback.clone()).or_default() += 1;
        self.by_reference.insert(reference.clone(), key.clone());
        self.by_session.push(key, reference, held);
    }

    /// The context that was handed out under `reference`.
    pub(crate) fn get_mut(&mut self, reference: &str) -> Option<&mut Held> {
        let key = self.by_reference.get(reference)?;
        self.by_session.get_mut(key, reference)
    }

    pub(crate) fn session_of(&self, reference: &str) -> Option<SessionKey> {
        self.by_reference.get(reference).cloned()
    }

    pub(crate) fn remove(&mut self, reference: &str) -> Option<Held> {
        let key = self.by_reference.remove(reference)?;
        let held = self.by_session.remove(&key, reference)?;
        self.forget_callback(&held.sdm_callback);
        Some(held)
    }

    /// Removes what the context `reference` replaces.
    pub(crate) fn replaced_by(&mut self, reference: &str) -> Vec<(String, Held)> {
        let Some(key) = self.session_of(reference) else { return Vec::new() };
        let replaced = self.by_session.replaced_by(&key, reference);
        for (reference, held) in &replaced {
            self.by_reference.remove(reference);
            self.forget_callback(&held.sdm_callback);
        }
        replaced
    }

    fn forget_callback(&mut self, callback: &str) {
        if let Some(contexts) = self.callbacks.get_mut(callback) {
            *contexts -= 1;
            if *contexts == 0 {
                self.callbacks.remove(callback);
            }
        }
    }

    pub(crate) fn knows_callback(&self, callback: &str) -> bool {
        self.callbacks.contains_key(callback)
    }
}
