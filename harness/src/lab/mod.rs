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

use crate::process::{NfHandle, Process};
use crate::simulation::{Medium, Network, Stage};
use crate::verdict::Verdict;
use ::amf::{Amf, DeregisterUe, EstablishPduSession, Outcome, RegisterUe, ReleasePduSession, Released};
use actix::dev::ToEnvelope;
use actix::{Handler, MailboxError, Message};
use api::common::Supi;
use client::LabClient;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::journal::{Batch, Crash, Key};
use sbi::server::{Held, Port, Shards, Workers};
use sbi::traffic::Traffic;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use udr::{Profile, Repository};

/// How long a lab is waited for to come to rest, or for an event.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// How often it is looked whether a lab is at rest while nothing is heard of it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// For how long nothing happens in a lab that has come to rest. Simulated time passes only when nothing can be done.
const STILL: Duration = Duration::from_millis(1);

/// A running lab. Dropping it ends its threads at once; [`Lab::stop`] says goodbye first. At its end, what its NFs sent is
/// held against the OpenAPI files, if `MOCK5G_OPENAPI_DIR` says where they are.
pub struct Lab {
    /// Another one whenever an NF has been started anew.
    process: RefCell<Rc<Process>>,
    repository: Arc<Repository>,
    client: LabClient,
    ports: RefCell<Vec<Port>>,
    workers: Option<Workers>,
    judged: bool,
    simulation: Option<Simulation>,
}

/// What there is under simulation only.
struct Simulation {
    stage: Rc<Stage>,
    network: Network,
    media: BTreeMap<String, Medium>,
}

impl Lab {
    /// A lab of AMF, SMF, UDM and UDR, to be adjusted and started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The NFs, as their operator sees them.
    pub fn process(&self) -> Rc<Process> {
        self.process.borrow().clone()
    }

    /// The NF of this name.
    ///
    /// # Panics
    ///
    /// If the lab has none.
    fn nf(&self, name: &str) -> NfHandle {
        self.process().nf(name).unwrap_or_else(|| panic!("the lab has no NF {name}")).clone()
    }

    /// Scheme and authority of an NF.
    ///
    /// # Panics
    ///
    /// If the lab has no NF of this name.
    pub fn api_root(&self, nf: &str) -> String {
        self.nf(nf).party.api_root.to_string()
    }

