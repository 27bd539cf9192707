//! What keeps a journal.

use super::key::Key;
use super::lease::{Fence, Lease};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;
use thiserror::Error;
use uuid::Uuid;

/// What is written together: a new value for each record, or that it goes.
pub type Batch = BTreeMap<Key, Option<Bytes>>;

/// Everything that a journal holds.
pub type Records = BTreeMap<Key, Bytes>;

/// Keeps the records of one journal. A batch is written whole or not at all, and is there after a crash once `write` has
/// returned. Calls block: they are made on a thread of their own unless they are quick.
pub trait Store: Send + 'static {
    /// Whether a write takes no longer than to copy it into memory, as long as nothing is wrong.
    fn is_quick(&self) -> bool {
        false
    }

    /// How long the next write takes before anything of it is there: where time is simulated, nothing else does.
    fn latency(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Everything.
    fn read(&mut self) -> Result<Records, StoreError>;

    /// Takes the journal over for the process `holder`, so that nobody writes it under an older fence any more. Refused
    /// while another one's lease lasts.
    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError>;

    /// Writes a batch, unless another process has taken over. After an error none of it counts; writing again later may
    /// succeed.
    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError>;
}

/// Why a store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The device says no: no space, no such file, and the like.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// What is there cannot be read.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Another process has it for some time.
    #[error("another process ({}) has it until {} ms since 1970", .0.holder, .0.until_unix_ms)]
    Leased(Lease),
    /// Another process has taken it over.
    #[error("another process has taken it over")]
    Fenced,
}

impl StoreError {
    /// Whether no space is left.
    pub fn is_full(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, StoreError::Io(error) if matches!(error.kind(), StorageFull | QuotaExceeded))
    }
}
