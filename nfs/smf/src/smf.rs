//! The SMF's actor and its app.

use crate::collision::Collisions;
use crate::context::{Held, SessionKey, SmContexts};
use crate::message::{CreateSmContext, ModifySmContext, ReleaseSmContext, RetrieveSmContext, SdmNotify};
use crate::udm::{Allowed, Undos};
use crate::{
    after_answer, create_sm_context, endpoint, modify_sm_context, release_sm_context, retrieve_sm_context,
};
use actix::{Actor, AsyncContext, Context, Handler, MessageResult, Recipient, ResponseFuture, WrapFuture};
use actix_web::web;
use api::common::{NfInstanceId, PlmnId};
use api::nsmf_pdusession::{SM_CONTEXTS, sm_context};
use sbi::party::NfType;
use sbi::problem::Cause;
use sbi::release::FoundContext;
use sbi::server::{Failure, Forget, Handover, Holding, Holdings, Nf, Reply, Shard, WrapsErrors};
use sbi::turns::Turns;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// What an SMF needs.
#[derive(Clone)]
pub struct Config {
    /// Scheme and authority of the UDM.
    pub udm: String,
    /// Scheme and authority of the AMF, if there is one: without any, UE and access network hear nothing.
    pub amf: Option<String>,
    /// The same of AMFs whose instance id is known: such a one is called for the SM contexts that it created, the other for
    /// those of all others.
    pub amfs: BTreeMap<NfInstanceId, String>,
    /// The SMF's network.
    pub plmn: PlmnId,
    /// When it answers the creation of an SM context.
    pub answer: Answer,
    /// What becomes of a create that collides with an SM context.
    pub collisions: Collisions,
    /// How long what follows the answer may take.
    pub procedure_timer: Duration,
}

/// When an SMF answers the creation of an SM context; `smf.answer`. TS 23.502 §4.3.2.2.1 (Rel-17) answers early; a
/// deadline that shall cover the whole procedure wants the answer last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// When everything is there that it has to make at the UDM.
    #[default]
    AfterUpstream,
    /// When the session data were read and their changes subscribed to; the registration follows.
    Early,
}

/// The statuses whose errors hold an `SmContextCreateError`, TS 29.502 §A.2 (Rel-17); the others hold plain problem details.
const WRAPPED: [u16; 6] = [400, 403, 404, 500, 503, 504];

/// The SMF on one worker.
pub struct Smf(Rc<Core>);

/// What the SMF's procedures work on. It outlives each of them.
pub(crate) struct Core {
    pub(crate) shard: Shard,
    pub(crate) config: Config,
    pub(crate) undo: Undos,
    pub(crate) newest_allowed: RefCell<Option<Rc<Allowed>>>,
    pub(crate) contexts: RefCell<SmContexts>,
    pub(crate) turns: Turns<SessionKey>,
    /// How many AMFs are being told that their contexts have ended.
    pub(crate) telling: Cell<usize>,
    pub(crate) actor: Recipient<Handover>,
}

impl Actor for Smf {
    type Context = Context<Self>;
}

impl Nf for Smf {
    type Config = Config;

    const TYPE: NfType = NfType::Smf;

    const APIS: &'static [&'static str] = &["/nsmf-pdusession/v1", "/nsmf-callback/v1"];

    /// TS 29.502 §6.1.3.2.3.1 and §6.1.3.3.4.2 (Rel-17): most errors of the creation and modification of an SM context are
    /// wrapped.
    const WRAPS_ERRORS: WrapsErrors = |method, path, status| {
        method == "POST"
            && (path == SM_CONTEXTS || path.starts_with(SM_CONTEXTS) && path.ends_with("/modify"))
            && WRAPPED.contains(&status.as_u16())
    };

    fn new(shard: Shard, config: Config, context: &mut Context<Self>) -> Self {
        let actor = context.address().recipient();
        let undo = Undos::of(NfInstanceId(shard.party.instance_id));
        Smf(Rc::new(Core {
            shard,
            config,
            undo,
            newest_allowed: RefCell::default(),
            contexts: RefCell::default(),
            turns: Turns::default(),
            telling: Cell::default(),
            actor,
        }))
    }

    fn restore(&mut self, contexts: Vec<FoundContext>) -> Result<(), String> {
        self.0.clone().restore(contexts)
    }

    fn routes(app: &mut web::ServiceConfig) {
        endpoint::routes(app);
    }
}

