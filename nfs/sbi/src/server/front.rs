//! The front of an NF on one worker: its connections, and the way of a request through it.

use super::accept::Connection;
use super::adapter::problem_response;
use super::arrival::Arrival;
use super::body::{RequestBody, ResponseBody};
use super::gone::{Gone, Line, Work};
use crate::clock::Instant;
use crate::event::{Facts, Kind};
use crate::goaway;
use crate::local::LocalExec;
use crate::net::STREAM_WINDOW;
use crate::party::{Party, Served};
use crate::problem::{Cause, ProblemDetails, Progress};
use crate::skew::Ears;
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use http::header::HeaderValue;
use http::{Method, StatusCode};
use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// How many streams a connection may have at once; announced as SETTINGS_MAX_CONCURRENT_STREAMS.
pub const MAX_STREAMS_PER_CONNECTION: u32 = 100;

/// How many requests one worker of an NF works on at once, those whose clients have left included; more get 503.
pub const MAX_RUNNING: usize = 10_000;

/// The largest header block, in bytes.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;

/// How long a request's body may take to arrive, and an HTTP/1.1 request's headers.
pub const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// How long a request may wait behind handlers whose clients left.
pub const QUEUE_PATIENCE: Duration = Duration::from_secs(10);

/// How many streams may be reset before they are accepted until the connection counts as an attack. Clients that
/// cancel on purpose need more than the usual 20. The default of `sbi.max_pending_resets`.
pub const MAX_PENDING_RESETS: usize = 1_024;

const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers an admitted request. The last argument is until when its body has to have arrived.
pub type Handler =
    Rc<dyn Fn(hyper::Request<RequestBody>, SocketAddr, Served, Instant) -> LocalBoxFuture<'static, Outcome>>;

/// What a handler came to.
pub enum Outcome {
    /// An answer.
    Answer(hyper::Response<ResponseBody>),
    /// The client has stopped waiting, or is about to.
    TimedOut(PassedOn),
}

/// How far an SCP came with a request that it has no answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOn {
    /// How far.
    pub progress: Progress,
    /// To a producer at this apiRoot; it is not known to whom if the next SCP has found one.
    pub to: Option<HeaderValue>,
}

impl PassedOn {
    /// Not at all.
    pub const NO: PassedOn = PassedOn { progress: Progress::No, to: None };
}

impl Outcome {
    /// An error answer.
    pub fn problem(problem: &ProblemDetails) -> Self {
        Outcome::Answer(problem_response(problem))
    }

    /// The client has stopped waiting, and nobody else was asked.
    pub fn timed_out() -> Self {
        Outcome::TimedOut(PassedOn::NO)
    }
}

/// What becomes of a stream: an answer, or an error with which it is reset.
pub(super) type End = Result<hyper::Response<ResponseBody>, h2::Error>;

/// Which errors an API wraps as `{"error": {...}}` in `application/json`, by method, path and status; TS 29.502 §6.1.3.2.3.1
/// (Rel-17) does for the creation of SM contexts.
pub type WrapsErrors = fn(&Method, &str, StatusCode) -> bool;

/// The front of an NF on one worker.
pub struct Front {
    pub(super) party: Party,
    pub(super) handler: Handler,
    pub(super) wraps_errors: WrapsErrors,
    http: auto::Builder<LocalExec>,
    pub(super) closing: watch::Sender<bool>,
    pub(super) running: Arc<Semaphore>,
    pub(super) told: RefCell<BTreeSet<String>>,
    pub(super) ears: Ears,
    pub(super) server: HeaderValue,
}

impl Front {
    /// A front for `handler`.
    pub fn new(party: Party, handler: Handler, wraps_errors: WrapsErrors) -> Rc<Self> {
        let mut http = auto::Builder::new(LocalExec);
        http.http1()
            .timer(TokioTimer::new())
            .auto_date_header(false)
            .header_read_timeout(BODY_PATIENCE)
            .max_buf_size(MAX_HEADER_BYTES);
        http.http2()
            .timer(TokioTimer::new())
            .auto_date_header(false)
            .max_concurrent_streams(MAX_STREAMS_PER_CONNECTION)
            .max_header_list_size(MAX_HEADER_BYTES as u32)
            // A body that nobody reads holds up no other.
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(STREAM_WINDOW * MAX_STREAMS_PER_CONNECTION)
            .max_pending_accept_reset_streams(party.policy.max_pending_resets)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        let server = HeaderValue::from_str(&party.signature()).unwrap_or(HeaderValue::from_static("mock5g"));
        Rc::new(Front {
            party,
            handler,
            wraps_errors,
            http,
            closing: watch::Sender::new(false),
            running: Arc::new(Semaphore::new(MAX_RUNNING)),
            told: RefCell::default(),
            ears: Ears::default(),
            server,
        })
    }

