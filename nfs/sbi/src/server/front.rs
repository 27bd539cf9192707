//! The front of an NF on one worker: connections, admission, deadlines of answers, clients that leave.

use super::adapter::{json_response, problem_response};
use super::admission::Admission;
use super::body::ResponseBody;
use super::gone::{Gone, Work};
use super::kind::RequestKind;
use crate::clock::Instant;
use crate::event::{Facts, Kind, TraceId};
use crate::fault::{Effect, Fault, On};
use crate::header::{TRACEPARENT, http_date};
use crate::local::LocalExec;
use crate::net::BoxIo;
use crate::party::{Party, Served};
use crate::policy::{LateRelease, Mode, OnClientGone};
use crate::problem::{Cause, PROBLEM_JSON, ProblemDetails};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use http::header::{CONTENT_TYPE, DATE, HeaderValue, SERVER, USER_AGENT};
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How many streams a connection may have at once; announced as SETTINGS_MAX_CONCURRENT_STREAMS.
pub const MAX_STREAMS_PER_CONNECTION: u32 = 100;

/// How many handlers per worker may go on after their client has left.
pub const MAX_DETACHED: usize = 10_000;

/// The largest header block, in bytes.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;

/// How long a request's body may take to arrive.
pub const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// How long a request may wait behind handlers whose clients left.
pub const QUEUE_PATIENCE: Duration = Duration::from_secs(10);

/// How many streams may be reset before they are accepted until the connection counts as an attack. Clients that
/// cancel on purpose need more than the usual 20.
pub const MAX_PENDING_RESETS: usize = 1_024;

const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How many peers are remembered as told that their stamps have no milliseconds.
const MAX_TOLD: usize = 1_024;

/// Answers an admitted request. The last argument is until when its body has to have arrived.
pub type Handler =
    Rc<dyn Fn(hyper::Request<Incoming>, SocketAddr, Served, Instant) -> LocalBoxFuture<'static, Outcome>>;

/// What a handler came to.
pub enum Outcome {
    /// An answer.
    Answer(hyper::Response<ResponseBody>),
    /// The client has stopped waiting, or is about to.
    TimedOut,
    /// The stream ends without an answer.
    Abort(h2::Reason),
}

impl Outcome {
    /// An error answer.
    pub fn problem(problem: &ProblemDetails) -> Self {
        Outcome::Answer(problem_response(problem))
    }
}

/// What becomes of a stream: an answer, or an error with which it is reset.
pub(super) type End = Result<hyper::Response<ResponseBody>, h2::Error>;

/// Which errors an API wraps as `{"error": {...}}` in `application/json`, by method and path; TS 29.502 §6.1.6.2.11
/// (Rel-17) does for the creation of SM contexts.
pub type WrapsErrors = fn(&Method, &str) -> bool;

/// The front of an NF on one worker.
pub struct Front {
    pub(super) party: Party,
    handler: Handler,
    wraps_errors: WrapsErrors,
    http: auto::Builder<LocalExec>,
    graceful: RefCell<Option<GracefulShutdown>>,
    pub(super) closing: Cell<bool>,
    pub(super) detached: Arc<Semaphore>,
    told: RefCell<BTreeSet<String>>,
    server: HeaderValue,
}

