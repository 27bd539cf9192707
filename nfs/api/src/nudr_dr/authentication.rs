//! How a subscriber is authenticated, and how the last authentication ended.

use crate::common::{NfInstanceId, Rest};
use crate::decode::Ie;
use serde::{Deserialize, Serialize};

/// The credentials of a subscriber, TS 29.505 §5.4.2.2 (Rel-17). Keys are hexadecimal digits, and not encrypted here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationSubscription {
    /// `5G_AKA`, `EAP_AKA_PRIME` and others.
    pub authentication_method: String,
    /// K, 128 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enc_permanent_key: Option<String>,
    /// The sequence number that comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_number: Option<SequenceNumber>,
    /// AMF, 16 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication_management_field: Option<String>,
    /// OPc, 128 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enc_opc_key: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for AuthenticationSubscription {
    const MANDATORY: &'static [&'static str] = &["authenticationMethod"];
}

/// SQN, TS 29.505 §5.4.2.2a (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceNumber {
    /// 48 bits as hexadecimal digits.
    pub sqn: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// The subscriber of Open5GS's own tests, whose keys are public: 5G AKA with Milenage.
impl Default for AuthenticationSubscription {
    fn default() -> Self {
        AuthenticationSubscription {
            authentication_method: "5G_AKA".into(),
            enc_permanent_key: Some("465b5ce8b199b49faa5f0a2ee238a6bc".into()),
            sequence_number: Some(SequenceNumber { sqn: "000000000000".into(), rest: Rest::new() }),
            authentication_management_field: Some("8000".into()),
            enc_opc_key: Some("e8ed289deba952e4283b54e88e6183ca".into()),
            rest: Rest::new(),
        }
    }
}

/// How an authentication ended, TS 29.503 §6.3.6.2.7 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthEvent {
    /// The AUSF that tells.
    pub nf_instance_id: NfInstanceId,
    /// Whether it succeeded.
    pub success: bool,
    /// When, RFC 3339.
    pub time_stamp: String,
    /// By which method.
    pub auth_type: String,
    /// In which serving network.
    pub serving_network_name: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for AuthEvent {
    const MANDATORY: &'static [&'static str] =
        &["nfInstanceId", "success", "timeStamp", "authType", "servingNetworkName"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::assert_complete;
    use serde_json::json;

    #[test]
    fn unknown_attributes_survive_a_round_trip() {
        assert_complete::<AuthenticationSubscription>(&json!({
            "authenticationMethod": "5G_AKA", "encPermanentKey": "00", "encOpcKey": "01",
            "sequenceNumber": {"sqn": "000000000020", "sqnScheme": "NON_TIME_BASED"},
            "authenticationManagementField": "8000", "akmaAllowed": true
        }));
        assert_complete::<AuthEvent>(&json!({
            "nfInstanceId": "44444444-4444-4444-8444-444444444444", "success": true, "authType": "5G_AKA",
            "timeStamp": "2026-11-30T01:25:02.375361+00:00",
            "servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org", "authRemovalInd": true
        }));
    }
}
