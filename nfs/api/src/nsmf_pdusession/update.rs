//! Modifying an SM context: TS 29.502 §6.1.3.3.4.2 (Rel-17).

use crate::common::{RefToBinaryData, Rest};
use crate::decode::Ie;
use crate::namf_comm::N2SmInfoType;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};

enumeration! {
    /// How far a session's user plane is, TS 29.502 §6.1.6.3.2 (Rel-17).
    UpCnxState {
        /// It is there.
        ACTIVATED = "ACTIVATED";
        /// It is not.
        DEACTIVATED = "DEACTIVATED";
        /// It is on its way.
        ACTIVATING = "ACTIVATING";
    }
}

/// What to change, TS 29.502 §6.1.6.2.4 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdateData {
    /// The part of the message with what the access network says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_sm_info: Option<RefToBinaryData>,
    /// What that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// The user plane that the AMF wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_cnx_state: Option<UpCnxState>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextUpdateData {
    const MANDATORY: &'static [&'static str] = &[];
}

/// What has changed, TS 29.502 §6.1.6.2.5 (Rel-17).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdatedData {
    /// The user plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_cnx_state: Option<UpCnxState>,
    /// The part of the message with what the access network shall do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_sm_info: Option<RefToBinaryData>,
    /// What that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n2_sm_info_type: Option<N2SmInfoType>,
}
