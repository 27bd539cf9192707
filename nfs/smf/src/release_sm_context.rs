//! Releasing an SM context: `Nsmf_PDUSession_ReleaseSMContext`, TS 29.502 §5.2.2.4 (Rel-17).
//!
//! Deregisters at the UDM and unsubscribes there, newest first. The AMF that asks is not notified.

use crate::context::Held;
use crate::endpoint::not_found;
use crate::message::ReleaseSmContext;
use crate::smf::Core;
use api::nsmf_pdusession::{Cause, SmContextStatusNotification};
use http::Method;
use sbi::client::Call;
use sbi::party::Served;
use sbi::server::{Failure, Reply};
use std::rc::Rc;

/// Carries out the procedure. Late or not: a real AMF does not repeat it.
pub(crate) async fn release(core: Rc<Core>, message: ReleaseSmContext) -> Result<Reply, Failure> {
    let ReleaseSmContext { served, reference } = message;
    let key = core.contexts.borrow().session_of(&reference).ok_or_else(|| not_found(&reference))?;
    let _turn = core.shard.turn(&core.turns, key, &served).await?;
    match core.remove(&reference).await {
        Some(_) => Ok(Reply::no_content()),
        None => Err(not_found(&reference)),
    }
}

impl Core {
    pub(crate) async fn remove(&self, reference: &str) -> Option<Held> {
        let held = self.contexts.borrow_mut().remove(reference)?;
        self.shard.ledger.disown(reference).await;
        Some(held)
    }

    /// Ends a context whose 201 could not be handed over.
    pub(crate) async fn end(&self, reference: &str) {
        let _ = self.remove(reference).await;
    }

    /// The 201 of `reference` was handed over: the contexts that it replaces end.
    pub(crate) async fn end_replaced(&self, reference: &str) {
        self.shard.ledger.delivered(reference);
        let replaced = self.contexts.borrow_mut().replaced_by(reference);
        let status_uri = self.status_uri(reference);
        for (older, held) in replaced {
            self.shard.ledger.disown(&older).await;
            if Some(&held.status_uri) != status_uri.as_ref() {
                self.notify_released(&held.status_uri).await;
            }
        }
    }

    fn status_uri(&self, reference: &str) -> Option<String> {
        let contexts = self.contexts.borrow();
        let key = contexts.session_of(reference)?;
        contexts.by_session.newest(&key).map(|(_, held)| held.status_uri.clone())
    }

    /// Tells another AMF that its context has ended, TS 29.502 §5.2.2.6 (Rel-17). Nothing depends on the answer.
    pub(crate) async fn notify_released(&self, status_uri: &str) {
        let body = SmContextStatusNotification::released(Some(Cause::REL_DUE_TO_DUPLICATE_SESSION_ID));
        let call = Call::new(Method::POST, status_uri)
            .callback("Nsmf_PDUSession_smContextStatusNotification")
            .with_json(&body);
        let _ = self.shard.client().ask(&Served::own(&self.shard.party), call).await;
    }
}
