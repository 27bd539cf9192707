//! Which data networks a subscriber may use in which slice, and how.

use super::DnnConfiguration;
use crate::common::{Dnn, Rest, Snssai};
use crate::decode::{Ie, decode, decode_list};
use sbi::problem::{Cause, ProblemDetails};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a subscriber may do in one slice, TS 29.503 §6.1.6.2.8 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `singleNssai`")]
pub struct SessionManagementSubscriptionData {
    /// The slice.
    pub single_nssai: Snssai,
    /// The data networks in it. The key `*` stands for every one without an entry of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnn_configurations: Option<BTreeMap<Dnn, DnnConfiguration>>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SessionManagementSubscriptionData {
    const MANDATORY: &'static [&'static str] = &["singleNssai"];
}

impl SessionManagementSubscriptionData {
    /// The entry for `dnn`: its own, else the wildcard's.
    fn entry(&self, dnn: &Dnn) -> Option<(&Dnn, &DnnConfiguration)> {
        let configurations = self.dnn_configurations.as_ref()?;
        configurations
            .get_key_value(dnn)
            .or_else(|| configurations.iter().find(|(name, _)| name.is_wildcard()))
    }
}

/// The data of a subscriber part of which many share, TS 29.503 §6.1.6.2.80 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtendedSmSubsData {
    /// The names of what is shared.
    pub shared_sm_subs_data_ids: Vec<String>,
    /// What is the subscriber's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub individual_sm_subs_data: Vec<SessionManagementSubscriptionData>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for ExtendedSmSubsData {
    const MANDATORY: &'static [&'static str] = &["sharedSmSubsDataIds"];
}

/// The answer to a request for `sm-data`, in either of its forms, TS 29.503 §6.1.6.2.79 (Rel-17).
///
/// Shared data are not looked up: what is only there counts as not subscribed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SmData {
    /// One entry for each slice.
    Individual(Vec<SessionManagementSubscriptionData>),
    /// The same, and names of shared data.
    Extended(ExtendedSmSubsData),
}

impl SmData {
    /// The data in `body`, an array or an object; what is wrong is said as [`decode`] says it.
    pub fn decode(body: &[u8]) -> Result<SmData, ProblemDetails> {
        match body.trim_ascii_start() {
            [b'[', ..] => decode_list(body).map(SmData::Individual),
            _ => decode(body).map(SmData::Extended),
        }
    }

    /// The subscriber's own entries.
    pub fn individual(&self) -> &[SessionManagementSubscriptionData] {
        match self {
            SmData::Individual(data) => data,
            SmData::Extended(data) => &data.individual_sm_subs_data,
        }
    }

    /// How the subscriber may use `dnn` in the slice.
    pub fn dnn(&self, single_nssai: &Snssai, dnn: &Dnn) -> Option<&DnnConfiguration> {
        self.slices(single_nssai).find_map(|data| data.entry(dnn)).map(|(_, configuration)| configuration)
    }

    /// The same, or why the subscriber may not: `SNSSAI_DENIED` or `DNN_DENIED`.
    pub fn allows(&self, single_nssai: &Snssai, dnn: &Dnn) -> Result<&DnnConfiguration, Cause> {
        let denied =
            if self.slices(single_nssai).next().is_none() { Cause::SnssaiDenied } else { Cause::DnnDenied };
        self.dnn(single_nssai, dnn).ok_or(denied)
    }

    fn slices(&self, single_nssai: &Snssai) -> impl Iterator<Item = &SessionManagementSubscriptionData> {
        self.individual().iter().filter(move |data| data.single_nssai.matches(single_nssai))
    }
}

