//! What a simulated NF keeps its journal on.

use sbi::journal::{Crash, MemoryStore, Opened, Records, RedbStore, SimulatedDisk, Store};

/// Outlives the NF that writes to it, as a disk does. Clones share it.
#[derive(Clone)]
pub enum Medium {
    /// Records in memory: quick, and never torn.
    Memory(MemoryStore),
    /// A file on a simulated disk.
    Disk(SimulatedDisk),
}

impl Medium {
    /// Opens what it holds.
    ///
    /// # Panics
    ///
    /// If it cannot be read: no crash may bring that about.
    pub fn open(&self) -> Opened {
        let opened = match self.clone() {
            Medium::Memory(store) => Opened::read(store),
            Medium::Disk(disk) => RedbStore::open(move || Ok(disk.open())).and_then(Opened::read),
        };
        opened.expect("a journal that can be read after every crash")
    }

    /// What it holds now.
    pub fn records(&self) -> Records {
        match self.clone() {
            Medium::Memory(mut store) => store.read().unwrap_or_default(),
            Medium::Disk(_) => self.open().records,
        }
    }

    /// Its NF crashes: a disk forgets what a power loss takes from it.
    pub(super) fn crash(&self, crash: Crash) {
        if let Medium::Disk(disk) = self {
            disk.crash(crash);
        }
    }
}
