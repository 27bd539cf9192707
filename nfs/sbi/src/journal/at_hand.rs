//! Writing on the threads that ask for it.
//!
//! A thread apart costs two wake-ups for each write that is waited for, and tears the workers' batches apart: with it, an NF did
//! 0.42 of what it does without a journal, without it 0.7 (docs/performance.md). So where a write is as quick as copying it to
//! the kernel, whoever asks makes it.

use super::writer::{RETRY, Request, Writer};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::mpsc;

/// For how many turns of a worker's other tasks a write waits for more of them. On an idle worker that is no time at all.
const TURNS: usize = 32;

/// A writer that the workers share.
pub(super) struct AtHand {
    is_due: AtomicBool,
    desk: Mutex<Desk>,
}

struct Desk {
    writer: Writer,
    requests: mpsc::UnboundedReceiver<Request>,
    is_retrying: bool,
}

impl Desk {
    fn write(&mut self) {
        let mut waiting = Vec::new();
        while let Ok(request) = self.requests.try_recv() {
            waiting.push(request);
        }
        self.writer.write(waiting);
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
        if self.is_due.load(SeqCst) {
            return;
        }
        let this = self.clone();
        tokio::task::spawn_local(async move {
            // Meanwhile the other workers leave theirs here instead of waiting for the desk.
            while !this.desk().requests.is_empty() && !this.is_due.swap(true, SeqCst) {
                for _ in 0..TURNS {
                    tokio::task::yield_now().await;
                }
                this.write();
                this.is_due.store(false, SeqCst);
            }
        });
    }

    fn write(self: &Arc<Self>) {
        let mut desk = self.desk();
        desk.write();
        if !desk.writer.is_well() && !std::mem::replace(&mut desk.is_retrying, true) {
            tokio::task::spawn_local(retry(Arc::downgrade(self)));
        }
    }
}

/// What could not be written is tried again until it can, or nobody has the journal any more.
async fn retry(journal: Weak<AtHand>) {
    loop {
        tokio::time::sleep(RETRY).await;
        let Some(journal) = journal.upgrade() else { return };
        let mut desk = journal.desk();
        desk.write();
        if desk.writer.is_well() {
            desk.is_retrying = false;
            return;
        }
    }
}

impl Drop for AtHand {
    /// What was asked for last, while its worker ended.
    fn drop(&mut self) {
        self.desk().write();
    }
}
