//! The NFs that there are: adding one is a line here.

use crate::process::NfHandle;
use amf::Amf;
use api::common::{NfInstanceId, PlmnId, Supi};
use nrf::{HeartBeats, Nrf};
use sbi::client::not_given;
use sbi::event::{Facts, Kind};
use sbi::journal::{Journal, Opened, RecoveredNf, StoreError};
use sbi::net::Listen;
use sbi::nrf::discovered;
use sbi::party::{NfType, Party};
use sbi::policy::Network;
use sbi::server::{self, Nf, Port, Workers};
use scp::Scp;
use smf::Smf;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use udm::Udm;
use udr::{FirstPut, Repository, Udr};

/// The apiRoot under which a UDM without a UDR finds its own store.
pub const LOCAL_UDR: &str = "http://udr.in-process";

/// Which producers an NF of this type calls.
pub fn calls(nf_type: NfType) -> &'static [NfType] {
    match nf_type {
        NfType::Amf => &[NfType::Smf, NfType::Udm],
        NfType::Smf => &[NfType::Udm, NfType::Amf],
        NfType::Udm => &[NfType::Udr],
        NfType::Udr | NfType::Nrf | NfType::Scp => &[],
    }
}

/// Without which of them it cannot do its work: a UDM without a UDR keeps its data itself, and an SMF without an AMF
/// leaves a step out.
pub fn needs(nf_type: NfType) -> Option<NfType> {
    match nf_type {
        NfType::Amf => Some(NfType::Smf),
        NfType::Smf => Some(NfType::Udm),
        NfType::Udm | NfType::Udr | NfType::Nrf | NfType::Scp => None,
    }
}

/// What an SMF decides by itself.
#[derive(Clone, Copy, Debug)]
pub struct SmfChoices {
    /// When it answers the creation of an SM context.
    pub answer: smf::Answer,
    /// What becomes of a create that collides with an SM context.
    pub collisions: smf::Collisions,
    /// How long what follows the answer may take.
    pub procedure_timer: Duration,
}

impl Default for SmfChoices {
    fn default() -> Self {
        SmfChoices {
            answer: smf::Answer::default(),
            collisions: smf::Collisions::default(),
            procedure_timer: Duration::from_millis(10_000),
        }
    }
}

/// What an NF is wired to.
#[derive(Clone)]
pub struct Wiring {
    /// The apiRoot of its producer of each type.
    pub peers: BTreeMap<NfType, String>,
    /// The apiRoots of the AMFs of this process: an SMF answers the one that asks.
    pub amfs: BTreeMap<NfInstanceId, String>,
    /// The subscribers, for a UDR and for a UDM without one.
    pub repository: Arc<Repository>,
    /// The home network.
    pub plmn: PlmnId,
    /// What an SMF decides.
    pub smf: SmfChoices,
    /// How a UDR answers the first PUT at a place.
    pub first_put: FirstPut,
    /// How an NRF asks for heart-beats.
    pub heart_beats: HeartBeats,
}

impl Wiring {
    /// The same with what an NF of this type finds at its NRF: the producers that it was not told of.
    #[must_use]
    pub fn finding_peers(mut self, of: NfType) -> Self {
        for called in calls(of) {
            self.peers.entry(*called).or_insert_with(|| discovered(called.name()));
        }
        self
    }

    fn peer(&self, nf_type: NfType) -> String {
        self.peers.get(&nf_type).cloned().unwrap_or_else(|| not_given(nf_type))
    }

    /// Whether a UDM keeps its data in its own process.
    pub fn has_local_udr(&self) -> bool {
        !self.peers.contains_key(&NfType::Udr)
    }

    fn udm_config(&self, party: &Party) -> udm::Config {
        let (repository, env) = (self.repository.clone(), party.env.clone());
        let local: udm::LocalUdr = Arc::new(move |client| {
            udr::in_process(repository.clone(), env.clone(), LOCAL_UDR.into(), client)
        });
        udm::Config {
            udr: self.peers.get(&NfType::Udr).cloned().unwrap_or_else(|| LOCAL_UDR.into()),
            local_udr: self.has_local_udr().then_some(local),
            home_plmn: self.plmn.clone(),
        }
    }
}

/// An NF that was started.
pub struct Started {
    /// What it holds and owes.
    pub handle: NfHandle,
    /// Its port.
    pub port: Port,
}

/// Takes over the journal of an NF that is about to start.
fn begin_journal(party: &mut Party, opened: Opened, workers: &Workers) -> Result<RecoveredNf, StoreError> {
    let (journal, recovered) = Journal::begin(opened, party, workers)?;
    party.journal = Some(journal);
    Ok(recovered)
}

