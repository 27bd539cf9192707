//! A disk that is simulated: what was not synchronised when it loses its power may be there, gone or torn.

use super::Sync;
use crate::env::Entropy;
use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a disk writes at once: of a write that is torn, some of these are there and some are not.
const SECTOR_BYTES: usize = 512;

/// How an NF ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Its process is killed: the kernel still writes what it was given.
    Process,
    /// Its machine loses its power.
    Power,
}

/// A simulated disk with one file on it. Clones share it.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    sync: Sync,
    entropy: Entropy,
}

struct State {
    /// What a reader sees.
    seen: Vec<u8>,
    /// What survives a power loss for sure.
    durable: Vec<u8>,
    /// What was done since, in order.
    unsynchronised: Vec<Change>,
    /// How often it has crashed: what was opened before does nothing any more.
    crashes: u64,
    /// How many more changes there is power for, if it is to fail.
    power_left: Option<u64>,
}

#[derive(Clone)]
enum Change {
    SetLen(usize),
    Write(usize, Vec<u8>),
}

impl SimulatedDisk {
    /// An empty one.
    pub fn new(sync: Sync, entropy: Entropy) -> Self {
        let state = State {
            seen: Vec::new(),
            durable: Vec::new(),
            unsynchronised: Vec::new(),
            crashes: 0,
            power_left: None,
        };
        SimulatedDisk { state: Arc::new(Mutex::new(state)), sync, entropy }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When what is written to it survives.
    pub fn sync(&self) -> Sync {
        self.sync
    }

    /// Opens the file.
    pub fn open(&self) -> Opened {
        Opened { crashes: self.state().crashes, disk: self.clone() }
    }

    /// After so many more changes nothing reaches the disk any more, until it crashes.
    pub fn lose_power_after(&self, changes: u64) {
        self.state().power_left = Some(changes);
    }

    /// Crashes: whoever has opened the file can neither read nor write it any more.
    pub fn crash(&self, crash: Crash) {
        let mut state = self.state();
        state.crashes += 1;
        state.power_left = None;
        let changes = std::mem::take(&mut state.unsynchronised);
        if crash == Crash::Power {
            let mut left = state.durable.clone();
            for change in changes {
                self.survive(&mut left, change);
            }
            state.seen = left;
        }
        state.durable = state.seen.clone();
    }

    /// Of what was not synchronised a third is there, a third is gone, and the rest is torn.
    fn survive(&self, file: &mut Vec<u8>, change: Change) {
        match (change, self.entropy.up_to(2)) {
            (_, 0) => {}
            (Change::Write(at, data), 1) => {
                for (n, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                    if self.entropy.up_to(1) == 1 {
                        apply(file, Change::Write(at + n * SECTOR_BYTES, sector.to_vec()));
                    }
                }
            }
            (change, _) => apply(file, change),
        }
    }
}

fn spend_power(state: &mut State) -> Result<(), io::Error> {
    if let Some(left) = &mut state.power_left {
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("there is no power"))?;
    }
    Ok(())
}

fn apply(file: &mut Vec<u8>, change: Change) {
    match change {
        Change::SetLen(len) => file.resize(len, 0),
        Change::Write(at, data) => {
            if file.len() < at + data.len() {
                file.resize(at + data.len(), 0);
            }
            file[at..at + data.len()].copy_from_slice(&data);
        }
    }
}

/// The file of a simulated disk, until the disk crashes.
#[derive(Clone)]
pub struct Opened {
    disk: SimulatedDisk,
    crashes: u64,
}

impl Opened {
    fn state(&self) -> Result<MutexGuard<'_, State>, io::Error> {
        let state = self.disk.state();
        if state.crashes == self.crashes {
            Ok(state)
        } else {
            Err(io::Error::other("the machine has crashed"))
        }
    }

    fn change(&self, change: Change) -> Result<(), io::Error> {
        let mut state = self.state()?;
        spend_power(&mut state)?;
        apply(&mut state.seen, change.clone());
        if self.disk.sync == Sync::Disk {
            state.unsynchronised.push(change);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a simulated disk")
    }
}

fn position(at: u64) -> Result<usize, io::Error> {
    usize::try_from(at).map_err(io::Error::other)
}

impl StorageBackend for Opened {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.state()?.seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let (state, at) = (self.state()?, position(offset)?);
        let there = state.seen.get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(there);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.change(Change::SetLen(position(len)?))
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut state = self.state()?;
        spend_power(&mut state)?;
        for change in std::mem::take(&mut state.unsynchronised) {
            apply(&mut state.durable, change);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.change(Change::Write(position(offset)?, data.to_vec()))
    }
}
