//! What an SMF tells of an SM context: the callback of `Nsmf_PDUSession_SMContextStatusNotify`,
//! TS 29.502 §5.2.2.6 (Rel-17).

use crate::amf::{Amf, Core};
use crate::session::{Establishing, PduSession, SessionKey};
use actix::{Context, Handler, Message};
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
    type Result = Result<Reply, Failure>;

    fn handle(&mut self, message: StatusNotification, _: &mut Context<Self>) -> Self::Result {
        self.0.take_status(&message)
    }
}

impl Core {
    fn take_status(&self, message: &StatusNotification) -> Result<Reply, Failure> {
        let party = &self.shard.party;
        let what = format!(
            "session {} of {}: {}",
            message.key.pdu_session_id,
            message.key.supi,
            message.status.as_str()
        );
        let unknown = || Failure::new(Cause::ContextNotFound, "no such SM context is in use");
        let mut sessions = self.sessions.borrow_mut();
        let about = |session: &&PduSession| session.notified_as == message.notified_as;
        let session = sessions.get(&message.key).filter(about);
        let uri = session.map(|session| session.location.as_str().into());
        party.emit(Kind::StatusNotified, Facts { uri, ..message.served.facts(party).detail(what) });
        let Some(session) = session else { return self.take_early_status(message).ok_or_else(unknown) };
        if message.status == ResourceStatus::RELEASED {
            self.shard.ledger.ended(&session.owner);
            sessions.remove(&message.key);
        }
        Ok(Reply::no_content())
    }

    /// The same of a session whose 201 was read, and which is being put on record.
    fn take_early_status(&self, message: &StatusNotification) -> Option<Reply> {
        let mut establishing = self.establishing.borrow_mut();
        let about = |session: &&mut Establishing| session.notified_as == message.notified_as;
        let session = establishing.get_mut(&message.key).filter(about)?;
        session.is_released |= message.status == ResourceStatus::RELEASED;
        Some(Reply::no_content())
    }
}
