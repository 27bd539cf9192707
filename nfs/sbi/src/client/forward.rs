//! Passing requests on: an SCP's or SEPP's client. Bodies stream in both directions, and are never whole.

use super::peer::{Lane, Lease, Missed};
use super::{Client, MAX_REPEATS, NoAnswer};
use crate::clock::Instant;
use crate::server::{RequestBody, ResponseBody};
use http::response::Parts;
use hyper::body::Incoming;
use std::time::Duration;

/// A producer's answer: its head, and a body that is still to come.
pub struct Forwarded {
    /// The head, as it came.
    pub head: Parts,
    incoming: Incoming,
    lease: Lease,
}

impl Forwarded {
    /// The answer, to be passed on; its body is cut off if it stands still for longer than `patience`.
    pub fn into_answer(self, patience: Duration) -> hyper::Response<ResponseBody> {
        let body = ResponseBody::passed(self.incoming, patience, Box::new(self.lease));
        hyper::Response::from_parts(self.head, body)
    }
}

impl Client {
    /// Sends a request that `make` makes when there is a connection to `authority`, if there is still one to make, and waits for the head of its answer.
    /// Getting a connection ends at `until`; what follows is bounded by the caller.
    ///
    /// A request that certainly was not processed is sent again, unless some of its body has left.
    pub async fn forward(
        &self,
        authority: &str,
        lane: Lane,
        until: Instant,
        make: impl Fn() -> Option<http::Request<RequestBody>>,
    ) -> Result<Forwarded, NoAnswer> {
        let mut repeats = 0;
        loop {
            let lease = self.lease(authority, lane, until).await?;
            let request = make().ok_or_else(|| NoAnswer::NotSent("its client waits no longer".into()))?;
            let body = request.body().clone();
            match lease.forward(request).await {
                Ok((answer, lease)) => {
                    let (head, incoming) = answer.into_parts();
                    return Ok(Forwarded { head, incoming, lease });
                }
                Err(Missed::Refused(_) | Missed::Stale(_))
                    if repeats < MAX_REPEATS && body.is_untouched() =>
                {
                    repeats += 1;
                }
                Err(missed) => return Err(missed.into()),
            }
        }
    }
}
