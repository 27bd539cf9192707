//! The sections of a configuration.

use crate::api_root::{OwnRoot, PeerRoot};
use sbi::journal::Sync;
use sbi::party::NfType;
use sbi::policy::{
    DeadlinePolicy, Forward, LateRelease, LostCreates, MAX_SKEW_TOLERANCE_MS, Mode, OnClientGone, Peer,
    Policy, Regard, ReleasePolicy,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Which plan the addresses of a lab follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// 127.0.0.1, a port for each NF: 7700 + the last part of the address that Open5GS gives it.
    #[default]
    Loopback,
    /// As Open5GS has it: an address for each NF, port 7777.
    Open5gs,
}

impl Addresses {
    /// Where the NF of this type listens.
    pub fn of(self, nf_type: NfType) -> SocketAddr {
        let last: u8 = match nf_type {
            NfType::Amf => 5,
            NfType::Smf => 4,
            NfType::Udm => 12,
            NfType::Udr => 20,
            NfType::Nrf => 10,
            NfType::Scp => 200,
        };
        match self {
            Addresses::Loopback => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7700 + u16::from(last)),
            Addresses::Open5gs => SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 7777),
        }
    }
}

/// `logger`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoggerSection {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter as RUST_LOG takes it, which stands above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Level(String);

impl Level {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Level {
    fn default() -> Self {
        Level("warn".into())
    }
}

impl TryFrom<String> for Level {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_filter = text.contains('=') && tracing_subscriber::EnvFilter::try_new(&text).is_ok();
        match is_filter || text.parse::<tracing_subscriber::filter::LevelFilter>().is_ok() {
            true => Ok(Level(text)),
            false => Err(format!(
                "expected off, error, warn, info, debug, trace or a filter, but found {text:.32?}"
            )),
        }
    }
}

impl From<Level> for String {
    fn from(level: Level) -> String {
        level.0
    }
}

/// `admin`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdminSection {
    /// Where the operator plane listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<SocketAddr>,
}

/// `openapi.mode`: what is done about a request that is not as its API says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaMode {
    /// It is told.
    #[default]
    Warn,
    /// It is told, and answered 400.
    Refuse,
}

/// `openapi`: what messages are held against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenapiSection {
    /// The directory of the OpenAPI files of 3GPP; without it nothing is held against anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// `warn` or `refuse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SchemaMode>,
}

/// `journal`: where NFs write down what they own and owe, so that a crash leaves nothing hanging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSection {
    /// The directory of the journals; without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// `process` or `disk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
}

/// `sbi`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SbiSection {
    /// Where it listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<SocketAddr>,
    /// What others shall call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise: Option<OwnRoot>,
    /// How many streams of a connection may be reset by its client before they were accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pending_resets: Option<usize>,
}

/// `indirect`: what an NF leaves to its SCP, TS 29.500 §6.10 (Rel-17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indirect {
    /// Model C: it names the target itself.
    #[default]
    C,
    /// Model D: the SCP finds it at the NRF.
    D,
}

/// `client`: how an NF calls, and whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientSection {
    /// Its own timer for each upstream call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rsp_time_ms: Option<u64>,
    /// The apiRoot of its AMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amf: Option<PeerRoot>,
    /// The apiRoot of its SMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smf: Option<PeerRoot>,
    /// The apiRoot of its UDM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udm: Option<PeerRoot>,
    /// The apiRoot of its UDR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udr: Option<PeerRoot>,
    /// The apiRoot of the NRF where it registers, and finds the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nrf: Option<PeerRoot>,
    /// The apiRoot of the SCP through which it calls; an SCP's is the next SCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scp: Option<PeerRoot>,
    /// Whether that SCP also finds the producers: `c` or `d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indirect: Option<Indirect>,
}

impl ClientSection {
    pub(super) fn decide(&self, policy: &mut Policy) {
        set_ms(&mut policy.max_rsp_time, self.max_rsp_time_ms);
    }

