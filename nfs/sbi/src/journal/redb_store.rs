//! A store in one redb file, or on whatever stands for one.

use super::key::Key;
use super::lease::{Fence, Lease};
use super::store::{Batch, Records, Store, StoreError};
use redb::{Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use uuid::Uuid;

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// How much of the file is kept in memory.
const CACHE_BYTES: usize = 16 << 20;

/// Opens the file anew: after an error redb wants that.
type Reopen = Box<dyn Fn() -> Result<Box<dyn StorageBackend>, std::io::Error> + Send>;

/// Records in a redb database.
pub struct RedbStore {
    reopen: Reopen,
    database: Option<Database>,
}

impl RedbStore {
    /// A database on what `open` opens, again whenever it had to be closed. What is there already is looked through first:
    /// the damaged is refused.
    pub fn open<B: StorageBackend>(
        open: impl Fn() -> Result<B, std::io::Error> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let reopen: Reopen = Box::new(move || Ok(Box::new(open()?)));
        let mut store = RedbStore { reopen, database: None };
        store.database()?;
        Ok(store)
    }

    fn database(&mut self) -> Result<&mut Database, StoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open((self.reopen)()?)?,
        };
        Ok(self.database.insert(database))
    }

    /// Does something with the database; after an error it is opened anew the next time.
    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let database = self.database()?;
        let done = unless_damaged(|| work(database));
        if done.is_err() {
            self.database = None;
        }
        done
    }
}

/// redb panics on some damaged files; then they are damaged.
fn unless_damaged<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(store_error),
        Err(_) => Err(StoreError::Damaged("its pages contradict one another".into())),
    }
}

fn store_error(error: redb::Error) -> StoreError {
    match error {
        redb::Error::Io(error)
            if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData) =>
        {
            StoreError::Damaged(format!("it ends too early, or begins otherwise: {error}"))
        }
        redb::Error::Io(error) => StoreError::Io(error),
        other => StoreError::Damaged(other.to_string()),
    }
}

struct Boxed(Box<dyn StorageBackend>);

impl std::fmt::Debug for Boxed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl StorageBackend for Boxed {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.0.write(offset, data)
    }

    fn close(&self) -> Result<(), std::io::Error> {
        self.0.close()
    }
}

fn open(backend: Box<dyn StorageBackend>) -> Result<Database, StoreError> {
    unless_damaged(|| Ok(Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(Boxed(backend))?))
}

/// Looks through all pages of what is there, and reads it; `backend` should keep what is written to it to itself.
pub(super) fn look_through(backend: impl StorageBackend) -> Result<Records, StoreError> {
    let mut database = open(Box::new(backend))?;
    match unless_damaged(|| Ok(database.check_integrity()?))? {
        true => unless_damaged(|| records(&database)),
        false => Err(StoreError::Damaged("what was written last cannot be read".into())),
    }
}

/// What has another name is none of ours.
fn records(database: &Database) -> Result<Records, redb::Error> {
    let table = match database.begin_read()?.open_table(RECORDS) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Records::new()),
        table => table?,
    };
    let mut records = Records::new();
    for record in table.iter()? {
        let (key, value) = record?;
        let key = Key::from_bytes(key.value());
        key.into_iter().for_each(|key| drop(records.insert(key, value.value().to_vec().into())));
    }
    Ok(records)
}

impl Store for RedbStore {
    fn read(&mut self) -> Result<Records, StoreError> {
        self.with(|database| records(database))
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            let lease = {
                let mut table = transaction.open_table(RECORDS)?;
                let lease = Lease::after(lease(&table)?.as_ref(), holder, now_unix_ms, until_unix_ms);
                if let Ok(lease) = &lease {
                    table.insert(&*Key::Lease.to_bytes(), &*crate::json::to_bytes(lease))?;
                }
                lease
            };
            transaction.commit()?;
            Ok(lease.map(|lease| lease.fence))
        })?
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        let is_ours = self.with(|database| {
            let transaction = database.begin_write()?;
            let is_ours = {
                let mut table = transaction.open_table(RECORDS)?;
                let is_ours = lease(&table)?.is_some_and(|lease| lease.fence == fence);
                for (key, value) in batch.iter().filter(|_| is_ours) {
                    match value {
                        Some(value) => drop(table.insert(&*key.to_bytes(), &**value)?),
                        None => drop(table.remove(&*key.to_bytes())?),
                    }
                }
                is_ours
            };
            transaction.commit()?;
            Ok(is_ours)
        })?;
        if is_ours { Ok(()) } else { Err(StoreError::Fenced) }
    }
}

fn lease(table: &impl ReadableTable<&'static [u8], &'static [u8]>) -> Result<Option<Lease>, redb::Error> {
    let bytes = table.get(&*Key::Lease.to_bytes())?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(bytes.value()).ok()))
}
