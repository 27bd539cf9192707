//! The journal: what an NF owns and what it owes, written before it matters, so that a crash leaves nothing hanging.
//!
//! Each NF has one. What has to be there before something else may happen (before a create leaves, before a success does)
//! is waited for; the rest follows. All that waits at a moment is written together, as one batch, whole or not at all.
//! docs/release.md, "After a crash", has the reasoning.

mod at_hand;
mod disk;
mod file;
mod key;
mod lease;
mod log;
mod logged_store;
mod memory;
mod redb_store;
mod store;
mod writer;

#[cfg(test)]
mod tests;

pub use disk::{Crash, SimulatedDisk};
pub use file::{OpenError, Why, file_of, open_file};
pub use key::Key;
pub use lease::{Fence, Lease};
pub use logged_store::LoggedStore;
pub use memory::MemoryStore;
pub use redb_store::RedbStore;
pub use store::{Batch, Records, Store, StoreError};
pub use writer::{Journal, MAX_BATCH, NotWritten, RETRY};

use crate::party::{NfType, Party};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The form of the file and its records. A journal of another form is refused: 1 had no log.
pub const FORMAT: u32 = 2;

/// When a journal reaches the disk; `journal.sync`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Written: it survives the end of the process, `kill -9` included.
    #[default]
    Process,
    /// Synchronised with the disk: it survives a power loss too.
    Disk,
}

/// Whose journal it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// [`FORMAT`].
    pub format: u32,
    /// The NF's type.
    pub nf_type: NfType,
    /// The NF's name.
    pub name: String,
    /// Its NF instance id: what it made carries it, so it stays the same.
    pub instance_id: Uuid,
    /// How many shards it has: references that were handed out name one.
    pub shards: usize,
    /// Where its peers know it.
    #[serde(default)]
    pub api_root: String,
}

impl Identity {
    /// That of an NF with so many shards.
    pub fn of(party: &Party, shards: usize) -> Self {
        Identity {
            format: FORMAT,
            nf_type: party.nf_type,
            name: party.name.to_string(),
            instance_id: party.instance_id,
            shards,
            api_root: party.api_root.to_string(),
        }
    }

    /// What is said in a journal of its NF, if it is a journal.
    pub fn read(records: &Records) -> Option<Result<Self, String>> {
        let bytes = records.get(&Key::Identity)?;
        Some(serde_json::from_slice(bytes).map_err(|error| error.to_string()))
    }
}

/// A store that was opened, and what it holds.
pub struct Opened {
    /// Where it is written.
    pub store: Box<dyn Store>,
    /// What was there.
    pub records: Records,
}

impl Opened {
    /// Reads all that `store` holds.
    pub fn read(mut store: impl Store) -> Result<Self, StoreError> {
        let records = store.read()?;
        Ok(Opened { store: Box::new(store), records })
    }

    /// Whose it is; `None` if it is new.
    pub fn identity(&self) -> Option<Identity> {
        Identity::read(&self.records)?.ok()
    }
}

/// What a shard finds again after a restart.
#[derive(Debug, Default)]
pub struct Recovered {
    /// What is owed for each create, by the number of its obligation.
    pub obligations: Vec<(u64, Bytes)>,
    /// The contexts.
    pub contexts: Vec<(String, Bytes)>,
}

/// What an NF finds again after a restart: that of each shard, and the data that they share.
#[derive(Debug, Default)]
pub struct RecoveredNf {
    /// By shard.
    pub shards: Vec<Recovered>,
    /// Shared data, by name.
    pub items: Vec<(String, Bytes)>,
}

impl RecoveredNf {
    /// Sorts what was read.
    pub fn of(records: Records, shards: usize) -> Self {
        let mut all = RecoveredNf::default();
        all.shards.resize_with(shards, Recovered::default);
        for (key, value) in records {
            match key {
                Key::Identity | Key::Lease => {}
                Key::Item(name) => all.items.push((name, value)),
                Key::Obligation { shard, id } => {
                    all.shards
                        .get_mut(shard as usize)
                        .into_iter()
                        .for_each(|s| s.obligations.push((id, value.clone())));
                }
                Key::Context { shard, owner } => {
                    let shard = all.shards.get_mut(shard as usize);
                    shard.into_iter().for_each(|s| s.contexts.push((owner.clone(), value.clone())));
                }
            }
        }
        all
    }

    /// Takes out what belongs to one shard.
    pub fn shard(&mut self, index: usize) -> Recovered {
        self.shards.get_mut(index).map(std::mem::take).unwrap_or_default()
    }
}
