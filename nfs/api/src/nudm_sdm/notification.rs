//! That subscribed data have changed.

use crate::bounds::non_empty;
use crate::common::NotifyItem;
use crate::decode::Ie;
use serde::{Deserialize, Serialize};

/// What has changed, as a subscriber to changes is told, TS 29.503 §6.1.6.2.21 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModificationNotification {
    /// The resources, at least one.
    #[serde(deserialize_with = "non_empty")]
    pub notify_items: Vec<NotifyItem>,
}

impl Ie for ModificationNotification {
    const MANDATORY: &'static [&'static str] = &["notifyItems"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::{assert_complete, refused};
    use serde_json::json;

    #[test]
    fn a_notification_tells_of_something() {
        let change = json!({"op": "REPLACE", "path": "", "origValue": null, "newValue": {"a": 1}});
        assert_complete::<ModificationNotification>(
            &json!({"notifyItems": [{"resourceId": "imsi-1/am-data", "changes": [change]}]}),
        );
        let expected = ("MANDATORY_IE_INCORRECT".to_owned(), vec!["/notifyItems".to_owned()]);
        assert_eq!(refused::<ModificationNotification>(r#"{"notifyItems":[]}"#), expected);
    }
}
