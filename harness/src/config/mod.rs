//! What a user can set: one YAML file, layered between the defaults and the environment.
//!
//! Nothing is mandatory: the defaults are a working lab. What a section leaves out is what the section above it says,
//! and at last the default.

mod overlay;
mod section;

pub use section::{
    Addresses, AdminSection, ClientSection, DeadlineSection, LoggerSection, NfSection, OpenapiSection,
    ProfileSection, ReleaseSection, SbiSection, SchemaMode, SliceSection, SubscriberSection,
};

use crate::registry::SmfChoices;
use api::common::PlmnId;
use sbi::party::NfType;
use sbi::policy::Policy;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<Vec<SubscriberSection>>,
    /// The AMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amf: Option<NfSection>,
    /// The SMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smf: Option<NfSection>,
    /// The UDM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udm: Option<NfSection>,
    /// The UDR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udr: Option<NfSection>,
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
        let config = overlay::overlay(config, variables).map_err(Unusable)?;
        config.check().map(|()| config).map_err(Unusable)
    }

    fn read(file: &Path) -> Result<Config, Unusable> {
        let named = |error: &dyn std::fmt::Display| Unusable(format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
        if text.trim().is_empty() {
            return Ok(Config::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| named(&error))
    }

    fn check(&self) -> Result<(), String> {
        for block in self.subscribers.iter().flatten() {
            block.check()?;
        }
        for (nf_type, section) in NfType::ALL.iter().map(|nf_type| (nf_type, self.section(*nf_type))) {
            let of_smf = section.is_some_and(|s| s.answer.is_some() || s.procedure_timer_ms.is_some());
            if of_smf && *nf_type != NfType::Smf {
                return Err(format!("{}: answer and procedure_timer_ms are keys of an SMF", nf_type.name()));
            }
            if section.is_some_and(|s| s.hear_changes.is_some()) && *nf_type != NfType::Udm {
                return Err(format!("{}: hear_changes is a key of a UDM", nf_type.name()));
            }
            section.map_or(Ok(()), |s| s.check().map_err(|e| format!("{}.{e}", nf_type.name())))?;
        }
        Ok(())
    }

    /// What is said of the NF of this type alone.
    pub fn section(&self, nf_type: NfType) -> Option<&NfSection> {
        match nf_type {
            NfType::Amf => self.amf.as_ref(),
            NfType::Smf => self.smf.as_ref(),
            NfType::Udm => self.udm.as_ref(),
            NfType::Udr => self.udr.as_ref(),
        }
    }

    /// The same, with the OpenAPI files in `dir` if one is named.
    #[must_use]
    pub fn with_openapi(mut self, dir: Option<PathBuf>) -> Config {
        if dir.is_some() {
            self.openapi.get_or_insert_default().dir = dir;
        }
        self
    }

    /// The home network.
    pub fn home_plmn(&self) -> PlmnId {
        self.plmn.clone().unwrap_or_else(crate::subscribers::home_plmn)
    }

    /// The operator's decisions for an NF: its own section, then what is said of every NF, then the defaults.
    pub fn policy(&self, nf_type: NfType) -> Policy {
        let mut policy = Policy::default();
        let of_nf = self.section(nf_type);
        let deadlines = [self.deadline.as_ref(), of_nf.and_then(|nf| nf.deadline.as_ref())];
        deadlines.into_iter().flatten().for_each(|section| section.decide(&mut policy.deadline));
        let releases = [self.release.as_ref(), of_nf.and_then(|nf| nf.release.as_ref())];
        releases.into_iter().flatten().for_each(|section| section.decide(&mut policy.release));
        let clients = [self.client.as_ref(), of_nf.and_then(|nf| nf.client.as_ref())];
        clients.into_iter().flatten().for_each(|section| section.decide(&mut policy));
        let drains = [self.drain_ms, of_nf.and_then(|nf| nf.drain_ms)];
        policy.hear_changes = of_nf.and_then(|nf| nf.hear_changes).unwrap_or(true);
        drains.into_iter().flatten().for_each(|ms| policy.drain = Duration::from_millis(ms));
        policy
    }

    /// What the SMF decides.
    pub fn smf_choices(&self) -> SmfChoices {
        let (mut choices, said) = (SmfChoices::default(), self.smf.as_ref());
        choices.answer = said.and_then(|smf| smf.answer).unwrap_or(choices.answer);
        let timer = said.and_then(|smf| smf.procedure_timer_ms).map(Duration::from_millis);
        choices.procedure_timer = timer.unwrap_or(choices.procedure_timer);
        choices
    }

    /// Where the SBI of an NF listens.
    pub fn bind(&self, nf_type: NfType) -> SocketAddr {
        let said = self.section(nf_type).and_then(|nf| nf.sbi.as_ref()?.bind);
        said.unwrap_or_else(|| self.addresses.unwrap_or_default().of(nf_type))
    }

    /// Where the operator plane of a lab listens.
    pub fn lab_admin(&self) -> SocketAddr {
        const PORT: u16 = 9091;
        let said = self.admin.as_ref().and_then(|admin| admin.bind);
        said.unwrap_or_else(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))
    }

    /// The producer of type `called` that the NF is told to call, if it is told of one.
    pub fn peer(&self, nf_type: NfType, called: NfType) -> Option<&str> {
        let clients = [self.section(nf_type).and_then(|nf| nf.client.as_ref()), self.client.as_ref()];
        clients.into_iter().flatten().find_map(|client| client.peer(called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sbi::policy::Mode;

    fn read(yaml: &str) -> Result<Config, String> {
        let config: Config = serde_saphyr::from_str(yaml).map_err(|e| e.to_string())?;
        config.check().map(|()| config)
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
        let smf = config.policy(NfType::Smf);
        assert_eq!((smf.deadline.mode, smf.deadline.margin_ms), (Mode::Off, 7));
        assert_eq!(config.policy(NfType::Udm).deadline.mode, Mode::Drop);
        assert_eq!(smf.release.settle.as_millis(), 5);
        assert_eq!(smf.release.tries, Policy::default().release.tries);
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
        assert_eq!(config.policy(NfType::Smf).deadline.margin_ms, 20);
        assert_eq!(config.policy(NfType::Udm).deadline.mode, Mode::Drop);
        assert_eq!(config.policy(NfType::Udm).drain.as_millis(), 70);
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
