//! The body of an answer that is passed on as it comes from a producer.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::any::Any;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinHandle;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body that stands still for too long, since its producer sends nothing or its client reads nothing, is cut off: it would
/// hold a stream of the connection to the producer, and a part of its window.
pub(super) struct Passed {
    flow: Rc<RefCell<Flow>>,
    watch: Option<JoinHandle<()>>,
}

struct Flow {
    /// The body, and what is held for it; nothing once it was cut off.
    source: Option<(Incoming, Box<dyn Any>)>,
    has_moved: bool,
    waiting: Option<Waker>,
}

impl Passed {
    pub(super) fn new(incoming: Incoming, patience: Duration, lease: Box<dyn Any>) -> Self {
        let is_over = incoming.is_end_stream();
        let flow = Flow { source: Some((incoming, lease)), has_moved: false, waiting: None };
        let flow = Rc::new(RefCell::new(flow));
        let watch = || tokio::task::spawn_local(cut_off_when_still(flow.clone(), patience));
        let watch = (!is_over).then(watch);
        Passed { flow, watch }
    }

    pub(super) fn poll_frame(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut flow = self.flow.borrow_mut();
        let Some((incoming, _)) = &mut flow.source else {
            return Poll::Ready(Some(Err("the answer stood still for too long".into())));
        };
        let Poll::Ready(frame) = Pin::new(incoming).poll_frame(cx) else {
            flow.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        };
        flow.has_moved = true;
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.flow.borrow().source.as_ref().is_some_and(|(incoming, _)| incoming.is_end_stream())
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.flow
            .borrow()
            .source
            .as_ref()
            .map_or_else(SizeHint::default, |(incoming, _)| incoming.size_hint())
    }
}

async fn cut_off_when_still(flow: Rc<RefCell<Flow>>, patience: Duration) {
    loop {
        tokio::time::sleep(patience).await;
        let mut flow = flow.borrow_mut();
        if !std::mem::replace(&mut flow.has_moved, false) {
            flow.source = None;
            flow.waiting.take().into_iter().for_each(Waker::wake);
            return;
        }
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        self.watch.iter().for_each(JoinHandle::abort);
    }
}
