//! What a user can set: one YAML file, layered between the defaults and the environment.
//!
//! Nothing is mandatory: the defaults are a working lab. What a section leaves out is what the section above it says,
//! and at last the default.

mod effective;
mod nf;
mod overlay;
mod section;
mod subscribers;

pub use nf::{InstanceName, Instances, NfSection};
pub use section::{
    Addresses, AdminSection, ClientSection, DeadlineSection, Indirect, JournalSection, Level, LoggerSection,
    OpenapiSection, ReleaseSection, SbiSection, SchemaMode,
};
pub use subscribers::{Key, SliceSection, SubscriberSection};

use crate::registry::SmfChoices;
use api::common::{NfInstanceId, PlmnId};
use sbi::journal::Sync;
use sbi::party::NfType;
use sbi::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The configuration of a process, as far as it was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The home network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plmn: Option<PlmnId>,
    /// On which addresses the NFs listen unless `sbi` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Addresses>,
    /// The log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<LoggerSection>,
    /// The operator plane of a lab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminSection>,
    /// What messages are held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openapi: Option<OpenapiSection>,
    /// How every NF treats deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DeadlineSection>,
    /// The journals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalSection>,
    /// How every NF releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseSection>,
    /// How every NF calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSection>,
    /// How long a stop waits for connections to end, and then for releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_ms: Option<u64>,
    /// Who can be served; instead of the default subscribers.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "subscribers::blocks")]
    pub subscribers: Option<Vec<SubscriberSection>>,
    /// The AMF.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::amf")]
    pub amf: Option<NfSection>,
    /// The SMF.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::smf")]
    pub smf: Option<NfSection>,
    /// The UDM.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::udm")]
    pub udm: Option<NfSection>,
    /// The UDR.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::udr")]
    pub udr: Option<NfSection>,
    /// The NRF: a lab has one if there is this section.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::nrf")]
    pub nrf: Option<NfSection>,
    /// The SCP: a lab has one if there is this section.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nf::scp")]
    pub scp: Option<NfSection>,
    /// More NFs, by name: a second SMF, say. A lab wires each as it does the first of its type; the others go on calling
    /// the first unless their `client` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<Instances>,
}

/// A configuration that cannot be used; for a person, with file, line and caret, or the variable's name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

