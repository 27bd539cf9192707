//! How a subscriber may use one data network.

use crate::common::{
    Ambr, Arp, BitRate, PduSessionType, PreemptionCapability, PreemptionVulnerability, Rest, SscMode,
    SubscribedDefaultQos,
};
use serde::{Deserialize, Serialize};

/// How a subscriber may use one data network, TS 29.503 §6.1.6.2.9 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `pduSessionTypes` and `sscModes`")]
pub struct DnnConfiguration {
    /// What a session may carry.
    pub pdu_session_types: PduSessionTypes,
    /// How a session goes on when the UE moves.
    pub ssc_modes: SscModes,
    /// The QoS that a session starts with.
    #[serde(default, rename = "5gQosProfile", skip_serializing_if = "Option::is_none")]
    pub qos_profile: Option<SubscribedDefaultQos>,
    /// How much a session carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_ambr: Option<Ambr>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// What a session may carry, TS 29.503 §6.1.6.2.11 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with `defaultSessionType` and `allowedSessionTypes`"
)]
pub struct PduSessionTypes {
    /// If the UE does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_session_type: Option<PduSessionType>,
    /// If the UE does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_session_types: Option<Vec<PduSessionType>>,
}

/// How a session may go on when the UE moves, TS 29.503 §6.1.6.2.12 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `defaultSscMode`")]
pub struct SscModes {
    /// If the UE does not say.
    pub default_ssc_mode: SscMode,
    /// Further ones. The schema has at most two; cores that list all three are in use, so no number is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_ssc_modes: Option<Vec<SscMode>>,
}

/// The values that cores usually hold.
impl Default for DnnConfiguration {
    fn default() -> Self {
        DnnConfiguration {
            pdu_session_types: PduSessionTypes {
                default_session_type: Some(PduSessionType::IPV4V6),
                allowed_session_types: Some(vec![
                    PduSessionType::IPV4,
                    PduSessionType::IPV6,
                    PduSessionType::IPV4V6,
                ]),
            },
            ssc_modes: SscModes {
                default_ssc_mode: SscMode::SSC_MODE_1,
                allowed_ssc_modes: Some(vec![SscMode::SSC_MODE_2, SscMode::SSC_MODE_3]),
            },
            qos_profile: Some(SubscribedDefaultQos {
                five_qi: 9,
                arp: Arp {
                    priority_level: 8,
                    preempt_cap: PreemptionCapability::NOT_PREEMPT,
                    preempt_vuln: PreemptionVulnerability::NOT_PREEMPTABLE,
                },
                priority_level: Some(8),
            }),
            session_ambr: Some(Ambr { uplink: BitRate::mbps(1000), downlink: BitRate::mbps(1000) }),
            rest: Rest::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_default_holds_no_more_than_the_schema_allows() {
        let modes = DnnConfiguration::default().ssc_modes;
        assert_eq!(
            serde_json::to_value(&modes).expect("JSON"),
            json!({"defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_2", "SSC_MODE_3"]})
        );
    }

    #[test]
    fn session_types_without_a_default_are_taken() {
        let types: PduSessionTypes = serde_json::from_value(json!({})).expect("valid by the schema");
        assert_eq!(types, PduSessionTypes::default());
    }
}
