//! One suite for every store, and what each of them survives.

use super::log::{HEAD_BYTES, LOG_BYTES, Log};
use super::*;
use crate::env::Entropy;
use crate::event::Kind;
use crate::server::Workers;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const A: Uuid = Uuid::from_u128(0xa);
const B: Uuid = Uuid::from_u128(0xb);

/// A directory of the test's own, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mock5g-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Directory(path)
    }
}

impl std::ops::Deref for Directory {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(n: u64) -> Key {
    Key::Obligation { shard: 0, id: n }
}

fn put(n: u64, value: &str) -> (Key, Option<Bytes>) {
    (key(n), Some(Bytes::copy_from_slice(value.as_bytes())))
}

fn values(store: &mut dyn Store) -> Vec<String> {
    let mut records = store.read().expect("records");
    records.remove(&Key::Lease);
    records.remove(&Key::Identity);
    records.values().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// What holds for every store. `open` opens the same one again.
fn hold_to_the_contract(mut open: impl FnMut() -> Box<dyn Store>) {
    let mut store = open();
    assert_eq!(values(&mut *store), [""; 0]);
    let fence = store.take_over(A, 0, 0).expect("taken over");
    store.write(fence, &Batch::from([put(2, "b"), put(1, "a"), put(3, "c")])).expect("written");
    store.write(fence, &Batch::from([put(2, "bb"), (key(3), None), (key(9), None)])).expect("written");
    assert_eq!(values(&mut *store), ["a", "bb"]);
    store.write(fence, &Batch::new()).expect("an empty batch");

    drop(store);
    let mut store = open();
    assert_eq!(values(&mut *store), ["a", "bb"], "what was written is there again");
    let newer = store.take_over(B, 10, 50).expect("the older lease has ended");
    assert!(newer > fence);
    assert!(matches!(store.write(fence, &Batch::from([put(1, "x")])), Err(StoreError::Fenced)));
    assert_eq!(values(&mut *store), ["a", "bb"], "nothing of a batch that was refused is there");
    assert!(matches!(store.take_over(A, 49, 60), Err(StoreError::Leased(lease)) if lease.holder == B));
    store.write(newer, &Batch::from([put(1, "y")])).expect("a refused taking over changes nothing");
    let renewed = store.take_over(B, 49, 90).expect("its holder renews it");
    assert!(renewed > newer);
    store.take_over(A, 90, 90).expect("it has ended");
    assert!(matches!(store.write(renewed, &Batch::new()), Err(StoreError::Fenced)));
    assert_eq!(values(&mut *store), ["y", "bb"]);
}

#[test]
fn memory_holds_to_the_contract() {
    let store = MemoryStore::default();
    hold_to_the_contract(|| Box::new(store.clone()));
}

#[test]
fn a_simulated_disk_holds_to_the_contract() {
    for sync in [Sync::Process, Sync::Disk] {
        let disk = SimulatedDisk::new(sync, Entropy::from_seed(1));
        hold_to_the_contract(|| {
            let disk = disk.clone();
            Box::new(LoggedStore::open(move || Ok(disk.open()), sync).expect("opened"))
        });
    }
}

#[test]
fn a_file_holds_to_the_contract() {
    for sync in [Sync::Process, Sync::Disk] {
        let directory = Directory::new(&format!("contract-{sync:?}"));
        let identity = serde_json::to_vec(&identity()).expect("JSON");
        let mut is_new = true;
        hold_to_the_contract(|| {
            let mut store = open_file(&directory, "smf", sync).expect("opened").store;
            if std::mem::take(&mut is_new) {
                let fence = store.take_over(A, 0, 0).expect("taken over");
                store
                    .write(fence, &Batch::from([(Key::Identity, Some(identity.clone().into()))]))
                    .expect("written");
            }
            store
        });
    }
}

fn identity() -> Identity {
    Identity {
        format: FORMAT,
        nf_type: NfType::Smf,
        name: "smf".into(),
        instance_id: A,
        shards: 2,
        api_root: "http://smf".into(),
    }
}

/// Writes batch after batch until the power is lost at any write or synchronisation: what had been acknowledged is there, and
/// at most the one batch that had not been.
#[test]
fn whatever_a_power_loss_tears_what_was_acknowledged_is_there() {
    for seed in 0..150 {
        let entropy = Entropy::from_seed(seed);
        let disk = SimulatedDisk::new(Sync::Disk, entropy.clone());
        let (mut expected, mut next) = (BTreeSet::new(), 0);
        for _ in 0..4 {
            let file = disk.clone();
            let mut store =
                LoggedStore::open(move || Ok(file.open()), Sync::Disk).expect("it opens after every crash");
            let there: BTreeSet<String> = values(&mut store).into_iter().collect();
            assert!(expected.is_subset(&there), "seed {seed}: {:?} is gone", expected.difference(&there));
            assert!(there.len() <= expected.len() + 1, "seed {seed}: {there:?}");
            expected = there;
            let fence = store.take_over(A, 0, 0).expect("taken over");
            for _ in 0..entropy.up_to(12) {
                store.write(fence, &Batch::from([put(next, &next.to_string())])).expect("written");
                expected.insert(next.to_string());
                next += 1;
            }
            // The power goes in the middle of one more.
            disk.lose_power_after(entropy.up_to(6));
            let _ = store.write(fence, &Batch::from([put(next, &next.to_string())]));
            next += 1;
            disk.crash(Crash::Power);
        }
    }
}

#[test]
fn what_a_killed_process_wrote_is_there() {
    let disk = SimulatedDisk::new(Sync::Process, Entropy::from_seed(3));
    let file = disk.clone();
    let mut store = LoggedStore::open(move || Ok(file.open()), Sync::Process).expect("opened");
    let fence = store.take_over(A, 0, 0).expect("taken over");
    store.write(fence, &Batch::from([put(1, "a")])).expect("written");
    disk.crash(Crash::Process);
    assert!(store.write(fence, &Batch::from([put(2, "b")])).is_err(), "the dead write nothing");
    let file = disk.clone();
    let mut store = LoggedStore::open(move || Ok(file.open()), Sync::Process).expect("opened");
    assert_eq!(values(&mut store), ["a"]);
}

/// At whatever step of its clearing the power goes: all is there that was in it, or nothing.
#[test]
fn a_log_that_was_being_cleared_is_whole_or_empty() {
    for (seed, changes) in (0..40).flat_map(|seed| (0..5).map(move |changes| (seed, changes))) {
        let disk = SimulatedDisk::new(Sync::Disk, Entropy::from_seed(seed));
        let file = disk.open();
        redb::StorageBackend::set_len(&file, LOG_BYTES as u64).expect("a log");
        let mut log = Log::open(Box::new(file.clone())).expect("opened");
        for n in 0..20 {
            assert!(log.append(&Batch::from([put(n, &"x".repeat(600))])).expect("written"));
        }
        redb::StorageBackend::sync_data(&file).expect("on disk");
        disk.lose_power_after(changes);
        let cleared = log.clear();
        disk.crash(Crash::Power);
        let mut log = Log::open(Box::new(disk.open())).expect("readable");
        let left = log.read().expect("readable").len();
        assert!(left == 0 || left == 20 && cleared.is_err(), "seed {seed}, {changes} changes: {left} left");
        log.clear().expect("cleared");
        assert!(log.is_clear() && log.append(&Batch::from([put(1, "a")])).expect("written"));
        assert_eq!(log.read().expect("readable").len(), 1);
    }
}

/// A block of zeros where a log begins is no log that is empty.
#[test]
fn a_log_that_begins_with_zeros_is_damaged() {
    let directory = Directory::new("zeros");
    let path = journal_with_records(&directory, Sync::Process);
    let whole = fs::read(&path).expect("read");
    for zeros in [16, 512, 4_096] {
        let mut bytes = whole.clone();
        bytes[HEAD_BYTES..][..zeros].fill(0);
        fs::write(&path, &bytes).expect("written");
        assert!(matches!(why(&directory), Why::Damaged(_)), "{zeros} zeros");
        assert_eq!(fs::read(&path).expect("read"), bytes, "it was changed");
    }
}

fn journal_with_a_record(directory: &Path) -> PathBuf {
    journal_with_records(directory, Sync::Disk)
}

/// With [`Sync::Process`] they are in its log.
fn journal_with_records(directory: &Path, sync: Sync) -> PathBuf {
    let mut opened = open_file(directory, "smf", sync).expect("opened");
    let fence = opened.store.take_over(A, 0, 0).expect("taken over");
    let identity = serde_json::to_vec(&identity()).expect("JSON").into();
    let many = (1..500).map(|n| put(n, &"x".repeat(100)));
    let batch = many.chain([(Key::Identity, Some(identity))]).collect();
    opened.store.write(fence, &batch).expect("written");
    file_of(directory, "smf")
}

fn why(directory: &Path) -> Why {
    let error = open_file(directory, "smf", Sync::Disk).err().expect("an error");
    assert!(error.to_string().contains("smf.journal"), "it names the file: {error}");
    error.why
}

#[test]
fn a_journal_that_is_in_use_is_not_opened() {
    let directory = Directory::new("locked");
    let opened = open_file(&directory, "smf", Sync::Process).expect("opened");
    assert!(matches!(why(&directory), Why::Locked), "a new one");
    drop(opened);
    journal_with_a_record(&directory);
    let opened = open_file(&directory, "smf", Sync::Process).expect("opened");
    assert!(matches!(why(&directory), Why::Locked));
    drop(opened);
    assert_eq!(open_file(&directory, "smf", Sync::Process).expect("free again").records.len(), 501);
}

#[test]
fn what_is_no_journal_is_not_touched() {
    let directory = Directory::new("foreign");
    let path = file_of(&directory, "smf");
    for bytes in [&b""[..], b"x", b"redb", &[7; 9_000], b"SQLite format 3\0 and more"] {
        fs::write(&path, bytes).expect("written");
        assert!(matches!(why(&directory), Why::Foreign), "{bytes:?}");
        assert_eq!(fs::read(&path).expect("read"), bytes);
    }
    // A database of somebody else's.
    fs::remove_file(&path).expect("removed");
    drop(redb::Database::create(&path).expect("a database"));
    let before = fs::read(&path).expect("read");
    assert!(matches!(why(&directory), Why::Foreign));
    assert_eq!(fs::read(&path).expect("read").len(), before.len());
}

#[test]
fn a_journal_of_another_format_is_left_alone() {
    let directory = Directory::new("format");
    journal_with_a_record(&directory);
    let mut store = open_file(&directory, "smf", Sync::Disk).expect("opened").store;
    let fence = store.take_over(A, 0, 0).expect("taken over");
    let newer = serde_json::to_vec(&Identity { format: 99, ..identity() }).expect("JSON").into();
    store.write(fence, &Batch::from([(Key::Identity, Some(newer))])).expect("written");
    drop(store);
    assert!(matches!(why(&directory), Why::OtherFormat(99)));
}

/// A journal of format 1 was a database alone.
#[test]
fn a_journal_without_a_log_is_of_another_format() {
    let directory = Directory::new("no-log");
    let path = file_of(&directory, "smf");
    let database = redb::Database::create(&path).expect("a database");
    let older = serde_json::to_vec(&Identity { format: 1, ..identity() }).expect("JSON");
    let table: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("records");
    let transaction = database.begin_write().expect("begun");
    transaction
        .open_table(table)
        .expect("a table")
        .insert(&*Key::Identity.to_bytes(), &*older)
        .expect("there");
    transaction.commit().expect("written");
    drop(database);
    let before = fs::read(&path).expect("read");
    assert!(matches!(why(&directory), Why::OtherFormat(1)));
    assert_eq!(fs::read(&path).expect("read"), before);
}

#[test]
fn a_journal_that_was_cut_off_is_damaged_and_stays_as_it_is() {
    for sync in [Sync::Disk, Sync::Process] {
        cut_off(sync);
    }
}

fn cut_off(sync: Sync) {
    let directory = Directory::new(&format!("truncated-{sync:?}"));
    let path = journal_with_records(&directory, sync);
    let whole = fs::read(&path).expect("read");
    let in_database = LOG_BYTES + (whole.len() - LOG_BYTES) / 2;
    for len in [10, 100, 4_096, 5_000, LOG_BYTES, LOG_BYTES + 5_000, in_database, whole.len() - 1] {
        fs::write(&path, &whole[..len]).expect("written");
        let before = fs::read(&path).expect("read");
        assert!(matches!(why(&directory), Why::Damaged(_)), "cut off after {len} bytes");
        assert_eq!(fs::read(&path).expect("read"), before, "it was changed");
    }
    fs::write(&path, &whole).expect("written");
    assert_eq!(open_file(&directory, "smf", Sync::Disk).expect("whole again").records.len(), 501);
}

/// A flipped bit is found, or hits what is not used: never is a record lost without a word.
#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let in_database = |len| LOG_BYTES..len;
    flip(Sync::Disk, in_database);
    let in_log = |_| 0..60_000;
    flip(Sync::Process, in_log);
    let anywhere = |len| 0..len;
    flip(Sync::Process, anywhere);
}

fn flip(sync: Sync, part: impl Fn(usize) -> std::ops::Range<usize>) {
    let directory = Directory::new(&format!("flipped-{sync:?}"));
    let path = journal_with_records(&directory, sync);
    let (whole, entropy) = (fs::read(&path).expect("read"), Entropy::from_seed(5));
    let expected = open_file(&directory, "smf", Sync::Disk).expect("whole").records;
    assert_eq!(expected.len(), 501);
    let (mut found, part) = (0, part(whole.len()));
    for _ in 0..120 {
        let mut bytes = whole.clone();
        let at = part.start + entropy.up_to(part.len() as u64 - 1) as usize;
        bytes[at] ^= 1 << entropy.up_to(7);
        fs::write(&path, &bytes).expect("written");
        match open_file(&directory, "smf", Sync::Disk) {
            Ok(opened) => assert!(opened.records == expected, "byte {at}"),
            Err(error) => {
                assert!(matches!(error.why, Why::Damaged(_) | Why::Foreign), "byte {at}: {error}");
                assert_eq!(fs::read(&path).expect("read"), bytes, "it was changed");
                found += 1;
            }
        }
    }
    assert!(found > 0, "none of the flipped bits was found");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = Directory::new("no-directory");
    fs::write(directory.join("file"), "").expect("written");
    let error = open_file(&directory.join("file/below"), "smf", Sync::Process).err().expect("an error");
    assert!(matches!(error.why, Why::NotWritable(_)), "{error}");
}

#[test]
fn a_new_journal_has_its_name_only_once_it_says_whose_it_is() {
    let directory = Directory::new("new");
    let opened = open_file(&directory, "smf", Sync::Process).expect("opened");
    assert!(!file_of(&directory, "smf").exists());
    drop(opened);
    journal_with_a_record(&directory);
    let names: Vec<_> =
        fs::read_dir(&*directory).expect("entries").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(names, ["smf.journal"]);
}

/// Refuses to write while it is told to.
#[derive(Clone, Default)]
struct Stubborn {
    inner: MemoryStore,
    refuses: Arc<AtomicBool>,
    is_quick: bool,
}

impl Store for Stubborn {
    fn is_quick(&self) -> bool {
        self.is_quick
    }

