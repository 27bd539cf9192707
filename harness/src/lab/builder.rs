//! Building a lab: which NFs, with which policies, in which world.

use super::client::LabClient;
use super::{Lab, Simulation};
use crate::config::Indirect;
use crate::process::Process;
use crate::registry::{self, LOCAL_UDR, SmfChoices, Started, Wiring};
use crate::simulation::{self, Host, Medium, Stage, Stuck, Weather, World};
use crate::subscribers;
use api::common::{PlmnId, Supi};
use futures_util::future::LocalBoxFuture;
use nrf::HeartBeats;
use sbi::env::Env;
use sbi::event::Event;
use sbi::journal::{Opened, Sync, open_file};
use sbi::net::Listen;
use sbi::nrf::NrfLink;
use sbi::party::{NfType, Party, ScpLink};
use sbi::policy::Policy;
use sbi::server::Workers;
use sbi::traffic::Traffic;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use udr::{FirstPut, Profile, Repository};

/// How many workers a lab has unless told otherwise; under simulation, how many shards each NF has.
pub const DEFAULT_WORKERS: usize = 2;

/// A lab to be.
#[derive(Clone)]
pub struct Builder {
    nfs: Vec<Planned>,
    workers: usize,
    subscribers: Vec<(Supi, Profile)>,
    default_subscribers: bool,
    plmn: PlmnId,
    peers: BTreeMap<NfType, String>,
    reaches_ues: bool,
    smf_amf: Option<String>,
    smf: SmfChoices,
    first_put: FirstPut,
    heart_beats: HeartBeats,
    nrf: Option<String>,
    /// Whether the SCPs find the producers, if there are SCPs.
    delegates: Option<bool>,
    judged: bool,
    data_dir: Option<(PathBuf, Sync)>,
    media: BTreeMap<String, Medium>,
}

#[derive(Clone)]
struct Planned {
    name: String,
    nf_type: NfType,
    policy: Policy,
}

impl Default for Builder {
    fn default() -> Self {
        let nf =
            |nf_type: NfType| Planned { name: default_name(nf_type), nf_type, policy: Policy::default() };
        Builder {
            nfs: [NfType::Udr, NfType::Udm, NfType::Smf, NfType::Amf].map(nf).into(),
            workers: DEFAULT_WORKERS,
            subscribers: Vec::new(),
            default_subscribers: true,
            plmn: PlmnId::new("001", "01").expect("the test PLMN"),
            peers: BTreeMap::new(),
            reaches_ues: false,
            smf_amf: None,
            smf: SmfChoices::default(),
            first_put: FirstPut::default(),
            heart_beats: HeartBeats::default(),
            nrf: None,
            delegates: None,
            judged: true,
            data_dir: None,
            media: BTreeMap::new(),
        }
    }
}

impl Builder {
    /// Changes the policy of one NF.
    ///
    /// # Panics
    ///
    /// If the lab has no NF of this name.
    #[must_use]
    pub fn policy(mut self, nf: &str, change: impl FnOnce(&mut Policy)) -> Self {
        let planned = self.nfs.iter_mut().find(|n| n.name == nf);
        change(&mut planned.unwrap_or_else(|| panic!("the lab has no NF {nf}")).policy);
        self
    }

    /// Changes the policy of all NFs.
    #[must_use]
    pub fn policies(mut self, change: impl Fn(&mut Policy)) -> Self {
        self.nfs.iter_mut().for_each(|nf| change(&mut nf.policy));
        self
    }

    /// One SMF more.
    #[must_use]
    pub fn with_smf(mut self, name: &str) -> Self {
        self.nfs.push(Planned { name: name.into(), nf_type: NfType::Smf, policy: Policy::default() });
        self
    }

    /// An NRF, which wants to hear of each NF as often.
    #[must_use]
    pub fn with_nrf(mut self, heart_beats: HeartBeats) -> Self {
        self.nfs.push(Planned { name: "nrf".into(), nf_type: NfType::Nrf, policy: Policy::default() });
        self.heart_beats = heart_beats;
        self
    }

    /// All NFs call through so many SCPs, one after the other: `scp`, `scp-2` and so on. The last one finds the producers
    /// if it is to; that takes an NRF.
    #[must_use]
    pub fn through_scps(mut self, count: usize, delegates: bool) -> Self {
        let scp = |n: usize| Planned { name: scp_name(n), nf_type: NfType::Scp, policy: Policy::default() };
        self.nfs.extend((0..count).map(scp));
        self.delegates = Some(delegates);
        self
    }

