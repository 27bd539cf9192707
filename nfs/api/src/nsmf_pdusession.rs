//! `Nsmf_PDUSession`: SM contexts, TS 29.502 §6.1 (Rel-17).
//!
//! ```text
//! POST /nsmf-pdusession/v1/sm-contexts                 SmContextCreateData  -> 201 SmContextCreatedData
//! POST /nsmf-pdusession/v1/sm-contexts/{ref}/modify   SmContextUpdateData  -> 204, or 200 SmContextUpdatedData
//! POST /nsmf-pdusession/v1/sm-contexts/{ref}/release   SmContextReleaseData -> 204
//! POST /nsmf-pdusession/v1/sm-contexts/{ref}/retrieve  SmContextRetrieveData -> 200 SmContextRetrievedData
//! POST {smContextStatusUri}                            SmContextStatusNotification -> 204
//! ```
//!
//! Not done: `send-mo-data`, and the `pdu-sessions` of the home-routed case.

mod context;
mod create;
mod release;
mod update;

pub use context::{QosFlowSetupItem, SmContext, SmContextRetrieveData, SmContextRetrievedData};
pub use create::{RequestType, Session, SmContextCreateData, SmContextCreateError, SmContextCreatedData};
pub use release::{Cause, ResourceStatus, SmContextReleaseData, SmContextStatusNotification, StatusInfo};

pub use update::{SmContextUpdateData, SmContextUpdatedData, UpCnxState};

use crate::percent::encoded;

/// The collection of SM contexts.
pub const SM_CONTEXTS: &str = "/nsmf-pdusession/v1/sm-contexts";

/// The SM context `sm_context_ref`.
pub fn sm_context(sm_context_ref: &str) -> String {
    format!("{SM_CONTEXTS}/{}", encoded(sm_context_ref))
}

/// The operation that modifies the SM context `sm_context_ref`.
pub fn modify(sm_context_ref: &str) -> String {
    sm_context(sm_context_ref) + "/modify"
}

/// The operation that releases the SM context `sm_context_ref`.
pub fn release(sm_context_ref: &str) -> String {
    sm_context(sm_context_ref) + "/release"
}

/// The operation that reads the SM context `sm_context_ref`.
pub fn retrieve(sm_context_ref: &str) -> String {
    sm_context(sm_context_ref) + "/retrieve"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_stays_one_segment() {
        assert_eq!(release("0-7"), "/nsmf-pdusession/v1/sm-contexts/0-7/release");
        assert_eq!(retrieve("a/b?c"), "/nsmf-pdusession/v1/sm-contexts/a%2Fb%3Fc/retrieve");
        assert_eq!(modify("1"), "/nsmf-pdusession/v1/sm-contexts/1/modify");
    }
}
