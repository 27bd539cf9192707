//! The UDM's actor and its app.

use crate::context::{AmfRegistration, Registration, RegistrationKey, Subscription, SubscriptionKey};
use crate::{
    data_change, modify_amf, modify_subscription, register_amf, sdm, subscribe, subscribed_data, ue_context,
    uecm, uecm_amf,
};
use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, MessageResult, Recipient, ResponseFuture,
    WrapFuture,
};
use actix_web::web;
use api::common::{PlmnId, Supi};
use sbi::client::{Client, InProcess};
use sbi::contexts::Contexts;
use sbi::party::NfType;
use sbi::release::{FoundContext, OwnerKey};
use sbi::server::{Failure, Forget, Handover, Held, Holding, Holdings, Nf, Reply, Shard};
use sbi::turns::Turns;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Makes the in-process UDR of a worker; the client is the worker's.
pub type LocalUdr = Arc<dyn Fn(&Rc<Client>) -> InProcess + Send + Sync>;

/// What a UDM needs.
#[derive(Clone)]
pub struct Config {
    /// Scheme and authority of the UDR.
    pub udr: String,
    /// The UDR, where it lives in this process instead of the network.
    pub local_udr: Option<LocalUdr>,
    /// The network whose data are meant where a consumer does not say.
    pub home_plmn: PlmnId,
}

/// The UDM on one worker.
pub struct Udm(pub(crate) Rc<Core>);

/// What the UDM's procedures work on. It outlives each of them.
pub(crate) struct Core {
    pub(crate) shard: Shard,
    pub(crate) config: Config,
    pub(crate) registrations: RefCell<Contexts<RegistrationKey, Registration>>,
    pub(crate) registration_turns: Turns<RegistrationKey>,
    pub(crate) amf_registrations: RefCell<Contexts<Supi, AmfRegistration>>,
    pub(crate) amf_turns: Turns<Supi>,
    pub(crate) subscriptions: RefCell<Contexts<SubscriptionKey, Subscription>>,
    pub(crate) subscription_turns: Turns<Supi>,
    /// How many notifications are under way.
    pub(crate) notifications: Cell<usize>,
    pub(crate) actor: Recipient<Handover>,
}

impl Actor for Udm {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let core = self.0.clone();
        context.spawn(subscribe::expire(core).into_actor(self).map(|(), _, _| ()));
    }
}

impl Nf for Udm {
    type Config = Config;

    const TYPE: NfType = NfType::Udm;

    const APIS: &'static [&'static str] = &["/nudm-sdm/v2", "/nudm-uecm/v1", "/nudm-callback/v1"];

    fn new(shard: Shard, config: Config, context: &mut Context<Self>) -> Self {
        if let Some(local_udr) = &config.local_udr {
            let authority =
                config.udr.split_once("://").map_or(config.udr.as_str(), |(_, authority)| authority);
            shard.client().mount(authority, local_udr(shard.client()));
        }
        Udm(Rc::new(Core {
            shard,
            config,
            registrations: RefCell::default(),
            registration_turns: Turns::default(),
            amf_registrations: RefCell::default(),
            amf_turns: Turns::default(),
            subscriptions: RefCell::default(),
            subscription_turns: Turns::default(),
            notifications: Cell::default(),
            actor: context.address().recipient(),
        }))
    }

    fn restore(&mut self, contexts: Vec<FoundContext>) -> Result<(), String> {
        self.0.clone().restore(contexts)
    }

    fn routes(app: &mut web::ServiceConfig) {
        sdm::routes(app);
        uecm::routes(app);
        data_change::routes(app);
    }
}

/// Hands a message to the procedure that serves it.
macro_rules! procedure {
    ($message:ty => $procedure:path) => {
        impl Handler<$message> for Udm {
            type Result = ResponseFuture<Result<Reply, Failure>>;

            fn handle(&mut self, message: $message, _: &mut Context<Self>) -> Self::Result {
                Box::pin($procedure(self.0.clone(), message))
            }
        }
    };
}