    /// The AMF starts a PDU session; ends when the procedure has.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn establish(&self, session: PduSession) -> Outcome {
        self.try_establish(session).await.expect("the AMF is running")
    }

    /// The same; no outcome if the AMF crashes, or is down.
    pub async fn try_establish(&self, session: PduSession) -> Option<Outcome> {
        let smf = session.smf.as_ref().map(|smf| self.api_root(smf));
        let message = EstablishPduSession { smf, ..session.message() };
        self.ask_amf(&message.session.supi.clone(), message).await
    }

    /// The AMF registers a UE; ends when the procedure has.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn register(&self, ue: RegisterUe) -> Outcome {
        self.try_register(ue).await.expect("the AMF is running")
    }

    /// The same; no outcome if the AMF crashes, or is down.
    pub async fn try_register(&self, ue: RegisterUe) -> Option<Outcome> {
        self.ask_amf(&ue.supi.clone(), ue).await
    }

    /// The AMF deregisters a UE.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn deregister(&self, supi: &Supi) -> Released {
        self.try_deregister(supi).await.expect("the AMF is running")
    }

    /// The same; no outcome if the AMF crashes, or is down.
    pub async fn try_deregister(&self, supi: &Supi) -> Option<Released> {
        self.ask_amf(supi, DeregisterUe { supi: supi.clone() }).await
    }

    /// The AMF releases a PDU session.
    ///
    /// # Panics
    ///
    /// If the AMF's actor is gone.
    pub async fn release(&self, session: &PduSession) -> Released {
        self.try_release(session).await.expect("the AMF is running")
    }

    /// The same; no outcome if the AMF crashes, or is down.
    pub async fn try_release(&self, session: &PduSession) -> Option<Released> {
        let message = session.message().session;
        let message = ReleasePduSession { supi: message.supi, pdu_session_id: message.pdu_session_id };
        self.ask_amf(&message.supi.clone(), message).await
    }

    async fn ask_amf<M>(&self, supi: &Supi, stimulus: M) -> Option<M::Result>
    where
        M: Message<Result: Send> + Send + 'static,
        Amf: Handler<M>,
        actix::Context<Amf>: ToEnvelope<Amf, M>,
    {
        let amf: Shards<Amf> = self.process().nfs.iter().find_map(|nf| nf.amf.clone())?;
        let answer: Result<_, MailboxError> = amf.of(supi.as_str()).send(stimulus).await;
        answer.ok()
    }

    /// Ends an NF at once, with everything that it does and knows; its journal stays, or what the crash leaves of it. Only
    /// under simulation.
    ///
    /// # Panics
    ///
    /// If the lab is not simulated, or has no NF of this name.
    pub async fn crash(&self, nf: &str, how: Crash) {
        let name = self.nf(nf).party.name;
        self.simulation().stage.crash(&name, how).await;
    }

    /// What the journals of simulated NFs still have of contexts and obligations, once all that was asked for is written.
    pub async fn open_records(&self) -> Vec<String> {
        let mut open = Vec::new();
        for nf in &self.process().nfs {
            let (Some(journal), Some(simulation)) = (&nf.party.journal, &self.simulation) else { continue };
            // It waits for what comes before it.
            let _ = journal.write(Batch::new(), None).await;
            let records = simulation.media.get(&*nf.party.name).map(Medium::records).unwrap_or_default();
            let is_open = |key: &&Key| matches!(key, Key::Obligation { .. } | Key::Context { .. });
            open.extend(records.keys().filter(is_open).map(|key| format!("{}: {key:?}", nf.party.name)));
        }
        open
    }

    /// Whether an NF of this name is there and keeps a journal.
    pub fn keeps_journal(&self, nf: &str) -> bool {
        self.process().nf(nf).is_some_and(|nf| nf.party.journal.is_some())
    }

    /// Whether a simulated NF runs: none does between its crash and its restart.
    pub fn is_running(&self, nf: &str) -> bool {
        self.simulation().stage.is_running(nf)
    }

    /// Starts it anew, as the same party and with the same clock; one that is running crashes first. Only under simulation.
    ///
    /// # Panics
    ///
    /// If the lab is not simulated, or has no NF of this name.
    pub async fn restart(&self, nf: &str) {
        let (name, stage) = (self.nf(nf).party.name, &self.simulation().stage);
        stage.restart(&name).await;
        let started = stage.started(&name).await;
        let mut process = Process::clone(&self.process());
        let known = process.nfs.iter_mut().find(|known| known.party.name == name);
        known.into_iter().for_each(|known| *known = started.handle.clone());
        self.process.replace(Rc::new(process));
        self.ports.borrow_mut().push(started.port);
    }

    /// The simulated network.
    ///
    /// # Panics
    ///
    /// If the lab is not simulated.
    pub fn network(&self) -> &Network {
        &self.simulation().network
    }

    fn simulation(&self) -> &Simulation {
        self.simulation.as_ref().expect("the lab is simulated")
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
        self.process().env.faults.set(rule).expect("room for a fault rule");
    }

    /// Lets everything go well again.
    pub fn clear_faults(&self) {
        self.process().env.faults.clear();
    }

    /// Steps the wall clock of one NF.
    pub fn step_clock(&self, nf: &str, by_ms: i64) {
        self.nf(nf).party.env.clock.step_ms(by_ms);
    }

    /// Steps it so that it is wrong by `by_ms` then.
    pub fn set_clock(&self, nf: &str, by_ms: i64) {
        let clock = self.nf(nf).party.env.clock;
        clock.step_ms(by_ms.saturating_sub(clock.offset_ms()));
    }

    /// The client of this lab that is no NF: it sends whatever it is told to.
    pub fn client(&self) -> &LabClient {
        &self.client
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.process().env.events.after(0, usize::MAX)
    }

    /// How often `kind` was seen at `nf`.
    pub fn count(&self, nf: &str, kind: Kind) -> usize {
        self.events().iter().filter(|e| &*e.nf == nf && e.event == kind).count()
    }

    /// What an NF holds for others.
    pub async fn held(&self, nf: &str) -> Vec<Held> {
        self.process().held(Some(nf)).await.into_iter().map(|(_, held)| held).collect()
    }

    /// Waits for an event, past ones included.
    ///
    /// # Panics
    ///
    /// If it does not come within [`PATIENCE`].
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        match tokio::time::timeout(PATIENCE, self.process().env.events.wait(0, wanted)).await {
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
        if let Err(open) = self.try_settle(PATIENCE).await {
            panic!("the lab did not come to rest:\n  {}\n{}", open.join("\n  "), self.transcript());
        }
    }

    /// The same within `patience`; else what is still open.
    pub async fn try_settle(&self, patience: Duration) -> Result<(), Vec<String>> {
        let rest = async {
            let events = &self.process().env.events;
            // Between the end of a procedure and its handing over nothing is running: the idle are looked at twice.
            let mut was_idle = false;
            loop {
                let newest = events.last_seq();
                let is_idle = self.process().is_idle().await;
                if is_idle && was_idle && events.last_seq() == newest {
                    break;
                }
                was_idle = is_idle;
                let patience = if is_idle { STILL } else { LOOK_AGAIN };
                let next = tokio::time::timeout(patience, events.wait(newest, |_| true)).await;
                was_idle &= next.is_err();
            }
        };
        match tokio::time::timeout(patience, rest).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Verdict::of(&self.process()).await.left),
        }
    }

    /// Lets the lab come to rest, then compares what creators say with what producers hold.
    pub async fn verdict(&self) -> Verdict {
        self.settle().await;
        Verdict::of(&self.process()).await
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

    /// Ends when all NFs that have an NRF are registered there.
    pub async fn until_registered(&self) {
        for nf in self.process().nfs.iter().filter(|nf| nf.party.nrf.is_some()) {
            let name = nf.party.name.clone();
            self.wait_for("a registration", |e| e.nf == name && e.event == Kind::NrfRegistered).await;
        }
    }

    /// Everything that happened, a line each.
    pub fn transcript(&self) -> String {
        let lines = self.events().into_iter().map(|e| serde_json::to_string(&e).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Stops all NFs.
    pub async fn stop(self) {
        for mut port in self.ports.take() {
            port.stop().await;
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
                let process = self.process();
                let nfs = process.nfs.iter().map(|nf| nf.party.name.to_string()).collect();
                expect_schema_true(&process.env.traffic, &nfs);
            }
        }
    }
}
