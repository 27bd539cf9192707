//! The UEs that an AMF has registered, and what the UDM tells of them: TS 29.503 §5.3.2.3 and §5.2.2.5 (Rel-17).

use crate::amf::{Amf, Core};
use crate::release_pdu_session::release;
use crate::restore::Context as Kept;
use crate::session::SessionKey;
use actix::{Context, Handler, Message, ResponseFuture};
use actix_web::web;
use api::common::Supi;
use api::decode::decode;
use api::nudm_sdm::ModificationNotification;
use api::nudm_uecm::{self, DeregistrationData, DeregistrationReason};
use api::path::variable;
use api::percent::encoded;
use bytes::Bytes;
use sbi::event::{Kind, RequestId};
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::release::SlotKey;
use sbi::server::{Failure, Reply, Shards};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

const CALLBACK: &str = "/namf-callback/v1";
/// The last but one segment of the callback that tells of the end of a registration.
pub(crate) const DEREG_NOTIFY: &str = "dereg-notify";
/// The same of changed data.
pub(crate) const SDM_NOTIFY: &str = "sdm-notify";

/// A registered UE.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Ue {
    /// Names in the ledger what was made for it.
    #[serde(skip)]
    pub(crate) owner: String,
    /// The request that registered it.
    #[serde(skip)]
    pub(crate) request: RequestId,
    /// What the UDM's notifications about this registration are named by.
    pub(crate) notified_as: String,
    /// Why it ends, if another AMF has taken over: what is left to be done for that is done after a crash too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_over: Option<DeregistrationReason>,
}

/// A UE that is being registered.
pub(crate) struct Registering {
    /// What the UDM's notifications about this registration are named by.
    pub(crate) notified_as: String,
    /// Another AMF has registered the UE meanwhile.
    pub(crate) is_taken_over: bool,
}

/// A session, and the attempt that established it.
pub(crate) struct Named {
    key: SessionKey,
    notified_as: String,
}

/// Where the UDM shall tell of a UE. Each registration has a name of its own: what is told late of an older one does not
/// end a newer one.
pub(crate) fn callback_path(supi: &Supi, what: &str, notified_as: &str) -> String {
    format!("{CALLBACK}/{}/{what}/{notified_as}", encoded(supi.as_str()))
}

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let of_ue = |what: &str| web::resource(format!("{CALLBACK}/{{supi}}/{what}/{{name}}"));
    app.service(of_ue(DEREG_NOTIFY).route(web::post().to(dereg_notify)))
        .service(of_ue(SDM_NOTIFY).route(web::post().to(sdm_notify)));
}

/// What the UDM tells.
enum News {
    Deregistered(DeregistrationReason),
    DataChanged,
}

/// News of a UE.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
struct Notification {
    served: Served,
    supi: Supi,
    notified_as: String,
    news: News,
}

async fn dereg_notify(
    path: web::Path<(String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    let data: DeregistrationData = decode(&body)?;
    take_notification(path.into_inner(), served, &shards, News::Deregistered(data.dereg_reason)).await
}

async fn sdm_notify(
    path: web::Path<(String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    let _: ModificationNotification = decode(&body)?;
    take_notification(path.into_inner(), served, &shards, News::DataChanged).await
}

async fn take_notification(
    (supi, notified_as): (String, String),
    served: Served,
    shards: &Shards<Amf>,
    news: News,
) -> Result<Reply, Failure> {
    let supi: Supi = variable("supi", &supi)?;
    shards.ask(shards.of(supi.as_str()), Notification { served, supi, notified_as, news }).await
}

impl Handler<Notification> for Amf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: Notification, _: &mut Context<Self>) -> Self::Result {
        Box::pin(self.0.clone().take_news(message))
    }
}

impl Core {
    async fn take_news(self: Rc<Self>, message: Notification) -> Result<Reply, Failure> {
        if !self.is_about_us(&message) {
            return Err(Failure::new(Cause::ContextNotFound, "no such registration is in use"));
        }
        let what = match &message.news {
            News::Deregistered(reason) => format!("deregistered, {}", reason.as_str()),
            News::DataChanged => "its data have changed".into(),
        };
        let party = &self.shard.party;
        let told = message.served.facts(party).detail(format!("{}: {what}", message.supi));
        party.emit(Kind::StatusNotified, told);
        if let News::Deregistered(reason) = message.news {
            let is_registering = self.clone().forget_taken_over(&message.supi, &message.notified_as, reason);
            if is_registering {
                // It ends as soon as it is on record.
                let _turn = self.shard.turn(&self.ue_turns, message.supi.clone(), &message.served).await?;
            }
            // The UDM tells it until it hears.
            self.shard.ledger.all_on_record().await;
        }
        Ok(Reply::no_content())
    }

