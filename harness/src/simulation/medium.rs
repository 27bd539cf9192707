//! What a simulated NF keeps its journal on.

use super::dice::Dice;
use sbi::journal::{
    Batch, Crash, Fence, LoggedStore, MemoryStore, Opened, Records, SimulatedDisk, Store, StoreError,
};
use std::ops::RangeInclusive;
use std::time::Duration;
use uuid::Uuid;

/// How long a batch takes to be written, if nothing else is said.
const LATENCY_MS: RangeInclusive<u64> = 0..=12;

/// Outlives the NF that writes to it, as a disk does. Clones share it.
#[derive(Clone)]
pub struct Medium {
    kind: Kind,
    latency_ms: RangeInclusive<u64>,
    dice: Dice,
}

#[derive(Clone)]
enum Kind {
    Memory(MemoryStore),
    Disk(SimulatedDisk),
}

impl Medium {
    /// Records in memory: quick to simulate, and never torn.
    pub fn memory(dice: Dice) -> Self {
        Medium { kind: Kind::Memory(MemoryStore::default()), latency_ms: LATENCY_MS, dice }
    }

    /// A file on a simulated disk.
    pub fn disk(disk: SimulatedDisk, dice: Dice) -> Self {
        Medium { kind: Kind::Disk(disk), latency_ms: LATENCY_MS, dice }
    }

    /// A batch takes so long to be written.
    #[must_use]
    pub fn taking(self, latency_ms: RangeInclusive<u64>) -> Self {
        Medium { latency_ms, ..self }
    }

    /// Opens what it holds.
    ///
    /// # Panics
    ///
    /// If it cannot be read: no crash may bring that about.
    pub fn open(&self) -> Opened {
        let mut store = self.store();
        let records = store.read().expect("a journal that can be read after every crash");
        let (latency_ms, dice) = (self.latency_ms.clone(), self.dice.clone());
        Opened { store: Box::new(Slow { store, latency_ms, dice }), records }
    }

    fn store(&self) -> Box<dyn Store> {
        match self.kind.clone() {
            Kind::Memory(store) => Box::new(store),
            Kind::Disk(disk) => {
                let sync = disk.sync();
                let opened = LoggedStore::open(move || Ok(disk.open()), sync);
                Box::new(opened.expect("a journal that opens after every crash"))
            }
        }
    }

    /// What it holds now.
    pub fn records(&self) -> Records {
        self.store().read().unwrap_or_default()
    }

    /// Its NF crashes: a disk forgets what a power loss takes from it.
    pub(super) fn crash(&self, crash: Crash) {
        if let Kind::Disk(disk) = &self.kind {
            disk.crash(crash);
        }
    }
}

/// A store that takes its time: an NF may crash while it waits for what is not written yet.
struct Slow {
    store: Box<dyn Store>,
    latency_ms: RangeInclusive<u64>,
    dice: Dice,
}

impl Store for Slow {
    fn latency(&mut self) -> Duration {
        Duration::from_millis(self.dice.between(*self.latency_ms.start(), *self.latency_ms.end()))
    }

    fn read(&mut self) -> Result<Records, StoreError> {
        self.store.read()
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        self.store.take_over(holder, now_unix_ms, until_unix_ms)
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        self.store.write(fence, batch)
    }
}
