//! The wish to be notified of changes in the UDR, and the notification.

use crate::bounds::non_empty;
use crate::common::{NotifyItem, Rest, Uri};
use crate::decode::Ie;
use serde::{Deserialize, Serialize};

/// A subscription to changes of data in the UDR, TS 29.505 §5.4.2.12 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionDataSubscriptions {
    /// Whose data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ue_id: Option<String>,
    /// Where changes are told.
    pub callback_reference: Uri,
    /// Where the UDM's own consumer wants to hear of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_callback_reference: Option<Uri>,
    /// Which resources, at least one.
    #[serde(deserialize_with = "non_empty")]
    pub monitored_resource_uris: Vec<Uri>,
    /// When it ends, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<String>,
    /// Which subscription; said by the UDR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// Whether it takes the place of an earlier one alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_subscription: Option<bool>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SubscriptionDataSubscriptions {
    const MANDATORY: &'static [&'static str] = &["callbackReference", "monitoredResourceUris"];
}

impl SubscriptionDataSubscriptions {
    /// A subscription to these resources of a subscriber.
    pub fn new(ue_id: &str, callback_reference: Uri, monitored_resource_uris: Vec<Uri>) -> Self {
        SubscriptionDataSubscriptions {
            ue_id: Some(ue_id.to_owned()),
            callback_reference,
            original_callback_reference: None,
            monitored_resource_uris,
            expiry: None,
            subscription_id: None,
            unique_subscription: None,
            rest: Rest::new(),
        }
    }
}

/// That data have changed, TS 29.505 §5.4.2.13 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataChangeNotify {
    /// Where the UDM's own consumers want to hear of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub original_callback_reference: Vec<Uri>,
    /// Whose data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ue_id: Option<String>,
    /// What has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify_items: Vec<NotifyItem>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for DataChangeNotify {
    const MANDATORY: &'static [&'static str] = &[];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::json;

    #[test]
    fn unknown_attributes_survive_a_round_trip() {
        assert_complete::<SubscriptionDataSubscriptions>(&json!({
            "ueId": "imsi-001010000000001", "callbackReference": "http://127.0.0.1:7712/changed",
            "originalCallbackReference": "http://127.0.0.1:7704/changed", "monitoredResourceUris": ["/x"],
            "expiry": "2026-11-30T00:00:00Z", "subscriptionId": "1", "uniqueSubscription": true,
            "supportedFeatures": "1"
        }));
        assert_complete::<DataChangeNotify>(&json!({
            "ueId": "imsi-001010000000001", "originalCallbackReference": ["http://127.0.0.1:7704/changed"],
            "notifyItems": [{"resourceId": "/x", "changes": [{"op": "REPLACE", "path": "/a", "newValue": null}]}],
            "sdmSubscription": {}
        }));
    }

    #[test]
    fn a_wrong_value_is_named() {
        let body = json!({"callbackReference": "http://a", "monitoredResourceUris": []});
        let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec!["/monitoredResourceUris".to_owned()]);
        assert_eq!(refused::<SubscriptionDataSubscriptions>(&body.to_string()), expected);
        let body = json!({"notifyItems": [{"resourceId": "/x", "changes": []}]});
        let expected = ("OPTIONAL_IE_INCORRECT".to_owned(), vec!["/notifyItems/0/changes".to_owned()]);
        assert_eq!(refused::<DataChangeNotify>(&body.to_string()), expected);
    }
}
