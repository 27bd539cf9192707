//! A UDM to be measured: on one worker thread of its own, with the default subscribers in its own store.

use api::common::PlmnId;
use mock5g::registry::{self, SmfChoices, Started, Wiring};
use mock5g::subscribers;
use sbi::env::Env;
use sbi::net::Net;
use sbi::party::{NfType, Party};
use sbi::policy::{Mode, Policy};
use sbi::server::Workers;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A running UDM.
pub struct Udm {
    pub api_root: String,
    pub net: Arc<dyn Net>,
    pub workers: Workers,
    started: Started,
}

impl Udm {
    /// Starts one on a free port of the loopback. Needs a running actix system.
    pub async fn start(net: Arc<dyn Net>, mode: Mode) -> Udm {
        let listener = net.listen("127.0.0.1:0").await.expect("a free port of the loopback");
        let api_root = format!("http://{}", listener.local_addr().expect("a bound listener"));
        let env = Env { net: net.clone(), ..Env::system() };
        let mut policy = Policy::default();
        policy.deadline.mode = mode;
        let party = Party {
            name: "udm".into(),
            nf_type: NfType::Udm,
            instance_id: env.entropy.uuid(),
            api_root: api_root.as_str().into(),
            env,
            policy,
            journal: None,
            nrf: None,
            scp: None,
        };
        let workers = Workers::threads(1);
        let started = registry::start(party, &wiring(), listener, &workers, None).await.expect("it starts");
        Udm { api_root, net, workers, started }
    }

    /// Stops it.
    pub async fn stop(mut self) {
        self.started.port.stop().await;
        self.workers.stop();
    }
}

fn wiring() -> Wiring {
    let repository = Arc::default();
    subscribers::provision_defaults(&repository);
    Wiring {
        peers: BTreeMap::new(),
        amfs: BTreeMap::new(),
        repository,
        plmn: PlmnId::new("001", "01").expect("the test PLMN"),
        smf: SmfChoices::default(),
        first_put: Default::default(),
        heart_beats: Default::default(),
    }
}
