//! NFs of this process, from the first socket to the last release.

use super::Exit;
use super::journals::Journals;
use crate::config::{Config, Indirect};
use crate::operator::{self, Operator};
use crate::process::{NfHandle, Process};
use crate::registry::{self, LOCAL_UDR, StartError, Started, Wiring};
use crate::schemas;
use crate::subscribers;
use api::common::NfInstanceId;
use sbi::env::Env;
use sbi::journal::{Batch, OpenError, Why};
use sbi::net::Listen;
use sbi::nrf::NrfLink;
use sbi::party::{NfType, Party, ScpLink};
use sbi::release::State;
use sbi::server::Workers;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use udr::Repository;

/// An address, and the option or key that says otherwise.
pub(super) struct Place {
    pub(super) at: SocketAddr,
    pub(super) option: String,
}

/// An NF to run.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) nf_type: NfType,
    pub(super) bind: Place,
    pub(super) advertise: Option<String>,
    /// The producers that it is told to call.
    pub(super) peers: BTreeMap<NfType, String>,
    /// What it leaves to its SCP, if it calls through one.
    pub(super) indirect: Option<Indirect>,
}

/// An NF that listens.
struct Bound {
    plan: Plan,
    listener: Box<dyn Listen>,
    api_root: String,
    instance_id: NfInstanceId,
}

/// The line on stdout that says where an NF is.
#[derive(Serialize)]
struct Ready<'a> {
    nf: &'a str,
    sbi: &'a str,
    admin: &'a str,
}

/// Runs NFs until a signal, wired to one another where their plans name nobody else; an error is the environment's
/// fault.
pub(super) async fn host(env: Env, plans: Vec<Plan>, admin: Place, config: &Config) -> Result<Exit, String> {
    let mut signals = Signals::listen().map_err(|e| format!("cannot listen for signals: {e}"))?;
    let env = Env { schemas: schemas::wanted(config.openapi.as_ref())?, ..env };
    let journals = Journals::open(&plans, config)?;
    let workers = journals.workers()?;
    let mut bound = Vec::new();
    for plan in plans {
        let one = bind(plan, &env, config, &journals).await?;
        journals.tell_of_move(&one.plan.name, &one.api_root);
        bound.push(one);
    }
    let (admin, admin_at) = listen_at(&env, &admin).await?;
    let admin_root = format!("http://{}", reachable(admin_at));
    let places: Vec<_> = bound.iter().map(|b| (b.plan.name.clone(), b.api_root.clone())).collect();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = Workers::threads(workers.unwrap_or(processors));
    let (started, operator) = start(bound, &env, config, &workers, journals).await?;
    actix::spawn(operator::serve(operator.clone(), admin));
    for (nf, sbi) in &places {
        let ready = Ready { nf, sbi, admin: &admin_root };
        tell(&ready).map_err(|e| format!("cannot say on stdout where this NF listens: {e}"))?;
    }
    let (exit, has_drained) = until_stopped(started, &operator, &mut signals).await;
    // A worker that hangs in a file system is not waited for.
    if has_drained {
        workers.stop();
    }
    Ok(exit)
}

fn tell(ready: &Ready<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(ready)?)?;
    out.flush()
}

async fn bind(plan: Plan, env: &Env, config: &Config, journals: &Journals) -> Result<Bound, String> {
    let (listener, at) = listen_at(env, &plan.bind).await?;
    let api_root = plan.advertise.clone().unwrap_or_else(|| format!("http://{}", reachable(at)));
    let said = config.instance_id(&plan.name).or_else(|| journals.instance_id(&plan.name).map(NfInstanceId));
    let instance_id = said.unwrap_or_else(|| NfInstanceId(env.entropy.uuid()));
    Ok(Bound { plan, listener, api_root, instance_id })
}

async fn listen_at(env: &Env, place: &Place) -> Result<(Box<dyn Listen>, SocketAddr), String> {
    let Place { at, option } = place;
    let failed = |error| format!("cannot listen on {at}: {error}; choose another address with {option}");
    let listener = env.net.listen(&at.to_string()).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// An address that others can use: 0.0.0.0 and :: are never handed out.
fn reachable(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    SocketAddr::new(own_address().unwrap_or(IpAddr::from([127, 0, 0, 1])), bound.port())
}

/// The address of the interface that a packet to elsewhere would leave by. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    const ELSEWHERE: &str = "192.0.2.1:9";
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(ELSEWHERE).ok()?;
    socket.local_addr().ok().map(|at| at.ip()).filter(|ip| !ip.is_unspecified())
}

