//! Who an NF is, what world it lives in, and what its operator decided.

use crate::clock::Instant;
use crate::deadline::Deadline;
use crate::env::Env;
use crate::event::{Facts, Kind, RequestId, TraceId};
use crate::header::agent_type;
use crate::journal::Journal;
use crate::nrf::NrfLink;
use crate::policy::Policy;
use http::HeaderMap;
use http::header::USER_AGENT;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The type of an NF, TS 29.510 §6.1.6.3.3 (Rel-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NfType {
    /// Access and mobility management.
    Amf,
    /// Session management.
    Smf,
    /// Unified data management.
    Udm,
    /// Unified data repository.
    Udr,
    /// Network repository: which NFs there are.
    Nrf,
    /// Service communication proxy: passes requests on.
    Scp,
}

impl NfType {
    /// Every type that the mocks know.
    pub const ALL: &[NfType] =
        &[NfType::Amf, NfType::Smf, NfType::Udm, NfType::Udr, NfType::Nrf, NfType::Scp];

    /// As on the wire: `SMF`.
    pub const fn as_str(self) -> &'static str {
        match self {
            NfType::Amf => "AMF",
            NfType::Smf => "SMF",
            NfType::Udm => "UDM",
            NfType::Udr => "UDR",
            NfType::Nrf => "NRF",
            NfType::Scp => "SCP",
        }
    }
}

impl NfType {
    /// As people write it: `smf`.
    pub const fn name(self) -> &'static str {
        match self {
            NfType::Amf => "amf",
            NfType::Smf => "smf",
            NfType::Udm => "udm",
            NfType::Udr => "udr",
            NfType::Nrf => "nrf",
            NfType::Scp => "scp",
        }
    }
}

impl std::str::FromStr for NfType {
    type Err = String;

    /// In either case.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = NfType::ALL.iter().find(|t| t.as_str().eq_ignore_ascii_case(text));
        let names: Vec<_> = NfType::ALL.iter().map(|known| known.name()).collect();
        known.copied().ok_or_else(|| format!("expected one of {}, but found {text:.32?}", names.join(", ")))
    }
}

impl TryFrom<String> for NfType {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<NfType> for String {
    fn from(nf_type: NfType) -> String {
        nf_type.name().to_owned()
    }
}

impl std::fmt::Display for NfType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The SCP of an NF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScpLink {
    root: Arc<str>,
    delegates: bool,
}

impl ScpLink {
    /// The SCP at an apiRoot. With `delegates` it also finds the producers (model D), else the NF does (model C).
    pub fn new(root: impl Into<Arc<str>>, delegates: bool) -> Self {
        ScpLink { root: root.into(), delegates }
    }

    /// Its apiRoot.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whether it finds the producers.
    pub fn delegates(&self) -> bool {
        self.delegates
    }
}

/// An NF instance: what all its workers share.
#[derive(Clone)]
pub struct Party {
    /// Its name in events, faults and configuration; by default its type in lower case.
    pub name: Arc<str>,
    /// Its type.
    pub nf_type: NfType,
    /// Its NF instance id.
    pub instance_id: Uuid,
    /// Scheme and authority under which others reach it: `http://127.0.0.1:7712`.
    pub api_root: Arc<str>,
    /// Its world.
    pub env: Env,
    /// Its operator's decisions.
    pub policy: Policy,
    /// Where it writes down what it owns and owes, if a crash shall leave nothing hanging.
    pub journal: Option<Journal>,
    /// The NRF where it registers and finds its producers, if it has one.
    pub nrf: Option<NrfLink>,
    /// The SCP through which it calls others, if not directly. An SCP's is the next SCP.
    pub scp: Option<ScpLink>,
}

impl Party {
    /// How it names itself in `Server` and `User-Agent`: type and instance id.
    pub fn signature(&self) -> String {
        format!("{}-{}", self.nf_type, self.instance_id)
    }

    /// Who sends a request, by its `User-Agent`: the name of an NF of this process, else the NF type.
    pub fn sender_of(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let agent = headers.get(USER_AGENT)?.to_str().ok()?;
        let directory = &self.env.directory;
        directory.signed(agent).or_else(|| agent_type(headers).map(|name| directory.stranger(&name)))
    }

    /// Tells of a step of this NF's wall clock, if there was one since it was last looked: asked whenever a request arrives
    /// or leaves.
    pub(crate) fn look_at_clock(&self) {
        let Some(step_ms) = self.env.clock.step_since_last_look_ms() else { return };
        self.env.skews.forget();
        let what = format!(
            "the wall clock was stepped by {step_ms} ms; deadlines of requests under way are as before"
        );
        tracing::warn!(nf = %self.name, "{}: {what}", Kind::ClockStepped.as_str());
        self.emit(Kind::ClockStepped, Facts::default().detail(what));
    }

    /// Emits an event of this NF.
    pub fn emit(&self, kind: Kind, facts: Facts) {
        self.env.events.emit(&self.name, &self.env.clock, kind, facts);
    }
}

/// What the work for a request has to know of it.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The request.
    pub request: RequestId,
    /// The procedure it belongs to.
    pub trace: TraceId,
    /// Until when its client waits, if it said so.
    pub deadline: Option<Deadline>,
    /// Whether it only releases: then its deadline does not bound the work.
    pub only_releases: bool,
    /// This procedure's own timer for upstream calls, where it is not the NF's.
    pub own_timer: Option<Duration>,
}

impl Served {
    /// A procedure that this NF starts of its own accord: no client waits for it.
    pub fn own(party: &Party) -> Self {
        let trace = TraceId::fresh(&party.env.entropy);
        Served {
            request: party.env.events.next_request(),
            trace,
            deadline: None,
            only_releases: false,
            own_timer: None,
        }
    }

    /// The deadline that bounds the work: none for a request that only releases.
    pub fn work_deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref().filter(|_| !self.only_releases)
    }

    /// Whether the client's time is over and something that was written at `written_unix_ms` is newer than the
    /// request: a late release must not hit it.
    pub fn is_late_and_older_than(&self, written_unix_ms: i64, now: Instant) -> bool {
        self.deadline.is_some_and(|d| d.expired(now) && d.sent().unix_ms() < written_unix_ms)
    }

    /// What an event about this request says of it.
    pub fn facts(&self, party: &Party) -> Facts {
        let now = party.env.clock.now();
        Facts {
            trace: self.trace,
            request: Some(self.request),
            budget_left_ms: self.deadline.map(|d| d.left_ms(now)),
            ..Facts::default()
        }
    }
}