impl Handler<CreateSmContext> for Smf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: CreateSmContext, _: &mut Context<Self>) -> Self::Result {
        Box::pin(create_sm_context::create(self.0.clone(), message))
    }
}

impl Handler<RetrieveSmContext> for Smf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: RetrieveSmContext, _: &mut Context<Self>) -> Self::Result {
        Box::pin(retrieve_sm_context::retrieve(self.0.clone(), message))
    }
}

impl Handler<ModifySmContext> for Smf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: ModifySmContext, _: &mut Context<Self>) -> Self::Result {
        let core = self.0.clone();
        Box::pin(async move { modify_sm_context::modify(&core, &message) })
    }
}

impl Handler<ReleaseSmContext> for Smf {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    fn handle(&mut self, message: ReleaseSmContext, _: &mut Context<Self>) -> Self::Result {
        Box::pin(release_sm_context::release(self.0.clone(), message))
    }
}

impl Handler<SdmNotify> for Smf {
    type Result = Result<Reply, Failure>;

    /// A notification for a subscription that was released changes nothing.
    fn handle(&mut self, message: SdmNotify, _: &mut Context<Self>) -> Self::Result {
        match self.0.shard.ledger.is_wanted(&message.callback) {
            true => Ok(Reply::no_content()),
            false => Err(Failure::new(Cause::ContextNotFound, "no SM context has such a subscription")),
        }
    }
}

impl Handler<Handover> for Smf {
    type Result = ();

    fn handle(&mut self, handover: Handover, context: &mut Context<Self>) {
        let (core, reference) = (self.0.clone(), handover.owner);
        if !handover.delivered {
            core.begin_to_end(&reference);
        }
        let end = async move {
            match handover.delivered {
                true => {
                    core.end_replaced(&reference).await;
                    after_answer::go_on(core, reference).await;
                }
                false => drop(core.remove(&reference).await),
            }
        };
        context.spawn(end.into_actor(self));
    }
}

impl Handler<Forget> for Smf {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        let contexts = std::mem::take(&mut *self.0.contexts.borrow_mut());
        contexts.by_session.owners().for_each(|owner| self.0.shard.ledger.end_context(owner));
        self.0.shard.ledger.disown_forgotten();
    }
}

impl Handler<Holdings> for Smf {
    type Result = MessageResult<Holdings>;

    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        let core = &self.0;
        let contexts = core.contexts.borrow();
        let held = contexts.by_session.iter().map(|(_, reference, held)| sbi::server::Held {
            kind: "sm-context",
            uri: core.uri_of(reference),
            request: Some(held.request),
        });
        let held = held.collect();
        MessageResult(Holding { held, running: core.turns.busy() + core.telling.get() })
    }
}

impl Core {
    /// Of two contexts of one session the newer one stays: whether its 201 was handed over is not known, and an AMF that
    /// never saw it finds out by asking again. What was ending still is; what had not been registered yet is.
    fn restore(self: Rc<Self>, contexts: Vec<FoundContext>) -> Result<(), String> {
        for found in contexts {
            let mut held: Held = found.decode()?;
            held.request = found.request;
            held.allowed = self.shared(Allowed::clone(&held.allowed));
            let (core, reference) = (self.clone(), found.owner.clone());
            if held.ending.is_some() {
                actix::spawn(async move { core.end_and_tell(&reference, held, None).await });
                continue;
            }
            if !held.is_registered {
                actix::spawn(after_answer::go_on(core, reference));
            }
            self.contexts.borrow_mut().add(SessionKey::of(&held.session), found.owner, held);
        }
        let newer = self.contexts.borrow().newest_of_several();
        for reference in newer {
            let core = self.clone();
            actix::spawn(async move { core.end_replaced(&reference).await });
        }
        Ok(())
    }

    /// Puts an SM context on record as it is now, unless it ends.
    pub(crate) fn keep(&self, reference: &str) {
        let mut contexts = self.contexts.borrow_mut();
        if let Some(held) = contexts.get_mut(reference).filter(|held| !held.is_ending) {
            self.shard.ledger.keep_context(reference, held.request, held);
        }
    }

    /// The URI of an SM context.
    pub(crate) fn uri_of(&self, reference: &str) -> String {
        format!("{}{}", self.shard.party.api_root, sm_context(reference))
    }

    /// A reference to hand out: it carries the shard, so that no directory is needed.
    pub(crate) fn new_reference(&self) -> String {
        format!("{}-{}", self.shard.index, self.shard.party.env.entropy.uuid())
    }
}
