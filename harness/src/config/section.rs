//! The sections of a configuration.

use api::common::{Dnn, NfInstanceId, Sd, Snssai, Supi};
use api::nudm_sdm::default_sm_data;
use sbi::party::NfType;
use sbi::policy::{DeadlinePolicy, LateRelease, Mode, OnClientGone, Policy, ReleasePolicy};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use udr::Profile;

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
    pub level: Option<String>,
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

/// `sbi`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SbiSection {
    /// Where it listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<SocketAddr>,
    /// What others shall call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
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
    pub amf: Option<String>,
    /// The apiRoot of its SMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smf: Option<String>,
    /// The apiRoot of its UDM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udm: Option<String>,
    /// The apiRoot of its UDR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udr: Option<String>,
}

impl ClientSection {
    pub(super) fn decide(&self, policy: &mut Policy) {
        set_ms(&mut policy.max_rsp_time, self.max_rsp_time_ms);
    }

    pub(super) fn peer(&self, nf_type: NfType) -> Option<&str> {
        match nf_type {
            NfType::Amf => self.amf.as_deref(),
            NfType::Smf => self.smf.as_deref(),
            NfType::Udm => self.udm.as_deref(),
            NfType::Udr => self.udr.as_deref(),
        }
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
}

impl DeadlineSection {
    pub(super) fn decide(&self, policy: &mut DeadlinePolicy) {
        set(&mut policy.mode, self.mode);
        set(&mut policy.late_release, self.late_release);
        set(&mut policy.on_client_gone, self.on_client_gone);
        set(&mut policy.skew_tolerance_ms, self.skew_tolerance_ms);
        set(&mut policy.margin_ms, self.margin_ms);
        set(&mut policy.strict, self.strict);
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
    pub tries: Option<u32>,
    /// The pause before the second try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
}

impl ReleaseSection {
    pub(super) fn decide(&self, policy: &mut ReleasePolicy) {
        set_ms(&mut policy.settle, self.settle_ms);
        set_ms(&mut policy.wait, self.wait_ms);
        set_ms(&mut policy.timer, self.timer_ms);
        set(&mut policy.tries, self.tries);
        set_ms(&mut policy.backoff, self.backoff_ms);
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

/// `amf`, `smf`, `udm`, `udr`: one NF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NfSection {
    /// Its NF instance id; another one at each start unless it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nf_instance_id: Option<NfInstanceId>,
    /// Where it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sbi: Option<SbiSection>,
    /// Its operator plane, where it runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminSection>,
    /// How it calls, and whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSection>,
    /// How it treats deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DeadlineSection>,
    /// How it releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseSection>,
    /// An SMF's: when it answers the creation of an SM context; `after_upstream` or `early`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<smf::Answer>,
    /// An SMF's: how long what follows that answer may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure_timer_ms: Option<u64>,
    /// A UDM's: whether it asks its UDR to be notified of changes, to tell those who subscribed at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hear_changes: Option<bool>,
    /// How long its stop waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_ms: Option<u64>,
}

impl NfSection {
    pub(super) fn check(&self) -> Result<(), String> {
        let advertise = self.sbi.as_ref().and_then(|sbi| sbi.advertise.as_deref());
        let advertise = advertise.map_or(Ok(()), |root| crate::api_root::own(root).map(|_| ()));
        advertise.map_err(|e| format!("sbi.advertise: {e}"))?;
        let Some(client) = &self.client else { return Ok(()) };
        for nf_type in NfType::ALL {
            let peer = client.peer(*nf_type).map_or(Ok(()), |root| crate::api_root::of(root).map(|_| ()));
            peer.map_err(|e| format!("client.{}: {e}", nf_type.name()))?;
        }
        Ok(())
    }
}

/// `subscribers`: a block of subscribers with the same profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscriberSection {
    /// The first.
    pub supi: Supi,
    /// How many, counted up from the first.
    #[serde(default = "one")]
    pub count: u64,
    /// Which slices they may use, and what in each.
    #[serde(default = "default_slices")]
    pub slices: Vec<SliceSection>,
    /// Their permanent key, 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<String>,
    /// Their OPc, 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opc: Option<String>,
}

/// What is provisioned for one subscriber, as the operator plane takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSection {
    /// Which slices it may use, and what in each.
    #[serde(default = "default_slices")]
    pub slices: Vec<SliceSection>,
    /// Its permanent key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<String>,
    /// Its OPc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opc: Option<String>,
}

impl ProfileSection {
    /// What goes with these slices and keys.
    pub fn profile(&self) -> Profile {
        let slices = self.slices.iter().map(|s| (Snssai { sst: s.sst, sd: s.sd }, s.dnns.clone()));
        let mut profile = Profile::from(default_sm_data(slices));
        let keys = &mut profile.authentication;
        set(&mut keys.enc_permanent_key, self.k.clone().map(Some));
        set(&mut keys.enc_opc_key, self.opc.clone().map(Some));
        profile
    }

    /// What is provisioned, as it would be written.
    pub fn of(profile: &Profile) -> Self {
        let slices = profile.sm.iter().map(|data| SliceSection {
            sst: data.single_nssai.sst,
            sd: data.single_nssai.sd,
            dnns: data.dnn_configurations.iter().flat_map(|all| all.keys()).cloned().collect(),
        });
        let keys = &profile.authentication;
        ProfileSection {
            slices: slices.collect(),
            k: keys.enc_permanent_key.clone(),
            opc: keys.enc_opc_key.clone(),
        }
    }
}

/// How many subscribers one block may have.
const MAX_BLOCK: u64 = 1_000_000;

fn one() -> u64 {
    1
}

fn default_slices() -> Vec<SliceSection> {
    vec![SliceSection { sst: 1, sd: None, dnns: default_dnns() }]
}

fn default_dnns() -> Vec<Dnn> {
    vec![crate::subscribers::dnn(crate::subscribers::DEFAULT_DNN)]
}

impl SubscriberSection {
    /// One subscriber with this profile.
    pub fn one(supi: Supi, profile: ProfileSection) -> Self {
        let ProfileSection { slices, k, opc } = profile;
        SubscriberSection { supi, count: 1, slices, k, opc }
    }

    /// What is provisioned for each.
    pub fn profile(&self) -> Profile {
        let SubscriberSection { slices, k, opc, .. } = self.clone();
        ProfileSection { slices, k, opc }.profile()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MAX_BLOCK).contains(&self.count) {
            return Err(format!("subscribers: {}: expected a count from 1 to {MAX_BLOCK}", self.supi));
        }
        let is_key = |key: &String| key.len() == 32 && key.bytes().all(|digit| digit.is_ascii_hexdigit());
        if let Some(wrong) = [&self.k, &self.opc].into_iter().flatten().find(|key| !is_key(key)) {
            return Err(format!("subscribers: {}: {wrong}: expected 32 hexadecimal digits", self.supi));
        }
        match self.supi.nth(self.count - 1) {
            Some(_) => Ok(()),
            None => Err(format!("subscribers: {}: {} do not fit behind it", self.supi, self.count)),
        }
    }
}

/// A slice and its data networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSection {
    /// Slice/service type.
    pub sst: u8,
    /// Slice differentiator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<Sd>,
    /// What may be reached in it.
    #[serde(default = "default_dnns")]
    pub dnns: Vec<Dnn>,
}
