//! Bodies on their way in and out.

use super::delivery::Delivery;
use super::front::BODY_PATIENCE;
use crate::clock::Instant;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::time::Sleep;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How much of a body that nobody wants is read, in bytes: answered early, its client may still be sending it, and a
/// stream that is cut off takes the answer with it at some clients.
pub const MAX_DRAINED_BYTES: usize = 8 << 20;

/// A request's body. Its handler reads it, or not; what is left is read and thrown away.
#[derive(Clone)]
pub struct RequestBody(Rc<RefCell<Incoming>>);

impl RequestBody {
    pub(super) fn new(incoming: Incoming) -> Self {
        RequestBody(Rc::new(RefCell::new(incoming)))
    }

    /// Whether there is nothing to read, or no more.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_end_stream()
    }

    /// Its bytes, which have to arrive in time: a client that sends headers only holds nothing for ever.
    pub(super) fn until(self, until: Instant) -> BodyInTime {
        BodyInTime { body: self, patience: Box::pin(tokio::time::sleep_until(until)) }
    }

    /// Reads on in the background, at most [`MAX_DRAINED_BYTES`] and [`BODY_PATIENCE`].
    pub(super) fn read_the_rest(self) {
        if self.is_empty() {
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
        Pin::new(&mut *self.0.borrow_mut()).poll_frame(cx)
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
    content: Content,
    delivery: Option<Delivery>,
}

enum Content {
    Bytes(Bytes),
    Stream(BoxBody),
}

impl ResponseBody {
    /// A body that is at hand.
    pub fn bytes(bytes: Bytes) -> Self {
        ResponseBody { content: Content::Bytes(bytes), delivery: None }
    }

    pub(super) fn actix(body: BoxBody) -> Self {
        match body.size() {
            BodySize::None => ResponseBody::bytes(Bytes::new()),
            _ => match body.try_into_bytes() {
                Ok(bytes) => ResponseBody::bytes(bytes),
                Err(body) => ResponseBody { content: Content::Stream(body), delivery: None },
            },
        }
    }

    pub(super) fn with_delivery(mut self, delivery: Option<Delivery>) -> Self {
        self.delivery = delivery;
        self
    }

    /// Whether something was made for this answer.
    pub(super) fn has_delivery(&self) -> bool {
        self.delivery.is_some()
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
        match &mut this.content {
            Content::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::Stream(body) => {
                let next = ready!(body.as_pin_mut().poll_next(cx));
                Poll::Ready(next.map(|r| r.map(Frame::data).map_err(|e| e.to_string().into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.delivery.is_none() && matches!(&self.content, Content::Bytes(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Stream(body) => match body.size() {
                BodySize::Sized(size) => SizeHint::with_exact(size),
                _ => SizeHint::default(),
            },
        }
    }
}
