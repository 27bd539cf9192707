//! The SCP's actor.

use crate::forwarder::Forwarder;
use crate::late::{Creation, Writes};
use actix::{Actor, Context, Handler, MessageResult};
use actix_web::web;
use futures_util::future::LocalBoxFuture;
use sbi::event::{Facts, Kind};
use sbi::party::{NfType, Party};
use sbi::server::{self, Forget, Handover, Holding, Holdings, Nf, Shard, Shards};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What an SCP needs: nothing of its own yet.
#[derive(Clone, Default)]
pub struct Config {
    in_flight: Arc<AtomicUsize>,
}

/// The SCP on one worker. It hears what became of the successes that it passed on; requests do not wait for it.
pub struct Scp {
    pub(crate) shard: Shard,
    config: Config,
    /// Where others may write too, if late ones are released: what is under way there.
    pub(crate) writes: BTreeMap<Arc<str>, Writes>,
    /// What was made for answers of these names.
    pub(crate) on_their_way: BTreeMap<Arc<str>, Creation>,
}

impl Actor for Scp {
    type Context = Context<Self>;
}

impl Nf for Scp {
    type Config = Config;

    const TYPE: NfType = NfType::Scp;

    const APIS: &'static [&'static str] = &[];

    fn new(shard: Shard, config: Config, _: &mut Context<Self>) -> Self {
        Scp { shard, config, writes: BTreeMap::new(), on_their_way: BTreeMap::new() }
    }

    fn routes(_: &mut web::ServiceConfig) {}

    fn handler(
        shards: Shards<Self>,
        party: &Party,
        config: &Config,
    ) -> LocalBoxFuture<'static, server::Handler> {
        let forwarder = Forwarder::new(party.clone(), shards, config.in_flight.clone());
        Box::pin(async move { forwarder.handler() })
    }
}

impl Handler<Handover> for Scp {
    type Result = ();

    /// A create or update was carried out, and its client has left: whatever it made is left to its client and its producer,
    /// unless this SCP is to release it.
    fn handle(&mut self, handover: Handover, _: &mut Context<Self>) {
        let creation = self.on_their_way.remove(&handover.owner);
        if handover.delivered {
            return;
        }
        let facts = Facts::default().detail(format!("its client has left: {}", handover.owner));
        self.shard.party.emit(Kind::ResponseLate, facts);
        creation.into_iter().for_each(|creation| self.release(creation));
    }
}

impl Handler<Forget> for Scp {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {}
}

impl Handler<Holdings> for Scp {
    type Result = MessageResult<Holdings>;

    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Holding { held: Vec::new(), running: self.config.in_flight.load(Relaxed) })
    }
}
