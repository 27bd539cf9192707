//! A journal in a file of its own.

use super::lease::Fence;
use super::log::{HEAD_BYTES, LOG_BYTES, Log};
use super::logged_store::{BehindLog, LoggedStore, with_newer};
use super::redb_store::look_through;
use super::store::{Batch, Records, Store, StoreError};
use super::{FORMAT, Identity, Opened, Sync};
use redb::StorageBackend;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Display};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// With what a journal begins; zeros follow, and the log.
const MAGIC: &[u8] = b"mock5g\x1A\n";

/// With what a redb file begins: a journal of format 1 did.
const REDB_MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";

/// Why a journal could not be opened, and what to do.
#[derive(Debug)]
pub struct OpenError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why a journal could not be opened.
#[derive(Debug)]
pub enum Why {
    /// Another process has it.
    Locked,
    /// It, or its directory, cannot be written or made.
    NotWritable(io::Error),
    /// There is no space left.
    Full,
    /// It is no journal.
    Foreign,
    /// Its records have another form.
    OtherFormat(u32),
    /// It cannot be read.
    Damaged(String),
}

impl Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Locked => write!(
                f,
                "the journal {path} is used by another process; stop that one, or choose another directory with --data-dir"
            ),
            Why::NotWritable(error) => write!(
                f,
                "the journal {path} cannot be written: {error}; make it writable, or choose another directory with --data-dir"
            ),
            Why::Full => write!(
                f,
                "there is no space left for the journal {path}; free some and start again: what it holds is still there"
            ),
            Why::Foreign => write!(
                f,
                "{path} is no journal of this program; nothing was changed in it; move it away, or choose another directory \
                 with --data-dir"
            ),
            Why::OtherFormat(format) => write!(
                f,
                "the journal {path} was written by another version (format {format}, this one knows {FORMAT}); nothing was \
                 changed in it; stop that version with everything released, then move the file away"
            ),
            Why::Damaged(how) => write!(
                f,
                "the journal {path} is damaged: {how}; nothing was changed in it; put a copy of it back, or move it away to \
                 start without it: what it owed upstream is then left hanging"
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    /// What a store says when an NF takes over the journal at `path`.
    pub fn of_store(path: PathBuf, error: StoreError) -> Self {
        OpenError { path, why: store_failure(error) }
    }
}

/// Where the journal of the NF `name` is.
pub fn file_of(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.journal"))
}

/// Opens the journal of the NF `name` in `directory`, or begins a new one, which stands under another name until its first
/// batch is written.
pub fn open_file(directory: &Path, name: &str, sync: Sync) -> Result<Opened, OpenError> {
    let path = file_of(directory, name);
    let failed = |why| OpenError { path: path.clone(), why };
    fs::create_dir_all(directory).map_err(|error| failed(io_failure(error)))?;
    // A link that leads nowhere, to a volume that is not there perhaps, is no new journal.
    let is_new = path.symlink_metadata().is_err();
    let new = is_new.then(|| directory.join(format!("{name}.journal.new")));
    let file = lock(new.as_deref().unwrap_or(&path), new.is_some()).map_err(failed)?;
    // Another process may have begun it meanwhile.
    if new.is_some() && path.exists() {
        return Err(failed(Why::Locked));
    }
    let backend = FileBackend { file: Arc::new(file), sync };
    let records = match &new {
        Some(_) => begin(&backend).map(|()| Records::new()).map_err(io_failure),
        None => read_untouched(&backend),
    };
    let records = records.map_err(failed)?;
    let file = backend.file.clone();
    let store = LoggedStore::open(move || Ok(backend.clone()), sync);
    let store = store.map_err(|error| failed(store_failure(error)))?;
    let unpublished = new.map(|new| (new, path.clone()));
    Ok(Opened { store: Box::new(FileStore { store, file, sync, unpublished }), records })
}

fn begin(backend: &FileBackend) -> io::Result<()> {
    backend.file.set_len(0)?;
    backend.write(0, MAGIC)
}

/// Sees that it is a journal, and whole; nothing is changed in it.
fn read_untouched(backend: &FileBackend) -> Result<Records, Why> {
    let untouched = Untouched::of(backend.clone());
    let records = match begins_with(backend, REDB_MAGIC)? {
        true => look_through(untouched).map_err(store_failure)?,
        false => {
            expect_head(backend)?;
            let older = look_through(BehindLog(untouched)).map_err(store_failure)?;
            let newer = Log::open(Box::new(backend.clone())).and_then(|log| log.read());
            with_newer(older, newer.map_err(store_failure)?)
        }
    };
    expect_format(&records)?;
    Ok(records)
}

fn lock(path: &Path, is_new: bool) -> Result<File, Why> {
    let opened = File::options().read(true).write(true).create(is_new).truncate(false).open(path);
    let file = opened.map_err(io_failure)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Why::Locked),
        Err(TryLockError::Error(error)) => Err(io_failure(error)),
    }
}

fn io_failure(error: io::Error) -> Why {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Why::Full,
        _ => Why::NotWritable(error),
    }
}

