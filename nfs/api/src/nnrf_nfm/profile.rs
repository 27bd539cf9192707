//! The profile of an NF instance, and of its services.

use crate::common::{NfInstanceId, PlmnId, Rest, Sd, Snssai};
use crate::decode::Ie;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many services a profile may have, in an array or as a map (our choice).
pub const MAX_SERVICES: usize = 64;

enumeration! {
    /// Whether an NF instance, or a service of it, may be used; TS 29.510 §6.1.6.3.7 (Rel-17).
    NfStatus {
        /// It may.
        REGISTERED = "REGISTERED";
        /// Its heart-beats have stopped, or it says so itself.
        SUSPENDED = "SUSPENDED";
        /// It works for those who know it, and is not found by others.
        UNDISCOVERABLE = "UNDISCOVERABLE";
    }
}

/// What an NF instance says of itself, TS 29.510 §6.1.6.2.2 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `nfInstanceId`, `nfType` and `nfStatus`")]
pub struct NfProfile {
    /// Which instance.
    pub nf_instance_id: NfInstanceId,
    /// Its type: `SMF`.
    pub nf_type: String,
    /// Whether it may be used.
    pub nf_status: NfStatus,
    /// After how many seconds at most the NRF wants to hear of it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heart_beat_timer: Option<u64>,
    /// The networks that it is of; those of the NRF if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plmn_list: Option<Vec<PlmnId>>,
    /// The slices that it serves; all if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_nssais: Option<Vec<ExtSnssai>>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4_addresses: Option<Vec<String>>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_addresses: Option<Vec<String>>,
    /// NFs of which networks may call it; all if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_plmns: Option<Vec<PlmnId>>,
    /// The same of types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_nf_types: Option<Vec<String>>,
    /// The lower, the sooner it is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    /// The sets that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_set_id_list: Option<Vec<String>>,
    /// Its services, as Rel-15 has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_services: Option<Vec<NfService>>,
    /// The same by `serviceInstanceId`, as Rel-16 has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_service_list: Option<BTreeMap<String, NfService>>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for NfProfile {
    const MANDATORY: &'static [&'static str] = &["nfInstanceId", "nfType", "nfStatus"];
}

/// What a profile says to its NRF alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenFrom {
    /// Those who find it: TS 29.510 §6.2.6.2.3 (Rel-17) has none of it.
    Consumers,
    /// Those who hear of its changes: TS 29.510 §6.1.6.2.17 (Rel-17).
    Subscribers,
}

impl NfProfile {
    /// Whether NFs of a type may call it.
    pub fn allows(&self, nf_type: &str) -> bool {
        self.allowed_nf_types.as_ref().is_none_or(|allowed| allowed.iter().any(|of| of == nf_type))
    }

    /// All its services.
    pub fn services(&self) -> impl Iterator<Item = &NfService> {
        let listed = self.nf_services.iter().flatten();
        listed.chain(self.nf_service_list.iter().flat_map(BTreeMap::values))
    }

    /// The same with those services only that are `wanted`.
    #[must_use]
    pub fn with_services(mut self, wanted: impl Fn(&NfService) -> bool) -> Self {
        self.nf_services.iter_mut().for_each(|services| services.retain(&wanted));
        self.nf_service_list.iter_mut().for_each(|services| services.retain(|_, service| wanted(service)));
        self
    }

    /// The same with its services as a map, or as an array.
    #[must_use]
    pub fn with_service_map(mut self, is_map: bool) -> Self {
        let services = self.nf_services.take().into_iter().flatten();
        let listed = self.nf_service_list.take().into_iter().flat_map(BTreeMap::into_values);
        let all: Vec<_> = services.chain(listed).collect();
        match is_map {
            _ if all.is_empty() => {}
            true => {
                let by_id = all.into_iter().map(|service| (service.service_instance_id.clone(), service));
                self.nf_service_list = Some(by_id.collect());
            }
            false => self.nf_services = Some(all),
        }
        self
    }

    /// The same without what it says to its NRF alone.
    #[must_use]
    pub fn hidden_from(mut self, whom: HiddenFrom) -> Self {
        (self.allowed_plmns, self.allowed_nf_types) = (None, None);
        hide(&mut self.rest);
        if whom == HiddenFrom::Consumers {
            self.heart_beat_timer = None;
            for name in ["nfProfileChangesSupportInd", "nfProfileChangesInd"] {
                self.rest.remove(name);
            }
        }
        let listed = self.nf_services.iter_mut().flatten();
        for service in listed.chain(self.nf_service_list.iter_mut().flat_map(BTreeMap::values_mut)) {
            (service.allowed_plmns, service.allowed_nf_types) = (None, None);
            hide(&mut service.rest);
        }
        self
    }
}

fn hide(rest: &mut Rest) {
    for name in ["allowedSnpns", "allowedNfDomains", "allowedNssais"] {
        rest.remove(name);
    }
}

/// A service of an NF instance, TS 29.510 §6.1.6.2.3 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `serviceInstanceId`, `serviceName` and more")]
pub struct NfService {
    /// Which of the instance's services.
    pub service_instance_id: String,
    /// Its name: `nudm-sdm`.
    pub service_name: String,
    /// Its versions.
    pub versions: Vec<NfServiceVersion>,
    /// `http` or `https`.
    pub scheme: String,
    /// Whether it may be used.
    pub nf_service_status: NfStatus,
    /// Its name, if not that of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// Where it is, if not where the instance is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_end_points: Option<Vec<IpEndPoint>>,
    /// What stands before its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_prefix: Option<String>,
    /// NFs of which networks may call it; all if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_plmns: Option<Vec<PlmnId>>,
    /// The same of types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_nf_types: Option<Vec<String>>,
    /// What it can do, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_features: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// A version of a service, TS 29.510 §6.1.6.2.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NfServiceVersion {
    /// As it stands in the path: `v2`.
    pub api_version_in_uri: String,
    /// In full: `2.3.0`.
    pub api_full_version: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// Where a service is, TS 29.510 §6.1.6.2.5 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpEndPoint {
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<String>,
    /// Its port; that of its scheme if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// A slice, or several of one type, TS 29.571 §5.4.4.56 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtSnssai {
    /// The type, and one slice of it.
    #[serde(flatten)]
    pub snssai: Snssai,
    /// Slices of it from here to there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_ranges: Option<Vec<SdRange>>,
    /// All slices of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wildcard_sd: Option<bool>,
}

/// Slice differentiators from one to another, both included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SdRange {
    /// The first.
    pub start: Sd,
    /// The last.
    pub end: Sd,
}

impl ExtSnssai {
    /// Whether `snssai` is among them.
    pub fn has(&self, snssai: &Snssai) -> bool {
        let in_range = |sd: Sd| {
            let has = |range: &SdRange| (range.start.value()..=range.end.value()).contains(&sd.value());
            self.sd_ranges.iter().flatten().any(has)
        };
        self.snssai == *snssai
            || self.snssai.sst == snssai.sst
                && (self.wildcard_sd == Some(true) || snssai.sd.is_some_and(in_range))
    }
}

/// Identities from one to another, or of one form: TS 29.510 §6.1.6.2.6 (Rel-17).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Range {
    /// The first, as digits.
    pub start: Option<String>,
    /// The last.
    pub end: Option<String>,
    /// A regular expression.
    pub pattern: Option<String>,
}
