//! What is provisioned for a subscriber.

use api::common::{Dnn, Snssai};
use api::nudm_sdm::SessionManagementSubscriptionData;
use api::nudr_dr::{AuthenticationSubscription, DataSet};
use sbi::json;
use serde_json::{Map, Value, json};

/// Everything that is provisioned for a subscriber, the same in every serving network. What nobody here interprets is
/// kept as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// `AccessAndMobilitySubscriptionData`.
    pub am: Value,
    /// `SmfSelectionSubscriptionData`.
    pub smf_selection: Value,
    /// Session management.
    pub sm: Vec<SessionManagementSubscriptionData>,
    /// Credentials.
    pub authentication: AuthenticationSubscription,
    /// `AmPolicyData`.
    pub am_policy: Value,
    /// `SmPolicyData`.
    pub sm_policy: Value,
}

impl Profile {
    /// A data set, as it is answered.
    pub fn set(&self, set: DataSet) -> Value {
        match set {
            DataSet::Am => self.am.clone(),
            DataSet::SmfSelection => self.smf_selection.clone(),
            DataSet::Sm => json::to_value(&self.sm),
        }
    }
}

/// What goes with these session data in a core: the first slice is the default one, the first data network of a slice
/// its default, 1 Gbit/s both ways, the usual test credentials, and no policy of its own.
impl From<Vec<SessionManagementSubscriptionData>> for Profile {
    fn from(sm: Vec<SessionManagementSubscriptionData>) -> Self {
        Profile {
            am: am(&sm),
            smf_selection: json!({"subscribedSnssaiInfos": by_slice(&sm, dnn_infos)}),
            authentication: AuthenticationSubscription::default(),
            am_policy: json!({}),
            sm_policy: json!({"smPolicySnssaiData": by_slice(&sm, sm_policy)}),
            sm,
        }
    }
}

fn am(sm: &[SessionManagementSubscriptionData]) -> Value {
    let slices: Vec<Snssai> = sm.iter().map(|entry| entry.single_nssai).collect();
    let (default, others) = slices.split_at(slices.len().min(1));
    let mut am = json!({"subscribedUeAmbr": {"uplink": "1000 Mbps", "downlink": "1000 Mbps"}});
    if !default.is_empty() {
        am["nssai"] = json!({"defaultSingleNssais": default});
    }
    if !others.is_empty() {
        am["nssai"]["singleNssais"] = json!(others);
    }
    am
}

fn by_slice(sm: &[SessionManagementSubscriptionData], of: impl Fn(&Snssai, &[&Dnn]) -> Value) -> Value {
    let entry = |data: &SessionManagementSubscriptionData| {
        let dnns: Vec<&Dnn> = data.dnn_configurations.iter().flat_map(|all| all.keys()).collect();
        (!dnns.is_empty()).then(|| (data.single_nssai.to_string(), of(&data.single_nssai, &dnns)))
    };
    Value::Object(sm.iter().filter_map(entry).collect())
}

fn dnn_infos(_: &Snssai, dnns: &[&Dnn]) -> Value {
    let info = |(n, dnn): (usize, &&Dnn)| json!({"dnn": dnn, "defaultDnnIndicator": n == 0});
    json!({"dnnInfos": dnns.iter().enumerate().map(info).collect::<Vec<_>>()})
}

fn sm_policy(slice: &Snssai, dnns: &[&Dnn]) -> Value {
    let policy = |dnn: &&Dnn| (dnn.to_string(), json!({"dnn": dnn}));
    json!({"snssai": slice, "smPolicyDnnData": dnns.iter().map(policy).collect::<Map<_, _>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::nudm_sdm::default_sm_data;

    fn profile(slices: &[(&str, &[&str])]) -> Profile {
        let dnn = |name: &&str| name.parse().expect("a DNN");
        let slice = |(slice, dnns): &(&str, &[&str])| {
            (slice.parse().expect("a slice"), dnns.iter().map(dnn).collect())
        };
        default_sm_data(slices.iter().map(slice)).into()
    }

    #[test]
    fn one_slice_gives_what_a_real_core_holds() {
        let profile = profile(&[("1", &["internet"])]);
        assert_eq!(profile.am["nssai"], json!({"defaultSingleNssais": [{"sst": 1}]}));
        let selection = json!({"1": {"dnnInfos": [{"dnn": "internet", "defaultDnnIndicator": true}]}});
        assert_eq!(profile.smf_selection, json!({"subscribedSnssaiInfos": selection}));
        let policy =
            json!({"1": {"snssai": {"sst": 1}, "smPolicyDnnData": {"internet": {"dnn": "internet"}}}});
        assert_eq!(profile.sm_policy, json!({"smPolicySnssaiData": policy}));
    }

    #[test]
    fn further_slices_are_not_the_default() {
        let profile = profile(&[("1", &["internet"]), ("1-0000a1", &["ims", "internet"])]);
        let nssai =
            json!({"defaultSingleNssais": [{"sst": 1}], "singleNssais": [{"sst": 1, "sd": "0000a1"}]});
        assert_eq!(profile.am["nssai"], nssai);
        let infos = &profile.smf_selection["subscribedSnssaiInfos"]["1-0000a1"]["dnnInfos"];
        assert_eq!((&infos[0]["dnn"], &infos[1]["defaultDnnIndicator"]), (&json!("ims"), &json!(false)));
    }
}
