//! Calls upstream, bounded by the deadline of the request that is being served.
//!
//! A call waits at most until its [`Budget`] ends; it says so upstream with a fresh pair of timing headers. The
//! client keeps its own connections per peer ([`peer`]), one of them for releases only.

mod budget;
mod call;
mod forward;
mod outgoing;
mod peer;
mod recorder;
mod schema_point;
mod settling;
mod written_call;

pub use budget::{Bound, Budget};
pub use call::{Answer, Call, MAX_ANSWER_BYTES, TimingMode, location_in, resolve};
pub(crate) use call::{authority, encoded, last_segment};
pub use forward::Forwarded;
pub use peer::{ANSWER_BODY_PATIENCE, Lane, MAX_CONNECTIONS_PER_PEER, NoAnswer};
pub use settling::{MAX_SETTLING, Place, Settling};

use crate::clock::Instant;
use crate::env::Env;
use crate::event::{Facts, Kind};
use crate::fault::{Effect, Fault, On, Subject};
use crate::header;
use crate::nrf::{Discovery, Located, delegated, is_stand_in};
use crate::party::{NfType, Party, ScpLink, Served};
use crate::skew::Ears;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderName, HeaderValue, SERVER, USER_AGENT};
use peer::{Missed, Peer};
use recorder::Recorder;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many peers a client remembers. Their addresses come from outside; beyond this, idle ones are forgotten.
pub const MAX_PEERS: usize = 1_024;

/// How often a request is sent again that its peer says it did not process.
const MAX_REPEATS: usize = 1;

/// Answers calls without a network: a producer that lives in the same process.
pub type InProcess = Rc<dyn Fn(&Call) -> Answer>;

/// An NF's client on one worker.
pub struct Client {
    party: Party,
    peers: RefCell<BTreeMap<String, Rc<Peer>>>,
    in_process: RefCell<BTreeMap<String, InProcess>>,
    settling: Settling,
    ears: Ears,
    discovery: Discovery,
}

/// Why an upstream call brought no success.
#[derive(Debug)]
pub enum Upstream {
    /// The client of the served request has stopped waiting, or is about to.
    TimedOut,
    /// This NF's own timer ended first, or the upstream says so (504 `TIMED_OUT_REQUEST` to a budget of our own).
    OwnTimer(Option<Box<Answer>>),
    /// The upstream could not be reached: the request was not processed.
    NotReachable(String),
    /// The upstream ended the exchange without an answer: the request may have been processed.
    Unanswered(String),
    /// The upstream answered with an error.
    Refused(Box<Answer>),
    /// This NF may create nothing more for now; the text says why.
    Congested(String),
}

impl Client {
    /// A client of `party`, for the thread it is made on.
    pub fn new(party: Party) -> Rc<Self> {
        Rc::new(Client {
            party,
            peers: RefCell::default(),
            in_process: RefCell::default(),
            settling: Settling::default(),
            ears: Ears::default(),
            discovery: Discovery::default(),
        })
    }

    /// The NF whose client this is.
    pub fn party(&self) -> &Party {
        &self.party
    }

    /// Lets `service` answer the calls to `authority`.
    pub fn mount(&self, authority: impl Into<String>, service: InProcess) {
        self.in_process.borrow_mut().insert(authority.into(), service);
    }

    /// Asks an upstream for something that creates nothing: when the wait ends, the call is cancelled.
    pub async fn ask(&self, served: &Served, call: Call) -> Result<Answer, Upstream> {
        let budget = self.budget(served)?;
        let call = match self.located(served, &call, &budget).await? {
            Some(located) => Call { uri: located.apply(&call.uri), ..call },
            None => call,
        };
        let facts = self.sent(served, &call, &budget);
        let outcome =
            tokio::time::timeout_at(budget.until(), self.exchange(served, call, Lane::Calls, &budget));
        let answer = self.judge(served, &budget, facts, outcome.await.ok())?;
        match answer.cut_off {
            true => Err(Upstream::Unanswered("the body of the answer is incomplete or too long".into())),
            false => Ok(answer),
        }
    }

    /// Sends a request that says nothing of its own about deadlines: what its headers say is the caller's business.
    /// Bounded by this NF's own timer; dropping the future resets the stream.
    pub async fn request_as_is(&self, served: &Served, call: Call) -> Result<Answer, NoAnswer> {
        let budget = Budget::own(self.party.policy.max_rsp_time, self.now());
        let call = Call { timing: TimingMode::Omitted, ..call };
        let silence =
            NoAnswer::Unknown { why: "no answer within this client's own timer".into(), ended: false };
        let outcome =
            tokio::time::timeout_at(budget.until(), self.exchange(served, call, Lane::Calls, &budget));
        outcome.await.unwrap_or(Err(silence))
    }

