//! The section of one NF, and what the NFs beside the first of each type are called.

use super::section::{
    AdminSection, ClientSection, DeadlineSection, JournalSection, ReleaseSection, SbiSection,
};
use api::common::NfInstanceId;
use sbi::party::NfType;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// What an instance may be called: as a host is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceName(String);

/// How long the name of an instance may be.
const MAX_NAME_BYTES: usize = 63;

impl TryFrom<String> for InstanceName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(fits) || name.starts_with('-') {
            return Err(format!("{name:?}: expected at most {MAX_NAME_BYTES} of a-z, 0-9 and -, e.g. smf-2"));
        }
        if name.parse::<NfType>().is_ok() {
            return Err(format!("{name} is the name of the first {name}, which has a section of its own"));
        }
        Ok(InstanceName(name))
    }
}

impl From<InstanceName> for String {
    fn from(name: InstanceName) -> String {
        name.0
    }
}

impl std::str::FromStr for InstanceName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        InstanceName::try_from(name.to_owned())
    }
}

impl std::borrow::Borrow<str> for InstanceName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// `amf`, `smf`, `udm`, `udr`, `nrf`, `scp`, and each of `instances`: one NF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NfSection {
    /// Of an instance: amf, smf, udm, udr, nrf or scp.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub nf_type: Option<NfType>,
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
    /// Its journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalSection>,
    /// How it releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseSection>,
    /// An SMF's: when it answers the creation of an SM context; `after_upstream` or `early`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<smf::Answer>,
    /// An SMF's: what becomes of a create that collides with an SM context; `compare` or `accept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<smf::Collisions>,
    /// An SMF's: how long what follows that answer may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure_timer_ms: Option<u64>,
    /// A UDM's: whether it asks its UDR to be notified of changes, to tell those who subscribed at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hear_changes: Option<bool>,
    /// An SCP's: whether it releases what was made too late for its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_late: Option<bool>,
    /// A UDR's: how it answers the first PUT of a registration; `created` or `no_content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_put: Option<udr::FirstPut>,
    /// An NRF's: after how many seconds it wants to hear of an NF again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heart_beat_s: Option<NonZeroU32>,
    /// How long its stop waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_ms: Option<u64>,
}

impl NfSection {
    fn of(self, nf_type: NfType) -> Result<Self, String> {
        if let Some(said) = self.nf_type.filter(|said| *said != nf_type) {
            return Err(format!("type: {} in the section of the {}", said.name(), nf_type.name()));
        }
        let of_smf = self.answer.is_some() || self.collisions.is_some() || self.procedure_timer_ms.is_some();
        if nf_type != NfType::Smf && of_smf {
            return Err("answer, collisions and procedure_timer_ms are keys of an SMF".into());
        }
        if nf_type != NfType::Udr && self.first_put.is_some() {
            return Err("first_put is a key of a UDR".into());
        }
        if nf_type != NfType::Nrf && self.heart_beat_s.is_some() {
            return Err("heart_beat_s is a key of an NRF".into());
        }
        if nf_type != NfType::Udm && self.hear_changes.is_some() {
            return Err("hear_changes is a key of a UDM".into());
        }
        if nf_type != NfType::Scp && self.release_late.is_some() {
            return Err("release_late is a key of an SCP".into());
        }
        Ok(self)
    }
}

fn first<'de, D: Deserializer<'de>>(nf_type: NfType, section: D) -> Result<Option<NfSection>, D::Error> {
    let section = Option::<NfSection>::deserialize(section)?;
    section.map(|section| section.of(nf_type)).transpose().map_err(Error::custom)
}

/// Reads `amf`.
pub(super) fn amf<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Amf, section)
}

/// Reads `smf`.
pub(super) fn smf<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Smf, section)
}

/// Reads `udm`.
pub(super) fn udm<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Udm, section)
}

/// Reads `udr`.
pub(super) fn udr<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Udr, section)
}

/// Reads `scp`.
pub(super) fn scp<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Scp, section)
}

/// Reads `nrf`.
pub(super) fn nrf<'de, D: Deserializer<'de>>(section: D) -> Result<Option<NfSection>, D::Error> {
    first(NfType::Nrf, section)
}

/// `instances`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instances(BTreeMap<InstanceName, Instance>);

impl Instances {
    /// What is said of the instance of this name.
    pub(super) fn get(&self, name: &str) -> Option<&NfSection> {
        self.0.get(name).map(|instance| &instance.0)
    }

    /// Their names and types.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, NfType)> {
        self.0.iter().filter_map(|(name, instance)| Some((name.clone().into(), instance.0.nf_type?)))
    }
}

/// The section of an NF that says of which type it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "NfSection")]
struct Instance(NfSection);

impl TryFrom<NfSection> for Instance {
    type Error = String;

    fn try_from(section: NfSection) -> Result<Self, String> {
        let nf_type = section.nf_type.ok_or("expected type: one of amf, smf, udm, udr, nrf, scp")?;
        section.of(nf_type).map(Instance)
    }
}
