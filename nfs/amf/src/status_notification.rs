//! What an SMF tells of an SM context: the callback of `Nsmf_PDUSession_SMContextStatusNotify`,
//! TS 29.502 §5.2.2.6 (Rel-17).

use crate::amf::{Amf, Core};
use crate::session::{Establishing, PduSession, SessionKey};
use actix::{Context, Handler, Message, ResponseFuture};
use actix_web::web;
use api::decode::decode;
use api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification};
use api::path::variable;
use api::percent::encoded;
use bytes::Bytes;
use sbi::event::{Facts, Kind};
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::server::{Failure, Reply, Shards};
use std::rc::Rc;

const SM_CONTEXT_STATUS: &str = "/namf-callback/v1/sm-context-status";

/// Where an SMF shall tell of an SM context of a session. Each attempt has a name of its own: what is told late of an
/// older SM context does not end a newer one.
pub(crate) fn status_path(key: &SessionKey, notified_as: &str) -> String {
    format!("{SM_CONTEXT_STATUS}/{}/{}/{notified_as}", encoded(key.supi.as_str()), key.pdu_session_id)
}

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let status = format!("{SM_CONTEXT_STATUS}/{{supi}}/{{pduSessionId}}/{{name}}");
    app.service(web::resource(status).route(web::post().to(notify)));
}

#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
struct StatusNotification {
    served: Served,
    key: SessionKey,
    notified_as: String,
    status: ResourceStatus,
}

async fn notify(
    path: web::Path<(String, String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    let (supi, id, notified_as) = path.into_inner();
    let key = SessionKey { supi: variable("supi", &supi)?, pdu_session_id: variable("pduSessionId", &id)? };
    let notification: SmContextStatusNotification = decode(&body)?;
    let status = notification.status_info.resource_status;
    shards.ask(shards.of(key.supi.as_str()), StatusNotification { served, key, notified_as, status }).await
}

impl Handler<StatusNotification> for Amf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: StatusNotification, _: &mut Context<Self>) -> Self::Result {
        Box::pin(take_status(self.0.clone(), message))
    }
}

async fn take_status(core: Rc<Core>, message: StatusNotification) -> Result<Reply, Failure> {
    core.emit_status(&message);
    let (is_established, is_establishing) = (core.is_established(&message), core.is_establishing(&message));
    if message.status == ResourceStatus::RELEASED {
        core.take_end(&message, is_establishing).await?;
    }
    match is_established || is_establishing {
        true => Ok(Reply::no_content()),
        false => Err(Failure::new(Cause::ContextNotFound, "no such SM context is in use")),
    }
}

impl Core {
    fn emit_status(&self, message: &StatusNotification) {
        let party = &self.shard.party;
        let what = format!(
            "session {} of {}: {}",
            message.key.pdu_session_id,
            message.key.supi,
            message.status.as_str()
        );
        let sessions = self.sessions.borrow();
        let session = sessions.get(&message.key).filter(|session| session.notified_as == message.notified_as);
        let uri = session.map(|session| session.location.as_str().into());
        party.emit(Kind::StatusNotified, Facts { uri, ..message.served.facts(party).detail(what) });
    }

    fn is_established(&self, message: &StatusNotification) -> bool {
        let about = |session: &PduSession| session.notified_as == message.notified_as;
        self.sessions.borrow().get(&message.key).is_some_and(about)
    }

    fn is_establishing(&self, message: &StatusNotification) -> bool {
        let about = |session: &Establishing| session.notified_as == message.notified_as;
        self.establishing.borrow().get(&message.key).is_some_and(about)
    }

    /// A session whose 201 was read, and which is being put on record, ends right after that.
    async fn take_end(&self, message: &StatusNotification, is_establishing: bool) -> Result<(), Failure> {
        if is_establishing {
            if let Some(establishing) = self.establishing.borrow_mut().get_mut(&message.key) {
                establishing.is_released = true;
            }
            let _turn = self.shard.turn(&self.turns, message.key.clone(), &message.served).await?;
        }
        if self.is_established(message) {
            let session = self.sessions.borrow_mut().remove(&message.key);
            session.into_iter().for_each(|session| self.shard.ledger.ended(&session.owner));
        }
        Ok(())
    }
}
