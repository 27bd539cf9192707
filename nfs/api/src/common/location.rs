//! Where a UE is.

use super::PlmnId;
use serde::{Deserialize, Serialize};

/// The location of a UE under NR, TS 29.571 §5.4.4.9 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NrLocation {
    /// Tracking area.
    pub tai: Tai,
    /// Cell.
    pub ncgi: Ncgi,
}

/// A tracking area, TS 29.571 §5.4.4.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tai {
    /// Network.
    pub plmn_id: PlmnId,
    /// Tracking area code: four or six hexadecimal digits.
    pub tac: String,
}

/// An NR cell, TS 29.571 §5.4.4.6 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ncgi {
    /// Network.
    pub plmn_id: PlmnId,
    /// Cell identity: nine hexadecimal digits.
    pub nr_cell_id: String,
}