    fn read(&mut self) -> Result<Records, StoreError> {
        self.inner.read()
    }

    fn take_over(&mut self, holder: Uuid, now_unix_ms: i64, until_unix_ms: i64) -> Result<Fence, StoreError> {
        self.inner.take_over(holder, now_unix_ms, until_unix_ms)
    }

    fn write(&mut self, fence: Fence, batch: &Batch) -> Result<(), StoreError> {
        match self.refuses.load(Relaxed) {
            true => Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into()),
            false => self.inner.write(fence, batch),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_is_written_once_it_can_be_but_for_what_was_to_begin() {
    for is_quick in [false, true] {
        tokio::task::LocalSet::new().run_until(stubbornness(is_quick)).await;
    }
}

async fn stubbornness(is_quick: bool) {
    let (store, party) = (Stubborn { is_quick, ..Stubborn::default() }, party());
    let opened = Opened::read(store.clone()).expect("opened");
    let (journal, _) = Journal::begin(opened, &party, &Workers::Here(1)).expect("begun");
    journal.write(Batch::from([put(1, "a")]), None).await.expect("written");
    store.refuses.store(true, Relaxed);
    journal.post(Batch::from([put(2, "b"), put(3, "c")]));
    let error =
        journal.write(Batch::from([put(4, "d"), put(5, "e")]), Some(key(4))).await.expect_err("refused");
    assert!(error.to_string().contains("the journal cannot be written"), "{error}");
    assert!(journal.trouble().is_some());
    journal.post(Batch::from([put(3, "newer"), (key(5), None)]));
    assert_eq!(values(&mut store.inner.clone()), ["a"]);
    store.refuses.store(false, Relaxed);
    party.env.events.wait(0, |event| event.event == Kind::JournalResumed).await;
    assert_eq!(
        values(&mut store.inner.clone()),
        ["a", "b", "newer"],
        "what was to begin is not there, nor what ended since"
    );
    assert!(journal.trouble().is_none());
    drop(journal);
}

#[tokio::test]
async fn what_was_asked_for_last_is_written_when_its_worker_ends() {
    let store = Stubborn { is_quick: true, ..Stubborn::default() };
    let begin_and_post = async {
        let opened = Opened::read(store.clone()).expect("opened");
        let (journal, _) = Journal::begin(opened, &party(), &Workers::Here(1)).expect("begun");
        journal.post(Batch::from([put(1, "a")]));
    };
    tokio::task::LocalSet::new().run_until(begin_and_post).await;
    assert_eq!(values(&mut store.inner.clone()), ["a"]);
}

#[test]
fn workers_that_share_a_journal_have_everything_written_in_their_order() {
    const WORKERS: u64 = 3;
    const WRITES: u64 = 200;
    let store = Stubborn { is_quick: true, ..Stubborn::default() };
    let opened = Opened::read(store.clone()).expect("opened");
    let (journal, _) = Journal::begin(opened, &party(), &Workers::Here(1)).expect("begun");
    let worker = |n: u64| {
        let journal = journal.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let writes = async move {
                for value in 0..WRITES {
                    journal.post(Batch::from([put(WORKERS + n, "older")]));
                    journal.post(Batch::from([put(WORKERS + n, &value.to_string())]));
                    journal.write(Batch::from([put(n, &value.to_string())]), None).await.expect("written");
                }
                // Its worker ends with this still to be written.
                journal.post(Batch::from([put(2 * WORKERS + n, "last")]));
            };
            runtime.block_on(tokio::task::LocalSet::new().run_until(writes));
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
    drop(journal);
    let last = (WRITES - 1).to_string();
    let expected: Vec<_> =
        [&*last, &*last, "last"].iter().flat_map(|value| vec![(*value).to_owned(); 3]).collect();
    assert_eq!(values(&mut store.inner.clone()), expected);
}

fn party() -> Party {
    Party {
        name: "smf".into(),
        nf_type: NfType::Smf,
        instance_id: A,
        api_root: "http://smf".into(),
        env: crate::env::Env::system(),
        policy: crate::policy::Policy::default(),
        journal: None,
        nrf: None,
        scp: None,
    }
}
