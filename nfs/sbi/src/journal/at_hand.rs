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

    fn write_all(&mut self) {
        while !self.requests.is_empty() {
            self.write();
        }
    }
}

/// The right to write. Whatever becomes of its task, what was left to it is written, and the others are not kept from writing.
struct Due {
    at_hand: Arc<AtHand>,
    has_written: bool,
}

impl Due {
    fn claim(at_hand: &Arc<AtHand>) -> Option<Self> {
        let is_mine = !at_hand.is_due.swap(true, SeqCst);
        is_mine.then(|| Due { at_hand: at_hand.clone(), has_written: false })
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        loop {
            if !self.has_written {
                self.at_hand.desk().write_all();
            }
            self.at_hand.is_due.store(false, SeqCst);
            // Something may have been left to it meanwhile.
            let is_left = !self.has_written && !self.at_hand.desk().requests.is_empty();
            if !is_left || self.at_hand.is_due.swap(true, SeqCst) {
                return;
            }
        }
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
    fn write(mut self) {
        let this = self.at_hand.clone();
        let mut desk = this.desk();
        desk.write();
        self.has_written = true;
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
        self.desk().write_all();
    }
}
