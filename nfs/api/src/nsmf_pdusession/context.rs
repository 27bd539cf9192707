//! What an SM context holds, as another SMF or the AMF reads it.

use super::Session;
use crate::bounds::{integer, non_empty};
use crate::common::{Ambr, Dnn, NfInstanceId, PduSessionId, PduSessionType, Rest, Snssai};
use crate::decode::Ie;
use serde::{Deserialize, Serialize};

/// The request to read an SM context, TS 29.502 §6.1.6.2.7 (Rel-17). `{}` is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextRetrieveData {
    /// What to answer with: `SM_CONTEXT` for the context, `EPS_PDN_CONNECTION` (also when absent) for its EPS form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_context_type: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextRetrieveData {
    const MANDATORY: &'static [&'static str] = &[];
}

/// The answer with an SM context, TS 29.502 §6.1.6.2.27 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextRetrievedData {
    /// The EPS form of the session, base64. The mocks know no EPS, so theirs is empty.
    pub ue_eps_pdn_connection: String,
    /// The context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_context: Option<SmContext>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextRetrievedData {
    const MANDATORY: &'static [&'static str] = &["ueEpsPdnConnection"];
}

impl From<SmContext> for SmContextRetrievedData {
    fn from(context: SmContext) -> Self {
        let ue_eps_pdn_connection = String::new();
        SmContextRetrievedData { ue_eps_pdn_connection, sm_context: Some(context), rest: Rest::new() }
    }
}

/// An SM context, TS 29.502 §6.1.6.2.39 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `pduSessionId`, `dnn`, `sNssai` and more")]
pub struct SmContext {
    /// Which of the UE's sessions.
    pub pdu_session_id: PduSessionId,
    /// The data network.
    pub dnn: Dnn,
    /// The slice.
    pub s_nssai: Snssai,
    /// What the session carries.
    pub pdu_session_type: PduSessionType,
    /// How much it carries.
    pub session_ambr: Ambr,
    /// Its QoS flows, at least one.
    #[serde(deserialize_with = "non_empty")]
    pub qos_flows_list: Vec<QosFlowSetupItem>,
    /// The SMF that holds the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smf_instance_id: Option<NfInstanceId>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl SmContext {
    /// The context of `session` with one QoS flow, the default one.
    pub fn new(session: &Session, pdu_session_type: PduSessionType, session_ambr: Ambr) -> SmContext {
        SmContext {
            pdu_session_id: session.pdu_session_id,
            dnn: session.dnn.clone(),
            s_nssai: session.s_nssai,
            pdu_session_type,
            session_ambr,
            qos_flows_list: vec![QosFlowSetupItem::default_flow()],
            smf_instance_id: None,
            rest: Rest::new(),
        }
    }
}

/// A QoS flow, TS 29.502 §6.1.6.2.19 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `qfi` and `qosRules`")]
pub struct QosFlowSetupItem {
    /// QoS flow identifier, 0 to 63.
    #[serde(deserialize_with = "integer::<0, 63, _>")]
    pub qfi: u8,
    /// The QoS rules of TS 24.501 §9.11.4.13, base64.
    pub qos_rules: String,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl QosFlowSetupItem {
    /// Flow 1 with the default rule.
    ///
    /// ```text
    /// 01       rule 1
    /// 0006     of 6 octets
    /// 31       create, default rule, one packet filter
    /// 31 01 01 filter 1, both directions, matches all
    /// ff       comes last
    /// 01       flow 1
    /// ```
    pub fn default_flow() -> QosFlowSetupItem {
        QosFlowSetupItem { qfi: 1, qos_rules: "AQAGMTEBAf8B".into(), rest: Rest::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::BitRate;
    use crate::decode::{
        decode,
        tests::{assert_complete, refused},
    };
    use serde_json::json;

    fn context() -> SmContext {
        let session = Session {
            supi: "imsi-001010000000001".parse().expect("SUPI"),
            pdu_session_id: PduSessionId(5),
            dnn: "internet".parse().expect("DNN"),
            s_nssai: Snssai::sst(1),
        };
        let ambr = Ambr { uplink: BitRate::mbps(100), downlink: BitRate::mbps(200) };
        SmContext::new(&session, PduSessionType::IPV4, ambr)
    }

    #[test]
    fn the_context_of_a_mock_has_all_that_the_schema_asks_for() {
        let json = serde_json::to_value(SmContextRetrievedData::from(context())).expect("JSON");
        let expected = json!({
            "ueEpsPdnConnection": "",
            "smContext": {
                "pduSessionId": 5, "dnn": "internet", "sNssai": {"sst": 1}, "pduSessionType": "IPV4",
                "sessionAmbr": {"uplink": "100 Mbps", "downlink": "200 Mbps"},
                "qosFlowsList": [{"qfi": 1, "qosRules": "AQAGMTEBAf8B"}]
            }
        });
        assert_eq!(json, expected);
        assert_complete::<SmContextRetrievedData>(&json);
    }

    #[test]
    fn a_foreign_context_keeps_what_we_do_not_know() {
        let mut json = serde_json::to_value(SmContextRetrievedData::from(context())).expect("JSON");
        json["dlDataWaitingInd"] = json!(false);
        json["smContext"]["sscMode"] = json!("1");
        json["smContext"]["smfInstanceId"] = json!("22222222-2222-4222-8222-222222222222");
        json["smContext"]["qosFlowsList"][0]["defaultQosRuleInd"] = json!(true);
        assert_complete::<SmContextRetrievedData>(&json);
    }

    #[test]
    fn a_context_without_flows_is_refused() {
        let mut json = serde_json::to_value(SmContextRetrievedData::from(context())).expect("JSON");
        json["smContext"]["qosFlowsList"] = json!([]);
        let expected = ("OPTIONAL_IE_INCORRECT".to_owned(), vec!["/smContext/qosFlowsList".to_owned()]);
        assert_eq!(refused::<SmContextRetrievedData>(&json.to_string()), expected);
    }

    #[test]
    fn an_empty_object_asks_for_a_context() {
        assert_eq!(decode::<SmContextRetrieveData>(b"{}").expect("valid"), SmContextRetrieveData::default());
    }
}
