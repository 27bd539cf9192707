//! What a subscription to changes names.

use crate::common::Supi;
use crate::nudr_dr::DataSet;
use crate::percent::decoded;

/// Data of a subscriber that a UDM answers from what is provisioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscribedData {
    /// Access and mobility.
    Am,
    /// Which slices and data networks an SMF is selected for.
    SmfSelection,
    /// Slices, a part of access and mobility.
    Nssai,
    /// Session management.
    Sm,
}

impl SubscribedData {
    /// Whose data of which kind a monitored URI names: absolute, or relative to the API's root as a real core's AMF and
    /// SMF send it. None if it is something that is not provisioned.
    pub fn monitored(uri: &str) -> Option<(Supi, SubscribedData)> {
        let below = uri.split_once("/nudm-sdm/v2/").map_or(uri, |(_, below)| below);
        let below = below.split('?').next().unwrap_or_default();
        let (supi, data) = below.trim_start_matches('/').split_once('/')?;
        let data = match data {
            "am-data" => SubscribedData::Am,
            "smf-select-data" => SubscribedData::SmfSelection,
            "nssai" => SubscribedData::Nssai,
            "sm-data" => SubscribedData::Sm,
            _ => return None,
        };
        Some((decoded(supi).ok()?.parse().ok()?, data))
    }

    /// Where a UDR keeps it.
    pub fn set(self) -> DataSet {
        match self {
            SubscribedData::Am | SubscribedData::Nssai => DataSet::Am,
            SubscribedData::SmfSelection => DataSet::SmfSelection,
            SubscribedData::Sm => DataSet::Sm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_monitored_may_be_named_absolutely_or_not() {
        let supi: Supi = "imsi-001010000000001".parse().expect("SUPI");
        for uri in [
            "http://udm:7712/site/nudm-sdm/v2/imsi-001010000000001/am-data",
            "/nudm-sdm/v2/imsi-001010000000001/am-data?plmn-id=x",
            "imsi-001010000000001/am-data",
            "/imsi%2D001010000000001/am-data",
        ] {
            assert_eq!(SubscribedData::monitored(uri), Some((supi.clone(), SubscribedData::Am)), "{uri}");
        }
        for uri in ["", "x/am-data", "imsi-001010000000001", "imsi-001010000000001/ue-context-in-smf-data"] {
            assert_eq!(SubscribedData::monitored(uri), None, "{uri}");
        }
    }
}