    /// Where the producer of a call is, if the NRF has to be asked; with the event that says that it is not to be found.
    pub(crate) async fn located(
        &self,
        served: &Served,
        call: &Call,
        budget: &Budget,
    ) -> Result<Option<Located>, Upstream> {
        if self.scp_for(call).is_some_and(ScpLink::delegates) {
            return Ok(None);
        }
        match self.locate(served, &call.uri, budget).await {
            Ok(located) => Ok(located),
            Err(why) => {
                let missed = self.judge(served, budget, self.facts(served, call), Some(Err(why)));
                missed.map(|_| None)
            }
        }
    }

    /// What was found at the NRF.
    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// What is left for a call of the served request.
    pub(crate) fn budget(&self, served: &Served) -> Result<Budget, Upstream> {
        Budget::of(served, &self.party.policy, self.now()).ok_or(Upstream::TimedOut)
    }

    /// Emits `upstream.sent`; the facts serve for what follows.
    pub(crate) fn sent(&self, served: &Served, call: &Call, budget: &Budget) -> Facts {
        let facts = self.facts(served, call);
        let left = budget.left_ms(self.now());
        self.party.emit(Kind::UpstreamSent, Facts { budget_left_ms: Some(left), ..facts.clone() });
        facts
    }

    /// The facts of a call, for events.
    pub(crate) fn facts(&self, served: &Served, call: &Call) -> Facts {
        Facts {
            peer: Some(self.party.env.directory.name(call.authority())),
            method: Some(call.method.clone()),
            uri: Some(call.uri.as_str().into()),
            ..served.facts(&self.party)
        }
    }

    /// Turns what came of a call (nothing, if the wait ended) into its result, with the event that says so.
    pub(crate) fn judge(
        &self,
        served: &Served,
        budget: &Budget,
        facts: Facts,
        outcome: Option<Result<Answer, NoAnswer>>,
    ) -> Result<Answer, Upstream> {
        let left = served.facts(&self.party).budget_left_ms.unwrap_or_else(|| budget.left_ms(self.now()));
        let facts = Facts { budget_left_ms: Some(left), ..facts };
        let in_time = self.now() < budget.until();
        match outcome {
            Some(Ok(answer)) if in_time => {
                let facts = facts.status(answer.status.as_u16());
                let refusal = (!answer.status.is_success()).then(|| answer.problem().told()).flatten();
                self.party.emit(Kind::UpstreamAnswered, Facts { detail: refusal, ..facts });
                self.accept(answer, budget)
            }
            Some(Err(no_answer)) if in_time => {
                self.party.emit(Kind::UpstreamFailed, facts.detail(no_answer.to_string()));
                Err(match no_answer {
                    NoAnswer::NotSent(why) => Upstream::NotReachable(why),
                    NoAnswer::Unknown { why, .. } => Upstream::Unanswered(why),
                })
            }
            _ => {
                self.party.emit(Kind::UpstreamTimedOut, facts);
                Err(budget.passed())
            }
        }
    }

    /// A 504 `TIMED_OUT_REQUEST` to a budget that was passed on is our own client's timeout (our choice).
    fn accept(&self, answer: Answer, budget: &Budget) -> Result<Answer, Upstream> {
        match answer.status.is_success() {
            true => Ok(answer),
            false if answer.is_timed_out() && budget.bound() == Bound::OwnTimer => {
                Err(Upstream::OwnTimer(Some(Box::new(answer))))
            }
            false if answer.is_timed_out() => Err(Upstream::TimedOut),
            false => Err(Upstream::Refused(Box::new(answer))),
        }
    }

    /// Sends one request and receives its answer. Getting a connection ends with the budget; what follows is bounded
    /// by the caller. Dropping the future resets the stream.
    pub(crate) async fn exchange(
        &self,
        served: &Served,
        call: Call,
        lane: Lane,
        budget: &Budget,
    ) -> Result<Answer, NoAnswer> {
        let ready = self.connect(served, &call, lane, budget.until()).await?;
        self.send(ready, served, call, lane, budget).await
    }

    /// Sends a request; again, while its time is not over, if it certainly was not processed: once if its peer says so
    /// (REFUSED_STREAM or GOAWAY, RFC 9113 §8.7), and on another connection if it never left.
    pub(crate) async fn send(
        &self,
        ready: Ready,
        served: &Served,
        call: Call,
        lane: Lane,
        budget: &Budget,
    ) -> Result<Answer, NoAnswer> {
        let (mut ready, mut refused, mut stale) = (ready, 0, 0);
        loop {
            let missed = match self.send_once(ready, served, &call, budget).await? {
                Ok(answer) => return Ok(answer),
                Err(missed) => missed,
            };
            let why = match &missed {
                Missed::Refused(why) if refused < MAX_REPEATS => why,
                Missed::Stale(why) if stale < MAX_CONNECTIONS_PER_PEER => why,
                _ => return Err(self.unanswered(missed, &call)),
            };
            if self.now() >= budget.until() {
                return Err(missed.into());
            }
            self.party.emit(Kind::UpstreamRepeated, self.facts(served, &call).detail(why));
            match missed {
                Missed::Refused(_) => refused += 1,
                _ => stale += 1,
            }
            ready = self.connect(served, &call, lane, budget.until()).await?;
        }
    }

