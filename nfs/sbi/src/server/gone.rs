//! Clients that leave: the work for their request goes on, since the deadline is the only signal to stop.

use super::body::ResponseBody;
use super::front::{End, Front, QUEUE_PATIENCE};
use crate::event::{Facts, Kind};
use crate::problem::{Cause, ProblemDetails};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use hyper::body::Incoming;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Whether the client of one request is still there.
#[derive(Default)]
pub(super) struct Gone {
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
    gate: Arc<Semaphore>,
    gone: Rc<Gone>,
    running: Option<Running>,
    ended: bool,
}

type Running = (LocalBoxFuture<'static, End>, OwnedSemaphorePermit);

impl Work {
    pub(super) fn new(front: &Rc<Front>, gate: &Arc<Semaphore>) -> Self {
        let gone = Rc::default();
        Work { front: front.clone(), gate: gate.clone(), gone, running: None, ended: false }
    }

    pub(super) async fn run(mut self, request: hyper::Request<Incoming>, peer: SocketAddr) -> End {
        // A client that keeps to the stream limit waits here only behind handlers of streams that it has reset.
        let place = tokio::time::timeout(QUEUE_PATIENCE, self.gate.clone().acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            self.ended = true;
            return Ok(busy());
        };
        let (front, gone) = (self.front.clone(), self.gone.clone());
        let work = Box::pin(async move { front.respond(request, peer, gone).await });
        let (work, _) = self.running.insert((work, place));
        let end = AssertUnwindSafe(work).catch_unwind().await;
        self.ended = true;
        end.unwrap_or_else(|_| {
            self.front.party.emit(Kind::RequestPanicked, self.gone.about.take());
            Err(h2::Reason::INTERNAL_ERROR.into())
        })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.ended || self.front.closing.get() {
            return;
        }
        self.gone.gone.set(true);
        self.gone.left.notify_waiters();
        self.front.party.emit(Kind::ClientGone, self.gone.about.borrow().clone());
        let Some((work, place)) = self.running.take() else { return };
        // Beyond the bound the work is dropped: its attempt gives up, and what it had created is released.
        let Ok(detached) = self.front.detached.clone().try_acquire_owned() else { return };
        tokio::task::spawn_local(async move {
            let _ = AssertUnwindSafe(work).catch_unwind().await;
            drop((place, detached));
        });
    }
}

fn busy() -> hyper::Response<ResponseBody> {
    let problem = ProblemDetails::new(Cause::NfCongestion, "too many requests of this connection are open");
    super::adapter::problem_response(&problem)
}
