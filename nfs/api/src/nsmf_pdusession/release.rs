//! How an SM context ends: asked for by the AMF, or told to it.

use crate::common::Rest;
use crate::decode::Ie;
use crate::text::enumeration;
use serde::{Deserialize, Serialize};

enumeration! {
    /// Why a session or its context changes or ends, TS 29.502 §6.1.6.3.8 (Rel-17).
    ///
    /// The constants are those that concern a release.
    Cause {
        /// The UE asks for a session with an id that is in use.
        REL_DUE_TO_DUPLICATE_SESSION_ID = "REL_DUE_TO_DUPLICATE_SESSION_ID";
        /// The session is to be set up anew.
        REL_DUE_TO_REACTIVATION = "REL_DUE_TO_REACTIVATION";
        /// The subscription no longer allows the session.
        REL_DUE_TO_SUBSCRIPTION_CHANGE = "REL_DUE_TO_SUBSCRIPTION_CHANGE";
        /// The slice is gone.
        REL_DUE_TO_SLICE_NOT_AVAILABLE = "REL_DUE_TO_SLICE_NOT_AVAILABLE";
        /// UE and AMF do not agree on which sessions exist.
        PDU_SESSION_STATUS_MISMATCH = "PDU_SESSION_STATUS_MISMATCH";
        /// The user plane has no room.
        INSUFFICIENT_UP_RESOURCES = "INSUFFICIENT_UP_RESOURCES";
        /// The access network does not answer.
        AN_NOT_RESPONDING = "5G_AN_NOT_RESPONDING";
        /// Anything else.
        REL_DUE_TO_UNSPECIFIED_REASON = "REL_DUE_TO_UNSPECIFIED_REASON";
    }
}

enumeration! {
    /// What became of an SM context, TS 29.502 §6.1.6.3.9 (Rel-17).
    ResourceStatus {
        /// It is gone.
        RELEASED = "RELEASED";
        /// It is as it was.
        UNCHANGED = "UNCHANGED";
        /// Another SMF has it.
        TRANSFERRED = "TRANSFERRED";
        /// It has changed.
        UPDATED = "UPDATED";
        /// Another SMF is to become the anchor.
        ALT_ANCHOR_SMF = "ALT_ANCHOR_SMF";
    }
}

/// The request to release an SM context, TS 29.502 §6.1.6.2.6 (Rel-17). `{}` is one, and so is no body at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextReleaseData {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextReleaseData {
    const MANDATORY: &'static [&'static str] = &[];
}

impl From<Cause> for SmContextReleaseData {
    fn from(cause: Cause) -> Self {
        SmContextReleaseData { cause: Some(cause), rest: Rest::new() }
    }
}

/// What an SMF tells the AMF about an SM context, TS 29.502 §6.1.6.2.8 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextStatusNotification {
    /// What became of it.
    pub status_info: StatusInfo,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextStatusNotification {
    const MANDATORY: &'static [&'static str] = &["statusInfo"];
}

impl SmContextStatusNotification {
    /// The context was released.
    pub fn released(cause: Option<Cause>) -> Self {
        let status_info = StatusInfo { resource_status: ResourceStatus::RELEASED, cause, rest: Rest::new() };
        SmContextStatusNotification { status_info, rest: Rest::new() }
    }
}

/// What became of an SM context and why, TS 29.502 §6.1.6.2.29 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `resourceStatus`")]
pub struct StatusInfo {
    /// What.
    pub resource_status: ResourceStatus,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{
        decode,
        tests::{assert_complete, refused},
    };
    use serde_json::json;

    #[test]
    fn a_release_keeps_a_foreign_cause_and_what_we_do_not_know() {
        assert_complete::<SmContextReleaseData>(&json!({
            "cause": "REL_DUE_TO_THE_WEATHER", "ngApCause": {"group": 3, "value": 2}, "5gMmCauseValue": 16
        }));
        assert_eq!(decode::<SmContextReleaseData>(b"{}").expect("valid"), SmContextReleaseData::default());
        let data = SmContextReleaseData::from(Cause::REL_DUE_TO_DUPLICATE_SESSION_ID);
        let expected = json!({"cause": "REL_DUE_TO_DUPLICATE_SESSION_ID"});
        assert_eq!(serde_json::to_value(data).expect("JSON"), expected);
    }

    #[test]
    fn a_released_context_is_told_as_the_standard_shows_it() {
        let json = serde_json::to_value(SmContextStatusNotification::released(None)).expect("JSON");
        assert_eq!(json, json!({"statusInfo": {"resourceStatus": "RELEASED"}}));
        assert_complete::<SmContextStatusNotification>(&json);
    }

    #[test]
    fn a_notification_without_a_status_is_refused() {
        let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec!["/statusInfo/resourceStatus".to_owned()]);
        assert_eq!(refused::<SmContextStatusNotification>(r#"{"statusInfo":{}}"#), expected);
    }
}