/// What is known of a request before its body is read.
struct Arrival {
    method: Method,
    path: String,
    kind: RequestKind,
    served: Served,
    admission: Admission,
    peer: String,
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
            .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        let server = HeaderValue::from_str(&party.signature()).unwrap_or(HeaderValue::from_static("mock5g"));
        Rc::new(Front {
            party,
            handler,
            wraps_errors,
            http,
            graceful: RefCell::new(Some(GracefulShutdown::new())),
            closing: Cell::new(false),
            detached: Arc::new(Semaphore::new(MAX_DETACHED)),
            told: RefCell::default(),
            server,
        })
    }

    /// Serves one connection to its end.
    pub async fn serve(self: Rc<Self>, io: BoxIo, peer: SocketAddr) {
        let Some(watcher) = self.graceful.borrow().as_ref().map(GracefulShutdown::watcher) else { return };
        let gate = Arc::new(Semaphore::new(MAX_STREAMS_PER_CONNECTION as usize));
        let front = self.clone();
        let service = hyper::service::service_fn(move |request| Work::new(&front, &gate).run(request, peer));
        let connection = watcher.watch(self.http.serve_connection(TokioIo::new(io), service));
        if let Err(error) = connection.await {
            tracing::debug!(%peer, %error, "connection ended");
        }
    }

    /// Says GOAWAY (HTTP/1.1: `Connection: close`) on every connection and waits for them, at most `grace`.
    pub async fn shutdown(&self, grace: Duration) {
        self.closing.set(true);
        let Some(graceful) = self.graceful.borrow_mut().take() else { return };
        let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
    }

    /// The whole life of one request.
    pub(super) async fn respond(
        &self,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
        gone: Rc<Gone>,
    ) -> End {
        let arrival = self.arrive(&request, peer);
        gone.is_about(self.facts(&arrival));
        if let Some(end) = self.fault_on_request(&arrival, &gone).await {
            return end;
        }
        let outcome = match self.admit(&arrival) {
            Some(refused) => refused,
            None => {
                let served = arrival.served;
                let patience = self.now() + BODY_PATIENCE;
                let patience = served.deadline.map_or(patience, |d| d.at().min(patience).max(self.now()));
                (self.handler)(request, peer, served, patience).await
            }
        };
        let end = self.conclude(&arrival, outcome, &gone).await;
        self.fault_on_response(&arrival, end, &gone).await
    }

    fn arrive(&self, request: &hyper::Request<Incoming>, peer: SocketAddr) -> Arrival {
        let (headers, env) = (request.headers(), &self.party.env);
        let policy = &self.party.policy.deadline;
        let admission = Admission::read(headers, policy, &env.clock);
        let path = request.uri().path().to_owned();
        let kind = RequestKind::of(request.method(), &path);
        let only_releases = kind == RequestKind::Release && policy.late_release == LateRelease::Perform;
        let served = Served {
            request: env.events.next_request(),
            trace: trace_of(headers).unwrap_or_else(|| Served::own(&self.party).trace),
            deadline: admission.deadline,
            only_releases,
            own_timer: None,
        };
        let peer = peer_name(headers).unwrap_or_else(|| peer.to_string());
        let arrival = Arrival { method: request.method().clone(), path, kind, served, admission, peer };
        self.party.emit(Kind::RequestReceived, self.facts(&arrival));
        self.tell_timing(&arrival);
        arrival
    }

    fn facts(&self, arrival: &Arrival) -> Facts {
        Facts {
            peer: Some(arrival.peer.clone()),
            method: Some(arrival.method.to_string()),
            uri: Some(arrival.path.clone()),
            ..arrival.served.facts(&self.party)
        }
    }

    fn tell_timing(&self, arrival: &Arrival) {
        let Admission { malformed, completed, skew_ms, .. } = &arrival.admission;
        if let Some(malformed) = malformed {
            tracing::warn!(nf = %self.party.name, peer = arrival.peer, "ignored: {}: {}", malformed.header, malformed.reason);
            let what = format!("{}: {}", malformed.header, malformed.reason);
            self.party.emit(Kind::TimingMalformed, self.facts(arrival).detail(what));
        }
        if let Some(age) = skew_ms {
            let what =
                format!("the stamp is {age} ms old by this NF's clock: are both clocks NTP-synchronised?");
            tracing::warn!(nf = %self.party.name, peer = arrival.peer, "{what}");
            self.party.emit(Kind::SkewObserved, self.facts(arrival).detail(what));
        }
        if *completed && self.first_time(&arrival.peer) {
            let what = "3gpp-Sbi-Sender-Timestamp has no milliseconds: read as .999";
            tracing::warn!(nf = %self.party.name, peer = arrival.peer, "{what}");
            self.party.emit(Kind::TimingCompleted, self.facts(arrival).detail(what));
        }
    }

    fn first_time(&self, peer: &str) -> bool {
        let mut told = self.told.borrow_mut();
        told.len() < MAX_TOLD && told.insert(peer.to_owned())
    }

    /// The check on receipt: an outcome if the request is not admitted.
    fn admit(&self, arrival: &Arrival) -> Option<Outcome> {
        let policy = &self.party.policy.deadline;
        match &arrival.admission.malformed {
            Some(malformed) if policy.strict => return Some(Outcome::problem(&malformed.problem())),
            _ => {}
        }
        arrival.admission.is_late(arrival.kind, policy, &self.party.env.clock).then_some(Outcome::TimedOut)
    }

    /// The last checkpoint: no success after the deadline, no 504 before it.
    async fn conclude(&self, arrival: &Arrival, outcome: Outcome, gone: &Gone) -> End {
        let end = match outcome {
            Outcome::Abort(reason) => return Err(reason.into()),
            Outcome::TimedOut => self.refuse(arrival).await,
            Outcome::Answer(answer) if answer.status().is_success() && self.is_over(arrival) => {
                self.undeliverable(arrival, answer, "its client's time is over");
                self.refuse(arrival).await
            }
            Outcome::Answer(answer) if gone.is_gone() && answer.status().is_success() => {
                self.undeliverable(arrival, answer, "its client is gone");
                return Err(h2::Reason::CANCEL.into());
            }
            Outcome::Answer(answer) => Ok(self.shape(arrival, answer).await),
        };
        end.map(|answer| self.sign(answer))
    }

    fn is_over(&self, arrival: &Arrival) -> bool {
        arrival.served.deadline.is_some_and(|d| d.expired(self.now()))
    }

    /// Lets go of a success. What it had made is released by its delivery, unless policy keeps it.
    fn undeliverable(&self, arrival: &Arrival, answer: hyper::Response<ResponseBody>, why: &str) {
        let mut body = answer.into_body();
        if !body.has_delivery() {
            return;
        }
        self.party.emit(Kind::ResponseUndeliverable, self.facts(arrival).detail(why));
        if self.party.policy.deadline.on_client_gone == OnClientGone::Keep {
            body.delivered();
        }
    }

    /// 504 `TIMED_OUT_REQUEST` once the deadline has passed (before it, the statement would not be true), or nothing.
    async fn refuse(&self, arrival: &Arrival) -> End {
        let Some(deadline) = arrival.served.deadline else {
            return Ok(problem_response(&ProblemDetails::new(
                Cause::TargetNfNotReachable,
                "the work took too long",
            )));
        };
        tokio::time::sleep_until(deadline.at()).await;
        if self.party.policy.deadline.mode == Mode::Drop {
            self.party.emit(Kind::RequestDroppedLate, self.facts(arrival));
            return Err(h2::Reason::CANCEL.into());
        }
        let detail = deadline.explain(self.now(), &self.party.env.clock);
        self.party.emit(Kind::RequestRefusedLate, self.facts(arrival).detail(detail.clone()).status(504));
        let problem = ProblemDetails::new(Cause::TimedOutRequest, detail);
        Ok(self.shape(arrival, problem_response(&problem)).await)
    }

    /// Gives an error the form in which its API wants it.
    async fn shape(
        &self,
        arrival: &Arrival,
        answer: hyper::Response<ResponseBody>,
    ) -> hyper::Response<ResponseBody> {
        let is_problem = answer.headers().get(CONTENT_TYPE).is_some_and(|v| v == PROBLEM_JSON);
        if !is_problem || !(self.wraps_errors)(&arrival.method, &arrival.path) {
            return answer;
        }
        let (parts, body) = answer.into_parts();
        let problem = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
        let wrapped = [b"{\"error\":", problem.as_ref(), b"}"].concat();
        json_response(parts.status, "application/json", Bytes::from(wrapped))
    }

    /// `Server` says who answers, TS 29.500 §6.10.8.2 (Rel-17); `Date` is by this NF's clock.
    fn sign(&self, mut answer: hyper::Response<ResponseBody>) -> hyper::Response<ResponseBody> {
        let date = http_date(self.party.env.clock.unix_us().div_euclid(1000));
        if let Ok(date) = HeaderValue::from_bytes(&date) {
            answer.headers_mut().insert(DATE, date);
        }
        answer.headers_mut().insert(SERVER, self.server.clone());
        answer
    }

    fn fault(&self, arrival: &Arrival, on: On) -> Option<Fault> {
        let fault =
            self.party.env.faults.take(&self.party.name, on, arrival.method.as_str(), &arrival.path)?;
        let what = format!("{}: {:?} after {} ms", fault.rule, fault.effect, fault.delay.as_millis());
        self.party.emit(Kind::FaultApplied, self.facts(arrival).detail(what));
        Some(fault)
    }

    async fn fault_on_request(&self, arrival: &Arrival, gone: &Gone) -> Option<End> {
        let fault = self.fault(arrival, On::Request)?;
        tokio::time::sleep(fault.delay).await;
        match fault.effect {
            Effect::Proceed | Effect::LoseResponse | Effect::RefuseConnection => None,
            Effect::Status(status, body) => Some(Ok(self.sign(altered(status, body)))),
            Effect::Drop => Some(hold(fault.hold, gone).await),
            Effect::Reset(code) => Some(Err(h2::Reason::from(code).into())),
        }
    }

    /// Faults on an answer that has been handed over: what happens to it now is the network's doing.
    async fn fault_on_response(&self, arrival: &Arrival, end: End, gone: &Gone) -> End {
        let status = end.as_ref().ok().map(|answer| answer.status().as_u16());
        let end = match self.fault(arrival, On::Response) {
            None => end,
            Some(fault) => apply_to_response(fault, end, gone).await,
        };
        if let (Some(_), Ok(answer)) = (status, &end) {
            self.party.emit(Kind::ResponseSent, self.facts(arrival).status(answer.status().as_u16()));
        }
        end
    }

    fn now(&self) -> Instant {
        self.party.env.clock.now()
    }
}