    /// As `--indirect` has it: directly, or through an SCP, which finds the producers at an NRF in model D.
    #[must_use]
    pub fn indirect(self, indirect: Option<Indirect>) -> Self {
        match indirect {
            None => self,
            Some(Indirect::C) => self.through_scps(1, false),
            Some(Indirect::D) => self.with_nrf(HeartBeats::default()).through_scps(1, true),
        }
    }

    /// The NFs register at an NRF elsewhere, and find there whom they call.
    #[must_use]
    pub fn nrf(mut self, api_root: &str) -> Self {
        self.nrf = Some(api_root.into());
        self
    }

    /// Only the NFs of these types.
    #[must_use]
    pub fn only(mut self, nf_types: &[NfType]) -> Self {
        self.nfs.retain(|nf| nf_types.contains(&nf.nf_type));
        self
    }

    /// The UDM keeps its data in its own process.
    #[must_use]
    pub fn without_udr(mut self) -> Self {
        self.nfs.retain(|nf| nf.nf_type != NfType::Udr);
        self
    }

    /// The peer at `api_root` stands in for the lab's own NFs of this type.
    #[must_use]
    pub fn peer(mut self, nf_type: NfType, api_root: impl Into<String>) -> Self {
        self.nfs.retain(|nf| nf.nf_type != nf_type);
        self.peers.insert(nf_type, api_root.into());
        self
    }

    /// A subscriber more, or with another profile.
    #[must_use]
    pub fn subscriber(mut self, supi: Supi, profile: impl Into<Profile>) -> Self {
        self.subscribers.push((supi, profile.into()));
        self
    }

    /// So many subscribers more, with the profile of the default ones.
    #[must_use]
    pub fn subscribers(mut self, supis: impl IntoIterator<Item = Supi>) -> Self {
        let default = subscribers::default_profile();
        self.subscribers.extend(supis.into_iter().map(|supi| (supi, default.clone())));
        self
    }

    /// Without the default subscribers: there are only those that are named.
    #[must_use]
    pub fn without_default_subscribers(mut self) -> Self {
        self.default_subscribers = false;
        self
    }

    /// The SMFs send to UE and gNB through the AMF; without this, sessions end with the 201.
    #[must_use]
    pub fn reaching_ues(mut self) -> Self {
        self.reaches_ues = true;
        self
    }

    /// The same, through an AMF that is none of the lab's.
    #[must_use]
    pub fn smf_calls_amf(mut self, api_root: &str) -> Self {
        self.smf_amf = Some(api_root.into());
        self.reaching_ues()
    }

    /// Changes what the SMFs decide.
    #[must_use]
    pub fn smf(mut self, change: impl FnOnce(&mut SmfChoices)) -> Self {
        change(&mut self.smf);
        self
    }

    /// How the UDR answers the first PUT of a registration.
    #[must_use]
    pub fn first_put(mut self, first_put: FirstPut) -> Self {
        self.first_put = first_put;
        self
    }

    /// Each NF of a real lab keeps a journal in this directory.
    #[must_use]
    pub fn data_dir(mut self, directory: &Path, sync: Sync) -> Self {
        self.data_dir = Some((directory.to_owned(), sync));
        self
    }

    /// Under simulation, the NF of this name keeps its journal there.
    #[must_use]
    pub fn journal(mut self, nf: &str, medium: Medium) -> Self {
        self.media.insert(nf.into(), medium);
        self
    }

    /// So many workers, or shards under simulation.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// What its NFs send is not held against OpenAPI files.
    #[must_use]
    pub fn unjudged(mut self) -> Self {
        self.judged = false;
        self
    }

    fn repository(&self) -> Arc<Repository> {
        let repository = Repository::default();
        if self.default_subscribers {
            subscribers::provision_defaults(&repository);
        }
        for (supi, profile) in &self.subscribers {
            repository.provision(supi, profile.clone());
        }
        Arc::new(repository)
    }

    /// Who produces for whom: the peer that was named, else the first NF of each type.
    fn wiring(&self, roots: &BTreeMap<String, String>) -> Wiring {
        let mut peers = self.peers.clone();
        for nf in &self.nfs {
            peers.entry(nf.nf_type).or_insert_with(|| roots[&nf.name].clone());
        }
        match &self.smf_amf {
            _ if !self.reaches_ues => drop(peers.remove(&NfType::Amf)),
            Some(other) => drop(peers.insert(NfType::Amf, other.clone())),
            None => {}
        }
        let amfs = BTreeMap::new();
        Wiring {
            peers,
            amfs,
            repository: self.repository(),
            plmn: self.plmn.clone(),
            smf: self.smf,
            first_put: self.first_put,
            heart_beats: self.heart_beats,
        }
    }