procedure!(sdm::GetData => subscribed_data::get);
procedure!(sdm::GetDataSets => subscribed_data::get_sets);
procedure!(sdm::Subscribe => subscribe::create);
procedure!(sdm::Modify => modify_subscription::modify);
procedure!(sdm::Unsubscribe => subscribe::delete);
procedure!(uecm::Register => uecm::register);
procedure!(uecm::GetRegistration => uecm::get);
procedure!(uecm::GetRegistrations => uecm::list);
procedure!(uecm::Deregister => uecm::deregister);

procedure!(uecm_amf::RegisterAmf => register_amf::register);
procedure!(uecm_amf::ModifyAmf => modify_amf::modify);
procedure!(uecm_amf::GetAmf => uecm_amf::read);

impl Handler<sdm::GetUeContext> for Udm {
    type Result = Result<Reply, Failure>;

    fn handle(&mut self, message: sdm::GetUeContext, _: &mut Context<Self>) -> Self::Result {
        Ok(ue_context::get(&self.0, &message))
    }
}

impl Handler<data_change::DataChange> for Udm {
    type Result = Result<Reply, Failure>;

    fn handle(&mut self, message: data_change::DataChange, _: &mut Context<Self>) -> Self::Result {
        data_change::pass_on(&self.0, &message)
    }
}

impl Handler<Handover> for Udm {
    type Result = ();

    fn handle(&mut self, handover: Handover, context: &mut Context<Self>) {
        let core = self.0.clone();
        if handover.delivered {
            let replaced = core.keep(&handover.owner);
            context.spawn(async move { core.end_replaced(replaced).await }.into_actor(self));
        } else if core.drop_owner(&handover.owner) {
            context.spawn(async move { core.shard.ledger.let_go(&handover.owner).await }.into_actor(self));
        }
    }
}

impl Handler<Forget> for Udm {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        let core = &self.0;
        let end = |owner: &OwnerKey| core.shard.ledger.end_context(owner);
        std::mem::take(&mut *core.registrations.borrow_mut()).owners().for_each(end);
        std::mem::take(&mut *core.subscriptions.borrow_mut()).owners().for_each(end);
        std::mem::take(&mut *core.amf_registrations.borrow_mut()).owners().for_each(end);
        self.0.shard.ledger.disown_forgotten();
    }
}

impl Handler<Holdings> for Udm {
    type Result = MessageResult<Holdings>;

    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        let core = &self.0;
        let turns = [core.registration_turns.busy(), core.amf_turns.busy(), core.subscription_turns.busy()];
        let running = turns.iter().sum::<usize>() + core.notifications.get();
        MessageResult(Holding { held: core.held(), running })
    }
}

impl Core {
    fn held(&self) -> Vec<Held> {
        let root = &self.shard.party.api_root;
        let registrations = self.registrations.borrow();
        let registrations = registrations.iter().map(|(key, _, registration)| Held {
            kind: "smf-registration",
            uri: format!("{root}{}", api::nudm_uecm::smf_registration(&key.supi, key.pdu_session_id)),
            request: Some(registration.request),
        });
        let amf_registrations = self.amf_registrations.borrow();
        let amf_registrations = amf_registrations.iter().map(|(supi, _, registration)| Held {
            kind: "amf-3gpp-access",
            uri: format!("{root}{}", api::nudm_uecm::amf_registration(supi)),
            request: Some(registration.request),
        });
        let subscriptions = self.subscriptions.borrow();
        let subscriptions = subscriptions.iter().map(|(key, _, subscription)| Held {
            kind: "sdm-subscription",
            uri: format!("{root}{}", api::nudm_sdm::sdm_subscription(&key.supi, &key.id)),
            request: Some(subscription.request),
        });
        registrations.chain(amf_registrations).chain(subscriptions).collect()
    }
}
