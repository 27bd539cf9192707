//! One isolated lab: NFs on free ports of the loopback, or under simulation, and verbs to steer and judge it.
//!
//! ```no_run
//! # use mock5g::lab::{Lab, PduSession};
//! # use sbi::fault::Rule;
//! # async fn scenario() {
//! let lab = Lab::builder().start().await;
//! lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(800).once());
//! let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
//! assert_eq!(outcome.as_str(), "gave_up");
//! lab.expect_nothing_hanging().await;
//! # }
//! ```

mod builder;
mod client;
mod pdu_session;

pub use builder::{Builder, Simulated};
pub use client::Sent;
pub use pdu_session::PduSession;

use crate::process::Process;
use crate::registry::Started;
use crate::verdict::Verdict;
use ::amf::{Amf, DeregisterUe, EstablishPduSession, Outcome, RegisterUe, ReleasePduSession, Released};
use api::common::Supi;
use client::LabClient;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::server::{Held, Shards, Workers};
use sbi::traffic::Traffic;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use udr::{Profile, Repository};

/// How long a lab is waited for to come to rest, or for an event.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// How often it is looked whether a lab is at rest while nothing is heard of it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A running lab. Dropping it ends its threads at once; [`Lab::stop`] says goodbye first. At its end, what its NFs sent is
/// held against the OpenAPI files, if `MOCK5G_OPENAPI_DIR` says where they are.
pub struct Lab {
    process: Process,
    repository: Arc<Repository>,
    amf: Shards<Amf>,
    client: LabClient,
    started: Vec<Started>,
    workers: Option<Workers>,
    judged: bool,
}

impl Lab {
    /// A lab of AMF, SMF, UDM and UDR, to be adjusted and started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The NFs, as their operator sees them.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Scheme and authority of an NF.
    ///
    /// # Panics
    ///
    /// If the lab has no NF of this name.
    pub fn api_root(&self, nf: &str) -> String {
        self.process.nf(nf).unwrap_or_else(|| panic!("the lab has no NF {nf}")).party.api_root.to_string()
    }

    /// The AMF starts a PDU session; ends when the procedure has.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn establish(&self, session: PduSession) -> Outcome {
        let smf = session.smf.as_ref().map(|smf| self.api_root(smf));
        let message = EstablishPduSession { smf, ..session.message() };
        let amf = self.amf.of(message.session.supi.as_str());
        amf.send(message).await.expect("the AMF is running")
    }

    /// The AMF registers a UE; ends when the procedure has.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn register(&self, ue: RegisterUe) -> Outcome {
        let amf = self.amf.of(ue.supi.as_str());
        amf.send(ue).await.expect("the AMF is running")
    }

    /// The AMF deregisters a UE.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn deregister(&self, supi: &Supi) -> Released {
        let amf = self.amf.of(supi.as_str());
        amf.send(DeregisterUe { supi: supi.clone() }).await.expect("the AMF is running")
    }

    /// The AMF releases a PDU session.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn release(&self, session: &PduSession) -> Released {
        let message = session.message().session;
        let amf = self.amf.of(message.supi.as_str());
        let message = ReleasePduSession { supi: message.supi, pdu_session_id: message.pdu_session_id };
        amf.send(message).await.expect("the AMF is running")
    }

    /// Provisions a subscriber, or changes what is provisioned: who monitors it is notified.
    pub fn provision(&self, supi: &Supi, profile: impl Into<Profile>) {
        self.repository.provision(supi, profile);
    }

    /// Makes something go wrong.
    ///
    /// # Panics
    ///
    /// If there are too many rules.
    pub fn fault(&self, rule: Rule) {
        self.process.env.faults.set(rule).expect("room for a fault rule");
    }

    /// Lets everything go well again.
    pub fn clear_faults(&self) {
        self.process.env.faults.clear();
    }

    /// Steps the wall clock of one NF.
    pub fn step_clock(&self, nf: &str, by_ms: i64) {
        let nf = self.process.nf(nf).unwrap_or_else(|| panic!("the lab has no NF {nf}"));
        nf.party.env.clock.step_ms(by_ms);
    }

    /// The client of this lab that is no NF: it sends whatever it is told to.
    pub fn client(&self) -> &LabClient {
        &self.client
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.process.env.events.after(0, usize::MAX)
    }

    /// How often `kind` was seen at `nf`.
    pub fn count(&self, nf: &str, kind: Kind) -> usize {
        self.events().iter().filter(|e| &*e.nf == nf && e.event == kind).count()
    }

    /// What an NF holds for others.
    pub async fn held(&self, nf: &str) -> Vec<Held> {
        self.process.held(Some(nf)).await.into_iter().map(|(_, held)| held).collect()
    }

    /// Waits for an event, past ones included.
    ///
    /// # Panics
    ///
    /// If it does not come within [`PATIENCE`].
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        match tokio::time::timeout(PATIENCE, self.process.env.events.wait(0, wanted)).await {
            Ok(event) => event,
            Err(_) => panic!("no event came that is {what}; there were:\n{}", self.transcript()),
        }
    }

    /// Waits until no procedure runs, and nothing is left to release.
    ///
    /// # Panics
    ///
    /// If that does not happen within [`PATIENCE`].
    pub async fn settle(&self) {
        let rest = async {
            while !self.process.is_idle().await {
                let newest = self.process.env.events.last_seq();
                let _ =
                    tokio::time::timeout(LOOK_AGAIN, self.process.env.events.wait(newest, |_| true)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, rest).await.is_err() {
            let open = Verdict::of(&self.process).await.left.join("\n  ");
            panic!("the lab did not come to rest:\n  {open}\n{}", self.transcript());
        }
    }

    /// Lets the lab come to rest, then compares what creators say with what producers hold.
    pub async fn verdict(&self) -> Verdict {
        self.settle().await;
        Verdict::of(&self.process).await
    }

    /// The same; nothing may be left, and nothing missing.
    ///
    /// # Panics
    ///
    /// If something is, with what happened.
    pub async fn expect_nothing_hanging(&self) -> Verdict {
        let verdict = self.verdict().await;
        let Verdict { left, missing, .. } = &verdict;
        assert!(
            verdict.is_clean(),
            "{verdict}\nleft: {left:#?}\nmissing: {missing:#?}\n{}",
            self.transcript()
        );
        verdict
    }

    /// Everything that happened, a line each.
    pub fn transcript(&self) -> String {
        let lines = self.events().into_iter().map(|e| serde_json::to_string(&e).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Stops all NFs.
    pub async fn stop(mut self) {
        for started in &mut self.started {
            started.port.stop().await;
        }
    }
}

/// What the NFs `nfs` sent has to be as their APIs say, where there are files that say so; see [`crate::oracle`].
#[cfg(feature = "openapi")]
fn expect_schema_true(traffic: &Traffic, nfs: &BTreeSet<String>) {
    let exchanges = traffic.after(None, 0).into_iter().map(|(_, exchange)| exchange);
    let exchanges: Vec<_> = exchanges.filter(|exchange| nfs.contains(&*exchange.nf)).collect();
    crate::oracle::expect_schema_true(&exchanges);
}

#[cfg(not(feature = "openapi"))]
fn expect_schema_true(_: &Traffic, _: &BTreeSet<String>) {}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.stop();
            // A second panic would end the whole test run.
            if self.judged && !std::thread::panicking() {
                let nfs = self.process.nfs.iter().map(|nf| nf.party.name.to_string()).collect();
                expect_schema_true(&self.process.env.traffic, &nfs);
            }
        }
    }
}