/// What the store says of the file `path`, for whoever starts an NF on it.
fn store_failure(error: StoreError) -> Why {
    match error {
        StoreError::Io(error) => io_failure(error),
        StoreError::Damaged(how) => Why::Damaged(how),
        StoreError::Leased(_) | StoreError::Fenced => Why::Locked,
    }
}

fn begins_with(backend: &FileBackend, magic: &[u8]) -> Result<bool, Why> {
    let mut there = vec![0; magic.len()];
    match backend.file.read_exact_at(&mut there, 0) {
        Ok(()) => Ok(there == magic),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(Why::NotWritable(error)),
    }
}

/// What comes before the log.
fn expect_head(backend: &FileBackend) -> Result<(), Why> {
    if !begins_with(backend, MAGIC)? {
        return Err(Why::Foreign);
    }
    let damaged = |how: &str| Err(Why::Damaged(how.into()));
    if backend.len().map_err(Why::NotWritable)? <= LOG_BYTES as u64 {
        return damaged("it ends too early");
    }
    let head = [MAGIC, &[0; HEAD_BYTES - MAGIC.len()]].concat();
    if begins_with(backend, &head)? { Ok(()) } else { damaged("it begins otherwise") }
}

fn expect_format(records: &Records) -> Result<(), Why> {
    match Identity::read(records) {
        None => Err(Why::Foreign),
        Some(Err(error)) => Err(Why::Damaged(format!("it does not say whose it is: {error}"))),
        Some(Ok(identity)) if identity.format != FORMAT => Err(Why::OtherFormat(identity.format)),
        Some(Ok(_)) => Ok(()),
    }
}

/// A store in a file. A new one gets its name with its first batch.
struct FileStore {
    store: LoggedStore,
    file: Arc<File>,
    sync: Sync,
    unpublished: Option<(PathBuf, PathBuf)>,
}

impl FileStore {
    fn publish(&mut self) -> Result<(), StoreError> {
        if let Some((new, path)) = &self.unpublished {
            self.file.sync_all()?;
            fs::rename(new, path)?;
            if let Some(directory) = path.parent() {
                File::open(directory)?.sync_all()?;
            }
            self.unpublished = None;
        }
        Ok(())
    }
}

impl Store for FileStore {
    fn is_quick(&self) -> bool {
        self.sync == Sync::Process
    }

    fn read(&mut self) -> Result<Records, StoreError> {
        self.store.read()
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        self.store.take_over(holder, now_unix_ms, until_unix_ms)
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        if self.unpublished.is_none() && self.file.metadata()?.nlink() == 0 {
            return Err(StoreError::Io(io::Error::new(
                ErrorKind::NotFound,
                "its file was deleted; start anew",
            )));
        }
        self.store.write(fence, batch)?;
        self.publish()
    }
}

/// A file, locked for this process. With [`Sync::Process`] the kernel writes it to the disk when it likes.
#[derive(Clone, Debug)]
struct FileBackend {
    file: Arc<File>,
    sync: Sync,
}

impl StorageBackend for FileBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.sync == Sync::Disk { self.file.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}

const BLOCK_BYTES: u64 = 4_096;

/// A file that is only read: what is written to it stays in memory.
struct Untouched {
    file: FileBackend,
    written: Mutex<Written>,
}

struct Written {
    len: u64,
    blocks: HashMap<u64, Vec<u8>>,
}

impl Untouched {
    fn of(file: FileBackend) -> Self {
        let len = file.len().unwrap_or(0);
        Untouched { file, written: Mutex::new(Written { len, blocks: HashMap::new() }) }
    }

    /// Calls `each` for the blocks of so many bytes from `offset` on: the block, from where in it, from where in the bytes,
    /// and how many.
    fn blocks(
        offset: u64,
        len: usize,
        mut each: impl FnMut(u64, usize, usize, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let within = usize::try_from(at % BLOCK_BYTES).map_err(io::Error::other)?;
            let count = (len - done).min(usize::try_from(BLOCK_BYTES).map_err(io::Error::other)? - within);
            each(at / BLOCK_BYTES, within, done, count)?;
            done += count;
        }
        Ok(())
    }

    fn on_file(&self, block: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(BLOCK_BYTES).map_err(io::Error::other)?];
        let there = self.file.len()?.saturating_sub(block * BLOCK_BYTES).min(BLOCK_BYTES);
        self.file
            .read(block * BLOCK_BYTES, &mut bytes[..usize::try_from(there).map_err(io::Error::other)?])?;
        Ok(bytes)
    }
}

impl fmt::Debug for Untouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl StorageBackend for Untouched {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if offset + out.len() as u64 > written.len {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Untouched::blocks(offset, out.len(), |block, within, done, count| {
            let out = &mut out[done..done + count];
            match written.blocks.get(&block) {
                Some(bytes) => out.copy_from_slice(&bytes[within..within + count]),
                None => out.copy_from_slice(&self.on_file(block)?[within..within + count]),
            }
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Untouched::blocks(offset, data.len(), |block, within, done, count| {
            let bytes = match written.blocks.entry(block) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(none) => none.insert(self.on_file(block)?),
            };
            bytes[within..within + count].copy_from_slice(&data[done..done + count]);
            Ok(())
        })
    }
}
