//! Bodies on their way in and out.

use super::delivery::Delivery;
use super::front::BODY_PATIENCE;
use super::passed::Passed;
use crate::clock::Instant;
use crate::traffic::{Content, MAX_RECORDED_BODY};
use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How much of a body that nobody wants is read, in bytes: answered early, its client may still be sending it, and a
/// stream that is cut off takes the answer with it at some clients.
pub const MAX_DRAINED_BYTES: usize = 8 << 20;

/// The `Content-Type` of a request, with its parameters; empty if there is none that can be read.
pub fn content_type(request: &HttpRequest) -> &str {
    request.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A request's body. Its handler reads it, or not; what is left is read and thrown away.
#[derive(Clone)]
pub struct RequestBody(Rc<RefCell<Passing>>);

/// A body, and what of it has been read, as far as that is recorded.
struct Passing {
    incoming: Incoming,
    /// Read ahead, and not yet given to the handler.
    ahead: VecDeque<Bytes>,
    read: Vec<Bytes>,
    bytes_read: usize,
    ended: bool,
    /// A producer reads it: what is left is not to be thrown away.
    passed_on: bool,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming) -> Self {
        RequestBody(Rc::new(RefCell::new(Passing {
            incoming,
            ahead: VecDeque::new(),
            read: Vec::new(),
            bytes_read: 0,
            ended: false,
            passed_on: false,
        })))
    }

    /// Whether there is nothing to read, or no more.
    pub fn is_empty(&self) -> bool {
        let passing = self.0.borrow();
        passing.ahead.is_empty() && passing.incoming.is_end_stream()
    }

    /// Whether nothing of it was read yet.
    pub fn is_untouched(&self) -> bool {
        self.0.borrow().bytes_read == 0
    }

    /// What has been read of it so far, as far as that is kept.
    pub(super) fn read_so_far(&self) -> Bytes {
        match self.0.borrow().read.as_slice() {
            [whole] => whole.clone(),
            pieces => pieces.concat().into(),
        }
    }

    /// The same, with the headers of its request.
    pub(super) fn recorded(&self, headers: HeaderMap) -> Content {
        let content = Content::new(headers, self.read_so_far());
        let cut = self.0.borrow().bytes_read > content.body.len() || !self.is_empty();
        Content { cut, ..content }
    }

    /// What was read ahead, with the headers of its request; cut if that is not the whole body.
    pub(super) fn known_ahead(&self, headers: HeaderMap) -> Content {
        let content = Content::new(headers, self.read_so_far());
        let passing = self.0.borrow();
        let whole =
            passing.bytes_read == content.body.len() && (passing.ended || passing.incoming.is_end_stream());
        Content { cut: !whole, ..content }
    }

    /// Reads the body, or as much of it as is kept, before its handler does; it still gets all of it.
    pub(super) async fn read_ahead(&self, until: Instant) {
        let ahead = async {
            while self.0.borrow().bytes_read < MAX_RECORDED_BODY {
                let Some(Ok(frame)) = poll_fn(|cx| self.poll_incoming(cx)).await else { return };
                self.0.borrow_mut().ahead.extend(frame.into_data().ok());
            }
        };
        let _ = tokio::time::timeout_at(until, ahead).await;
    }

    /// Its bytes, which have to arrive in time: a client that sends headers only holds nothing for ever.
    pub(super) fn until(self, until: Instant) -> BodyInTime {
        BodyInTime { body: self, patience: Box::pin(tokio::time::sleep_until(until)) }
    }

    /// Reads on in the background, at most [`MAX_DRAINED_BYTES`] and [`BODY_PATIENCE`].
    pub(super) fn read_the_rest(self) {
        if self.is_empty() || self.0.borrow().passed_on {
            return;
        }
        tokio::task::spawn_local(async move {
            let mut read = 0;
            let rest = async {
                while let Some(Ok(frame)) = poll_fn(|cx| self.poll_frame(cx)).await {
                    read += frame.data_ref().map_or(0, Bytes::len);
                    if read > MAX_DRAINED_BYTES {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(BODY_PATIENCE, rest).await;
        });
    }

    fn poll_frame(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let ahead = self.0.borrow_mut().ahead.pop_front();
        match ahead {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None => self.poll_incoming(cx),
        }
    }

    fn poll_incoming(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut passing = self.0.borrow_mut();
        let frame = ready!(Pin::new(&mut passing.incoming).poll_frame(cx));
        passing.ended |= frame.is_none();
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            if passing.bytes_read < MAX_RECORDED_BODY {
                passing.read.push(data.clone());
            }
            passing.bytes_read += data.len();
        }
        Poll::Ready(frame)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.0.borrow_mut().passed_on = true;
        RequestBody::poll_frame(&self, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let passing = self.0.borrow();
        match passing.ahead.is_empty() {
            true => passing.incoming.size_hint(),
            false => SizeHint::default(),
        }
    }
}

/// A body that fails once its time is over.
pub(super) struct BodyInTime {
    body: RequestBody,
    patience: Pin<Box<Sleep>>,
}

impl Stream for BodyInTime {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match self.body.poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    ready!(self.patience.as_mut().poll(cx));
                    let late = io::Error::new(io::ErrorKind::TimedOut, "the body did not arrive in time");
                    return Poll::Ready(Some(Err(PayloadError::Io(late))));
                }
            };
            return Poll::Ready(match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    Err(_trailers) => continue,
                },
                Some(Err(error)) => Some(Err(PayloadError::Io(io::Error::other(error)))),
                None => None,
            });
        }
    }
}