async fn start(
    bound: Vec<Bound>,
    env: &Env,
    config: &Config,
    workers: &Workers,
    mut journals: Journals,
) -> Result<(Vec<Started>, Operator), String> {
    let site = Site::of(&bound, env, config);
    let mut started = Vec::new();
    for Bound { plan, listener, api_root, instance_id } in bound {
        let (nrf, scp) = (site.nrf(&plan), site.scp(&plan));
        let party = Party {
            name: plan.name.as_str().into(),
            nf_type: plan.nf_type,
            instance_id: instance_id.0,
            api_root: api_root.into(),
            env: env.for_nf(),
            policy: config.policy(&plan.name),
            journal: None,
            nrf,
            scp,
        };
        let (path, journal) = journals.take(&plan.name).map(|at| (at.path, at.opened)).unzip();
        let begun = registry::start(party, &site.wiring(plan), listener, workers, journal).await;
        started.push(begun.map_err(|error| not_started(path, error))?);
    }
    let nfs = started.iter().map(|started| started.handle.clone()).collect();
    Ok((started, Operator::of(site.process(nfs))))
}

/// An NF starts without fail but for its journal.
fn not_started(path: Option<PathBuf>, error: StartError) -> String {
    let path = path.unwrap_or_default();
    match error {
        StartError::Store(error) => OpenError::of_store(path, error).to_string(),
        StartError::Records(what) => OpenError { path, why: Why::Damaged(what) }.to_string(),
    }
}

/// What the NFs of a process have in common.
struct Site<'a> {
    env: &'a Env,
    config: &'a Config,
    repository: Arc<Repository>,
    /// The first of each type.
    here: BTreeMap<NfType, String>,
    amfs: BTreeMap<NfInstanceId, String>,
    /// The UDR that is told of by the operator plane.
    first_udr: Option<String>,
    /// Whether a UDM keeps its data itself.
    keeps_own_data: bool,
}

impl<'a> Site<'a> {
    fn of(bound: &[Bound], env: &'a Env, config: &'a Config) -> Self {
        env.directory.add(LOCAL_UDR, "udr");
        for (nf_type, root) in bound.iter().flat_map(|b| &b.plan.peers) {
            env.directory.add_foreign(root, nf_type.name());
        }
        let (mut here, mut amfs) = (BTreeMap::new(), BTreeMap::new());
        for Bound { plan, api_root, instance_id, .. } in bound {
            env.directory.add(api_root, &plan.name);
            here.entry(plan.nf_type).or_insert_with(|| api_root.clone());
            if plan.nf_type == NfType::Amf {
                amfs.insert(*instance_id, api_root.clone());
            }
        }
        let first_udr = bound.iter().find(|b| b.plan.nf_type == NfType::Udr).map(|b| b.plan.name.clone());
        let finds_udr = |b: &Bound| {
            let named = |of: NfType| b.plan.peers.contains_key(&of);
            named(NfType::Nrf) || here.contains_key(&NfType::Nrf) || b.plan.indirect.is_some()
        };
        let has_udr = |b: &Bound| {
            here.contains_key(&NfType::Udr) || b.plan.peers.contains_key(&NfType::Udr) || finds_udr(b)
        };
        let keeps_own_data = bound.iter().any(|b| b.plan.nf_type == NfType::Udm && !has_udr(b));
        Site { env, config, repository: provisioned(config), here, amfs, first_udr, keeps_own_data }
    }

    fn wiring(&self, plan: Plan) -> Wiring {
        // An AMF that the SMF is told to call is called for all.
        let is_told_of_amf = plan.peers.contains_key(&NfType::Amf);
        let is_another_udr = plan.nf_type == NfType::Udr && self.first_udr.as_ref() != Some(&plan.name);
        let delegates = self.scp(&plan).is_some_and(|scp| scp.delegates());
        let has_nrf = self.nrf(&plan).is_some() || delegates;
        let (mut peers, nf_type) = (self.here.clone(), plan.nf_type);
        if has_nrf {
            peers.clear();
        }
        peers.extend(plan.peers);
        let wiring = Wiring {
            peers,
            amfs: if is_told_of_amf { BTreeMap::new() } else { self.amfs.clone() },
            repository: if is_another_udr { provisioned(self.config) } else { Arc::clone(&self.repository) },
            plmn: self.config.home_plmn(),
            smf: self.config.smf_choices(&plan.name),
            first_put: self.config.first_put(&plan.name),
            heart_beats: self.config.heart_beats(&plan.name),
        };
        if has_nrf { wiring.finding_peers(nf_type) } else { wiring }
    }

