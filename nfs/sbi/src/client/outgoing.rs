//! The body of a request on its way out.

use crate::server::RequestBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::pin::Pin;
use std::task::{Context, Poll};

/// One that is at hand, or one that is passed on as it comes.
pub(super) enum Outgoing {
    Whole(Full<Bytes>),
    Passed(RequestBody),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Outgoing::Whole(whole) => Pin::new(whole).poll_frame(cx).map_err(|never| match never {}),
            Outgoing::Passed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Outgoing::Whole(whole) => whole.is_end_stream(),
            Outgoing::Passed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(whole) => whole.size_hint(),
            Outgoing::Passed(body) => body.size_hint(),
        }
    }
}
