//! A database with a log before it: for journals that only have to survive their process.

use super::lease::{Fence, Lease};
use super::log::{LOG_BYTES, Log};
use super::redb_store::RedbStore;
use super::store::{Batch, Records, Store, StoreError};
use super::{Key, Sync};
use redb::StorageBackend;
use std::io;
use uuid::Uuid;

/// Records in a redb database, and what is newer in a log before it, in one file.
///
/// With [`Sync::Process`] a batch goes into the log, and once that is full into the database, with all others: most of what is
/// owed is settled by then. With [`Sync::Disk`] each goes into the database, which survives that any write of it is torn.
pub struct LoggedStore {
    store: RedbStore,
    log: Log,
    sync: Sync,
    /// Who may write, as was read last.
    fence: Option<Fence>,
}

impl LoggedStore {
    /// What `open` opens, again whenever it had to be closed. The log is read, and stays as it is.
    pub fn open<B: StorageBackend>(
        open: impl Fn() -> Result<B, io::Error> + Send + 'static,
        sync: Sync,
    ) -> Result<Self, StoreError> {
        let log = Log::open(Box::new(open()?))?;
        let mut store = RedbStore::open(move || open().map(BehindLog))?;
        let fence = lease(&store.read()?).map(|lease| lease.fence);
        Ok(LoggedStore { store, log, sync, fence })
    }

    /// Moves what the log holds into the database. Who is killed in between finds it in both, which comes to the same.
    fn empty_log(&mut self) -> Result<(), StoreError> {
        let newer = self.log.read()?;
        if !newer.is_empty() {
            self.store.write(self.fence.unwrap_or_default(), &newer)?;
        }
        self.log.clear()
    }
}

fn lease(records: &Records) -> Option<Lease> {
    records.get(&Key::Lease).and_then(|bytes| serde_json::from_slice(bytes).ok())
}

/// `records` with what the log says on top.
pub(super) fn with_newer(mut records: Records, newer: Batch) -> Records {
    for (key, value) in newer {
        match value {
            Some(value) => drop(records.insert(key, value)),
            None => drop(records.remove(&key)),
        }
    }
    records
}

impl Store for LoggedStore {
    fn read(&mut self) -> Result<Records, StoreError> {
        Ok(with_newer(self.store.read()?, self.log.read()?))
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        if !self.log.is_clear() {
            self.empty_log()?;
        }
        let fence = self.store.take_over(holder, now_unix_ms, until_unix_ms)?;
        self.fence = Some(fence);
        Ok(fence)
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        if self.sync == Sync::Disk {
            return self.store.write(fence, batch);
        }
        if self.fence != Some(fence) {
            return Err(StoreError::Fenced);
        }
        if !self.log.append(batch)? {
            self.empty_log()?;
            if !self.log.append(batch)? {
                // It is larger than the log.
                return self.store.write(fence, batch);
            }
        }
        Ok(())
    }
}

/// What comes after the log in the same file.
#[derive(Debug)]
pub(super) struct BehindLog<B>(pub(super) B);

