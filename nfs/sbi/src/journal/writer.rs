//! Writing a journal: whatever waits at a moment goes into one batch.

use super::at_hand::AtHand;
use super::key::Key;
use super::lease::Fence;
use super::store::{Batch, Store, StoreError};
use super::{Identity, Opened, RecoveredNf};
use crate::event::{Facts, Kind};
use crate::party::Party;
use crate::planted::planted;
use crate::server::Workers;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// How many requests to write go into one batch at most.
pub const MAX_BATCH: usize = 1_024;

/// How long after a failure it is tried again to write what nobody waits for.
pub const RETRY: Duration = Duration::from_secs(1);

/// What had to be written was not.
#[derive(Clone, Debug, Error)]
#[error("the journal cannot be written: {0}")]
pub struct NotWritten(Arc<str>);

/// Writes an NF's journal: on the thread that asks, a little later, if the store is quick, else on one of its own. Cheap to clone. What waits to be written is bounded by what there is to tell of:
/// each create waits until its intent is written, and a UDR takes nothing more while it cannot be.
#[derive(Clone)]
pub struct Journal {
    inbox: mpsc::UnboundedSender<Request>,
    trouble: Trouble,
    ends: Arc<Ends>,
    /// Who writes, unless a thread does.
    at_hand: Option<Arc<AtHand>>,
}

/// How many batches that somebody could hear of were asked for, and tried to be written.
#[derive(Default)]
struct Ends {
    asked: AtomicU64,
    tried: AtomicU64,
}

type Trouble = Arc<Mutex<Option<NotWritten>>>;

pub(super) struct Request {
    batch: Batch,
    /// Whether somebody could hear of what it holds.
    is_end: bool,
    /// What of it does not count if it cannot be written now: the rest is tried again.
    beginning: Option<Key>,
    /// Who waits for it.
    done: Option<oneshot::Sender<Result<(), NotWritten>>>,
}

impl Journal {
    /// Takes over what was opened for an NF, and begins to write. What was there is given back.
    pub fn begin(
        opened: Opened,
        party: &Party,
        workers: &Workers,
    ) -> Result<(Self, RecoveredNf), StoreError> {
        let Opened { mut store, records } = opened;
        let identity = Identity::of(party, workers.count());
        // A file has its lock. Its lease has ended at once, whatever a clock says that was set back since.
        let now = party.env.clock.stamp().unix_ms();
        let fence = store.take_over(party.env.entropy.uuid(), now, 0)?;
        let identity_now = crate::json::to_bytes(&identity);
        if records.get(&Key::Identity) != Some(&identity_now) {
            let identity = identity_now;
            store.write(fence, &Batch::from([(Key::Identity, Some(identity))]))?;
        }
        let (inbox, requests) = mpsc::unbounded_channel();
        let (trouble, ends) = (Trouble::default(), Arc::<Ends>::default());
        let writer = Writer {
            store,
            fence,
            trouble: trouble.clone(),
            ends: ends.clone(),
            party: party.clone(),
            unwritten: Batch::new(),
            failed_at: None,
        };
        let at_hand = match writer.store.is_quick() {
            true => Some(AtHand::new(writer, requests)),
            false => {
                workers.aside(move || writer.run(requests));
                None
            }
        };
        Ok((Journal { inbox, trouble, ends, at_hand }, RecoveredNf::of(records, identity.shards)))
    }

    /// Writes a batch after what was asked for before; ends when it is there. If it cannot be written now it is tried again,
    /// but for the record `beginning`: whoever waits for that does without.
    pub async fn write(&self, batch: Batch, beginning: Option<Key>) -> Result<(), NotWritten> {
        let (tell, done) = oneshot::channel();
        self.send(Request { batch, is_end: false, beginning, done: Some(tell) });
        done.await.unwrap_or_else(|_| Err(NotWritten("its writer has ended".into())))
    }

    /// Writes a batch after what was asked for before; nobody waits for it. If it fails it is tried again.
    pub fn post(&self, batch: Batch) {
        self.send(Request { batch, is_end: false, beginning: None, done: None });
    }

    /// The same of something that somebody could hear of: that a context has ended, or ends, or how data are now. Answers wait
    /// for it ([`Journal::ends_on_record`]).
    pub fn post_end(&self, batch: Batch) {
        self.ends.asked.fetch_add(1, SeqCst);
        self.send(Request { batch, is_end: true, beginning: None, done: None });
    }

    /// Ends when every end that was asked for is on record, or cannot be put there now. Nobody may hear before that something
    /// is gone, or is as it is: a restart would bring back what was.
    pub async fn ends_on_record(&self) {
        if self.has_ends_to_write() {
            let _ = self.write(Batch::new(), None).await;
        }
    }

