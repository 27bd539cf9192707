//! Starting an NF: an actor of it on every worker, an actix-web app in front of each, one listener.

use super::adapter;
use super::delivery::Handover;
use super::front::{Front, WrapsErrors};
use super::keeper::Keeper;
use super::reply::{Failure, Reply};
use super::workers::Workers;
use crate::client::Client;
use crate::net::{Accepted, Listen};
use crate::party::{NfType, Party, Served};
use crate::problem::Cause;
use crate::release::Ledger;
use crate::turns::{NoTurn, Turn, Turns};
use actix::{Actor, Addr, Context, Handler, Message, Recipient};
use actix_web::{App, HttpRequest, web};
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The largest request body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// How many messages an actor's mailbox holds before senders wait.
pub const MAILBOX_CAPACITY: usize = 4_096;

/// How many accepted connections may wait for a worker to take them over.
const MAX_CONNECTIONS_WAITING: usize = 1_024;

/// A mock NF: an actor, and the app in front of it.
pub trait Nf: Actor<Context = Context<Self>> + Handler<Holdings> + Handler<Handover> + Unpin {
    /// What it needs beside its [`Party`].
    type Config: Clone + Send + 'static;

    /// Its type.
    const TYPE: NfType;

    /// Its APIs, as path prefixes: `/nudm-sdm/v2`.
    const APIS: &'static [&'static str];

    /// The actor of one shard.
    fn new(shard: Shard, config: Self::Config, context: &mut Context<Self>) -> Self;

    /// The routes of its APIs. [`Shards`] of the actor are at hand as `web::Data`.
    fn routes(app: &mut web::ServiceConfig);

    /// Which errors its APIs wrap.
    const WRAPS_ERRORS: WrapsErrors = |_, _| false;
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
        turns.take(key, budget.until()).await.map_err(|no_turn| match no_turn {
            NoTurn::TimedOut => Failure::from(budget.passed()),
            NoTurn::Crowded => Failure::new(Cause::NfCongestion, no_turn.to_string()),
        })
    }
}

/// Asks an actor what its shard holds for others, and how busy it is.
#[derive(Message)]
#[rtype(result = "Holding")]
pub struct Holdings;

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
    actors: Arc<[Addr<A>]>,
    here: usize,
}

impl<A: Actor> Clone for Shards<A> {
    fn clone(&self) -> Self {
        Shards { actors: self.actors.clone(), here: self.here }
    }
}

impl<A: Actor<Context = Context<A>>> Shards<A> {
    /// The shard that keeps the contexts of `subject` (a SUPI).
    pub fn of(&self, subject: &str) -> &Addr<A> {
        let hash = subject
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        &self.actors[usize::try_from(hash % self.actors.len() as u64).unwrap_or(0)]
    }

    /// The actor of the worker that the request arrived at, for what needs no context.
    pub fn here(&self) -> &Addr<A> {
        &self.actors[self.here]
    }