/// An answer's body. With a delivery it counts as handed over once hyper asks for it, which it does after the head
/// was written to a stream that is still there.
pub struct ResponseBody {
    source: Source,
    delivery: Option<Delivery>,
}

enum Source {
    Bytes(Bytes),
    /// As it comes from a producer.
    Passed(Passed),
    Stream(BoxBody),
    Trickle {
        left: Bytes,
        bytes: usize,
        every: Duration,
        pause: Pin<Box<Sleep>>,
    },
}

impl ResponseBody {
    /// A body that is at hand.
    pub fn bytes(bytes: Bytes) -> Self {
        ResponseBody { source: Source::Bytes(bytes), delivery: None }
    }

    /// A body that is passed on as it comes, unless it stands still for longer than `patience`; `lease` is kept as long.
    pub fn passed(incoming: Incoming, patience: Duration, lease: Box<dyn std::any::Any>) -> Self {
        ResponseBody { source: Source::Passed(Passed::new(incoming, patience, lease)), delivery: None }
    }

    /// Whether another one has answered.
    pub(super) fn is_passed(&self) -> bool {
        matches!(self.source, Source::Passed(_))
    }

    pub(super) fn actix(body: BoxBody) -> Self {
        match body.size() {
            BodySize::None => ResponseBody::bytes(Bytes::new()),
            _ => match body.try_into_bytes() {
                Ok(bytes) => ResponseBody::bytes(bytes),
                Err(body) => ResponseBody { source: Source::Stream(body), delivery: None },
            },
        }
    }

    /// The same, with whom to tell what becomes of it.
    #[must_use]
    pub fn with_delivery(mut self, delivery: Option<Delivery>) -> Self {
        self.delivery = delivery;
        self
    }

    /// The same, in pieces of `bytes` bytes, `every` so long.
    pub(super) fn trickling(self, bytes: usize, every: Duration) -> Self {
        if self.is_passed() {
            return self;
        }
        let pause = Box::pin(tokio::time::sleep(every));
        let left = self.at_hand();
        ResponseBody { source: Source::Trickle { left, bytes: bytes.max(1), every, pause }, ..self }
    }

    /// Its bytes, if they are at hand.
    pub(super) fn at_hand(&self) -> Bytes {
        match &self.source {
            Source::Bytes(left) | Source::Trickle { left, .. } => left.clone(),
            Source::Stream(_) | Source::Passed(_) => Bytes::new(),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.source {
            Source::Bytes(bytes) => bytes.is_empty(),
            Source::Passed(passed) => passed.is_end_stream(),
            _ => false,
        }
    }

    /// What was made for this answer.
    pub(super) fn take_delivery(&mut self) -> Option<Delivery> {
        self.delivery.take()
    }

    /// Counts as handed over from now on.
    pub(super) fn delivered(&mut self) {
        if let Some(delivery) = self.delivery.take() {
            delivery.done();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        this.delivered();
        match &mut this.source {
            Source::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Source::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Source::Passed(passed) => passed.poll_frame(cx),
            Source::Trickle { left, .. } if left.is_empty() => Poll::Ready(None),
            Source::Trickle { left, bytes, every, pause } => {
                ready!(pause.as_mut().poll(cx));
                pause.as_mut().reset(Instant::now() + *every);
                let piece = left.split_to((*bytes).min(left.len()));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Source::Stream(body) => {
                let next = ready!(body.as_pin_mut().poll_next(cx));
                Poll::Ready(next.map(|r| r.map(Frame::data).map_err(|e| e.to_string().into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.delivery.is_none() && self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        // It is asked for only so that its hand-over is heard of: a 204 must not say a length, RFC 9110 §8.6.
        if self.delivery.is_some() && self.is_empty() {
            return SizeHint::default();
        }
        match &self.source {
            Source::Bytes(left) | Source::Trickle { left, .. } => SizeHint::with_exact(left.len() as u64),
            Source::Passed(passed) => passed.size_hint(),
            Source::Stream(body) => match body.size() {
                BodySize::Sized(size) => SizeHint::with_exact(size),
                _ => SizeHint::default(),
            },
        }
    }
}