    /// With an NRF, an NF finds there whom the lab was not told to let it call.
    fn wiring_of(&self, nf_type: NfType, wiring: &Wiring) -> Wiring {
        if self.nrf.is_none() && !self.nfs.iter().any(|nf| nf.nf_type == NfType::Nrf) {
            return wiring.clone();
        }
        let mut found = Wiring { peers: self.peers.clone(), ..wiring.clone() }.finding_peers(nf_type);
        match wiring.peers.get(&NfType::Amf).filter(|_| self.smf_amf.is_some()) {
            Some(told) => drop(found.peers.insert(NfType::Amf, told.clone())),
            None if !self.reaches_ues => drop(found.peers.remove(&NfType::Amf)),
            None => {}
        }
        found
    }

    fn party(
        &self,
        nf: &Planned,
        env: &Env,
        roots: &BTreeMap<String, String>,
        journal: Option<&Opened>,
    ) -> Party {
        let root = &*roots[&nf.name];
        env.directory.add(root, &nf.name);
        let nrf = roots.get(NfType::Nrf.name()).or(self.nrf.as_ref()).filter(|_| nf.nf_type != NfType::Nrf);
        let had = journal.and_then(Opened::identity).map(|identity| identity.instance_id);
        Party {
            name: nf.name.as_str().into(),
            nf_type: nf.nf_type,
            instance_id: had.unwrap_or_else(|| env.entropy.uuid()),
            api_root: root.into(),
            env: env.for_nf(),
            policy: nf.policy.clone(),
            journal: None,
            nrf: nrf.map(|root| NrfLink::new(root.as_str())),
            scp: self.scp_of(nf, roots),
        }
    }

    /// The SCP that an NF calls through; an SCP's is the next one.
    fn scp_of(&self, nf: &Planned, roots: &BTreeMap<String, String>) -> Option<ScpLink> {
        let delegates = self.delegates?;
        let next = match nf.nf_type {
            NfType::Nrf => return None,
            NfType::Scp => 1 + (0..self.nfs.len()).find(|n| scp_name(*n) == nf.name)?,
            _ => 0,
        };
        Some(ScpLink::new(roots.get(&scp_name(next))?.as_str(), delegates))
    }

    /// Lets events name the peers that stand in.
    fn name_peers(&self, env: &Env) {
        self.peers
            .iter()
            .for_each(|(nf_type, root)| env.directory.add_foreign(root, &default_name(*nf_type)));
    }

    /// Starts the lab on free ports of the loopback. Needs a running actix system.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub async fn start(self) -> Lab {
        let env = Env::system();
        self.name_peers(&env);
        let workers = Workers::threads(self.workers);
        let (mut listeners, mut roots) = (Vec::new(), BTreeMap::new());
        for nf in &self.nfs {
            let listener = env.net.listen("127.0.0.1:0").await.expect("a free port of the loopback");
            let root = format!("http://{}", listener.local_addr().expect("a bound listener"));
            roots.insert(nf.name.clone(), root);
            listeners.push(listener);
        }
        let wiring = self.wiring(&roots);
        let mut started = Vec::new();
        for (nf, listener) in self.nfs.iter().zip(listeners) {
            let journal = self.data_dir.as_ref().map(|(directory, sync)| {
                open_file(directory, &nf.name, *sync).unwrap_or_else(|error| panic!("{error}"))
            });
            let party = self.party(nf, &env, &roots, journal.as_ref());
            let wiring = self.wiring_of(nf.nf_type, &wiring);
            started.push(start(party, &wiring, listener, &workers, journal).await);
        }
        assemble(env, started, &wiring, Some(workers), self.judged)
    }

    /// Plays `scenario` on the lab under simulation, from beginning to end.
    ///
    /// # Panics
    ///
    /// If the scenario does, or does not end.
    pub fn simulate<S>(self, weather: Weather, scenario: impl FnOnce(Rc<Lab>) -> S + 'static) -> Simulated
    where
        S: Future<Output = ()> + 'static,
    {
        match self.try_simulate(weather, scenario) {
            (events, Ok(())) => Simulated { events },
            (_, Err(stuck)) => panic!("seed {}: {stuck}", weather.seed),
        }
    }

    /// The same, with what the scenario found, or why it did not end. Everything that happened comes first.
    ///
    /// # Panics
    ///
    /// If the scenario does.
    pub fn try_simulate<S, T>(
        self,
        weather: Weather,
        scenario: impl FnOnce(Rc<Lab>) -> S + 'static,
    ) -> (Vec<Event>, Result<T, Stuck>)
    where
        S: Future<Output = T> + 'static,
        T: 'static,
    {
        let runtime = simulation::runtime();
        let traffic = if self.judged { Traffic::default() } else { Traffic::forgotten() };
        let judged = self.judged.then(|| self.nfs.iter().map(|nf| nf.name.clone()).collect());
        let (events, played) = runtime.block_on(async {
            let world = World::new(weather, traffic.clone());
            let events = world.env().events.clone();
            let played = self.play(&world, weather.most, scenario).await;
            (events, played)
        });
        drop(runtime);
        if let Some(nfs) = judged {
            super::expect_schema_true(&traffic, &nfs);
        }
        (events.after(0, usize::MAX), played)
    }

    async fn play<S, T>(
        self,
        world: &World,
        most: Duration,
        scenario: impl FnOnce(Rc<Lab>) -> S + 'static,
    ) -> Result<T, Stuck>
    where
        S: Future<Output = T> + 'static,
        T: 'static,
    {
        let env = world.env().clone();
        self.name_peers(&env);
        let roots = self.nfs.iter().map(|nf| (nf.name.clone(), format!("http://{}", nf.name))).collect();
        let wiring = self.wiring(&roots);
        let stage = Rc::new(Stage::default());
        for nf in &self.nfs {
            let medium = self.media.get(&nf.name).cloned();
            let opened = medium.as_ref().map(Medium::open);
            let party = self.party(nf, &world.env_of(&nf.name), &roots, opened.as_ref());
            let wiring = self.wiring_of(nf.nf_type, &wiring);
            let provisioned = self.clone();
            let fresh = move || provisioned.repository();
            stage.add(host(party, wiring.clone(), self.workers, medium, fresh));
        }
        let media = self.media;
        let names: Vec<_> = self.nfs.into_iter().map(|nf| nf.name).collect();
        let simulated = Simulation { stage: stage.clone(), network: world.network.clone(), media };
        let scenario = async move {
            let mut started = Vec::new();
            for name in names {
                started.push(simulated.stage.started(&name).await);
            }
            let mut lab = assemble(env, started, &wiring, None, false);
            lab.simulation = Some(simulated);
            scenario(Rc::new(lab)).await
        };
        stage.play(scenario, most).await
    }
}

