//! The wish to hear of changes.

use crate::bounds::{non_empty, present};
use crate::common::{Dnn, NfInstanceId, PlmnId, Rest, Snssai, Uri};
use crate::decode::Ie;
use serde::{Deserialize, Serialize};

/// A subscription to changes of a subscriber's data, TS 29.503 §6.1.6.2.3 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `nfInstanceId`, `callbackReference` and more")]
pub struct SdmSubscription {
    /// Who subscribes.
    pub nf_instance_id: NfInstanceId,
    /// Whether the subscription ends by itself when the subscriber's last session at this SMF does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implicit_unsubscribe: Option<bool>,
    /// When it ends, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Where changes are told.
    pub callback_reference: Uri,
    /// Which resources, at least one; relative to the API root of the service or absolute.
    #[serde(deserialize_with = "non_empty")]
    pub monitored_resource_uris: Vec<Uri>,
    /// Only what concerns this slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_nssai: Option<Snssai>,
    /// Only what concerns this data network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnn: Option<Dnn>,
    /// Which subscription; said by the UDM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// The network of the NF that subscribes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plmn_id: Option<PlmnId>,
    /// Whether it takes the place of an earlier one of the same NF for the same resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_subscription: Option<bool>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SdmSubscription {
    const MANDATORY: &'static [&'static str] =
        &["nfInstanceId", "callbackReference", "monitoredResourceUris"];
}

impl SdmSubscription {
    /// A subscription with what every subscription has.
    pub fn new(nf_instance_id: NfInstanceId, callback_reference: Uri, monitored_resource_uri: Uri) -> Self {
        SdmSubscription {
            nf_instance_id,
            implicit_unsubscribe: None,
            expires: None,
            callback_reference,
            monitored_resource_uris: vec![monitored_resource_uri],
            single_nssai: None,
            dnn: None,
            subscription_id: None,
            plmn_id: None,
            unique_subscription: None,
            rest: Rest::new(),
        }
    }
}

/// What a consumer changes of its subscription, TS 29.503 §6.1.6.2.31 (Rel-17): a merge patch. Other attributes are
/// passed over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SdmSubsModification {
    /// When it ends from now on; null: not by itself.
    #[serde(default, deserialize_with = "present")]
    pub expires: Option<Option<String>>,
    /// Which resources from now on, at least one.
    #[serde(default, deserialize_with = "present")]
    pub monitored_resource_uris: Option<MonitoredResourceUris>,
}

/// Resources, at least one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct MonitoredResourceUris(#[serde(deserialize_with = "non_empty")] pub Vec<Uri>);

impl Ie for SdmSubsModification {
    const MANDATORY: &'static [&'static str] = &[];
}

impl SdmSubsModification {
    /// The subscription as it is from now on.
    pub fn apply(self, subscription: &SdmSubscription) -> SdmSubscription {
        let mut modified = subscription.clone();
        if let Some(expires) = self.expires {
            modified.expires = expires;
        }
        if let Some(MonitoredResourceUris(uris)) = self.monitored_resource_uris {
            modified.monitored_resource_uris = uris;
        }
        modified
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::{Value, json};

    fn body() -> Value {
        json!({
            "nfInstanceId": "22222222-2222-4222-8222-222222222222",
            "callbackReference": "http://127.0.0.1:7002/nsmf-callback/v1/sdm/imsi-001010000000001",
            "monitoredResourceUris": ["imsi-001010000000001/sm-data"]
        })
    }

    #[test]
    fn unknown_attributes_survive_a_round_trip() {
        let mut full = body();
        full["implicitUnsubscribe"] = json!(true);
        full["expires"] = json!("2026-11-30T00:00:00Z");
        full["singleNssai"] = json!({"sst": 1});
        full["dnn"] = json!("internet");
        full["subscriptionId"] = json!("1");
        full["plmnId"] = json!({"mcc": "001", "mnc": "001"});
        full["uniqueSubscription"] = json!(true);
        full["supportedFeatures"] = json!("1000");
        assert_complete::<SdmSubscription>(&full);
        assert_complete::<SdmSubscription>(&body());
    }

    #[test]
    fn a_wrong_value_is_named() {
        for (name, value, cause, pointer) in [
            ("monitoredResourceUris", json!([]), "MANDATORY_IE_INCORRECT", "/monitoredResourceUris"),
            ("monitoredResourceUris", json!([1]), "MANDATORY_IE_INCORRECT", "/monitoredResourceUris/0"),
            ("implicitUnsubscribe", json!("true"), "OPTIONAL_IE_INCORRECT", "/implicitUnsubscribe"),
            ("singleNssai", json!({"sst": "1"}), "OPTIONAL_IE_INCORRECT", "/singleNssai/sst"),
        ] {
            let mut body = body();
            body[name] = value;
            let expected = (cause.to_owned(), vec![pointer.to_owned()]);
            assert_eq!(refused::<SdmSubscription>(&body.to_string()), expected);
        }
    }
    #[test]
    fn a_modification_changes_what_it_names() {
        let old: SdmSubscription = serde_json::from_value(body()).expect("a subscription");
        let modified = |patch: Value| {
            let patch: SdmSubsModification =
                crate::decode::decode(patch.to_string().as_bytes()).expect("taken");
            patch.apply(&old)
        };
        let expires = json!({"expires": "2100-01-01T00:00:00Z", "dnn": "passed over"});
        assert_eq!(modified(expires).expires.as_deref(), Some("2100-01-01T00:00:00Z"));
        assert_eq!(modified(json!({"expires": null})), old);
        assert_eq!(modified(json!({"monitoredResourceUris": ["x"]})).monitored_resource_uris, ["x"]);
        for wrong in [json!(null), json!([])] {
            let body = json!({"monitoredResourceUris": wrong}).to_string();
            let expected = ("OPTIONAL_IE_INCORRECT".to_owned(), vec!["/monitoredResourceUris".to_owned()]);
            assert_eq!(refused::<SdmSubsModification>(&body), expected);
        }
    }
}
