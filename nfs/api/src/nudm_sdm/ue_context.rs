//! Which SMFs serve a subscriber's sessions.

use crate::common::{Dnn, NfInstanceId, PlmnId, Snssai};
use crate::nudm_uecm::SmfRegistration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sessions of a subscriber, TS 29.503 §6.1.6.2.16 (Rel-17). None at all is `{}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UeContextInSmfData {
    /// By PDU session id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pdu_sessions: BTreeMap<String, PduSession>,
}

/// One session, TS 29.503 §6.1.6.2.17 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PduSession {
    /// The data network.
    pub dnn: Dnn,
    /// The SMF.
    pub smf_instance_id: NfInstanceId,
    /// The network of the SMF.
    pub plmn_id: PlmnId,
    /// The slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_nssai: Option<Snssai>,
}

impl<'a> FromIterator<&'a SmfRegistration> for UeContextInSmfData {
    /// A registration without a data network is an emergency session's, and not told of here.
    fn from_iter<T: IntoIterator<Item = &'a SmfRegistration>>(registrations: T) -> Self {
        let session = |r: &SmfRegistration| {
            let session = PduSession {
                dnn: r.dnn.clone()?,
                smf_instance_id: r.smf_instance_id,
                plmn_id: r.plmn_id.clone(),
                single_nssai: Some(r.single_nssai),
            };
            Some((r.pdu_session_id.to_string(), session))
        };
        UeContextInSmfData { pdu_sessions: registrations.into_iter().filter_map(session).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sessions_are_keyed_by_their_id() {
        let registration: SmfRegistration = serde_json::from_value(json!({
            "smfInstanceId": "22222222-2222-4222-8222-222222222222", "pduSessionId": 5, "dnn": "internet",
            "singleNssai": {"sst": 1}, "plmnId": {"mcc": "001", "mnc": "01"}, "pcfId": "x"
        }))
        .expect("a registration");
        let emergency = SmfRegistration { dnn: None, ..registration.clone() };
        let context: UeContextInSmfData = [&registration, &emergency].into_iter().collect();
        let expected = json!({"pduSessions": {"5": {
            "smfInstanceId": "22222222-2222-4222-8222-222222222222", "dnn": "internet", "singleNssai": {"sst": 1},
            "plmnId": {"mcc": "001", "mnc": "01"}
        }}});
        assert_eq!(serde_json::to_value(context).expect("JSON"), expected);
        assert_eq!(serde_json::to_value(UeContextInSmfData::default()).expect("JSON"), json!({}));
    }
}
