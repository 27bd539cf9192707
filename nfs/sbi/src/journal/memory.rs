//! A store in memory: for simulations and tests. What it holds outlives the NF that writes it, as a file does.

use super::key::Key;
use super::lease::{Fence, Lease};
use super::store::{Batch, Records, Store, StoreError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Records in memory. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Records>>);

impl MemoryStore {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lease(records: &Records) -> Option<Lease> {
    records.get(&Key::Lease).and_then(|bytes| serde_json::from_slice(bytes).ok())
}

impl Store for MemoryStore {
    fn read(&mut self) -> Result<Records, StoreError> {
        Ok(self.records().clone())
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        let mut records = self.records();
        let lease = Lease::after(lease(&records).as_ref(), holder, now_unix_ms, until_unix_ms)?;
        records.insert(Key::Lease, crate::json::to_bytes(&lease));
        Ok(lease.fence)
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        let mut records = self.records();
        if lease(&records).is_none_or(|lease| lease.fence != fence) {
            return Err(StoreError::Fenced);
        }
        for (key, value) in batch {
            match value {
                Some(value) => drop(records.insert(key.clone(), value.clone())),
                None => drop(records.remove(key)),
            }
        }
        Ok(())
    }
}