    fn is_about_us(&self, message: &Notification) -> bool {
        let Notification { supi, notified_as, .. } = message;
        self.ues.borrow().get(supi).is_some_and(|ue| ue.notified_as == *notified_as)
            || self.registering.borrow().get(supi).is_some_and(|ue| ue.notified_as == *notified_as)
    }

    /// The registration is another AMF's: nothing of ours may be purged or put back there. Its sessions are released if the
    /// UE begins anew or may no longer; if it has only moved, they are the other AMF's. Whether it is being registered.
    fn forget_taken_over(
        self: Rc<Self>,
        supi: &Supi,
        notified_as: &str,
        reason: DeregistrationReason,
    ) -> bool {
        let slot = SlotKey::Uri(self.registration_uri(supi).into());
        let ue = self.ues.borrow_mut().remove(supi).map(|ue| Ue { taken_over: Some(reason.clone()), ..ue });
        if let Some(ue) = &ue {
            self.shard.ledger.ended_in_slot(&slot, &ue.owner);
            self.shard.ledger.keep_ending(&ue.owner, ue.request, &Kept::Ue(supi.clone(), ue.clone()));
        }
        self.shard.ledger.forget_beneath(&slot);
        let is_registering = {
            let mut registering = self.registering.borrow_mut();
            let registering = registering.get_mut(supi).filter(|ue| ue.notified_as == notified_as);
            registering.map(|ue| ue.is_taken_over = true).is_some()
        };
        let has_moved = reason == DeregistrationReason::UE_REGISTRATION_AREA_CHANGE;
        if has_moved {
            self.hand_over_sessions(supi);
        }
        let sessions = self.sessions_of(supi);
        actix::spawn(self.end_taken_over(sessions, ue));
        is_registering
    }

    /// Ends what is left of a registration that is another AMF's.
    pub(crate) async fn end_taken_over(self: Rc<Self>, sessions: Vec<Named>, ue: Option<Ue>) {
        self.clone().release_sessions(sessions).await;
        if let Some(ue) = ue {
            self.shard.ledger.disown(&ue.owner).await;
        }
    }

    /// Forgets the sessions of a UE, and releases nothing.
    fn hand_over_sessions(&self, supi: &Supi) {
        let mut sessions = self.sessions.borrow_mut();
        for (_, session) in sessions.extract_if(.., |key, _| key.supi == *supi) {
            self.shard.ledger.ended(&session.owner);
        }
    }

    /// Releases sessions; one that is being established once it is, and none that has been established since.
    async fn release_sessions(self: Rc<Self>, sessions: Vec<Named>) {
        for Named { key, notified_as } in sessions {
            release(self.clone(), key, Some(&notified_as)).await;
        }
    }

    /// The sessions that a UE has or is about to have.
    pub(crate) fn sessions_of(&self, supi: &Supi) -> Vec<Named> {
        let (established, establishing) = (self.sessions.borrow(), self.establishing.borrow());
        let established = established.iter().map(|(key, session)| (key, &session.notified_as));
        let establishing = establishing.iter().map(|(key, session)| (key, &session.notified_as));
        let of_ue = established.chain(establishing).filter(|(key, _)| key.supi == *supi);
        of_ue.map(|(key, name)| Named { key: key.clone(), notified_as: name.clone() }).collect()
    }

    /// Releases whatever was made for a UE, its sessions first; whether it was registered.
    pub(crate) async fn forget_ue(self: Rc<Self>, supi: &Supi) -> bool {
        let Some(owner) = self.ues.borrow().get(supi).map(|ue| ue.owner.clone()) else { return false };
        self.clone().release_sessions(self.sessions_of(supi)).await;
        // Another AMF may have taken over meanwhile.
        let is_ours = self.ues.borrow().get(supi).is_some_and(|ue| ue.owner == owner);
        if is_ours {
            self.ues.borrow_mut().remove(supi);
            self.shard.ledger.disown(&owner).await;
        }
        true
    }

    /// Where the registration of a UE is.
    pub(crate) fn registration_uri(&self, supi: &Supi) -> String {
        self.at_udm(&nudm_uecm::amf_registration(supi))
    }

    /// A path at the UDM.
    pub(crate) fn at_udm(&self, path: &str) -> String {
        format!("{}{path}", self.config.udm)
    }
}
