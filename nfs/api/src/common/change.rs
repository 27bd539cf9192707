//! What has changed in a resource.

use super::Uri;
use crate::bounds::{non_empty, present};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The changes of one resource, TS 29.571 §5.5.4.3 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `resourceId` and `changes`")]
pub struct NotifyItem {
    /// Which resource.
    pub resource_id: Uri,
    /// What has changed, at least one thing.
    #[serde(deserialize_with = "non_empty")]
    pub changes: Vec<ChangeItem>,
}

/// One change, TS 29.571 §5.5.4.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `op` and `path`")]
pub struct ChangeItem {
    /// `ADD`, `REMOVE`, `REPLACE` or `MOVE`.
    pub op: String,
    /// A JSON Pointer into the resource; empty for the whole of it.
    pub path: String,
    /// Where it was before, of `MOVE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What stood there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub orig_value: Option<Value>,
    /// What stands there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub new_value: Option<Value>,
}

impl ChangeItem {
    /// What stood at `path`, and what stands there now.
    pub fn between(path: &str, orig_value: Option<Value>, new_value: Option<Value>) -> Self {
        let op = match (&orig_value, &new_value) {
            (None, _) => "ADD",
            (Some(_), None) => "REMOVE",
            (Some(_), Some(_)) => "REPLACE",
        };
        ChangeItem { op: op.to_owned(), path: path.to_owned(), from: None, orig_value, new_value }
    }
}