    /// Why there is no answer. That an SCP is lost says nothing of the producer that it may have asked.
    fn unanswered(&self, missed: Missed, call: &Call) -> NoAnswer {
        match NoAnswer::from(missed) {
            NoAnswer::Unknown { why, .. } if self.scp_for(call).is_some() => {
                NoAnswer::Unknown { why, ended: false }
            }
            no_answer => no_answer,
        }
    }

    async fn send_once(
        &self,
        ready: Ready,
        served: &Served,
        call: &Call,
        budget: &Budget,
    ) -> Result<Result<Answer, Missed>, NoAnswer> {
        match ready {
            Ready::InProcess(service) => Ok(Ok(service(call))),
            Ready::Connected(lease) => {
                let request = self.request(served, call, budget)?;
                let recorder = Recorder::of(&self.party, served, call, &request);
                self.learn(call, &request);
                let sent = self.now();
                let outcome = lease.send(request).await;
                recorder.end(outcome.as_ref().ok());
                if let Ok(answer) = &outcome {
                    self.listen(answer, sent);
                    self.judge_answer(served, call, answer);
                    if answer.is_silence() && self.scp_for(call).is_some() {
                        self.discovery.pass_over(call.authority());
                    }
                }
                Ok(outcome)
            }
        }
    }

    /// What an answer tells of its sender's clock. Who does not sign it is not listened to.
    fn listen(&self, answer: &Answer, sent: Instant) {
        if let (Some(signature), Some(date)) = (answer.headers.get(SERVER), answer.headers.get(DATE)) {
            self.ears.heard_answer(&self.party, signature, date, self.now() - sent);
        }
    }

    /// A connection with room for `call`, or the in-process producer.
    pub(crate) async fn connect(
        &self,
        served: &Served,
        call: &Call,
        lane: Lane,
        until: Instant,
    ) -> Result<Ready, NoAnswer> {
        self.fault_on_send(served, call).await?;
        let scp = self.scp_for(call);
        match call.scheme() {
            "http" => {}
            _ if is_stand_in(&call.uri) && scp.is_some_and(ScpLink::delegates) => {}
            NOBODY => return Err(NoAnswer::NotSent(nobody(call.authority()))),
            _ => {
                let why = format!("expected http://host[:port]/path, but found {}", call.uri);
                return Err(NoAnswer::NotSent(why));
            }
        }
        let in_process = self.in_process.borrow().get(call.authority()).cloned();
        if let Some(service) = in_process {
            return Ok(Ready::InProcess(service));
        }
        let next = scp.map_or(call.authority(), |scp| authority(scp.root()));
        self.lease(next, lane, until).await.map(Ready::Connected)
    }

    /// A stream on a connection to `authority`.
    async fn lease(&self, authority: &str, lane: Lane, until: Instant) -> Result<peer::Lease, NoAnswer> {
        let peer = self.peer(authority)?;
        if let Some(lease) = peer.lease_now(lane) {
            return Ok(lease);
        }
        let leased = Box::pin(tokio::time::timeout_at(until, peer.lease(&self.party, lane))).await;
        let leased = leased.map_err(|_| NoAnswer::NotSent("no connection came free in time".into()))?;
        if leased.is_err() {
            self.discovery.pass_over(authority);
        }
        leased
    }

    async fn fault_on_send(&self, served: &Served, call: &Call) -> Result<(), NoAnswer> {
        let Some(fault) = self.fault(served, call) else { return Ok(()) };
        self.party.emit(Kind::FaultApplied, self.facts(served, call).detail(fault.to_string()));
        tokio::time::sleep(fault.delay).await;
        match fault.effect {
            Effect::RefuseConnection => Err(NoAnswer::NotSent("connection refused (by a fault rule)".into())),
            _ => Ok(()),
        }
    }

    fn fault(&self, served: &Served, call: &Call) -> Option<Fault> {
        let faults = &self.party.env.faults;
        if !faults.any() {
            return None;
        }
        let subject = Subject {
            nf: &self.party.name,
            peer: &self.party.env.directory.name(call.authority()),
            method: &call.method,
            path: call.path(),
            headers: &call.headers,
            body: &call.body,
            deadline: served.deadline.as_ref(),
        };
        faults.take(On::Send, &subject, self.now())
    }

