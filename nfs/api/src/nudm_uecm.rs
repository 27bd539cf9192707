//! `Nudm_UEContextManagement`: which AMF serves a subscriber, and which SMF each session, TS 29.503 §6.2 (Rel-17).
//!
//! ```text
//! PUT GET PATCH    /nudm-uecm/v1/{ueId}/registrations/amf-3gpp-access
//! GET              /nudm-uecm/v1/{ueId}/registrations/smf-registrations
//! PUT GET DELETE   /nudm-uecm/v1/{ueId}/registrations/smf-registrations/{pduSessionId}
//! ```
//!
//! Not done: PATCH of an SMF's registration, non-3GPP access, and the registrations of other NFs.

mod amf;

pub use amf::{
    Amf3GppAccessRegistration, Amf3GppAccessRegistrationModification, DeregistrationData,
    DeregistrationReason,
};

use crate::bounds::non_empty;
use crate::common::{Dnn, NfInstanceId, PduSessionId, PlmnId, Rest, Snssai, Supi};
use crate::decode::Ie;
use crate::percent::encoded;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::{Deserialize, Serialize};

/// The registration of the AMF that serves `supi` over 3GPP access.
pub fn amf_registration(supi: &Supi) -> String {
    format!("/nudm-uecm/v1/{}/registrations/amf-3gpp-access", encoded(supi.as_str()))
}

/// The registrations of the SMFs that serve `supi`.
pub fn smf_registrations(supi: &Supi) -> String {
    format!("/nudm-uecm/v1/{}/registrations/smf-registrations", encoded(supi.as_str()))
}

/// The registration of the SMF that serves one session of `supi`.
pub fn smf_registration(supi: &Supi, pdu_session_id: PduSessionId) -> String {
    format!("{}/{pdu_session_id}", smf_registrations(supi))
}

/// That an SMF serves a session, TS 29.503 §6.2.6.2.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `smfInstanceId`, `pduSessionId` and more")]
pub struct SmfRegistration {
    /// The SMF.
    pub smf_instance_id: NfInstanceId,
    /// Which of the UE's sessions.
    pub pdu_session_id: PduSessionId,
    /// The slice.
    pub single_nssai: Snssai,
    /// The data network; absent only for an emergency session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnn: Option<Dnn>,
    /// The network of the SMF.
    pub plmn_id: PlmnId,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl SmfRegistration {
    /// Refuses a registration of another session than the one that its path names.
    pub fn expect_session(&self, named: PduSessionId) -> Result<(), ProblemDetails> {
        if self.pdu_session_id == named {
            return Ok(());
        }
        let param = InvalidParam::body("/pduSessionId", "expected the same as in the path");
        let detail = format!("the path says session {named}");
        Err(ProblemDetails::new(Cause::MandatoryIeIncorrect, detail).with_param(param))
    }
}

impl Ie for SmfRegistration {
    const MANDATORY: &'static [&'static str] = &["smfInstanceId", "pduSessionId", "singleNssai", "plmnId"];
}

/// The registrations of a subscriber, TS 29.503 §6.2.6.2.20A (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmfRegistrationInfo {
    /// One for each session, at least one: a subscriber without any is a 404.
    #[serde(deserialize_with = "non_empty")]
    pub smf_registration_list: Vec<SmfRegistration>,
}

impl Ie for SmfRegistrationInfo {
    const MANDATORY: &'static [&'static str] = &["smfRegistrationList"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::{Value, json};

    fn body() -> Value {
        json!({
            "smfInstanceId": "22222222-2222-4222-8222-222222222222", "pduSessionId": 5, "dnn": "internet",
            "singleNssai": {"sst": 1, "sd": "0000a1"}, "plmnId": {"mcc": "001", "mnc": "01"}
        })
    }

    #[test]
    fn unknown_attributes_survive_a_round_trip() {
        let mut full = body();
        full["registrationReason"] = json!("NEW_REASON");
        full["registrationTime"] = json!("2026-11-30T00:00:00Z");
        assert_complete::<SmfRegistration>(&full);
        assert_complete::<SmfRegistrationInfo>(&json!({"smfRegistrationList": [full, body()]}));
    }

    #[test]
    fn a_wrong_value_is_named() {
        for (name, value, pointer) in [
            ("pduSessionId", json!("5"), "/pduSessionId"),
            ("pduSessionId", json!(300), "/pduSessionId"),
            ("plmnId", json!({"mcc": "001", "mnc": "1"}), "/plmnId/mnc"),
            ("smfInstanceId", json!("smf"), "/smfInstanceId"),
            ("singleNssai", json!({"sst": 1, "sd": "10"}), "/singleNssai/sd"),
        ] {
            let mut body = body();
            body[name] = value;
            let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec![pointer.to_owned()]);
            assert_eq!(refused::<SmfRegistration>(&body.to_string()), expected);
        }
    }

    #[test]
    fn an_empty_list_is_refused() {
        let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec!["/smfRegistrationList".to_owned()]);
        assert_eq!(refused::<SmfRegistrationInfo>(r#"{"smfRegistrationList":[]}"#), expected);
    }

    #[test]
    fn a_subscriber_stays_one_segment() {
        let supi: Supi = "imsi-001010000000001".parse().expect("SUPI");
        let path = "/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5";
        assert_eq!(smf_registration(&supi, PduSessionId(5)), path);
        let nai: Supi = "nai-a/b@example.org".parse().expect("SUPI");
        assert_eq!(
            smf_registrations(&nai),
            "/nudm-uecm/v1/nai-a%2Fb%40example.org/registrations/smf-registrations"
        );
    }
}