impl Config {
    /// The file, if one is named, and over it what `variables` say.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or either says something that is no configuration.
    pub fn load(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Config, Unusable> {
        let config = match file {
            Some(file) => Config::read(file)?,
            None => Config::default(),
        };
        overlay::overlay(config, variables).map_err(Unusable)
    }

    fn read(file: &Path) -> Result<Config, Unusable> {
        let named = |error: &dyn std::fmt::Display| {
            let name = file.display().to_string();
            let error = error.to_string();
            let error = error.trim_start_matches("error: ").replace("<input>", &name);
            Unusable(format!("{name}: {error}"))
        };
        let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
        if text.trim().is_empty() {
            return Ok(Config::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| named(&error))
    }

    /// The NFs of a lab by name: the first of each type, unless `client` names one for all that stands in for it; then the
    /// other instances.
    pub fn nfs(&self) -> Vec<(String, NfType)> {
        let stands_in = |nf_type: NfType| self.client.as_ref().is_some_and(|all| all.peer(nf_type).is_some());
        let is_asked_for = |nf_type: NfType| match nf_type {
            NfType::Nrf => self.nrf.is_some(),
            NfType::Scp => self.scp.is_some(),
            _ => true,
        };
        let first = NfType::ALL.iter().filter(|nf_type| !stands_in(**nf_type) && is_asked_for(**nf_type));
        let first = first.map(|nf_type| (nf_type.name().to_owned(), *nf_type));
        first.chain(self.instances.iter().flat_map(Instances::all)).collect()
    }

    /// An NF instance id that two NFs have: they could not be told apart.
    pub fn instance_id_of_two(&self) -> Option<(NfInstanceId, String)> {
        let mut seen = BTreeSet::new();
        let ids = self.nfs().into_iter().filter_map(|(name, _)| Some((self.instance_id(&name)?, name)));
        ids.into_iter().find(|(id, _)| !seen.insert(*id))
    }

    /// What is logged, where RUST_LOG does not say it.
    pub fn log_level(&self) -> Level {
        self.logger.as_ref().and_then(|logger| logger.level.clone()).unwrap_or_default()
    }

    /// What is said of the NF of this name alone.
    pub fn section(&self, name: &str) -> Option<&NfSection> {
        match name.parse() {
            Ok(NfType::Amf) => self.amf.as_ref(),
            Ok(NfType::Smf) => self.smf.as_ref(),
            Ok(NfType::Udm) => self.udm.as_ref(),
            Ok(NfType::Udr) => self.udr.as_ref(),
            Ok(NfType::Nrf) => self.nrf.as_ref(),
            Ok(NfType::Scp) => self.scp.as_ref(),
            Err(_) => self.instances.as_ref()?.get(name),
        }
    }

    /// The NF instance id that is said for the NF of this name.
    pub fn instance_id(&self, name: &str) -> Option<NfInstanceId> {
        self.section(name)?.nf_instance_id
    }

    /// The same, with the OpenAPI files in `dir` if one is named.
    #[must_use]
    pub fn with_openapi(mut self, dir: Option<PathBuf>) -> Config {
        if dir.is_some() {
            self.openapi.get_or_insert_default().dir = dir;
        }
        self
    }

    /// The same, with a lab that has an SCP through which all call, and an NRF if the SCP is to find the producers.
    #[must_use]
    pub fn with_indirect(mut self, indirect: Option<Indirect>) -> Config {
        let Some(indirect) = indirect else { return self };
        self.scp.get_or_insert_default();
        if indirect == Indirect::D {
            self.nrf.get_or_insert_default();
        }
        self.client.get_or_insert_default().indirect = Some(indirect);
        self
    }

    /// What the NF of this name leaves to its SCP, if that is said.
    pub fn indirect(&self, name: &str) -> Option<Indirect> {
        let clients = [self.section(name).and_then(|nf| nf.client.as_ref()), self.client.as_ref()];
        clients.into_iter().flatten().find_map(|client| client.indirect)
    }

    /// The same, with the journals in `dir` if one is named.
    #[must_use]
    pub fn with_data_dir(mut self, dir: Option<PathBuf>) -> Config {
        if dir.is_some() {
            self.journal.get_or_insert_default().dir = dir;
        }
        self
    }

    /// In which directory the NF of this name keeps its journal, if it keeps one, and when that reaches the disk.
    pub fn journal(&self, name: &str) -> Option<(PathBuf, Sync)> {
        let said = [self.section(name).and_then(|nf| nf.journal.as_ref()), self.journal.as_ref()];
        let dir = said.iter().flatten().find_map(|section| section.dir.clone())?;
        let sync = said.iter().flatten().find_map(|section| section.sync);
        Some((dir, sync.unwrap_or_default()))
    }

    /// The home network.
    pub fn home_plmn(&self) -> PlmnId {
        self.plmn.clone().unwrap_or_else(crate::subscribers::home_plmn)
    }

    /// The operator's decisions for an NF: its own section, then what is said of every NF, then the defaults.
    pub fn policy(&self, name: &str) -> Policy {
        let mut policy = Policy::default();
        let of_nf = self.section(name);
        let deadlines = [self.deadline.as_ref(), of_nf.and_then(|nf| nf.deadline.as_ref())];
        deadlines.into_iter().flatten().for_each(|section| section.decide(&mut policy.deadline));
        let releases = [self.release.as_ref(), of_nf.and_then(|nf| nf.release.as_ref())];
        releases.into_iter().flatten().for_each(|section| section.decide(&mut policy.release));
        let clients = [self.client.as_ref(), of_nf.and_then(|nf| nf.client.as_ref())];
        clients.into_iter().flatten().for_each(|section| section.decide(&mut policy));
        let resets = of_nf.and_then(|nf| nf.sbi.as_ref()?.max_pending_resets);
        policy.max_pending_resets = resets.unwrap_or(policy.max_pending_resets);
        let drains = [self.drain_ms, of_nf.and_then(|nf| nf.drain_ms)];
        policy.hear_changes = of_nf.and_then(|nf| nf.hear_changes).unwrap_or(true);
        policy.release_late = of_nf.and_then(|nf| nf.release_late).unwrap_or_default();
        drains.into_iter().flatten().for_each(|ms| policy.drain = Duration::from_millis(ms));
        policy
    }

    /// What the SMF of this name decides.
    pub fn smf_choices(&self, name: &str) -> SmfChoices {
        let (mut choices, said) = (SmfChoices::default(), self.section(name));
        choices.answer = said.and_then(|smf| smf.answer).unwrap_or(choices.answer);
        choices.collisions = said.and_then(|smf| smf.collisions).unwrap_or(choices.collisions);
        let timer = said.and_then(|smf| smf.procedure_timer_ms).map(Duration::from_millis);
        choices.procedure_timer = timer.unwrap_or(choices.procedure_timer);
        choices
    }

    /// How the NRF of this name asks for heart-beats.
    pub fn heart_beats(&self, name: &str) -> nrf::HeartBeats {
        let said = self.section(name).and_then(|nrf| nrf.heart_beat_s).map(NonZeroU32::get);
        said.map_or_else(nrf::HeartBeats::default, |said| nrf::HeartBeats { interval_s: said.into() })
    }

    /// How the UDR of this name answers the first PUT of a registration.
    pub fn first_put(&self, name: &str) -> udr::FirstPut {
        self.section(name).and_then(|udr| udr.first_put).unwrap_or_default()
    }

    /// Where the SBI of an NF listens: an instance beside the first of its type takes a free port unless it is told one.
    pub fn bind(&self, name: &str) -> SocketAddr {
        let said = self.section(name).and_then(|nf| nf.sbi.as_ref()?.bind);
        let usual = || match name.parse() {
            Ok(nf_type) => self.addresses.unwrap_or_default().of(nf_type),
            Err(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        };
        said.unwrap_or_else(usual)
    }

    /// Where the operator plane of a lab listens.
    pub fn lab_admin(&self) -> SocketAddr {
        const PORT: u16 = 9091;
        let said = self.admin.as_ref().and_then(|admin| admin.bind);
        said.unwrap_or_else(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))
    }

    /// The producer of type `called` that the NF is told to call, if it is told of one.
    pub fn peer(&self, name: &str, called: NfType) -> Option<&str> {
        let clients = [self.section(name).and_then(|nf| nf.client.as_ref()), self.client.as_ref()];
        clients.into_iter().flatten().find_map(|client| client.peer(called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sbi::policy::{LostCreates, Mode, Peer, Regard};

    fn read(yaml: &str) -> Result<Config, String> {
        serde_saphyr::from_str(yaml).map_err(|e| e.to_string())
    }

    fn over(yaml: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        overlay::overlay(read(yaml)?, variables)
    }

    #[test]
    fn the_nearest_word_counts() {
        let config = read(
            "deadline: {mode: drop, margin_ms: 7}\nsmf:\n  deadline: {mode: 'off'}\nrelease: {settle_ms: 5}\n",
        );
        let config = config.expect("a configuration");
        let smf = config.policy("smf");
        assert_eq!((smf.deadline.mode, smf.deadline.margin_ms), (Mode::Off, 7));
        assert_eq!(config.policy("udm").deadline.mode, Mode::Drop);
        assert_eq!(smf.release.settle.as_millis(), 5);
        assert_eq!(smf.release.tries, Policy::default().release.tries);
    }

    #[test]
    fn peers_are_read_near_and_far_and_from_the_environment() {
        let said = [("MOCK5G_DEADLINE__PEERS__AMF", "ignore"), ("MOCK5G_UDM__RELEASE__SETTLE", "repeat")];
        let yaml = "deadline: {peers: {999-070: honour}}\nudm: {deadline: {peers: {SMF: ignore}}}\n";
        let config = over(yaml, &said).expect("a configuration");
        let peers = |nf: &str| config.policy(nf).deadline.peers.said.clone();
        let peer = |name: &str| Peer::try_from(name.to_owned()).expect("a peer");
        assert_eq!(peers("udm").get(&peer("smf")), Some(&Regard::Ignore));
        assert_eq!(peers("udm").get(&peer("999-70")), Some(&Regard::Honour));
        assert_eq!(peers("smf").get(&peer("amf")), Some(&Regard::Ignore));
        assert_eq!(peers("smf").get(&peer("smf")), None);
        assert_eq!(config.policy("udm").release.lost, LostCreates::Repeat);
        assert_eq!(config.policy("smf").release.lost, LostCreates::Report);
    }

    #[test]
    fn a_network_code_stays_text() {
        let config = read("plmn: {mcc: 001, mnc: 01}\n").expect("a configuration");
        assert_eq!(config.home_plmn().to_string(), "00101");
        let config = over("", &[("MOCK5G_PLMN__MCC", "001"), ("MOCK5G_PLMN__MNC", "01")]);
        assert_eq!(config.expect("a configuration").home_plmn().to_string(), "00101");
    }

    #[test]
    fn the_environment_stands_above_the_file() {
        let config = over(
            "smf: {deadline: {margin_ms: 9}}\n",
            &[
                ("MOCK5G_SMF__DEADLINE__MARGIN_MS", "20"),
                ("MOCK5G_UDM__DEADLINE__MODE", "drop"),
                ("MOCK5G_DRAIN_MS", "70"),
                ("MOCK5G_UDM_SERVICE_HOST", "10.0.0.1"),
                ("MOCK5G_UDM_PORT", "tcp://10.0.0.1:80"),
                ("MOCK5G_UDM_PORT_80_TCP_ADDR", "10.0.0.1"),
                ("PATH", "/bin"),
            ],
        );
        let config = config.expect("a configuration");
        assert_eq!(config.policy("smf").deadline.margin_ms, 20);
        assert_eq!(config.policy("udm").deadline.mode, Mode::Drop);
        assert_eq!(config.policy("udm").drain.as_millis(), 70);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (yaml, said) in [
            ("smf:\n  deadline:\n    margin: 5\n", "margin"),
            ("smf:\n  deadline:\n    mode: sometimes\n", "sometimes"),
            ("smff: {}\n", "smff"),
            ("drain_ms: soon\n", "drain_ms"),
            ("plmn: {mcc: 1}\n", "mnc"),
        ] {
            let error = read(yaml).expect_err(yaml);
            assert!(error.contains(said) || error.contains("line"), "{yaml}: {error}");
        }
        for (name, value) in [
            ("MOCK5G_SMF__DEADLINE__MARGIN", "5"),
            ("MOCK5G_SMF__DEADLINE__MARGIN_MS", "soon"),
            ("MOCK5G_SMFF", "x"),
        ] {
            let error = over("", &[(name, value)]).expect_err(name);
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_configuration_prints_as_one_that_reads_back() {
        let config = read("plmn: {mcc: 999, mnc: 70}\nsmf: {sbi: {bind: 127.0.0.1:0}}\n").expect("read");
        let printed = serde_saphyr::to_string(&config).expect("YAML");
        assert_eq!(read(&printed).expect("read back"), config, "{printed}");
    }
}