/// What of `data` a query asks for.
///
/// Only entries of the slice, and in them only the data network, or the wildcard that stands for it. An entry without
/// that data network goes, unless its slice was asked for: then it stays without any, so that the consumer can tell a
/// data network from a slice that is not subscribed. Nothing left means that there are no such data.
pub fn filter(
    data: &[SessionManagementSubscriptionData],
    single_nssai: Option<&Snssai>,
    dnn: Option<&Dnn>,
) -> Vec<SessionManagementSubscriptionData> {
    let wanted = |entry: &&SessionManagementSubscriptionData| {
        single_nssai.is_none_or(|slice| entry.single_nssai.matches(slice))
            && dnn.is_none_or(|dnn| single_nssai.is_some() || entry.entry(dnn).is_some())
    };
    data.iter()
        .filter(wanted)
        .map(|entry| dnn.map_or_else(|| entry.clone(), |dnn| only(entry, dnn)))
        .collect()
}

/// `data` with the entry for `dnn` alone.
fn only(data: &SessionManagementSubscriptionData, dnn: &Dnn) -> SessionManagementSubscriptionData {
    let entry = data.entry(dnn).map(|(name, configuration)| (name.clone(), configuration.clone()));
    SessionManagementSubscriptionData {
        single_nssai: data.single_nssai,
        dnn_configurations: entry.map(|entry| BTreeMap::from([entry])),
        rest: data.rest.clone(),
    }
}

