//! `Nudr_DataRepository`: the data that a UDM and a PCF keep in a UDR, TS 29.505 §5 and TS 29.519 §5 (Rel-17).
//!
//! ```text
//! GET                 /nudr-dr/v2/subscription-data/{ueId}/{servingPlmnId}/provisioned-data?dataset-names=..
//! GET                 /nudr-dr/v2/subscription-data/{ueId}/{servingPlmnId}/provisioned-data/{set}
//! GET PATCH           /nudr-dr/v2/subscription-data/{ueId}/authentication-data/authentication-subscription
//! GET PUT DELETE      /nudr-dr/v2/subscription-data/{ueId}/authentication-data/authentication-status
//! GET PUT PATCH       /nudr-dr/v2/subscription-data/{ueId}/context-data/amf-3gpp-access
//! GET                 /nudr-dr/v2/subscription-data/{ueId}/context-data/smf-registrations
//! GET PUT DELETE      /nudr-dr/v2/subscription-data/{ueId}/context-data/smf-registrations/{pduSessionId}
//! GET POST            /nudr-dr/v2/subscription-data/{ueId}/context-data/sdm-subscriptions
//! GET PUT DELETE      /nudr-dr/v2/subscription-data/{ueId}/context-data/sdm-subscriptions/{subsId}
//! POST                /nudr-dr/v2/subscription-data/subs-to-notify
//! GET DELETE          /nudr-dr/v2/subscription-data/subs-to-notify/{subsId}
//! GET                 /nudr-dr/v2/policy-data/ues/{ueId}/am-data
//! GET                 /nudr-dr/v2/policy-data/ues/{ueId}/sm-data?snssai={json}&dnn=..
//! ```
//!
//! `{set}` is one of [`DataSet`]. Other bodies are those of [`nudm_sdm`](crate::nudm_sdm) and
//! [`nudm_uecm`](crate::nudm_uecm). Rel-17 says `v2`; cores that say `v1` are in use, and the resources are the same, so
//! both are read and `v2` is sent. Not done: other data, and other methods.

mod authentication;
mod data_set;
mod resource;
mod subs_to_notify;

pub use authentication::{AuthEvent, AuthenticationSubscription, SequenceNumber};
pub use data_set::DataSet;
pub use resource::Resource;
pub use subs_to_notify::{DataChangeNotify, SubscriptionDataSubscriptions};

use crate::common::{PduSessionId, PlmnId, Supi};
use crate::percent::encoded;

const SUBSCRIPTION_DATA: &str = "/nudr-dr/v2/subscription-data";

const POLICY_DATA: &str = "/nudr-dr/v2/policy-data/ues";

/// What is provisioned for `supi` in the serving network `plmn`.
pub fn provisioned_data(supi: &Supi, plmn: &PlmnId) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/{plmn}/provisioned-data", encoded(supi.as_str()))
}

/// One set of it.
pub fn data_set(supi: &Supi, plmn: &PlmnId, set: DataSet) -> String {
    format!("{}/{}", provisioned_data(supi, plmn), set.segment())
}

/// How `supi` is authenticated.
pub fn authentication_subscription(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/authentication-data/authentication-subscription", encoded(supi.as_str()))
}

/// How the last authentication of `supi` ended.
pub fn authentication_status(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/authentication-data/authentication-status", encoded(supi.as_str()))
}

/// The registration of the AMF that serves `supi` over 3GPP access.
pub fn amf_registration(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/context-data/amf-3gpp-access", encoded(supi.as_str()))
}

/// The registrations of the SMFs that serve `supi`.
pub fn smf_registrations(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/context-data/smf-registrations", encoded(supi.as_str()))
}

/// The registration of the SMF that serves one session of `supi`.
pub fn smf_registration(supi: &Supi, pdu_session_id: PduSessionId) -> String {
    format!("{}/{pdu_session_id}", smf_registrations(supi))
}

/// The subscriptions to changes of the data of `supi`.
pub fn sdm_subscriptions(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/context-data/sdm-subscriptions", encoded(supi.as_str()))
}

/// The subscription `id` to changes of the data of `supi`.
pub fn sdm_subscription(supi: &Supi, id: &str) -> String {
    format!("{}/{}", sdm_subscriptions(supi), encoded(id))
}

/// The wishes to be notified of changes in the UDR.
pub fn subs_to_notify() -> String {
    format!("{SUBSCRIPTION_DATA}/subs-to-notify")
}

/// The wish `id`.
pub fn sub_to_notify(id: &str) -> String {
    format!("{SUBSCRIPTION_DATA}/subs-to-notify/{}", encoded(id))
}

/// The access and mobility policy data of `supi`.
pub fn am_policy_data(supi: &Supi) -> String {
    format!("{POLICY_DATA}/{}/am-data", encoded(supi.as_str()))
}

/// The session management policy data of `supi`.
pub fn sm_policy_data(supi: &Supi) -> String {
    format!("{POLICY_DATA}/{}/sm-data", encoded(supi.as_str()))
}
