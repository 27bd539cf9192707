//! `Nudm_SubscriberDataManagement`: what a subscriber may do, TS 29.503 §6.1 (Rel-17).
//!
//! ```text
//! GET            /nudm-sdm/v2/{supi}?dataset-names=..&plmn-id={json}
//! GET            /nudm-sdm/v2/{supi}/am-data?plmn-id={json}
//! GET            /nudm-sdm/v2/{supi}/smf-select-data?plmn-id={json}
//! GET            /nudm-sdm/v2/{supi}/nssai?plmn-id={json}
//! GET            /nudm-sdm/v2/{supi}/sm-data?single-nssai={json}&dnn=..&plmn-id={json}
//! GET            /nudm-sdm/v2/{supi}/ue-context-in-smf-data
//! POST           /nudm-sdm/v2/{ueId}/sdm-subscriptions
//! PATCH DELETE   /nudm-sdm/v2/{ueId}/sdm-subscriptions/{subscriptionId}
//! ```
//!
//! Not done: the other data sets, and looking up shared data.

mod dnn;
mod monitored;
mod notification;
mod sm_data;
mod subscription;
mod ue_context;

pub use dnn::{DnnConfiguration, PduSessionTypes, SscModes};
pub use monitored::SubscribedData;
pub use notification::ModificationNotification;
pub use sm_data::{ExtendedSmSubsData, SessionManagementSubscriptionData, SmData, default_sm_data, filter};
pub use subscription::{SdmSubsModification, SdmSubscription};
pub use ue_context::{PduSession, UeContextInSmfData};

use crate::common::{Dnn, PlmnId, Snssai, Supi};
use crate::percent::encoded;
use crate::query::{json_param, text_param};

/// The session management data of `supi`.
pub fn sm_data(supi: &Supi) -> String {
    format!("/nudm-sdm/v2/{}/sm-data", encoded(supi.as_str()))
}

/// The same with a query: only what concerns this slice, data network and serving network.
pub fn sm_data_of(supi: &Supi, single_nssai: &Snssai, dnn: &Dnn, plmn_id: &PlmnId) -> String {
    let slice = json_param("single-nssai", single_nssai);
    let network = json_param("plmn-id", plmn_id);
    format!("{}?{slice}&{}&{network}", sm_data(supi), text_param("dnn", dnn.as_str()))
}

/// Data of `supi` by the name of their resource.
pub fn data(supi: &Supi, name: &str) -> String {
    format!("/nudm-sdm/v2/{}/{name}", encoded(supi.as_str()))
}

/// The same, as they are in a serving network.
pub fn data_of(supi: &Supi, name: &str, plmn_id: &PlmnId) -> String {
    format!("{}?{}", data(supi, name), json_param("plmn-id", plmn_id))
}

/// The subscriptions to changes of the data of `supi`.
pub fn sdm_subscriptions(supi: &Supi) -> String {
    format!("/nudm-sdm/v2/{}/sdm-subscriptions", encoded(supi.as_str()))
}

/// The subscription `id` to changes of the data of `supi`.
pub fn sdm_subscription(supi: &Supi, id: &str) -> String {
    format!("{}/{}", sdm_subscriptions(supi), encoded(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_are_those_of_the_standard() {
        let supi: Supi = "imsi-001010000000001".parse().expect("SUPI");
        let (dnn, plmn) = ("internet".parse().expect("DNN"), PlmnId::new("001", "01").expect("a network"));
        assert_eq!(
            sm_data_of(&supi, &Snssai::sst(1), &dnn, &plmn),
            "/nudm-sdm/v2/imsi-001010000000001/sm-data?single-nssai=%7B%22sst%22%3A1%7D&dnn=internet\
             &plmn-id=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D"
        );
        assert_eq!(
            sdm_subscription(&supi, "a/1"),
            "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions/a%2F1"
        );
    }
}
