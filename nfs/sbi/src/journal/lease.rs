//! Who may write a journal.

use super::store::StoreError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Grows by one each time that a journal is taken over. What is written under an older one is refused: whoever was taken
/// for dead and is not cannot overwrite its successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fence(pub u64);

/// Who may write a journal, and until when nobody else may take it over.
///
/// A file has its lock, and its lease ends at once. A store that several processes reach (none here yet) needs one that
/// lasts and is renewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The process that holds it.
    pub holder: Uuid,
    /// Its fencing token.
    pub fence: Fence,
    /// Until when, wall-clock ms since the Unix epoch.
    pub until_unix_ms: i64,
}

impl Lease {
    /// The lease after `holder` has taken over from `older`; refused while another one's lasts.
    pub fn after(
        older: Option<&Lease>,
        holder: Uuid,
        now_unix_ms: i64,
        until_unix_ms: i64,
    ) -> Result<Self, StoreError> {
        let lasting = older.filter(|older| older.holder != holder && older.until_unix_ms > now_unix_ms);
        if let Some(lease) = lasting {
            return Err(StoreError::Leased(lease.clone()));
        }
        let fence = Fence(older.map_or(0, |older| older.fence.0) + 1);
        Ok(Lease { holder, fence, until_unix_ms })
    }
}