async fn apply_to_response(fault: Fault, end: End, gone: &Gone) -> End {
    let mut answer = end?;
    answer.body_mut().delivered();
    tokio::time::sleep(fault.delay).await;
    match fault.effect {
        Effect::Proceed | Effect::RefuseConnection => Ok(answer),
        Effect::Status(status, None) => {
            *answer.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
            Ok(answer)
        }
        Effect::Status(status, body) => Ok(altered(status, body)),
        Effect::Reset(code) => Err(h2::Reason::from(code).into()),
        Effect::Drop | Effect::LoseResponse => hold(fault.hold, gone).await,
    }
}

fn altered(status: u16, body: Option<String>) -> hyper::Response<ResponseBody> {
    match body {
        Some(body) => {
            let status = http::StatusCode::from_u16(status).unwrap_or_default();
            json_response(status, "application/json", body.into())
        }
        None => problem_response(&ProblemDetails::plain(status, "a fault rule answers so")),
    }
}

/// Keeps the stream open until the client resets it, at most `most`.
async fn hold(most: Duration, gone: &Gone) -> End {
    let _ = tokio::time::timeout(most, gone.wait()).await;
    Err(h2::Reason::CANCEL.into())
}

fn trace_of(headers: &HeaderMap) -> Option<TraceId> {
    TraceId::from_traceparent(headers.get(TRACEPARENT)?.to_str().ok()?)
}

/// The NF type that `User-Agent` begins with, in lower case. TS 29.500 §5.2.2.2 (Rel-17): it should be there.
fn peer_name(headers: &HeaderMap) -> Option<String> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    let name = agent.split(['-', ' ', '/']).next().filter(|n| !n.is_empty())?;
    Some(name.to_ascii_lowercase().chars().take(32).collect())
}
