//! Starting an NF: an actor of it on every worker, an actix-web app in front of each, one listener.

use super::accept::{Connection, accept};
use super::front::Front;
use super::keeper::Keeper;
use super::nf::{Nf, Shard, Shards};
use super::reply::{Failure, Reply};
use super::workers::Workers;
use crate::client::Client;
use crate::event::{Facts, Kind, RequestId};
use crate::journal::{Recovered, RecoveredNf};
use crate::net::Listen;
use crate::nrf::Registration;
use crate::party::Party;
use crate::problem::Cause;
use crate::release::Ledger;
use actix::{Actor, Addr};
use actix_web::{App, HttpRequest, web};
use tokio::sync::{mpsc, oneshot};

/// The largest request body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// How many messages an actor's mailbox holds before senders wait.
pub const MAILBOX_CAPACITY: usize = 4_096;

/// How many accepted connections may wait for a worker to take them over.
const MAX_CONNECTIONS_WAITING: usize = 1_024;

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
    stop: Option<oneshot::Sender<()>>,
    drained: Option<oneshot::Receiver<()>>,
    registration: Option<Registration>,
}

impl Port {
    /// Stops: deregisters, so that nobody finds it any more; then no new connection, and GOAWAY on the others. Ends when they
    /// have ended, or after `drain_ms`.
    pub async fn stop(&mut self) {
        if let Some(registration) = self.registration.take() {
            registration.end().await;
        }
        drop(self.stop.take());
        if let Some(drained) = self.drained.take() {
            let _ = drained.await;
        }
    }
}

/// Starts an NF on `workers`, behind `listener`, with what its journal has. The error says what in it cannot be read.
pub async fn start<N: Nf>(
    party: Party,
    config: N::Config,
    listener: Box<dyn Listen>,
    workers: &Workers,
    recovered: RecoveredNf,
) -> Result<Running<N>, String> {
    let (shards, keepers) = start_actors::<N>(&party, &config, workers, recovered).await?;
    let (stop, stopped) = oneshot::channel();
    let front = |n| start_front::<N>(n, &party, &config, &shards, workers);
    let fronts = (0..workers.count()).map(front).collect();
    let (done, drained) = oneshot::channel();
    tokio::task::spawn_local(deal(listener, fronts, stopped, done));
    let registration = party.nrf.clone().map(|nrf| Registration::begin(nrf, &party, N::APIS, workers));
    let port = Port { stop: Some(stop), drained: Some(drained), registration };
    Ok(Running { party, shards, keepers, port })
}

async fn start_actors<N: Nf>(
    party: &Party,
    config: &N::Config,
    workers: &Workers,
    mut recovered: RecoveredNf,
) -> Result<(Shards<N>, Vec<Addr<Keeper>>), String> {
    let (mut actors, mut keepers, mut found) = (Vec::new(), Vec::new(), Found::default());
    for index in 0..workers.count() {
        let (tell, started) = oneshot::channel();
        let (party, config, recovered) = (party.clone(), config.clone(), recovered.shard(index));
        workers.spawn(index, move || {
            // Nobody waits for it any more if the start has been given up.
            let _ = tell.send(start_actor::<N>(party, config, index, &recovered));
        });
        if let Ok(started) = started.await {
            let (actor, keeper, here) = started?;
            actors.push(actor);
            keepers.push(keeper);
            found.add(here);
        }
    }
    if party.journal.is_some() {
        party.env.events.requests_after(found.newest);
        party.emit(Kind::JournalRecovered, Facts::default().detail(found.to_string()));
    }
    Ok((Shards { actors: actors.into(), here: 0 }, keepers))
}

/// What the journal of an NF had.
#[derive(Default)]
struct Found {
    contexts: usize,
    owed: usize,
    newest: RequestId,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.contexts += other.contexts;
        self.owed += other.owed;
        self.newest = self.newest.max(other.newest);
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} contexts, and {} creates to release or settle", self.contexts, self.owed)
    }
}

fn start_actor<N: Nf>(
    party: Party,
    config: N::Config,
    index: usize,
    recovered: &Recovered,
) -> Result<(Addr<N>, Addr<Keeper>, Found), String> {
    let ledger = Ledger::start(Client::new(party.clone()), index);
    let contexts = ledger.recover(recovered)?;
    let newest = contexts.last().map_or(RequestId(0), |context| context.request);
    let found = Found {
        contexts: contexts.len(),
        owed: ledger.unsettled(),
        newest: newest.max(ledger.newest_request()),
    };
    let mut restored = Ok(());
    let actor = N::create(|context| {
        context.set_mailbox_capacity(MAILBOX_CAPACITY);
        let mut nf = N::new(Shard { party, index, ledger: ledger.clone() }, config, context);
        restored = nf.restore(contexts);
        nf
    });
    restored?;
    ledger.resume();
    Ok((actor, Keeper(ledger).start(), found))
}

type Connections = mpsc::Sender<Connection>;

fn start_front<N: Nf>(
    index: usize,
    party: &Party,
    config: &N::Config,
    shards: &Shards<N>,
    workers: &Workers,
) -> (Connections, oneshot::Receiver<()>) {
    let (connections, mut arriving) = mpsc::channel(MAX_CONNECTIONS_WAITING);
    let (done, drained) = oneshot::channel();
    let (party, config, shards) = (party.clone(), config.clone(), Shards { here: index, ..shards.clone() });
    workers.spawn(index, move || {
        tokio::task::spawn_local(async move {
            let grace = party.policy.drain;
            let handler = N::handler(shards, &party, &config).await;
            let front = Front::new(party, handler, N::WRAPS_ERRORS);
            while let Some(connection) = arriving.recv().await {
                tokio::task::spawn_local(front.clone().serve(connection));
            }
            front.shutdown(grace).await;
            let _ = done.send(());
        });
    });
    (connections, drained)
}

pub(super) fn app<N: Nf>(
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
            let detail = format!("this mock {} has no such resource below {api}", N::TYPE);
            Err(Failure::new(Cause::ResourceUriStructureNotFound, detail))
        }
        None => {
            let detail = format!("this is a mock {}; it serves {}", N::TYPE, N::APIS.join(", "));
            Err(Failure::new(Cause::InvalidApi, detail))
        }
    }
}

/// Deals connections to the workers in turn: few long-lived ones spread badly otherwise.
async fn deal(
    listener: Box<dyn Listen>,
    fronts: Vec<(Connections, oneshot::Receiver<()>)>,
    stopped: oneshot::Receiver<()>,
    done: oneshot::Sender<()>,
) {
    let (workers, drained): (Vec<_>, Vec<_>) = fronts.into_iter().unzip();
    let mut turn = workers.iter().cycle();
    let accepting = accept(listener, |connection| {
        // A worker that is behind loses the connection rather than stalling the others.
        let _ = turn.next().map(|worker| worker.try_send(connection));
    });
    tokio::select! {
        biased;
        _ = stopped => {}
        () = accepting => {}
    }
    drop(workers);
    for worker in drained {
        let _ = worker.await;
    }
    let _ = done.send(());
}