/// The subscribers' data that an NF keeps itself are in its journal.
fn restore_data(party: &Party, wiring: &Wiring, recovered: &RecoveredNf) -> Result<(), String> {
    let keeps_data = match party.nf_type {
        NfType::Udr => true,
        NfType::Udm => wiring.has_local_udr(),
        NfType::Amf | NfType::Smf | NfType::Nrf | NfType::Scp => false,
    };
    if let (true, Some(journal)) = (keeps_data, &party.journal) {
        let (newest, unknown) = wiring.repository.restore(&recovered.items)?;
        party.env.events.requests_after(newest);
        tell_unknown(party, &unknown);
        wiring.repository.keep_in(journal.clone());
    }
    Ok(())
}

/// Subscribers that were set while an NF ran, or were taken out of its configuration since.
fn tell_unknown(party: &Party, unknown: &BTreeSet<Supi>) {
    let Some(first) = unknown.first() else { return };
    let what = format!(
        "its journal has registrations or subscriptions of {} subscribers that are not provisioned, {first} the first: they stay \
         there unused",
        unknown.len()
    );
    tracing::warn!(nf = %party.name, "{}: {what}", Kind::JournalRecovered.as_str());
    party.emit(Kind::JournalRecovered, Facts::default().detail(what));
}

/// Why an NF does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its journal cannot be taken over.
    #[error("its journal cannot be taken over: {0}")]
    Store(#[from] StoreError),
    /// What its journal has cannot be understood.
    #[error("its journal cannot be understood: {0}")]
    Records(String),
}

/// Starts an NF of the party's type, with what its journal has if it has one.
pub async fn start(
    mut party: Party,
    wiring: &Wiring,
    listener: Box<dyn Listen>,
    workers: &Workers,
    journal: Option<Opened>,
) -> Result<Started, StartError> {
    let recovered = match journal {
        Some(opened) => begin_journal(&mut party, opened, workers)?,
        None => RecoveredNf::default(),
    };
    restore_data(&party, wiring, &recovered).map_err(StartError::Records)?;
    start_with(party, wiring, listener, workers, recovered).await.map_err(StartError::Records)
}

async fn start_with(
    mut party: Party,
    wiring: &Wiring,
    listener: Box<dyn Listen>,
    workers: &Workers,
    recovered: RecoveredNf,
) -> Result<Started, String> {
    Arc::make_mut(&mut party.policy.deadline.peers).home = Some(network_of(&wiring.plmn));
    party.env.directory.add_signature(party.signature(), party.name.clone());
    match party.nf_type {
        NfType::Amf => {
            let config = amf::Config {
                smf: wiring.peer(NfType::Smf),
                udm: wiring.peer(NfType::Udm),
                plmn: wiring.plmn.clone(),
            };
            let running = server::start::<Amf>(party, config, listener, workers, recovered).await?;
            let amf = Some(running.shards.clone());
            let Started { handle, port } = started(running);
            Ok(Started { handle: NfHandle { amf, ..handle }, port })
        }
        NfType::Smf => {
            let config = smf::Config {
                udm: wiring.peer(NfType::Udm),
                amf: wiring.peers.get(&NfType::Amf).cloned(),
                amfs: wiring.amfs.clone(),
                plmn: wiring.plmn.clone(),
                answer: wiring.smf.answer,
                collisions: wiring.smf.collisions,
                procedure_timer: wiring.smf.procedure_timer,
            };
            Ok(started(server::start::<Smf>(party, config, listener, workers, recovered).await?))
        }
        NfType::Udm => {
            let config = wiring.udm_config(&party);
            Ok(started(server::start::<Udm>(party, config, listener, workers, recovered).await?))
        }
        NfType::Udr => {
            let config = udr::Config { repository: wiring.repository.clone(), first_put: wiring.first_put };
            Ok(started(server::start::<Udr>(party, config, listener, workers, recovered).await?))
        }
        NfType::Nrf => {
            let config = nrf::Config { plmn: wiring.plmn.clone(), heart_beats: wiring.heart_beats };
            Ok(started(server::start::<Nrf>(party, config, listener, workers, recovered).await?))
        }
        NfType::Scp => {
            let config = scp::Config::default();
            Ok(started(server::start::<Scp>(party, config, listener, workers, recovered).await?))
        }
    }
}

fn network_of(plmn: &PlmnId) -> Network {
    let nid = plmn.nid.as_ref().map_or(String::new(), |nid| format!("-{nid}"));
    format!("{}-{}{nid}", plmn.mcc, plmn.mnc).parse().expect("MCC, MNC and NID are a network")
}

fn started<N: Nf>(running: server::Running<N>) -> Started {
    let handle = NfHandle {
        party: running.party,
        holdings: running.shards.recipients(),
        keepers: running.keepers,
        forgetful: running.shards.recipients(),
        apis: N::APIS,
        amf: None,
    };
    Started { handle, port: running.port }
}