/// The data of a subscriber who may use these data networks in these slices, with the values that cores usually hold:
/// any IP type, all SSC modes, 5QI 9, 1 Gbit/s both ways.
pub fn default_sm_data(
    slices: impl IntoIterator<Item = (Snssai, Vec<Dnn>)>,
) -> Vec<SessionManagementSubscriptionData> {
    let entry = |(single_nssai, dnns): (Snssai, Vec<Dnn>)| SessionManagementSubscriptionData {
        single_nssai,
        dnn_configurations: Some(dnns.into_iter().map(|dnn| (dnn, DnnConfiguration::default())).collect()),
        rest: Rest::new(),
    };
    slices.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::{Value, json};

    fn dnn(name: &str) -> Dnn {
        name.parse().expect("DNN")
    }

    fn slice(key: &str) -> Snssai {
        key.parse().expect("a slice")
    }

    /// What a real core answers for one slice.
    fn foreign() -> Value {
        json!({"singleNssai": {"sst": 1}, "dnnConfigurations": {"internet": {
            "pduSessionTypes": {"defaultSessionType": "IPV4V6", "allowedSessionTypes": ["IPV4", "IPV6", "IPV4V6"]},
            "sscModes": {
                "defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1", "SSC_MODE_2", "SSC_MODE_3"]
            },
            "5gQosProfile": {
                "5qi": 9, "priorityLevel": 8,
                "arp": {"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}
            },
            "sessionAmbr": {"uplink": "1000000 Kbps", "downlink": "1000000 Kbps"}
        }}})
    }

    fn two_slices() -> Vec<SessionManagementSubscriptionData> {
        default_sm_data([
            (slice("1"), vec![dnn("internet")]),
            (slice("1-0000a1"), vec![dnn("internet"), dnn("ims")]),
        ])
    }

    fn shape(data: &[SessionManagementSubscriptionData]) -> Vec<String> {
        let names = |entry: &SessionManagementSubscriptionData| {
            let dnns = entry.dnn_configurations.iter().flatten().map(|(dnn, _)| dnn.to_string());
            format!("{}:{}", entry.single_nssai, dnns.collect::<Vec<_>>().join(","))
        };
        data.iter().map(names).collect()
    }

    #[test]
    fn foreign_data_survive_a_round_trip() {
        let mut full = foreign();
        assert_complete::<SessionManagementSubscriptionData>(&full);
        full["traceData"] = json!({"traceRef": "00101-000001"});
        full["dnnConfigurations"]["internet"]["iwkEpsInd"] = json!(true);
        full["dnnConfigurations"]["internet"]["sscModes"]["defaultSscMode"] = json!("SSC_MODE_9");
        assert_complete::<SessionManagementSubscriptionData>(&full);
    }

    #[test]
    fn the_default_differs_from_a_real_core_only_where_that_breaks_the_schema() {
        let data = default_sm_data([(slice("1"), vec![dnn("internet")])]);
        let mut expected = foreign();
        expected["dnnConfigurations"]["internet"]["sscModes"]["allowedSscModes"] =
            json!(["SSC_MODE_2", "SSC_MODE_3"]);
        expected["dnnConfigurations"]["internet"]["sessionAmbr"] =
            json!({"uplink": "1000 Mbps", "downlink": "1000 Mbps"});
        assert_eq!(serde_json::to_value(&data).expect("JSON"), json!([expected]));
    }

    #[test]
    fn both_forms_of_the_answer_are_read() {
        let list = SmData::decode(format!(" \n[{}]", foreign()).as_bytes()).expect("an array");
        let object = json!({"sharedSmSubsDataIds": ["00101-x"], "individualSmSubsData": [foreign()]});
        let extended = SmData::decode(object.to_string().as_bytes()).expect("an object");
        assert_eq!(list.individual(), extended.individual());
        assert_eq!(serde_json::to_value(&extended).expect("JSON"), object);
        assert!(SmData::decode(b"{}").expect_err("neither").is(Cause::MandatoryIeMissing));
        assert!(SmData::decode(b"").expect_err("empty").is(Cause::InvalidMsgFormat));
    }

    #[test]
    fn what_is_denied_is_told_apart() {
        let data = SmData::Individual(two_slices());
        assert!(data.allows(&slice("1-0000A1"), &dnn("IMS")).is_ok());
        assert!(data.allows(&slice("1-ffffff"), &dnn("internet")).is_ok());
        assert_eq!(data.allows(&slice("1"), &dnn("ims")), Err(Cause::DnnDenied));
        assert_eq!(data.allows(&slice("2"), &dnn("internet")), Err(Cause::SnssaiDenied));
        assert_eq!(data.dnn(&slice("2"), &dnn("internet")), None);
    }

    #[test]
    fn the_wildcard_stands_for_what_has_no_entry() {
        let data = default_sm_data([(slice("1"), vec![dnn("internet"), dnn("*")])]);
        assert_eq!(shape(&filter(&data, None, Some(&dnn("Internet")))), ["1:internet"]);
        assert_eq!(shape(&filter(&data, None, Some(&dnn("ims")))), ["1:*"]);
        assert!(SmData::Individual(data).allows(&slice("1"), &dnn("ims")).is_ok());
    }

    #[test]
    fn a_filter_keeps_only_what_was_asked() {
        let data = two_slices();
        for (single_nssai, name, expected) in [
            (None, None, &["1:internet", "1-0000a1:ims,internet"][..]),
            (Some("1-FFFFFF"), None, &["1:internet"]),
            (None, Some("internet"), &["1:internet", "1-0000a1:internet"]),
            (None, Some("ims"), &["1-0000a1:ims"]),
            (Some("1-0000a1"), Some("IMS"), &["1-0000a1:ims"]),
            (Some("1"), Some("ims"), &["1:"]),
            (Some("2"), Some("internet"), &[]),
            (None, Some("x"), &[]),
        ] {
            let (single_nssai, name) = (single_nssai.map(slice), name.map(dnn));
            assert_eq!(shape(&filter(&data, single_nssai.as_ref(), name.as_ref())), expected);
        }
    }

    #[test]
    fn a_wrong_value_deep_inside_is_named() {
        let mut data = foreign();
        data["dnnConfigurations"]["internet"]["5gQosProfile"]["arp"]["priorityLevel"] = json!(16);
        let pointer = "/dnnConfigurations/internet/5gQosProfile/arp/priorityLevel".to_owned();
        let expected = ("OPTIONAL_IE_INCORRECT".to_owned(), vec![pointer]);
        assert_eq!(refused::<SessionManagementSubscriptionData>(&data.to_string()), expected);
    }
}