    /// Whether [`Journal::ends_on_record`] would have to wait.
    pub fn has_ends_to_write(&self) -> bool {
        self.ends.tried.load(SeqCst) < self.ends.asked.load(SeqCst)
    }

    fn send(&self, request: Request) {
        if self.inbox.send(request).is_err() {
            *lock(&self.trouble) = Some(NotWritten("its writer has ended".into()));
        }
        self.at_hand.iter().for_each(AtHand::write_soon);
    }

    /// Why it cannot be written at the moment.
    pub fn trouble(&self) -> Option<NotWritten> {
        lock(&self.trouble).clone()
    }
}

fn lock(trouble: &Trouble) -> MutexGuard<'_, Option<NotWritten>> {
    trouble.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Writer {
    store: Box<dyn Store>,
    fence: Fence,
    trouble: Trouble,
    ends: Arc<Ends>,
    party: Party,
    /// What could not be written yet.
    unwritten: Batch,
    /// When it was tried last in vain.
    failed_at: Option<Instant>,
}

impl Writer {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        let mut waiting = Vec::new();
        loop {
            let more = requests.recv_many(&mut waiting, MAX_BATCH);
            let is_well = self.is_well();
            let closed = match is_well {
                true => more.await == 0,
                false => tokio::time::timeout(RETRY, more).await == Ok(0),
            };
            if closed && is_well {
                return;
            }
            let latency = self.store.latency();
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            self.write(std::mem::take(&mut waiting));
            if closed {
                return;
            }
        }
    }

    /// Whether everything that was asked for could be written.
    pub(super) fn is_well(&self) -> bool {
        self.unwritten.is_empty() && lock(&self.trouble).is_none()
    }

    /// Newer changes stand above older ones, written or not.
    pub(super) fn write(&mut self, requests: Vec<Request>) {
        let mut batch = std::mem::take(&mut self.unwritten);
        let (mut beginnings, mut waiting, mut ends) = (Vec::new(), Vec::new(), 0);
        for Request { batch: changes, is_end, beginning, done } in requests {
            batch.extend(changes);
            ends += u64::from(is_end);
            beginnings.extend(beginning);
            waiting.extend(done);
        }
        if planted!(TearBatches) {
            let kept = batch.len().div_ceil(2);
            batch = batch.into_iter().take(kept).collect();
        }
        let written = self.try_write(&batch);
        if written.is_err() {
            // One that has ended meanwhile still has to end.
            let is_beginning = |key: &Key, record: &Option<_>| record.is_some() && beginnings.contains(key);
            batch.retain(|key, record| !is_beginning(key, record));
            self.unwritten = batch;
        }
        self.note(&written);
        self.ends.tried.fetch_add(ends, SeqCst);
        // Who has stopped waiting need not hear.
        waiting.into_iter().for_each(|done| drop(done.send(written.clone())));
    }

    /// While it cannot be written, it is tried no more often than every [`RETRY`].
    fn try_write(&mut self, batch: &Batch) -> Result<(), NotWritten> {
        let trouble = lock(&self.trouble).clone();
        if batch.is_empty() && trouble.is_none() {
            return Ok(());
        }
        if let (Some(trouble), Some(at)) = (trouble, self.failed_at)
            && at.elapsed() < RETRY
        {
            return Err(trouble);
        }
        let written = self.write_to_store(batch);
        self.failed_at = written.is_err().then(Instant::now);
        written.map_err(|error| {
            let advice = if error.is_full() { "; free some space, and it goes on" } else { "" };
            NotWritten(format!("{}.journal: {error}{advice}", self.party.name).into())
        })
    }

    /// A store that panics has failed: what it was given is kept and tried again.
    fn write_to_store(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let writing = AssertUnwindSafe(|| self.store.write(self.fence, batch));
        catch_unwind(writing).unwrap_or_else(|_| Err(StoreError::Damaged("writing it panicked".into())))
    }

    fn note(&mut self, written: &Result<(), NotWritten>) {
        let before = std::mem::replace(&mut *lock(&self.trouble), written.as_ref().err().cloned());
        match (before, written) {
            (None, Err(error)) => self.tell(Kind::JournalFailed, error.to_string()),
            (Some(_), Ok(())) => self.tell(Kind::JournalResumed, "it can be written again".into()),
            _ => {}
        }
    }

    fn tell(&self, kind: Kind, what: String) {
        tracing::warn!(nf = %self.party.name, "{}: {what}", kind.as_str());
        self.party.emit(kind, Facts::default().detail(what));
    }
}