    /// Shard number `index`, if there is one.
    pub fn at(&self, index: usize) -> Option<&Addr<A>> {
        self.actors.get(index)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Addr<A>> {
        self.actors.iter()
    }

    /// Hands a request to an actor and gives back its answer. It is never wrapped in a timeout: the actor itself
    /// enforces the deadline, and a message whose sender has gone would be skipped.
    pub async fn ask<M>(&self, actor: &Addr<A>, message: M) -> Result<Reply, Failure>
    where
        A: Handler<M>,
        M: Message<Result = Result<Reply, Failure>> + Send + 'static,
    {
        let stopped = |_| Failure::new(Cause::SystemFailure, "this NF is stopping");
        actor.send(message).await.map_err(stopped)?
    }
}

/// A running NF.
pub struct Running<N: Nf> {
    /// Who it is.
    pub party: Party,
    /// Its actors.
    pub shards: Shards<N>,
    /// What its shards owe.
    pub keepers: Vec<Addr<Keeper>>,
    /// Its port.
    pub port: Port,
}

/// The port of a running NF.
pub struct Port {
    state: watch::Sender<PortState>,
    drained: Option<oneshot::Receiver<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortState {
    Open,
    Stopped,
}

impl Port {
    /// Stops: no new connection, GOAWAY on the others; ends when they have ended, or after `drain_ms`.
    pub async fn stop(&mut self) {
        let _ = self.state.send(PortState::Stopped);
        if let Some(drained) = self.drained.take() {
            let _ = drained.await;
        }
    }
}

/// Starts an NF on `workers`, behind `listener`.
pub async fn start<N: Nf>(
    party: Party,
    config: N::Config,
    listener: Box<dyn Listen>,
    workers: &Workers,
) -> Running<N> {
    let (shards, keepers) = start_actors::<N>(&party, &config, workers).await;
    let (state, states) = watch::channel(PortState::Open);
    let fronts = (0..workers.count()).map(|n| start_front::<N>(n, &party, &shards, workers)).collect();
    let (done, drained) = oneshot::channel();
    tokio::task::spawn_local(accept(listener, fronts, states, done));
    Running { party, shards, keepers, port: Port { state, drained: Some(drained) } }
}

async fn start_actors<N: Nf>(
    party: &Party,
    config: &N::Config,
    workers: &Workers,
) -> (Shards<N>, Vec<Addr<Keeper>>) {
    let (mut actors, mut keepers) = (Vec::new(), Vec::new());
    for index in 0..workers.count() {
        let (tell, started) = oneshot::channel();
        let (party, config) = (party.clone(), config.clone());
        workers.spawn(index, move || {
            let ledger = Ledger::start(Client::new(party.clone()), index);
            let keeper = Keeper(ledger.clone()).start();
            let actor = N::create(|context| {
                context.set_mailbox_capacity(MAILBOX_CAPACITY);
                N::new(Shard { party, index, ledger }, config, context)
            });
            let _ = tell.send((actor, keeper));
        });
        if let Ok((actor, keeper)) = started.await {
            actors.push(actor);
            keepers.push(keeper);
        }
    }
    (Shards { actors: actors.into(), here: 0 }, keepers)
}

type Connections = mpsc::Sender<(Accepted, SocketAddr)>;

fn start_front<N: Nf>(
    index: usize,
    party: &Party,
    shards: &Shards<N>,
    workers: &Workers,
) -> (Connections, oneshot::Receiver<()>) {
    let (connections, mut arriving) = mpsc::channel::<(Accepted, SocketAddr)>(MAX_CONNECTIONS_WAITING);
    let (done, drained) = oneshot::channel();
    let (party, shards) = (party.clone(), Shards { here: index, ..shards.clone() });
    workers.spawn(index, move || {
        tokio::task::spawn_local(async move {
            let grace = party.policy.drain;
            let front = Front::new(party, adapter::handler(app::<N>(shards)).await, N::WRAPS_ERRORS);
            while let Some((open, peer)) = arriving.recv().await {
                match open() {
                    Ok(io) => drop(tokio::task::spawn_local(front.clone().serve(io, peer))),
                    Err(error) => tracing::warn!(%peer, %error, "a connection could not be taken over"),
                }
            }
            front.shutdown(grace).await;
            let _ = done.send(());
        });
    });
    (connections, drained)
}

fn app<N: Nf>(
    shards: Shards<N>,
) -> App<
    impl actix_web::dev::ServiceFactory<
        actix_web::dev::ServiceRequest,
        Config = (),
        Response = actix_web::dev::ServiceResponse,
        Error = actix_web::Error,
        InitError = (),
    >,
> {
    App::new()
        .app_data(web::Data::new(shards))
        .app_data(web::PayloadConfig::new(MAX_BODY_BYTES))
        .configure(N::routes)
        .default_service(web::to(unknown_path::<N>))
}

/// TS 29.500 §5.2.7.2 (Rel-17): an unknown API is 400, an unknown structure below a known one 404.
async fn unknown_path<N: Nf>(request: HttpRequest) -> Result<Reply, Failure> {
    let path = request.path();
    let known =
        |api: &&&str| path.strip_prefix(**api).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match N::APIS.iter().find(known) {
        Some(api) => {
            let detail = format!("{api} has no such resource; see its OpenAPI file for those there are");
            Err(Failure::new(Cause::ResourceUriStructureNotFound, detail))
        }
        None => {
            let detail = format!("this is a mock {}; it serves {}", N::TYPE, N::APIS.join(", "));
            Err(Failure::new(Cause::InvalidApi, detail))
        }
    }
}

/// Accepts connections and deals them to the workers in turn: few long-lived ones spread badly otherwise.
async fn accept(
    mut listener: Box<dyn Listen>,
    fronts: Vec<(Connections, oneshot::Receiver<()>)>,
    mut states: watch::Receiver<PortState>,
    done: oneshot::Sender<()>,
) {
    let (workers, drained): (Vec<_>, Vec<_>) = fronts.into_iter().unzip();
    for worker in workers.iter().cycle() {
        let accepted = tokio::select! {
            biased;
            _ = states.changed() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            // A worker that is behind loses the connection rather than stalling the others.
            Ok(connection) => drop(worker.try_send(connection)),
            Err(error) => pause_after(&error).await,
        }
    }
    drop((listener, workers));
    for worker in drained {
        let _ = worker.await;
    }
    let _ = done.send(());
}

/// Out of file descriptors, or the like: it passes.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
}

/// The recipients that tell what an NF's shards hold.
pub fn holdings<N: Nf>(shards: &Shards<N>) -> Vec<Recipient<Holdings>> {
    shards.iter().map(|actor| actor.clone().recipient()).collect()
}
