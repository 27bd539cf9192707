//! The NFs that there are: adding one is a line here.

use crate::process::NfHandle;
use actix::Recipient;
use amf::Amf;
use api::common::PlmnId;
use sbi::net::Listen;
use sbi::party::{NfType, Party};
use sbi::server::{self, Nf, Port, Shards, Workers};
use smf::Smf;
use std::collections::BTreeMap;
use std::sync::Arc;
use udm::Udm;
use udr::{Repository, Udr};

/// The apiRoot under which a UDM without a UDR finds its own store.
pub const LOCAL_UDR: &str = "http://udr.in-process";

/// Where an NF that was given no peer of a type sends its calls: nobody listens there.
const NOBODY: &str = "http://127.0.0.1:9";

/// What an NF is wired to.
#[derive(Clone)]
pub struct Wiring {
    /// The apiRoot of its producer of each type.
    pub peers: BTreeMap<NfType, String>,
    /// The subscribers, for a UDR and for a UDM without one.
    pub repository: Arc<Repository>,
    /// The home network.
    pub plmn: PlmnId,
}

impl Wiring {
    fn peer(&self, nf_type: NfType) -> String {
        self.peers.get(&nf_type).cloned().unwrap_or_else(|| NOBODY.into())
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
    /// Its actors, if it is an AMF: whom to ask for stimuli.
    pub amf: Option<Shards<Amf>>,
}

/// Starts an NF of the party's type.
pub async fn start(party: Party, wiring: &Wiring, listener: Box<dyn Listen>, workers: &Workers) -> Started {
    match party.nf_type {
        NfType::Amf => {
            let config = amf::Config { smf: wiring.peer(NfType::Smf), plmn: wiring.plmn.clone() };
            let running = server::start::<Amf>(party, config, listener, workers).await;
            let amf = Some(running.shards.clone());
            Started { amf, ..started(running) }
        }
        NfType::Smf => {
            let config = smf::Config { udm: wiring.peer(NfType::Udm), plmn: wiring.plmn.clone() };
            started(server::start::<Smf>(party, config, listener, workers).await)
        }
        NfType::Udm => {
            let config = wiring.udm_config(&party);
            started(server::start::<Udm>(party, config, listener, workers).await)
        }
        NfType::Udr => {
            let config = udr::Config { repository: wiring.repository.clone() };
            started(server::start::<Udr>(party, config, listener, workers).await)
        }
    }
}

fn started<N: Nf>(running: server::Running<N>) -> Started {
    let holdings: Vec<Recipient<server::Holdings>> = server::holdings(&running.shards);
    let handle = NfHandle { party: running.party, holdings, keepers: running.keepers };
    Started { handle, port: running.port, amf: None }
}
