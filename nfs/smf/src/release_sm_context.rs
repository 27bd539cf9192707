//! Releasing an SM context: `Nsmf_PDUSession_ReleaseSMContext`, TS 29.502 §5.2.2.4 (Rel-17).
//!
//! Deregisters at the UDM and unsubscribes there, newest first. The AMF that asks is not notified.

use crate::context::Held;
use crate::endpoint::not_found;
use crate::message::ReleaseSmContext;
use crate::smf::Core;
use api::nsmf_pdusession::{Cause, SmContextStatusNotification};
use http::Method;
use sbi::client::{Call, Upstream};
use sbi::event::Kind;
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
        if !self.begin_to_end(reference) {
            return None;
        }
        self.shard.ledger.kept_on_record(reference).await;
        let held = self.contexts.borrow_mut().remove(reference)?;
        self.shard.ledger.release_owned(reference).await;
        Some(held)
    }

    /// Puts the end of a context on its way to the record; whether the context is there.
    pub(crate) fn begin_to_end(&self, reference: &str) -> bool {
        let is_there = self.contexts.borrow_mut().mark_ending(reference);
        if is_there {
            self.shard.ledger.end_context(reference);
        }
        is_there
    }

    /// The 201 of `reference` was handed over: the contexts that it replaces end.
    pub(crate) async fn end_replaced(self: &Rc<Self>, reference: &str) {
        self.shard.ledger.delivered(reference);
        let replaced = self.contexts.borrow_mut().replaced_by(reference);
        let status_uri = self.status_uri(reference);
        for (older, held) in replaced {
            if Some(&held.status_uri) == status_uri.as_ref() {
                self.shard.ledger.disown(&older).await;
            } else {
                let ending = Some(Cause::REL_DUE_TO_DUPLICATE_SESSION_ID);
                let (core, held) = (self.clone(), Held { ending, ..held });
                // The newer context goes on, though the older one's AMF may be gone.
                actix::spawn(async move { core.end_and_tell(&older, held, None).await });
            }
        }
    }

    fn status_uri(&self, reference: &str) -> Option<String> {
        let contexts = self.contexts.borrow();
        let key = contexts.session_of(reference)?;
        contexts.by_session.newest(&key).map(|(_, held)| held.status_uri.clone())
    }

    /// Ends a context that its AMF takes to be there: what it owns is released, and the AMF told, with a reject for the UE if
    /// one is due. Taken up again after a crash.
    pub(crate) async fn end_and_tell(&self, reference: &str, held: Held, reject: Option<Call>) {
        self.telling.set(self.telling.get() + 1);
        let ledger = &self.shard.ledger;
        ledger.keep_ending(reference, held.request, &held);
        ledger.let_go(reference).await;
        let served = Served::own(&self.shard.party);
        if let Some(reject) = reject {
            // The AMF may be what failed: RELEASED tells it as well.
            let _: Result<_, Upstream> = self.shard.client().ask(&served, reject).await;
        }
        if !ledger.insist(&served, released(&held)).await {
            let facts =
                served.facts(&self.shard.party).detail(format!("{} never heard of the end", held.status_uri));
            self.shard.party.emit(Kind::StepSkipped, facts);
        }
        ledger.end_context(reference);
        self.telling.set(self.telling.get() - 1);
    }
}

/// Tells an AMF that its context has ended, TS 29.502 §5.2.2.6 (Rel-17).
fn released(held: &Held) -> Call {
    let body = SmContextStatusNotification::released(held.ending.clone());
    Call::new(Method::POST, &held.status_uri)
        .callback("Nsmf_PDUSession_smContextStatusNotification")
        .with_json(&body)
}