impl<B: StorageBackend> StorageBackend for BehindLog<B> {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.0.len()?.saturating_sub(LOG_BYTES as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.read(offset + LOG_BYTES as u64, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.set_len(len + LOG_BYTES as u64)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.write(offset + LOG_BYTES as u64, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.0.close()
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::HEAD_BYTES;
    use super::super::{Crash, SimulatedDisk};
    use super::*;
    use crate::env::Entropy;

    fn open(disk: &SimulatedDisk) -> (LoggedStore, Fence) {
        let disk = disk.clone();
        let mut store =
            LoggedStore::open(move || Ok(disk.open()), Sync::Process).expect("it opens after every crash");
        let fence = store.take_over(Uuid::from_u128(1), 0, 0).expect("taken over");
        (store, fence)
    }

    fn records(store: &mut LoggedStore) -> Records {
        let mut records = store.read().expect("records");
        records.remove(&Key::Lease);
        records
    }

    /// A few records of up to `max_bytes` that come, change and go.
    fn batch(entropy: &Entropy, max_bytes: u64) -> Batch {
        let record = |_| {
            let key = Key::Obligation { shard: 0, id: entropy.up_to(20) };
            let bytes = vec![entropy.up_to(255) as u8; entropy.up_to(max_bytes) as usize];
            (key, (entropy.up_to(2) > 0).then(|| bytes.into()))
        };
        (0..entropy.up_to(8)).map(record).collect()
    }

    /// The log fills up again and again. Every so often the disk refuses to write, or the process is killed, anywhere: in
    /// the log, in the database, while the log is cleared.
    #[test]
    fn what_was_acknowledged_is_there_and_nothing_else() {
        for seed in 0..60 {
            let entropy = Entropy::from_seed(seed);
            let disk = SimulatedDisk::new(Sync::Process, entropy.clone());
            let (mut store, mut fence) = open(&disk);
            let mut expected = Records::new();
            for _ in 0..60 {
                let batch = batch(&entropy, 150_000);
                if entropy.up_to(2) == 0 {
                    disk.lose_power_after(entropy.up_to(30));
                }
                if store.write(fence, &batch).is_ok() {
                    expected = with_newer(expected, batch);
                }
                match entropy.up_to(2) {
                    0 => {
                        disk.crash(Crash::Process);
                        (store, fence) = open(&disk);
                    }
                    _ => disk.lose_power_after(u64::MAX),
                }
                assert!(records(&mut store) == expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_batch_that_is_larger_than_the_log_is_written_all_the_same() {
        let disk = SimulatedDisk::new(Sync::Process, Entropy::from_seed(1));
        let (mut store, fence) = open(&disk);
        let put = |id, bytes: usize| (Key::Obligation { shard: 0, id }, Some(vec![1; bytes].into()));
        for batch in [[put(1, 10)], [put(2, LOG_BYTES)], [put(1, 20)]].map(Batch::from) {
            store.write(fence, &batch).expect("written");
        }
        let sizes =
            |store: &mut LoggedStore| records(store).values().map(bytes::Bytes::len).collect::<Vec<_>>();
        assert_eq!(sizes(&mut store), [20, LOG_BYTES]);
        assert_eq!(sizes(&mut open(&disk).0), [20, LOG_BYTES]);
    }

    /// Whoever is killed while it writes has written a beginning.
    #[test]
    fn a_batch_of_which_only_the_beginning_was_written_does_not_count() {
        torn_after(&[]);
        let entropy = Entropy::from_seed(2);
        torn_after(&[batch(&entropy, 100), batch(&entropy, 100)]);
    }

    fn torn_after(batches: &[Batch]) {
        let disk = SimulatedDisk::new(Sync::Process, Entropy::from_seed(2));
        let (mut store, fence) = open(&disk);
        batches.iter().for_each(|batch| store.write(fence, batch).expect("written"));
        let expected = records(&mut store);
        let end = used_of(&disk);
        store
            .write(fence, &Batch::from([(Key::Item("torn".into()), Some(vec![7; 9_000].into()))]))
            .expect("written");
        let after = used_of(&disk);
        for beginning in (end..after).step_by(97) {
            let file = disk.open();
            let mut whole = vec![0; after - beginning];
            file.read(beginning as u64, &mut whole).expect("read");
            file.write(beginning as u64, &vec![0; after - beginning]).expect("written");
            let other = disk.clone();
            let mut torn = LoggedStore::open(move || Ok(other.open()), Sync::Process).expect("opened");
            assert_eq!(records(&mut torn), expected, "{beginning} of {end}..{after}");
            file.write(beginning as u64, &whole).expect("written");
        }
        disk.open().write(after as u64 - 5_000, &[0; 5_000]).expect("written");
        let (mut torn, fence) = open(&disk);
        let next = Batch::from([(Key::Item("next".into()), Some("a".into()))]);
        torn.write(fence, &next).expect("it goes on");
        let expected = with_newer(expected, next);
        assert_eq!(records(&mut torn), expected);
        assert_eq!(records(&mut open(&disk).0), expected);
    }

    /// How far the log goes.
    fn used_of(disk: &SimulatedDisk) -> usize {
        let mut region = vec![0; LOG_BYTES];
        disk.open().read(0, &mut region).expect("read");
        region.iter().rposition(|byte| *byte != 0).map_or(HEAD_BYTES, |last| last + 1)
    }
}