    fn peer(&self, authority: &str) -> Result<Rc<Peer>, NoAnswer> {
        let mut peers = self.peers.borrow_mut();
        if let Some(peer) = peers.get(authority) {
            return Ok(peer.clone());
        }
        if peers.len() >= MAX_PEERS {
            peers.retain(|_, peer| peer.busy());
        }
        if peers.len() >= MAX_PEERS {
            return Err(NoAnswer::NotSent(format!("{MAX_PEERS} other peers are being called")));
        }
        let peer = Rc::new(Peer::new(authority)?);
        peers.insert(authority.to_owned(), peer.clone());
        Ok(peer)
    }

    /// The request as it goes out, its pair freshly made: when it leaves, and what is left of the budget by then.
    fn request(
        &self,
        served: &Served,
        call: &Call,
        budget: &Budget,
    ) -> Result<http::Request<Bytes>, NoAnswer> {
        let unusable = |what: &str| NoAnswer::NotSent(format!("{what} in a request to {}", call.uri));
        let scp = self.scp_for(call);
        let uri = scp.map_or_else(|| call.uri.clone(), |scp| format!("{}{}", scp.root(), call.path()));
        let uri: http::Uri = uri.parse().map_err(|_| unusable("unusable URI"))?;
        let mut request = http::Request::new(());
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.extend(call.headers.clone());
        if scp.is_some() {
            self.say_where(call, headers).ok_or_else(|| unusable("unusable target"))?;
        }
        let signature =
            HeaderValue::from_str(&self.party.signature()).map_err(|_| unusable("unusable name"))?;
        headers.entry(USER_AGENT).or_insert(signature);
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("application/json, application/problem+json"));
        if let Some(content_type) = &call.content_type {
            let value = HeaderValue::from_str(content_type).map_err(|_| unusable("unusable content type"))?;
            headers.insert(CONTENT_TYPE, value);
        }
        let trace = HeaderValue::from_str(&served.trace.to_traceparent(served.request));
        headers.insert(header::TRACEPARENT, trace.map_err(|_| unusable("unusable trace"))?);
        self.party.look_at_clock();
        if let Some(pair) = budget.pair(&self.party.env.clock) {
            call.timing.apply(pair, headers);
        }
        Ok(request.map(|()| call.body.clone()))
    }

    /// The SCP that a call goes through. Who speaks to the NRF, or is an SCP, speaks directly.
    fn scp_for(&self, call: &Call) -> Option<&ScpLink> {
        let scp = self.party.scp.as_ref().filter(|_| self.party.nf_type != NfType::Scp)?;
        let nrf = self.party.nrf.as_ref().map(|nrf| authority(nrf.root()));
        let is_direct = nrf == Some(call.authority())
            || call.scheme() == NOBODY
            || self.in_process.borrow().contains_key(call.authority());
        (!is_direct).then_some(scp)
    }

    /// Says to an SCP where a call goes: to its target, or to whom the SCP finds. TS 29.500 §6.10.2 (Rel-17).
    fn say_where(&self, call: &Call, headers: &mut HeaderMap) -> Option<()> {
        let Some(parameters) = delegated(&call.uri, &self.party) else {
            let root = HeaderValue::from_str(&format!("{}://{}", call.scheme(), call.authority())).ok()?;
            headers.insert(header::TARGET_API_ROOT, root);
            return Some(());
        };
        for (name, value) in parameters {
            let name =
                HeaderName::from_bytes(format!("{}{name}", header::DISCOVERY_PREFIX).as_bytes()).ok()?;
            headers.insert(name, HeaderValue::from_str(&value).ok()?);
        }
        Some(())
    }

    /// A create whose late answer is waited for says so to an SCP: it would say 504 at the deadline else, and nothing more.
    pub(crate) fn taking_late_answer(&self, mut call: Call) -> Call {
        if self.scp_for(&call).is_some() {
            let settle = u32::try_from(self.party.policy.release.settle.as_millis()).unwrap_or(u32::MAX);
            call.headers.insert(header::LATE_ANSWER, settle.into());
        }
        call
    }

    /// The creates in flight.
    pub(crate) fn settling(&self) -> &Settling {
        &self.settling
    }

    fn now(&self) -> Instant {
        self.party.env.clock.now()
    }

    /// The world of this client's NF.
    pub fn env(&self) -> &Env {
        &self.party.env
    }
}

/// The scheme of an apiRoot that stands for nobody.
const NOBODY: &str = "nobody";

/// The apiRoot of a producer of this type that an NF was not given: calls to it are not sent, and say so.
pub fn not_given(nf_type: NfType) -> String {
    format!("{NOBODY}://{}", nf_type.name())
}

fn nobody(name: &str) -> String {
    format!("this NF was given no {}: name one with --peer {name}=http://host:port", name.to_uppercase())
}

/// A way to send one request.
pub(crate) enum Ready {
    InProcess(InProcess),
    Connected(peer::Lease),
}
