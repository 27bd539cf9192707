//! Who wants to hear of NF instances, and what it hears.

use super::profile::NfProfile;
use crate::common::{ChangeItem, NfInstanceId, Rest, Uri};
use crate::decode::Ie;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};

enumeration! {
    /// What becomes of an NF instance, TS 29.510 §6.1.6.3.4 (Rel-17).
    NfEvent {
        /// It is there.
        NF_REGISTERED = "NF_REGISTERED";
        /// It is gone.
        NF_DEREGISTERED = "NF_DEREGISTERED";
        /// It says something else of itself.
        NF_PROFILE_CHANGED = "NF_PROFILE_CHANGED";
    }
}

/// The wish to hear of NF instances, TS 29.510 §6.1.6.2.16 (Rel-17).
///
/// The OpenAPI file wants a `subscriptionId` even of who asks for one; it is the NRF that gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NrfSubscription {
    /// Where to tell it.
    pub nf_status_notification_uri: Uri,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_nf_instance_id: Option<NfInstanceId>,
    /// Of which type it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_nf_type: Option<String>,
    /// Of which instances; of all if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscr_cond: Option<SubscrCond>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// Until when it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity_time: Option<String>,
    /// Of which events; of all if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_notif_events: Option<Vec<NfEvent>>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for NrfSubscription {
    const MANDATORY: &'static [&'static str] = &["nfStatusNotificationUri"];
}

/// Which NF instances: those that are all of this, TS 29.510 §6.1.6.2.35 and the following (Rel-17). What a condition names
/// beside it matches nothing in this mock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscrCond {
    /// This one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_instance_id: Option<NfInstanceId>,
    /// One of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_instance_id_list: Option<Vec<NfInstanceId>>,
    /// Of this type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_type: Option<String>,
    /// With this service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// With one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name_list: Option<Vec<String>>,
    /// Of this set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_set_id: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl SubscrCond {
    /// Whether a profile is meant.
    pub fn means(&self, profile: &NfProfile) -> bool {
        let has_service =
            |names: &[String]| profile.services().any(|service| names.contains(&service.service_name));
        let is = |wanted: Option<bool>| wanted.unwrap_or(true);
        self.names_what_is_known()
            && is(self.nf_instance_id.map(|id| id == profile.nf_instance_id))
            && is(self.nf_instance_id_list.as_ref().map(|ids| ids.contains(&profile.nf_instance_id)))
            && is(self.nf_type.as_ref().map(|nf_type| *nf_type == profile.nf_type))
            && is(self.service_name.as_ref().map(|name| has_service(std::slice::from_ref(name))))
            && is(self.service_name_list.as_ref().map(|names| has_service(names)))
            && is(self
                .nf_set_id
                .as_ref()
                .map(|id| profile.nf_set_id_list.iter().flatten().any(|of| of == id)))
    }

    fn names_what_is_known(&self) -> bool {
        let known = self.nf_instance_id.is_some()
            || self.nf_instance_id_list.is_some()
            || self.nf_type.is_some()
            || self.service_name.is_some()
            || self.service_name_list.is_some()
            || self.nf_set_id.is_some();
        known || self.rest.is_empty()
    }
}

/// What a subscriber hears, TS 29.510 §6.1.6.2.17 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotificationData {
    /// What happened.
    pub event: NfEvent,
    /// To which instance.
    pub nf_instance_uri: Uri,
    /// Its profile as it is now, unless it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_profile: Option<NfProfile>,
    /// What has changed, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_changes: Option<Vec<ChangeItem>>,
}

impl Ie for NotificationData {
    const MANDATORY: &'static [&'static str] = &["event", "nfInstanceUri"];
}
