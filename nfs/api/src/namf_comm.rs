//! `Namf_Communication`: messages to UE and access network, TS 29.518 §6.1 (Rel-17).
//!
//! ```text
//! POST /namf-comm/v1/ue-contexts/{ueContextId}/n1-n2-messages  N1N2MessageTransferReqData -> 200 N1N2MessageTransferRspData
//! ```
//!
//! Not done: UE contexts, subscriptions, and messages other than those of sessions.

use crate::common::{PduSessionId, RefToBinaryData, Rest, Supi};
use crate::decode::Ie;
use crate::percent::encoded;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};

/// The UE contexts of an AMF.
pub const UE_CONTEXTS: &str = "/namf-comm/v1/ue-contexts";

/// Where messages for the UE `supi` and its access network go.
pub fn n1_n2_messages(supi: &Supi) -> String {
    format!("{UE_CONTEXTS}/{}/n1-n2-messages", encoded(supi.as_str()))
}

enumeration! {
    /// What an N2 part is, TS 29.502 §6.1.6.3.4 (Rel-17) and TS 29.518 §6.1.6.3.11 (Rel-17).
    N2SmInfoType {
        /// Resources are to be set up.
        PDU_RES_SETUP_REQ = "PDU_RES_SETUP_REQ";
        /// They were.
        PDU_RES_SETUP_RSP = "PDU_RES_SETUP_RSP";
        /// They could not be.
        PDU_RES_SETUP_FAIL = "PDU_RES_SETUP_FAIL";
    }
}

enumeration! {
    /// What became of a transfer, TS 29.518 §6.1.6.3.5 (Rel-17).
    N1N2MessageTransferCause {
        /// It is on its way.
        N1_N2_TRANSFER_INITIATED = "N1_N2_TRANSFER_INITIATED";
        /// The UE is being paged first.
        ATTEMPTING_TO_REACH_UE = "ATTEMPTING_TO_REACH_UE";
    }
}

/// Messages to transfer, TS 29.518 §6.1.6.2.18 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MessageTransferReqData {
    /// For the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n1_message_container: Option<N1MessageContainer>,
    /// For its access network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_info_container: Option<N2InfoContainer>,
    /// About which of its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdu_session_id: Option<PduSessionId>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for N1N2MessageTransferReqData {
    const MANDATORY: &'static [&'static str] = &[];
}

/// A message for the UE, TS 29.518 §6.1.6.2.17 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `n1MessageClass` and `n1MessageContent`")]
pub struct N1MessageContainer {
    /// What it is about; `SM` for a session.
    pub n1_message_class: String,
    /// Which part it is.
    pub n1_message_content: RefToBinaryData,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// Information for the access network, TS 29.518 §6.1.6.2.15 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `n2InformationClass`")]
pub struct N2InfoContainer {
    /// What it is about; `SM` for a session.
    pub n2_information_class: String,
    /// About which session, and what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_info: Option<N2SmInformation>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// About a session, TS 29.518 §6.1.6.2.26 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `pduSessionId`")]
pub struct N2SmInformation {
    /// Which session.
    pub pdu_session_id: PduSessionId,
    /// What.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_info_content: Option<N2InfoContent>,
    /// Everything else: its slice, without which some AMFs fail.
    #[serde(flatten)]
    pub rest: Rest,
}

/// A part for the access network, TS 29.518 §6.1.6.2.27 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `ngapData`")]
pub struct N2InfoContent {
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ngap_ie_type: Option<N2SmInfoType>,
    /// Which part it is.
    pub ngap_data: RefToBinaryData,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

/// What became of a transfer, TS 29.518 §6.1.6.2.19 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct N1N2MessageTransferRspData {
    /// What.
    pub cause: N1N2MessageTransferCause,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::assert_complete;
    use serde_json::json;

    #[test]
    fn what_a_real_smf_sends_is_read_whole() {
        assert_complete::<N1N2MessageTransferReqData>(&json!({
            "n1MessageContainer": {"n1MessageClass": "SM", "n1MessageContent": {"contentId": "5gnas-sm"}},
            "n2InfoContainer": {"n2InformationClass": "SM", "smInfo": {
                "pduSessionId": 5, "sNssai": {"sst": 1},
                "n2InfoContent": {"ngapIeType": "PDU_RES_SETUP_REQ", "ngapData": {"contentId": "ngap-sm"}},
            }},
            "pduSessionId": 5, "skipInd": false,
        }));
    }
}
