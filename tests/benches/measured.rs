//! An NF to be measured: on one worker thread of its own. A UDM has the default subscribers in its own store.
#![allow(dead_code, reason = "each benchmark needs some of it")]

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
use std::time::Duration;
use tokio::sync::oneshot;

/// A running NF.
pub struct Measured {
    pub api_root: String,
    pub net: Arc<dyn Net>,
    pub workers: Workers,
    started: Started,
}

impl Measured {
    /// Starts one on a free port of the loopback. Needs a running actix system.
    pub async fn start(nf_type: NfType, net: Arc<dyn Net>, policy: Policy) -> Measured {
        let listener = net.listen("127.0.0.1:0").await.expect("a free port of the loopback");
        let api_root = format!("http://{}", listener.local_addr().expect("a bound listener"));
        let env = Env { net: net.clone(), ..Env::system() };
        let party = Party {
            name: nf_type.name().into(),
            nf_type,
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
        Measured { api_root, net, workers, started }
    }

    /// The CPU time that its worker has used.
    pub async fn cpu_time(&self) -> Duration {
        let (tell, told) = oneshot::channel();
        self.workers.spawn(0, move || {
            let _ = tell.send(cpu_time_of("/proc/thread-self/schedstat"));
        });
        told.await.expect("the worker is running")
    }

    /// Stops it.
    pub async fn stop(mut self) {
        self.started.port.stop().await;
        self.workers.stop();
    }
}

/// The CPU time of a thread: the first number of its `schedstat`, in nanoseconds.
///
/// # Panics
///
/// Where there is none: not on Linux, or the thread is gone.
pub fn cpu_time_of(schedstat: &str) -> Duration {
    let said = std::fs::read_to_string(schedstat).expect("Linux with schedstat");
    let ns = said.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("nanoseconds on the CPU"))
}

/// What a UDM does at deadlines.
pub fn at_deadlines(mode: Mode) -> Policy {
    let mut policy = Policy::default();
    policy.deadline.mode = mode;
    policy
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
