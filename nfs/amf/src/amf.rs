//! The AMF's actor and its app.

use crate::session::{Establishing, PduSession, SessionKey};
use crate::ue::{Registering, Ue};
use crate::{n1n2_message_transfer, status_notification, ue};
use actix::{Actor, Context, Handler, MessageResult};
use actix_web::web;
use api::common::{PlmnId, Supi};
use sbi::party::NfType;
use sbi::release::FoundContext;
use sbi::server::{Forget, Handover, Holding, Holdings, Nf, Shard};
use sbi::turns::Turns;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What an AMF needs.
#[derive(Clone)]
pub struct Config {
    /// Scheme and authority of the SMF.
    pub smf: String,
    /// Scheme and authority of the UDM.
    pub udm: String,
    /// The AMF's network.
    pub plmn: PlmnId,
}

/// The AMF on one worker.
pub struct Amf(pub(crate) Rc<Core>);

/// What the AMF's procedures work on. It outlives each of them.
pub(crate) struct Core {
    pub(crate) shard: Shard,
    pub(crate) config: Config,
    pub(crate) sessions: RefCell<BTreeMap<SessionKey, PduSession>>,
    /// Sessions that are being established.
    pub(crate) establishing: RefCell<BTreeMap<SessionKey, Establishing>>,
    pub(crate) turns: Turns<SessionKey>,
    pub(crate) ues: RefCell<BTreeMap<Supi, Ue>>,
    pub(crate) registering: RefCell<BTreeMap<Supi, Registering>>,
    pub(crate) ue_turns: Turns<Supi>,
}

impl Actor for Amf {
    type Context = Context<Self>;
}

impl Nf for Amf {
    type Config = Config;

    const TYPE: NfType = NfType::Amf;

    const APIS: &'static [&'static str] = &["/namf-comm/v1", "/namf-callback/v1"];

    fn new(shard: Shard, config: Config, _: &mut Context<Self>) -> Self {
        Amf(Rc::new(Core {
            shard,
            config,
            sessions: RefCell::default(),
            establishing: RefCell::default(),
            turns: Turns::default(),
            ues: RefCell::default(),
            registering: RefCell::default(),
            ue_turns: Turns::default(),
        }))
    }

    fn restore(&mut self, contexts: Vec<FoundContext>) -> Result<(), String> {
        self.0.clone().restore(contexts)
    }

    fn routes(app: &mut web::ServiceConfig) {
        n1n2_message_transfer::routes(app);
        status_notification::routes(app);
        ue::routes(app);
    }
}

impl Handler<Handover> for Amf {
    type Result = ();

    /// An AMF creates nothing for its clients.
    fn handle(&mut self, _: Handover, _: &mut Context<Self>) {}
}

impl Handler<Forget> for Amf {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        let ledger = &self.0.shard.ledger;
        let sessions = std::mem::take(&mut *self.0.sessions.borrow_mut());
        sessions.values().for_each(|session| ledger.end_context(&session.owner));
        let ues = std::mem::take(&mut *self.0.ues.borrow_mut());
        ues.values().for_each(|ue| ledger.end_context(&ue.owner));
        ledger.disown_forgotten();
    }
}

impl Handler<Holdings> for Amf {
    type Result = MessageResult<Holdings>;

    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        let core = &self.0;
        let running = core.turns.busy() + core.ue_turns.busy();
        let running = running + core.establishing.borrow().len() + core.registering.borrow().len();
        MessageResult(Holding { held: Vec::new(), running })
    }
}