    pub(super) fn peer(&self, nf_type: NfType) -> Option<&str> {
        let root = match nf_type {
            NfType::Amf => self.amf.as_ref(),
            NfType::Smf => self.smf.as_ref(),
            NfType::Udm => self.udm.as_ref(),
            NfType::Udr => self.udr.as_ref(),
            NfType::Nrf => self.nrf.as_ref(),
            NfType::Scp => self.scp.as_ref(),
        };
        root.map(PeerRoot::as_str)
    }
}

/// `deadline`: see [`DeadlinePolicy`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeadlineSection {
    /// `reject`, `drop` or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// `perform` or `refuse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_release: Option<LateRelease>,
    /// `release` or `keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_client_gone: Option<OnClientGone>,
    /// Added to every deadline, for clocks that are not quite synchronised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_tolerance_ms: Option<u64>,
    /// Work for a request stops so long before its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_ms: Option<u64>,
    /// Malformed timing headers are 400 instead of ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// An SCP's: `unmodified` or `restamp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<Forward>,
    /// Whose timing headers count: networks (`999-70`), NF types (`amf`) or User-Agents, each `honour` or `ignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<BTreeMap<Peer, Regard>>,
}

impl DeadlineSection {
    pub(super) fn of(policy: &DeadlinePolicy) -> Self {
        DeadlineSection {
            mode: Some(policy.mode),
            late_release: Some(policy.late_release),
            on_client_gone: Some(policy.on_client_gone),
            skew_tolerance_ms: Some(policy.skew_tolerance_ms),
            margin_ms: Some(policy.margin_ms),
            strict: Some(policy.strict),
            forward: Some(policy.forward),
            peers: Some(policy.peers.said.clone()),
        }
    }

    pub(super) fn decide(&self, policy: &mut DeadlinePolicy) {
        set(&mut policy.mode, self.mode);
        set(&mut policy.late_release, self.late_release);
        set(&mut policy.on_client_gone, self.on_client_gone);
        set(&mut policy.skew_tolerance_ms, self.skew_tolerance_ms.map(|ms| ms.min(MAX_SKEW_TOLERANCE_MS)));
        set(&mut policy.margin_ms, self.margin_ms);
        set(&mut policy.strict, self.strict);
        set(&mut policy.forward, self.forward);
        let peers = self.peers.iter().flatten().map(|(peer, regard)| (peer.clone(), *regard));
        Arc::make_mut(&mut policy.peers).said.extend(peers);
    }
}

/// `release`: see [`ReleasePolicy`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReleaseSection {
    /// How long the late answer of a create is awaited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
    /// How long a release waits for the first answer of the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How long one try of a release waits for its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_ms: Option<u64>,
    /// How often a release is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<NonZeroU32>,
    /// The pause before the second try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// `report` or `repeat`: creates whose answer was lost, at producers that may not know one that is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<LostCreates>,
}

impl ReleaseSection {
    pub(super) fn of(policy: &ReleasePolicy) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).ok();
        ReleaseSection {
            settle_ms: ms(policy.settle),
            wait_ms: ms(policy.wait),
            timer_ms: ms(policy.timer),
            tries: NonZeroU32::new(policy.tries),
            backoff_ms: ms(policy.backoff),
            settle: Some(policy.lost),
        }
    }

    pub(super) fn decide(&self, policy: &mut ReleasePolicy) {
        set_ms(&mut policy.settle, self.settle_ms);
        set_ms(&mut policy.wait, self.wait_ms);
        set_ms(&mut policy.timer, self.timer_ms);
        set(&mut policy.tries, self.tries.map(NonZeroU32::get));
        set_ms(&mut policy.backoff, self.backoff_ms);
        set(&mut policy.lost, self.settle);
    }
}

fn set<T>(at: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *at = said;
    }
}

fn set_ms(at: &mut Duration, said: Option<u64>) {
    set(at, said.map(Duration::from_millis));
}
