//! Clients that leave: the work for their request goes on, since the deadline is the only signal to stop.

use super::front::{End, Front, MAX_STREAMS_PER_CONNECTION, QUEUE_PATIENCE};
use crate::event::{Facts, Kind};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use hyper::body::Incoming;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// What the requests of one connection share.
pub(super) struct Line {
    /// Places for streams, those of clients that left included.
    gate: Arc<Semaphore>,
    goaway: Notify,
}

impl Default for Line {
    fn default() -> Self {
        let gate = Arc::new(Semaphore::new(MAX_STREAMS_PER_CONNECTION as usize));
        Line { gate, goaway: Notify::new() }
    }
}

impl Line {
    /// No request shall follow on this connection.
    pub(super) fn say_goaway(&self) {
        self.goaway.notify_one();
    }

    /// Ends when that was said.
    pub(super) async fn goaway(&self) {
        self.goaway.notified().await;
    }
}

/// Whether the client of one request is still there.
pub(super) struct Gone {
    /// The connection that it came on.
    pub(super) line: Rc<Line>,
    gone: Cell<bool>,
    left: Notify,
    about: RefCell<Facts>,
}

impl Gone {
    pub(super) fn is_gone(&self) -> bool {
        self.gone.get()
    }

    /// Ends when the client leaves.
    pub(super) async fn wait(&self) {
        let left = self.left.notified();
        if !self.gone.get() {
            left.await;
        }
    }

    /// What events about the client say of its request.
    pub(super) fn is_about(&self, facts: Facts) {
        *self.about.borrow_mut() = facts;
    }
}

/// The work for one request. hyper drops it when the client resets its stream or hangs up; what has begun goes on
/// without it, holding its place among the connection's streams.
pub(super) struct Work {
    front: Rc<Front>,
    gone: Rc<Gone>,
    running: Option<Running>,
    ended: bool,
}

type Running = (LocalBoxFuture<'static, End>, Option<Places>);

/// A request's place among its connection's and among its worker's.
struct Places {
    _of_connection: OwnedSemaphorePermit,
    _of_worker: OwnedSemaphorePermit,
}

impl Work {
    pub(super) fn new(front: &Rc<Front>, line: &Rc<Line>) -> Self {
        let gone = Gone {
            line: line.clone(),
            gone: Cell::new(false),
            left: Notify::new(),
            about: RefCell::default(),
        };
        Work { front: front.clone(), gone: Rc::new(gone), running: None, ended: false }
    }

    pub(super) async fn run(mut self, request: hyper::Request<Incoming>, peer: SocketAddr) -> End {
        let places = self.places().await;
        let (front, gone, crowded) = (self.front.clone(), self.gone.clone(), places.is_none());
        let work = Box::pin(front.respond(request, peer, gone, crowded));
        let (work, _) = self.running.insert((work, places));
        let end = guarded(work, &self.front, &self.gone).await;
        self.ended = true;
        end
    }

    async fn places(&self) -> Option<Places> {
        let gate = &self.gone.line.gate;
        let of_connection = match gate.clone().try_acquire_owned() {
            Ok(place) => place,
            // A client that keeps to the stream limit waits here only behind handlers of streams that it has reset.
            Err(_) => {
                let place = tokio::time::timeout(QUEUE_PATIENCE, gate.clone().acquire_owned());
                Box::pin(place).await.ok()?.ok()?
            }
        };
        let of_worker = self.front.running.clone().try_acquire_owned();
        Some(Places { _of_connection: of_connection, _of_worker: of_worker.ok()? })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.ended || *self.front.closing.borrow() {
            return;
        }
        self.gone.gone.set(true);
        self.gone.left.notify_waiters();
        self.front.party.emit(Kind::ClientGone, self.gone.about.borrow().clone());
        let Some((mut work, places)) = self.running.take() else { return };
        let (front, gone) = (self.front.clone(), self.gone.clone());
        tokio::task::spawn_local(async move {
            let _ = guarded(&mut work, &front, &gone).await;
            drop(places);
        });
    }
}

/// A handler that panics ends its own stream only.
async fn guarded(work: &mut LocalBoxFuture<'static, End>, front: &Front, gone: &Gone) -> End {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        front.party.emit(Kind::RequestPanicked, gone.about.borrow().clone());
        Err(h2::Reason::INTERNAL_ERROR.into())
    })
}