    /// Serves one connection to its end.
    pub async fn serve(self: Rc<Self>, connection: Connection) {
        let peer = connection.peer;
        let io = match connection.open() {
            Ok(io) => io,
            Err(error) => return tracing::warn!(%peer, %error, "a connection could not be taken over"),
        };
        let (mut closing, line, front) = (self.closing.subscribe(), Rc::new(Line::default()), self.clone());
        let of_connection = line.clone();
        let service = hyper::service::service_fn(move |request| Work::new(&front, &line).run(request, peer));
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), service));
        let leave = async {
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => {}
                () = of_connection.goaway() => {}
            }
        };
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = leave => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
            self.tell_goaway(peer, &*error);
        }
    }

    /// A connection that ended in an error: an event, and a line in the log once per client and kind.
    fn tell_goaway(&self, peer: SocketAddr, error: &(dyn std::error::Error + 'static)) {
        let Some((from, reason)) = goaway::at_the_end(error) else { return };
        let kind = match from {
            goaway::From::Us => Kind::GoawaySent,
            goaway::From::Peer => Kind::GoawayReceived,
        };
        let name = goaway::name_of(reason);
        let what = match (from, reason) {
            (goaway::From::Us, h2::Reason::ENHANCE_YOUR_CALM) => {
                format!("{name}: too many streams were reset; sbi.max_pending_resets may allow more")
            }
            _ => name,
        };
        if self.first_time(kind, &peer.ip().to_string()) {
            tracing::warn!(nf = %self.party.name, %peer, "{}: {what}", kind.as_str());
        }
        let peer = Some(peer.to_string().into());
        self.party.emit(kind, Facts { peer, ..Facts::default() }.detail(what));
    }

    /// Says GOAWAY (HTTP/1.1: `Connection: close`) on every connection and waits for them, at most `grace`.
    pub async fn shutdown(&self, grace: Duration) {
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(grace, self.closing.closed()).await;
    }

    /// The whole life of one request. What happens seldom is in boxes of its own on this way: what a future could ever need
    /// is room that every request has to carry.
    pub(super) async fn respond(
        self: Rc<Self>,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
        gone: Rc<Gone>,
        crowded: bool,
    ) -> End {
        let request = request.map(RequestBody::new);
        let version = request.version();
        let mut arrival = self.arrive(&request, peer);
        let end = match crowded {
            true => self.conclude(&arrival, crowd(), &gone).await,
            false => self.end_of(request, &mut arrival, peer, &gone).await,
        };
        self.record(&mut arrival, end.as_ref().ok());
        let mut answer = end?;
        arrival.body.read_the_rest();
        if arrival.method == Method::HEAD && answer.status() != http::StatusCode::NO_CONTENT {
            leave_out_body(&mut answer);
        }
        // Over HTTP/1.1 nobody asks for the body of an answer that has none.
        if version < http::Version::HTTP_2 && has_no_body(&answer) {
            answer.body_mut().delivered();
        }
        Ok(answer)
    }

    async fn end_of(
        &self,
        request: hyper::Request<RequestBody>,
        arrival: &mut Arrival,
        peer: SocketAddr,
        gone: &Gone,
    ) -> End {
        gone.is_about(self.facts(arrival));
        if let Some(end) = self.fault_on_request(arrival, gone).await {
            return end;
        }
        let mut refused = self.admit(arrival);
        if matches!(refused, Some(Outcome::TimedOut(_))) && self.lets_through(arrival).await {
            refused = None;
            arrival.served.deadline = None;
        }
        let outcome = match refused {
            Some(refused) => refused,
            None => {
                let served = arrival.served;
                let patience = self.now() + BODY_PATIENCE;
                let patience = served.work_deadline().map_or(patience, |d| d.at().min(patience));
                match self.judge(arrival, patience).await {
                    Some(refused) => refused,
                    None => (self.handler)(request, peer, served, patience).await,
                }
            }
        };
        let end = self.conclude(arrival, outcome, gone).await;
        self.fault_on_response(arrival, end, gone).await
    }

    /// The check on receipt: an outcome if the request is not admitted.
    fn admit(&self, arrival: &Arrival) -> Option<Outcome> {
        let policy = &self.party.policy.deadline;
        match &arrival.admission.malformed {
            Some(malformed) if policy.strict => return Some(Outcome::problem(&malformed.problem())),
            _ => {}
        }
        arrival.admission.is_late(arrival.kind, policy, &self.party.env.clock).then(Outcome::timed_out)
    }

    pub(super) fn now(&self) -> Instant {
        self.party.env.clock.now()
    }
}

fn crowd() -> Outcome {
    Outcome::problem(&ProblemDetails::new(Cause::NfCongestion, "too many requests are being worked on"))
}

fn has_no_body(answer: &hyper::Response<ResponseBody>) -> bool {
    let says_none = |length: &HeaderValue| length.as_bytes() == b"0";
    answer.status() == StatusCode::NO_CONTENT
        || answer.headers().get(http::header::CONTENT_LENGTH).is_some_and(says_none)
}

/// An answer to HEAD: it tells how long its body is, and has none. hyper leaves it out over HTTP/1.1 only.
fn leave_out_body(answer: &mut hyper::Response<ResponseBody>) {
    // What another one has said of it stays.
    if let Some(length) = answer.body().size_hint().exact().filter(|_| !answer.body().is_passed()) {
        answer.headers_mut().insert(http::header::CONTENT_LENGTH, length.into());
    }
    *answer.body_mut() = ResponseBody::bytes(Bytes::new());
}
