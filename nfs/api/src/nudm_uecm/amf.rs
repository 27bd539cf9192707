//! The registration of an AMF for 3GPP access, and how it ends.

use crate::common::{AccessType, Guami, NfInstanceId, Rest, Uri};
use crate::decode::Ie;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};

/// That an AMF serves a subscriber over 3GPP access, TS 29.503 §6.2.6.2.2 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `amfInstanceId`, `guami` and more")]
pub struct Amf3GppAccessRegistration {
    /// The AMF.
    pub amf_instance_id: NfInstanceId,
    /// Whether the AMF has purged the UE: then nothing is registered any more, though it is known who was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_flag: Option<bool>,
    /// Where the AMF wants to hear that it has been replaced.
    pub dereg_callback_uri: Uri,
    /// Whether the UE registers anew, instead of having moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_registration_ind: Option<bool>,
    /// The AMF, as radio and UE know it.
    pub guami: Guami,
    /// The radio access.
    pub rat_type: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for Amf3GppAccessRegistration {
    const MANDATORY: &'static [&'static str] = &["amfInstanceId", "deregCallbackUri", "guami", "ratType"];
}

impl Amf3GppAccessRegistration {
    /// Whether the UE has been purged.
    pub fn is_purged(&self) -> bool {
        self.purge_flag == Some(true)
    }
}

/// What an AMF changes of its registration, TS 29.503 §6.2.6.2.7 (Rel-17): a merge patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amf3GppAccessRegistrationModification {
    /// Which AMF asks; not changed.
    pub guami: Guami,
    /// Whether the AMF purges the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_flag: Option<bool>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for Amf3GppAccessRegistrationModification {
    const MANDATORY: &'static [&'static str] = &["guami"];
}

enumeration! {
    /// Why an NF's registration has ended, TS 29.503 §6.2.6.3.3 (Rel-17).
    DeregistrationReason {
        /// The UE registers anew at another AMF.
        UE_INITIAL_REGISTRATION = "UE_INITIAL_REGISTRATION";
        /// The UE has moved to another AMF.
        UE_REGISTRATION_AREA_CHANGE = "UE_REGISTRATION_AREA_CHANGE";
        /// The subscription has ended.
        SUBSCRIPTION_WITHDRAWN = "SUBSCRIPTION_WITHDRAWN";
    }
}

/// That an NF's registration has ended, as it is told, TS 29.503 §6.2.6.2.5 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeregistrationData {
    /// Why.
    pub dereg_reason: DeregistrationReason,
    /// For which access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_type: Option<AccessType>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for DeregistrationData {
    const MANDATORY: &'static [&'static str] = &["deregReason"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::{Value, json};

    fn body() -> Value {
        json!({
            "amfInstanceId": "11111111-1111-4111-8111-111111111111", "ratType": "NR",
            "deregCallbackUri": "http://127.0.0.1:7700/namf-callback/v1/imsi-001010000000001/dereg-notify",
            "guami": {"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"}
        })
    }

    #[test]
    fn unknown_attributes_survive_a_round_trip() {
        let mut full = body();
        full["initialRegistrationInd"] = json!(true);
        full["purgeFlag"] = json!(false);
        full["pei"] = json!("imeisv-8665070400405301");
        assert_complete::<Amf3GppAccessRegistration>(&full);
        let modification = json!({"guami": full["guami"], "purgeFlag": true, "imsVoPs": "NON_HOMOGENEOUS"});
        assert_complete::<Amf3GppAccessRegistrationModification>(&modification);
        assert_complete::<DeregistrationData>(&json!({
            "deregReason": "UE_INITIAL_REGISTRATION", "accessType": "3GPP_ACCESS", "newSmfInstanceId": "x"
        }));
    }

    #[test]
    fn a_wrong_value_is_named() {
        for (name, value, pointer) in [
            ("amfInstanceId", json!("amf"), "/amfInstanceId"),
            ("guami", json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "2"}), "/guami/amfId"),
            ("guami", json!({"amfId": "020040"}), "/guami/plmnId"),
            ("ratType", json!(5), "/ratType"),
        ] {
            let mut body = body();
            body[name] = value;
            let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec![pointer.to_owned()]);
            assert_eq!(refused::<Amf3GppAccessRegistration>(&body.to_string()), expected);
        }
    }
}
