//! The UEs that an AMF has registered, and what the UDM tells of them: TS 29.503 §5.3.2.3 and §5.2.2.5 (Rel-17).

use crate::amf::{Amf, Core};
use actix::{Context, Handler, Message, ResponseFuture};
use actix_web::web;
use api::common::Supi;
use api::decode::decode;
use api::nudm_uecm::{self, DeregistrationData};
use api::path::variable;
use bytes::Bytes;
use sbi::event::Kind;
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::release::SlotKey;
use sbi::server::{Failure, Reply, Shards};
use std::rc::Rc;

/// A registered UE.
pub(crate) struct Ue {
    /// Names in the ledger what was made for it.
    pub(crate) owner: String,
    /// What the UDM's notifications about this registration are named by.
    pub(crate) notified_as: String,
}

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let of_ue = |what: &str| web::resource(format!("/namf-callback/v1/{{supi}}/{what}/{{name}}"));
    app.service(of_ue("dereg-notify").route(web::post().to(deregistered)))
        .service(of_ue("sdm-notify").route(web::post().to(changed)));
}

/// What the UDM tells of a UE.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
struct Told {
    served: Served,
    supi: Supi,
    notified_as: String,
    /// Another AMF has it now; else its data have changed.
    deregistered: bool,
}

async fn deregistered(
    path: web::Path<(String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    let _: DeregistrationData = decode(&body)?;
    tell(path.into_inner(), served, &shards, true).await
}

async fn changed(
    path: web::Path<(String, String)>,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    tell(path.into_inner(), served, &shards, false).await
}

async fn tell(
    (supi, notified_as): (String, String),
    served: Served,
    shards: &Shards<Amf>,
    deregistered: bool,
) -> Result<Reply, Failure> {
    let supi: Supi = variable("supi", &supi)?;
    shards.ask(shards.of(supi.as_str()), Told { served, supi, notified_as, deregistered }).await
}

impl Handler<Told> for Amf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: Told, _: &mut Context<Self>) -> Self::Result {
        let core = self.0.clone();
        Box::pin(async move { take(core, message) })
    }
}

fn take(core: Rc<Core>, told: Told) -> Result<Reply, Failure> {
    let known = core.ues.borrow().get(&told.supi).is_some_and(|ue| ue.notified_as == told.notified_as);
    if !known {
        return Err(Failure::new(Cause::ContextNotFound, "no such registration is in use"));
    }
    let what = if told.deregistered { "deregistered" } else { "its data have changed" };
    let party = &core.shard.party;
    party.emit(Kind::StatusNotified, told.served.facts(party).detail(format!("{}: {what}", told.supi)));
    if told.deregistered {
        let slot = SlotKey::Uri(format!("{}{}", core.config.udm, nudm_uecm::amf_registration(&told.supi)));
        core.shard.ledger.ended_in_slot(&slot);
        actix::spawn(async move { core.forget_ue(&told.supi).await });
    }
    Ok(Reply::no_content())
}

impl Core {
    /// Releases whatever was made for a UE, its sessions first; whether it was registered.
    pub(crate) async fn forget_ue(&self, supi: &Supi) -> bool {
        let Some(ue) = self.ues.borrow_mut().remove(supi) else { return false };
        let sessions: Vec<_> =
            self.sessions.borrow().keys().filter(|key| key.supi == *supi).cloned().collect();
        for key in sessions {
            let session = self.sessions.borrow_mut().remove(&key);
            if let Some(session) = session {
                self.shard.ledger.disown(&session.owner).await;
            }
        }
        self.shard.ledger.disown(&ue.owner).await;
        true
    }
}