    /// The SCP of an NF: the one that it was told of, else the one here if it is to call through one.
    fn scp(&self, plan: &Plan) -> Option<ScpLink> {
        let told = plan.peers.get(&NfType::Scp);
        // Those of one process know one another.
        let indirect = plan.indirect.or_else(|| told.map(|_| Indirect::C))?;
        let here = self.here.get(&NfType::Scp).filter(|_| plan.nf_type != NfType::Scp);
        let root = told.or(here).filter(|_| plan.nf_type != NfType::Nrf)?;
        Some(ScpLink::new(root.as_str(), indirect == Indirect::D))
    }

    /// The NRF of an NF: the one that it was told of, else the one here.
    fn nrf(&self, plan: &Plan) -> Option<NrfLink> {
        let told = plan.peers.get(&NfType::Nrf).or_else(|| self.here.get(&NfType::Nrf));
        told.filter(|_| plan.nf_type != NfType::Nrf).map(|root| NrfLink::new(root.as_str()))
    }

    fn process(self, nfs: Vec<NfHandle>) -> Process {
        let local_udr = self.keeps_own_data.then(|| (LOCAL_UDR.to_owned(), Arc::clone(&self.repository)));
        let keeps_subscribers = self.first_udr.is_some() || self.keeps_own_data;
        Process {
            env: self.env.clone(),
            nfs,
            local_udr,
            repository: keeps_subscribers.then_some(self.repository),
        }
    }
}

fn provisioned(config: &Config) -> Arc<Repository> {
    let repository = Arc::default();
    subscribers::provision(&repository, config);
    repository
}

/// How it ends, and whether everything had its time to.
async fn until_stopped(started: Vec<Started>, operator: &Operator, signals: &mut Signals) -> (Exit, bool) {
    let first = signals.next().await;
    operator.ready.store(false, Relaxed);
    let (left, last, has_drained) = tokio::select! {
        left = drain(started) => (left, first, true),
        second = signals.next() => {
            let left = tokio::time::timeout(LAST_WORDS, tell_left(&operator.process.nfs)).await;
            (left.unwrap_or(usize::MAX), second, false)
        }
    };
    let exit = match (left, last) {
        (0, Stop::Terminate) => Exit::Well,
        (0, Stop::Interrupt) => Exit::Interrupted,
        _ => Exit::VerdictFailed,
    };
    (exit, has_drained)
}

/// How long the second signal waits to hear what is left.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Who wants the NF to stop.
#[derive(Clone, Copy)]
enum Stop {
    /// SIGTERM: a container runtime, a service manager, a script.
    Terminate,
    /// Ctrl-C.
    Interrupt,
}

/// The signals that stop an NF, from the first moment on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Signals { terminate: signal(terminate)?, interrupt: signal(interrupt)? })
    }

    async fn next(&mut self) -> Stop {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Stop::Terminate,
            _ = self.interrupt.recv() => Stop::Interrupt,
        }
    }
}

/// Consumers before their producers: lets requests end, releases what is still owned, and says what could not be
/// released. How many that are.
async fn drain(mut started: Vec<Started>) -> usize {
    eprintln!("stopping");
    started.sort_by_key(|started| started.handle.party.nf_type);
    for started in &mut started {
        stop(started).await;
    }
    let handles: Vec<_> = started.into_iter().map(|started| started.handle).collect();
    tell_left(&handles).await
}

async fn stop(started: &mut Started) {
    let grace = started.handle.party.policy.drain;
    started.port.stop().await;
    let released = async {
        started.handle.close().await;
        while started.handle.unsettled().await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let _ = tokio::time::timeout(grace, released).await;
    if let Some(journal) = &started.handle.party.journal {
        let written = async {
            while journal.write(Batch::new(), None).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        if tokio::time::timeout(grace, written).await.is_err()
            && let Some(trouble) = journal.trouble()
        {
            eprintln!(
                "{}: {trouble}; what is not in it is lost with this process",
                started.handle.party.name
            );
        }
    }
}

/// What an NF owns is not left if it is in its journal.
async fn tell_left(handles: &[NfHandle]) -> usize {
    let mut left = Vec::new();
    for handle in handles {
        let is_kept = handle.party.journal.as_ref().is_some_and(|journal| journal.trouble().is_none());
        let mut of_nf = handle.resources().await;
        of_nf.retain(|r| {
            !(matches!(r.state, State::Released | State::Void) || is_kept && r.state == State::Owned)
        });
        left.extend(of_nf);
    }
    for resource in &left {
        let state = resource.state.as_str();
        eprintln!("left at {}: {} {} ({state})", resource.at, resource.kind, resource.uri);
    }
    left.len()
}