/// What the n-th SCP on the way is called.
fn scp_name(n: usize) -> String {
    match n {
        0 => default_name(NfType::Scp),
        n => format!("{}-{}", NfType::Scp.name(), n + 1),
    }
}

fn default_name(nf_type: NfType) -> String {
    nf_type.name().to_owned()
}

/// A simulated NF: whenever it starts it is the same party, with the same clock and at the same place.
/// How an NF of a simulation starts, each time. What a UDR has in memory goes with it.
fn host(
    party: Party,
    wiring: Wiring,
    shards: usize,
    medium: Option<Medium>,
    fresh: impl Fn() -> Arc<Repository> + 'static,
) -> Host {
    let (name, kept, is_first) = (party.name.to_string(), medium.clone(), Cell::new(true));
    let start = move || {
        let (party, mut wiring, medium) = (party.clone(), wiring.clone(), medium.clone());
        if !is_first.replace(false) && party.nf_type == NfType::Udr {
            wiring.repository = fresh();
        }
        let start: LocalBoxFuture<'static, Started> = Box::pin(async move {
            let listener = party.env.net.listen("0.0.0.0:80").await.expect("a simulated host has a port");
            let journal = medium.as_ref().map(Medium::open);
            start(party, &wiring, listener, &Workers::Here(shards), journal).await
        });
        start
    };
    Host { name, start: Box::new(start), medium: kept }
}

async fn start(
    party: Party,
    wiring: &Wiring,
    listener: Box<dyn Listen>,
    workers: &Workers,
    journal: Option<Opened>,
) -> Started {
    let name = party.name.clone();
    let started = registry::start(party, wiring, listener, workers, journal).await;
    started.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn assemble(env: Env, started: Vec<Started>, wiring: &Wiring, workers: Option<Workers>, judged: bool) -> Lab {
    env.directory.add(LOCAL_UDR, "udr");
    let local_udr = wiring.has_local_udr().then(|| (LOCAL_UDR.to_owned(), wiring.repository.clone()));
    let client = LabClient::new(env.for_nf());
    let repository = wiring.repository.clone();
    let (nfs, ports) = started.into_iter().map(|started| (started.handle, started.port)).unzip();
    Lab {
        process: RefCell::new(Rc::new(Process { env, nfs, local_udr, repository: Some(repository.clone()) })),
        repository,
        client,
        ports: RefCell::new(ports),
        workers,
        judged,
        simulation: None,
    }
}

/// A scenario that was played under simulation.
pub struct Simulated {
    /// Everything that happened.
    pub events: Vec<Event>,
}

impl Simulated {
    /// The events as JSON lines: the same seed gives the same bytes.
    pub fn log(&self) -> String {
        let line = |event: &Event| serde_json::to_string(event).unwrap_or_default() + "\n";
        self.events.iter().map(line).collect()
    }
}
