//! Releasing a PDU session on the AMF's initiative: TS 23.502 §4.3.4.2 (Rel-17).

use crate::amf::{Amf, Core};
use crate::session::{PduSession, SessionKey};
use actix::{Context, Handler, Message, ResponseFuture};
use api::common::{PduSessionId, Supi};
use sbi::party::Served;
use std::rc::Rc;

/// Release a PDU session.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Released")]
pub struct ReleasePduSession {
    /// The subscriber.
    pub supi: Supi,
    /// Which of its sessions.
    pub pdu_session_id: PduSessionId,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Its release was sent, and answered or is being tried again.
    Asked,
    /// There is nothing of that name.
    Unknown,
    /// Its turn did not come in the AMF's time.
    Busy,
}

impl Handler<ReleasePduSession> for Amf {
    type Result = ResponseFuture<Released>;

    fn handle(&mut self, message: ReleasePduSession, _: &mut Context<Self>) -> Self::Result {
        let key = SessionKey { supi: message.supi, pdu_session_id: message.pdu_session_id };
        let core = self.0.clone();
        Box::pin(async move { release(core, key, None).await })
    }
}

/// Releases a session; only that of one attempt, if it is named.
pub(crate) async fn release(core: Rc<Core>, key: SessionKey, notified_as: Option<&str>) -> Released {
    let served = Served::own(&core.shard.party);
    let Ok(_turn) = core.shard.turn(&core.turns, key.clone(), &served).await else {
        return Released::Busy;
    };
    let is_meant = |session: &PduSession| notified_as.is_none_or(|name| session.notified_as == name);
    let is_there = core.sessions.borrow().get(&key).is_some_and(is_meant);
    let session = is_there.then(|| core.sessions.borrow_mut().remove(&key)).flatten();
    // One that a later attempt replaced at its SMF is gone, though that attempt failed.
    let Some(session) = session else { return Released::Unknown };
    if !core.shard.ledger.owns(&session.owner) {
        core.shard.ledger.end_on_record(&session.owner).await;
        return Released::Unknown;
    }
    core.shard.ledger.disown(&session.owner).await;
    Released::Asked
}
