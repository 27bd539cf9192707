//! The data sets that are provisioned for a subscriber.

use std::str::FromStr;

/// A provisioned data set, by its three names, TS 29.505 §5.2.2 and §5.4.3 (Rel-17). Not done: the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataSet {
    /// Access and mobility.
    Am,
    /// Which slices and data networks an SMF is selected for.
    SmfSelection,
    /// Session management.
    Sm,
}

impl DataSet {
    /// All of them.
    pub const ALL: [DataSet; 3] = [DataSet::Am, DataSet::SmfSelection, DataSet::Sm];

    /// As the last segment of a path.
    pub const fn segment(self) -> &'static str {
        match self {
            DataSet::Am => "am-data",
            DataSet::SmfSelection => "smf-selection-subscription-data",
            DataSet::Sm => "sm-data",
        }
    }

    /// In `dataset-names`.
    pub const fn name(self) -> &'static str {
        match self {
            DataSet::Am => "AM",
            DataSet::SmfSelection => "SMF_SEL",
            DataSet::Sm => "SM",
        }
    }

    /// As the attribute that holds it among others.
    pub const fn attribute(self) -> &'static str {
        match self {
            DataSet::Am => "amData",
            DataSet::SmfSelection => "smfSelData",
            DataSet::Sm => "smData",
        }
    }

    /// The set that a path segment names.
    pub fn of_segment(segment: &str) -> Option<DataSet> {
        DataSet::ALL.into_iter().find(|set| set.segment() == segment)
    }

    /// Those that a list `AM,SMF_SEL` names; names of others are passed over, since the enumeration is extensible.
    pub fn listed(names: &str) -> Vec<DataSet> {
        let named: Vec<DataSet> = names.split(',').filter_map(|name| name.trim().parse().ok()).collect();
        DataSet::ALL.into_iter().filter(|set| named.contains(set)).collect()
    }
}

impl FromStr for DataSet {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        DataSet::ALL.into_iter().find(|set| set.name() == name).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_each_set_once_and_passes_over_what_is_unknown() {
        assert_eq!(DataSet::listed("SM,AM,UEC_SMF,AM"), [DataSet::Am, DataSet::Sm]);
        assert_eq!(DataSet::listed("SMF_SEL, AM"), [DataSet::Am, DataSet::SmfSelection]);
        assert!(DataSet::listed("").is_empty());
    }

    #[test]
    fn each_set_is_found_by_its_segment() {
        for set in DataSet::ALL {
            assert_eq!(DataSet::of_segment(set.segment()), Some(set));
        }
    }
}
