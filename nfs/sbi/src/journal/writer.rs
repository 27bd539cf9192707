//! Writing a journal: whatever waits at a moment goes into one batch.

use super::key::Key;
use super::lease::Fence;
use super::store::{Batch, Store, StoreError};
use super::{Identity, Opened, RecoveredNf};
use crate::event::{Facts, Kind};
use crate::party::Party;
use crate::planted::planted;
use crate::server::Workers;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

/// How many requests to write go into one batch at most.
pub const MAX_BATCH: usize = 1_024;

/// How long after a failure it is tried again to write what nobody waits for.
pub const RETRY: Duration = Duration::from_secs(1);

/// What had to be written was not.
#[derive(Clone, Debug, Error)]
#[error("the journal cannot be written: {0}")]
pub struct NotWritten(Arc<str>);

/// Writes an NF's journal, in the background. Cheap to clone. What waits to be written is bounded by what is owed: each
/// create waits until its intent is written.
#[derive(Clone)]
pub struct Journal {
    inbox: mpsc::UnboundedSender<Request>,
    trouble: Trouble,
}

type Trouble = Arc<Mutex<Option<NotWritten>>>;

struct Request {
    batch: Batch,
    /// Who waits for it, and gets it back if it could not be written.
    done: Option<oneshot::Sender<Result<(), (NotWritten, Batch)>>>,
}

impl Journal {
    /// Takes over what was opened for an NF, and begins to write: on a thread of its own, or under simulation on the calling
    /// one. What was there is given back.
    pub fn begin(
        opened: Opened,
        party: &Party,
        workers: &Workers,
    ) -> Result<(Self, RecoveredNf), StoreError> {
        let Opened { mut store, records } = opened;
        let identity = Identity::of(party, workers.count());
        let now = party.env.clock.stamp().unix_ms();
        let fence = store.take_over(party.env.entropy.uuid(), now, now)?;
        if !records.contains_key(&Key::Identity) {
            let identity = crate::json::to_bytes(&identity);
            store.write(fence, &Batch::from([(Key::Identity, Some(identity))]))?;
        }
        let (inbox, requests) = mpsc::unbounded_channel();
        let trouble = Trouble::default();
        let writer =
            Writer { store, fence, trouble: trouble.clone(), party: party.clone(), unwritten: Batch::new() };
        workers.aside(move || writer.run(requests));
        Ok((Journal { inbox, trouble }, RecoveredNf::of(records, identity.shards)))
    }

    /// Writes a batch after what was asked for before; ends when it is there. What could not be written is given back, and
    /// does not count.
    pub async fn write(&self, batch: Batch) -> Result<(), (NotWritten, Batch)> {
        let (tell, done) = oneshot::channel();
        let stopped = || (NotWritten("it is closed".into()), Batch::new());
        self.inbox.send(Request { batch, done: Some(tell) }).map_err(|_| stopped())?;
        done.await.map_err(|_| stopped())?
    }

    /// The same; nobody waits for it. If it fails it is tried again.
    pub fn post(&self, batch: Batch) {
        // The writer ends with the process.
        let _ = self.inbox.send(Request { batch, done: None });
    }

    /// Why it cannot be written at the moment.
    pub fn trouble(&self) -> Option<NotWritten> {
        lock(&self.trouble).clone()
    }
}

fn lock(trouble: &Trouble) -> MutexGuard<'_, Option<NotWritten>> {
    trouble.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Writer {
    store: Box<dyn Store>,
    fence: Fence,
    trouble: Trouble,
    party: Party,
    /// What nobody waits for and could not be written yet.
    unwritten: Batch,
}

impl Writer {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        let mut waiting = Vec::new();
        loop {
            let more = requests.recv_many(&mut waiting, MAX_BATCH);
            let is_well = self.unwritten.is_empty() && lock(&self.trouble).is_none();
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

    fn write(&mut self, requests: Vec<Request>) {
        let mut batch = self.unwritten.clone();
        for request in &requests {
            batch.extend(request.batch.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        if planted!(TearBatches) {
            let kept = batch.len().div_ceil(2);
            batch = batch.into_iter().take(kept).collect();
        }
        let written = match batch.is_empty() && lock(&self.trouble).is_none() {
            true => Ok(()),
            false => {
                self.store.write(self.fence, &batch).map_err(|error| NotWritten(error.to_string().into()))
            }
        };
        self.note(&written);
        for Request { batch, done } in requests {
            match done {
                Some(done) => drop(done.send(written.clone().map_err(|error| (error, batch)))),
                None if written.is_err() => self.unwritten.extend(batch),
                None => {}
            }
        }
    }

    fn note(&mut self, written: &Result<(), NotWritten>) {
        let before = std::mem::replace(&mut *lock(&self.trouble), written.as_ref().err().cloned());
        match (before, written) {
            (None, Err(error)) => self.tell(Kind::JournalFailed, error.to_string()),
            (Some(_), Ok(())) => self.tell(Kind::JournalResumed, "it can be written again".into()),
            _ => {}
        }
        if written.is_ok() {
            self.unwritten.clear();
        }
    }

    fn tell(&self, kind: Kind, what: String) {
        self.party.emit(kind, Facts::default().detail(what));
    }
}
