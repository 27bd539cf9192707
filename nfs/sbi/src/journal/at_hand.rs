//! Writing on the threads that ask for it.
//!
//! A thread apart costs two wake-ups for each write that is waited for, and tears the workers' batches apart: with it, an NF did
//! 0.42 of what it does without a journal, without it 0.7 (docs/performance.md). So where a write is as quick as copying it to
//! the kernel, whoever asks makes it.

use super::writer::{MAX_BATCH, RETRY, Request, Writer};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// For how many turns of a worker's other tasks a write waits for more of them. On an idle worker that is no time at all.
const TURNS: usize = 32;

/// For how long at most, if those tasks take long.
const PATIENCE: Duration = Duration::from_millis(1);

/// A writer that the workers share.
pub(super) struct AtHand {
    /// Somebody is about to write, or writes: whatever is asked for meanwhile is left to it.
    is_due: AtomicBool,
    desk: Mutex<Desk>,
}

struct Desk {
    writer: Writer,
    requests: mpsc::UnboundedReceiver<Request>,
    is_retrying: bool,
}

impl Desk {
    /// Writes what waits, as one batch.
    fn write(&mut self) {
        let mut waiting = Vec::new();
        while waiting.len() < MAX_BATCH
            && let Ok(request) = self.requests.try_recv()
        {
            waiting.push(request);
        }
        self.writer.write(waiting);
    }
}

/// The right to write. Whatever becomes of its task, the others are not kept from writing.
struct Due(Arc<AtHand>);

impl Due {
    fn claim(at_hand: &Arc<AtHand>) -> Option<Self> {
        (!at_hand.is_due.swap(true, SeqCst)).then(|| Due(at_hand.clone()))
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        self.0.is_due.store(false, SeqCst);
    }
}

impl AtHand {
    pub(super) fn new(writer: Writer, requests: mpsc::UnboundedReceiver<Request>) -> Arc<Self> {
        let desk = Mutex::new(Desk { writer, requests, is_retrying: false });
        Arc::new(AtHand { is_due: AtomicBool::new(false), desk })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what waits, together with what comes to wait meanwhile.
    pub(super) fn write_soon(self: &Arc<Self>) {
        let Some(due) = Due::claim(self) else { return };
        tokio::task::spawn_local(async move {
            let begin = Instant::now();
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
                if begin.elapsed() >= PATIENCE {
                    break;
                }
            }
            due.write();
        });
    }
}

impl Due {
    /// What was asked for while it was written is written next.
    fn write(self) {
        let this = self.0.clone();
        let mut desk = this.desk();
        desk.write();
        if !desk.writer.is_well() && !std::mem::replace(&mut desk.is_retrying, true) {
            tokio::task::spawn_local(retry(Arc::downgrade(&this)));
        }
        drop((desk, self));
        if !this.desk().requests.is_empty() {
            this.write_soon();
        }
    }
}

/// What could not be written is tried again, unless nobody has the journal any more. If it cannot be written then either, that is
/// tried again in turn.
async fn retry(journal: Weak<AtHand>) {
    tokio::time::sleep(RETRY).await;
    if let Some(journal) = journal.upgrade() {
        journal.desk().is_retrying = false;
        journal.write_soon();
    }
}

impl Drop for AtHand {
    /// What was asked for last, while its worker ended.
    fn drop(&mut self) {
        let mut desk = self.desk();
        while !desk.requests.is_empty() {
            desk.write();
        }
    }
}
