//! What an NF is made of: its actor, what the actor gets, and what it is asked.

use super::adapter;
use super::delivery::Handover;
use super::front::{Handler as FrontHandler, WrapsErrors};
use super::reply::{Failure, Reply};
use super::start::app;
use crate::client::Client;
use crate::env::stable_hash;
use crate::party::{NfType, Party, Served};
use crate::problem::Cause;
use crate::release::{FoundContext, Ledger};
use crate::turns::{Turn, Turns};
use actix::{Actor, Addr, Context, Handler, Message, Recipient};
use actix_web::web;
use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use std::rc::Rc;
use std::sync::Arc;

/// A mock NF: an actor, and the app in front of it.
pub trait Nf:
    Actor<Context = Context<Self>> + Handler<Holdings> + Handler<Handover> + Handler<Forget> + Unpin
{
    /// What it needs beside its [`Party`].
    type Config: Clone + Send + 'static;

    /// Its type.
    const TYPE: NfType;

    /// Its APIs, as path prefixes: `/nudm-sdm/v2`.
    const APIS: &'static [&'static str];

    /// The actor of one shard.
    fn new(shard: Shard, config: Self::Config, context: &mut Context<Self>) -> Self;

    /// Takes back the contexts of the shard that the journal has, oldest first, before it serves anything. The error is for
    /// whoever starts it.
    fn restore(&mut self, contexts: Vec<FoundContext>) -> Result<(), String> {
        match contexts.first() {
            None => Ok(()),
            Some(context) => Err(format!("this NF keeps no contexts, but there is {:.80?}", context.owner)),
        }
    }

    /// The routes of its APIs. [`Shards`] of the actor are at hand as `web::Data`.
    fn routes(app: &mut web::ServiceConfig);

    /// What answers its requests on one worker: an actix-web app with its routes, unless it says otherwise.
    fn handler(
        shards: Shards<Self>,
        _party: &Party,
        _config: &Self::Config,
    ) -> LocalBoxFuture<'static, FrontHandler> {
        Box::pin(adapter::handler(app::<Self>(shards)))
    }

    /// Which errors its APIs wrap.
    const WRAPS_ERRORS: WrapsErrors = |_, _, _| false;
}

/// What an actor gets to work with on its thread.
#[derive(Clone)]
pub struct Shard {
    /// The NF.
    pub party: Party,
    /// Which shard this is.
    pub index: usize,
    /// What it creates upstream; its client reaches the upstreams.
    pub ledger: Ledger,
}

impl Shard {
    /// The client for upstream calls.
    pub fn client(&self) -> &Rc<Client> {
        self.ledger.client()
    }

    /// The turn of the procedure for `served` at the context `key`, within the time that its client gives it.
    pub async fn turn<K: Ord + Clone>(
        &self,
        turns: &Turns<K>,
        key: K,
        served: &Served,
    ) -> Result<Turn<K>, Failure> {
        let budget = self.client().budget(served)?;
        turns.take(key, budget.until()).await.map_err(|no_turn| budget.no_turn(no_turn).into())
    }
}

/// Asks an actor what its shard holds for others, and how busy it is.
#[derive(Message)]
#[rtype(result = "Holding")]
pub struct Holdings;

/// Forget contexts and whatever consumers wrote: everything of it has been released.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Forget;

/// What a shard holds for others.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    /// For others.
    pub held: Vec<Held>,
    /// Contexts at which a procedure is running.
    pub running: usize,
}

/// Something that a producer holds for a consumer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Held {
    /// What it is: `sdm-subscription`, `smf-registration`, `sm-context`.
    pub kind: &'static str,
    /// Its URI, as its consumer knows it.
    pub uri: String,
    /// The request that created it.
    pub request: Option<crate::event::RequestId>,
}

/// The actors of one NF, one per worker.
pub struct Shards<A: Actor> {
    pub(super) actors: Arc<[Addr<A>]>,
    pub(super) here: usize,
}

impl<A: Actor> Clone for Shards<A> {
    fn clone(&self) -> Self {
        Shards { actors: self.actors.clone(), here: self.here }
    }
}

impl<A: Actor<Context = Context<A>>> Shards<A> {
    /// The shard that keeps the contexts of `subject` (a SUPI).
    pub fn of(&self, subject: &str) -> &Addr<A> {
        let shard = stable_hash(subject) % self.actors.len() as u64;
        &self.actors[usize::try_from(shard).unwrap_or(0)]
    }

    /// The actor of the worker that the request arrived at, for what needs no context.
    pub fn here(&self) -> &Addr<A> {
        &self.actors[self.here]
    }

    /// The actor of the first worker, for what one alone knows.
    pub fn first(&self) -> &Addr<A> {
        &self.actors[0]
    }

    /// Shard number `index`, if there is one.
    pub fn at(&self, index: usize) -> Option<&Addr<A>> {
        self.actors.get(index)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Addr<A>> {
        self.actors.iter()
    }

    /// All of them, as recipients of one message.
    pub fn recipients<M>(&self) -> Vec<Recipient<M>>
    where
        A: Handler<M>,
        M: Message<Result: Send> + Send + 'static,
    {
        self.iter().map(|actor| actor.clone().recipient()).collect()
    }

    /// Hands a request to an actor and gives back its answer. It is never wrapped in a timeout: the actor itself
    /// enforces the deadline, and a message whose sender has gone would be skipped.
    pub async fn ask<M>(&self, actor: &Addr<A>, message: M) -> Result<Reply, Failure>
    where
        A: Handler<M>,
        M: Message<Result = Result<Reply, Failure>> + Send + 'static,
    {
        let stopped = |_| Failure::new(Cause::SystemFailure, "this NF is stopping, or the procedure failed");
        actor.send(message).await.map_err(stopped)?
    }
}
