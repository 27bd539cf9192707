//! One stream of events: everything observable is one, and ladder, ledger, metrics and verdicts are views of it.

use crate::clock::Clock;
use crate::env::Entropy;
use http::Method;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How many events a process keeps; older ones are forgotten.
pub const MAX_EVENTS: usize = 65_536;

/// How long a peer, URI or detail may be in an event, in bytes; what is longer is cut. Others choose what they hold.
pub const MAX_EVENT_TEXT: usize = 512;

/// Declares [`Kind`]: its name in the stream, and what it means.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $wire:literal, $clause:expr;)+) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[doc = $doc])+ $name,)+ }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$name,)+];

            /// Its name, `noun.past_participle`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Kind::$name => $wire,)+ }
            }

            /// What it tells, for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Kind::$name => concat!($($doc),+),)+ }
            }

            /// Where the standard speaks of it, or that it does not.
            pub const fn clause(self) -> &'static str {
                match self { $(Kind::$name => $clause,)+ }
            }
        }
    };
}

/// Timing out at the client, and what a server then does.
const TIMEOUT: &str = "TS 29.500 §6.11.2.2 (Rel-17)";
/// The two timing headers.
const HEADERS: &str = "TS 29.500 §6.11.2.2 and §5.2.3.3 (Rel-17)";
/// NTP-synchronised clocks.
const SYNCHRONISED: &str = "TS 29.500 §6.11.2.1 (Rel-17)";
/// Streams that are reset.
const RESET: &str = "RFC 9113 §5.4.2";
/// Requests that were certainly not processed.
const NOT_PROCESSED: &str = "RFC 9113 §8.7";
/// Connections that are to end.
const GOAWAY: &str = "RFC 9113 §6.8, TS 29.500 §5.2.6 (Rel-17)";
/// What an NRF knows of NF instances.
const MANAGEMENT: &str = "TS 29.510 §5.2.2 (Rel-17)";
/// Registering a UE.
const REGISTRATION: &str = "TS 23.502 §4.2.2.2.2 (Rel-17)";
/// Establishing a PDU session.
const SESSION: &str = "TS 23.502 §4.3.2.2.1 (Rel-17)";
/// What an SMF tells of an SM context.
const STATUS: &str = "TS 29.502 §5.2.2.6 (Rel-17)";
/// Messages to UE and access network.
const TRANSFER: &str = "TS 29.518 §5.2.2.3.1 (Rel-17)";
/// Two requests for one PDU session.
const COLLISION: &str = "TS 29.502 §5.2.3.3.1 (Rel-17)";
/// Errors of a protocol or an application in a message.
const MESSAGES: &str = "TS 29.500 §5.2.7.2 (Rel-17)";
/// What the standard does not speak of.
const OURS: &str = "no clause: ours";

kinds! {
    /// A request arrived.
    RequestReceived = "request.received", OURS;
    /// A request was refused because its client had stopped waiting (504 `TIMED_OUT_REQUEST`).
    RequestRefusedLate = "request.refused_late", TIMEOUT;
    /// The same, without an answer: its stream was reset.
    RequestDroppedLate = "request.dropped_late", TIMEOUT;
    /// A timing header could not be read: ignored and counted, or 400 in strict mode.
    TimingMalformed = "timing.malformed", HEADERS;
    /// A timestamp without milliseconds was read as `.999`.
    TimingCompleted = "timing.completed", HEADERS;
    /// A request's timing headers do not count: it comes from a foreign network, or the operator wants it so.
    TimingIgnored = "timing.ignored", SYNCHRONISED;
    /// A request's stamp is so far from this NF's clock that the clocks differ.
    SkewObserved = "skew.observed", SYNCHRONISED;
    /// What is measured of a peer's clock has changed: it is ahead of this NF's, behind, perhaps behind, or agrees again.
    SkewMeasured = "skew.measured", SYNCHRONISED;
    /// This NF's wall clock was stepped: it was set, or the host slept. Deadlines go on by the monotonic clock.
    ClockStepped = "clock.stepped", SYNCHRONISED;
    /// A request, or an answer to ours, is not as the OpenAPI file of its API says.
    SchemaViolated = "schema.violated", MESSAGES;
    /// A fault rule was applied.
    FaultApplied = "fault.applied", OURS;
    /// The client reset its stream or hung up before it was answered.
    ClientGone = "client.gone", RESET;
    /// A handler panicked; its stream was reset.
    RequestPanicked = "request.panicked", OURS;
    /// An answer was handed to the client's stream.
    ResponseSent = "response.sent", OURS;
    /// A success could no longer be handed to its client in time; what it had made is released.
    ResponseUndeliverable = "response.undeliverable", TIMEOUT;
    /// A request was sent upstream.
    UpstreamSent = "upstream.sent", HEADERS;
    /// An upstream answered in time.
    UpstreamAnswered = "upstream.answered", TIMEOUT;
    /// The wait for an upstream ended without an answer.
    UpstreamTimedOut = "upstream.timed_out", TIMEOUT;
    /// An upstream could not be reached, or the connection or stream ended without an answer.
    UpstreamFailed = "upstream.failed", OURS;
    /// A request to an upstream certainly was not processed, and is sent again.
    UpstreamRepeated = "upstream.repeated", NOT_PROCESSED;
    /// A peer said GOAWAY on a connection; the detail has its reason.
    GoawayReceived = "goaway.received", GOAWAY;
    /// This NF ended a connection with a GOAWAY that tells of an error; the detail has its reason.
    GoawaySent = "goaway.sent", GOAWAY;
    /// An upstream answered after the wait for it had ended.
    ResponseLate = "response.late", TIMEOUT;
    /// A resource was created upstream.
    ResourceCreated = "resource.created", TIMEOUT;
    /// A created resource got its owner.
    ResourceCommitted = "resource.committed", OURS;
    /// A newer attempt took over the resource's URI.
    ResourceSuperseded = "resource.superseded", OURS;
    /// A resource may be left at its upstream and cannot be released.
    ResourceHanging = "resource.hanging", TIMEOUT;
    /// A release was sent.
    ReleaseSent = "release.sent", TIMEOUT;
    /// A release was confirmed: the resource is gone, or is another's now.
    ReleaseConfirmed = "release.confirmed", TIMEOUT;
    /// A release failed; it is tried again, or given up.
    ReleaseFailed = "release.failed", TIMEOUT;
    /// A create without an answer is being settled: its upstream is asked what became of it.
    ReleaseSettling = "release.settling", OURS;
    /// An NF found what its journal holds: contexts, and what is owed for creates.
    JournalRecovered = "journal.recovered", OURS;
    /// What has to be on record before work goes on was written: the intent of a create, a context with what it owns, or a
    /// context's end.
    JournalWritten = "journal.written", OURS;
    /// The journal cannot be written. Nothing more is created; what was to be written down is kept in memory, and tried
    /// again.
    JournalFailed = "journal.failed", OURS;
    /// The journal can be written again.
    JournalResumed = "journal.resumed", OURS;
    /// A step was left out, since there is nobody to take it with.
    StepSkipped = "step.skipped", OURS;
    /// An AMF was handed a message for a UE and its access network.
    MessageTransferred = "message.transferred", TRANSFER;
    /// An SMF's procedure failed after its success had been answered; what it had made is released. At an AMF: the SMF did
    /// not take what the gNB had set up; the session stays.
    ProcedureFailed = "procedure.failed", SESSION;
    /// An AMF's attempt to establish a PDU session ended.
    SessionEnded = "session.ended", SESSION;
    /// An AMF's attempt to register a UE ended.
    RegistrationEnded = "registration.ended", REGISTRATION;
    /// A create was refused (403 `LATE_OVERLAPPING_REQUEST`): its procedure began no later than that of the context there.
    CollisionRefused = "collision.refused", COLLISION;
    /// A status notification arrived.
    StatusNotified = "status.notified", STATUS;
    /// An NF registered at its NRF, or the NRF answers its heart-beats again.
    NrfRegistered = "nrf.registered", MANAGEMENT;
    /// An NF's registration or heart-beat failed; it is tried again.
    NrfUnwell = "nrf.unwell", MANAGEMENT;
    /// At an NRF: an NF instance registered, changed what it says of itself, was suspended, or is gone.
    NfChanged = "nf.changed", MANAGEMENT;
    /// At an NRF: an NF instance registered from another address within an interval of heart-beats.
    NfMoved = "nf.moved", OURS;
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Identifies a request within its process, across NFs; prints as `r-7`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "r-{}", self.0)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Ties the events of one procedure together over all NFs; travels in `traceparent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceId(pub u128);

impl std::fmt::Display for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl TraceId {
    /// A new one.
    pub fn fresh(entropy: &Entropy) -> TraceId {
        TraceId((u128::from(entropy.u64()) << 64) | u128::from(entropy.u64()))
    }

    /// Reads the trace id of a W3C `traceparent` value.
    pub fn from_traceparent(value: &str) -> Option<TraceId> {
        let id = value.get(3..35).filter(|_| value.as_bytes().get(35) == Some(&b'-'))?;
        u128::from_str_radix(id, 16).ok().filter(|id| *id != 0).map(TraceId)
    }

    /// As a `traceparent` value, with the request as its parent.
    pub fn to_traceparent(self, request: RequestId) -> String {
        format!("00-{self}-{:016x}-01", request.0.wrapping_add(1))
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Something that happened at an NF.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Its place in the stream, from 1; no gaps, but old events are forgotten.
    pub seq: u64,
    /// UTC, by this NF's clock.
    pub time: String,
    /// The procedure it belongs to.
    pub trace: TraceId,
    /// Milliseconds since the process started.
    pub at_ms: f64,
    /// The NF's name.
    #[serde(serialize_with = "as_str")]
    pub nf: Arc<str>,
    /// What happened.
    pub event: Kind,
    /// The request that was being served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The other party: its name where it is known, else its authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The URI, or the path of a request received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What is left of the budget of the served request, or of the request sent; negative once it has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_left_ms: Option<f64>,
    /// Anything else, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

fn as_str<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

/// What the code at the spot knows of an event; the rest is added when it is emitted.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// See [`Event::trace`].
    pub trace: TraceId,
    /// See [`Event::request`].
    pub request: Option<RequestId>,
    /// See [`Event::peer`].
    pub peer: Option<Arc<str>>,
    /// See [`Event::method`].
    pub method: Option<Method>,
    /// See [`Event::uri`].
    pub uri: Option<Arc<str>>,
    /// See [`Event::status`].
    pub status: Option<u16>,
    /// See [`Event::budget_left_ms`].
    pub budget_left_ms: Option<f64>,
    /// See [`Event::detail`].
    pub detail: Option<String>,
}

impl Facts {
    /// The same, with something said for a person.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    fn cut(self) -> Self {
        let (peer, uri, detail) = (self.peer.map(cut), self.uri.map(cut), self.detail.map(cut));
        Facts { peer, method: self.method.map(cut_method), uri, detail, ..self }
    }

    /// The same, with a status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

fn cut<T: AsRef<str> + for<'a> From<&'a str>>(text: T) -> T {
    let whole = text.as_ref();
    if whole.len() <= MAX_EVENT_TEXT {
        return text;
    }
    T::from(&format!("{}…", &whole[..whole.floor_char_boundary(MAX_EVENT_TEXT)]))
}

/// A method may be any token, so of any length.
fn cut_method(method: Method) -> Method {
    const LONGEST: usize = 16;
    let shown = method.as_str().as_bytes();
    Method::from_bytes(&shown[..shown.len().min(LONGEST)]).unwrap_or(method)
}

/// An event as it is kept. Most are never read, so what a reader wants written out is written out for the reader.
#[derive(Clone)]
struct Kept {
    seq: u64,
    unix_us: i64,
    elapsed: Duration,
    nf: Arc<str>,
    event: Kind,
    facts: Facts,
}

impl From<Kept> for Event {
    fn from(kept: Kept) -> Event {
        let Kept { seq, unix_us, elapsed, nf, event, facts } = kept;
        let Facts { trace, request, peer, method, uri, status, budget_left_ms, detail } = facts;
        Event {
            seq,
            time: utc(unix_us),
            trace,
            at_ms: rounded_ms(elapsed),
            nf,
            event,
            request,
            peer: peer.as_deref().map(str::to_owned),
            method: method.map(|method| method.to_string()),
            uri: uri.as_deref().map(str::to_owned),
            status,
            budget_left_ms: budget_left_ms.map(|ms| (ms * 10.0).round() / 10.0),
            detail,
        }
    }
}

/// Done once so many more events of a kind were seen.
struct Hook {
    kind: Kind,
    left: u64,
    act: Box<dyn FnOnce() + Send>,
}

/// The stream of a process: a bounded ring that can be waited on.
#[derive(Clone, Default)]
pub struct Events(Arc<Stream>);

#[derive(Default)]
struct Stream {
    ring: Mutex<Ring>,
    grown: Notify,
}

#[derive(Default)]
struct Ring {
    kept: VecDeque<Kept>,
    emitted: u64,
    requests: u64,
    /// What is done when an event is seen, once.
    hook: Option<Hook>,
    counts: BTreeMap<Arc<str>, [u64; Kind::ALL.len()]>,
}

impl Ring {
    fn run_hook(&mut self, event: Kind) {
        let Some(hook) = self.hook.as_mut().filter(|hook| hook.kind == event) else { return };
        hook.left = hook.left.saturating_sub(1);
        if hook.left == 0
            && let Some(hook) = self.hook.take()
        {
            (hook.act)();
        }
    }
}

impl Events {
    /// Adds an event of the NF `nf`.
    pub fn emit(&self, nf: &Arc<str>, clock: &Clock, event: Kind, facts: Facts) {
        let (unix_us, elapsed, nf, facts) = (clock.unix_us(), clock.elapsed(), nf.clone(), facts.cut());
        let mut ring = self.ring();
        ring.emitted += 1;
        let seq = ring.emitted;
        match ring.counts.get_mut(&nf) {
            Some(counts) => counts[event as usize] += 1,
            None => {
                let counts = ring.counts.entry(nf.clone()).or_insert([0; Kind::ALL.len()]);
                counts[event as usize] += 1;
            }
        }
        let forgotten = if ring.kept.len() == MAX_EVENTS { ring.kept.pop_front() } else { None };
        ring.kept.push_back(Kept { seq, unix_us, elapsed, nf, event, facts });
        ring.run_hook(event);
        drop(ring);
        drop(forgotten);
        self.0.grown.notify_waiters();
    }

    /// Does something at the event number `nth` of this kind, while whoever emits another one waits: tests stop a process
    /// there.
    pub fn at(&self, kind: Kind, nth: u64, act: impl FnOnce() + Send + 'static) {
        self.ring().hook = Some(Hook { kind, left: nth, act: Box::new(act) });
    }

    /// How often each kind was emitted by each NF, forgotten ones included.
    pub fn counts(&self) -> Vec<(Arc<str>, Kind, u64)> {
        let ring = self.ring();
        let of_nf = |(nf, counts): (&Arc<str>, &[u64; Kind::ALL.len()])| {
            let counted = Kind::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
            counted.map(|(kind, count)| (nf.clone(), *kind, *count)).collect::<Vec<_>>()
        };
        ring.counts.iter().flat_map(of_nf).collect()
    }

    /// Requests get higher numbers than `newest`, which was given before a restart.
    pub fn requests_after(&self, newest: RequestId) {
        let mut ring = self.ring();
        ring.requests = ring.requests.max(newest.0);
    }

    /// Forgets the events that are kept; numbers and counts go on.
    pub fn clear(&self) {
        self.ring().kept.clear();
    }

    /// A fresh request id.
    pub fn next_request(&self) -> RequestId {
        let mut ring = self.ring();
        ring.requests += 1;
        RequestId(ring.requests)
    }

    /// The events after number `seq` that are still kept, at most `most`.
    pub fn after(&self, seq: u64, most: usize) -> Vec<Event> {
        self.of_nf(None, seq, most)
    }

    /// The same, only those of the NF `nf` if one is named.
    pub fn of_nf(&self, nf: Option<&str>, seq: u64, most: usize) -> Vec<Event> {
        let wanted = |kept: &Kept| nf.is_none_or(|nf| &*kept.nf == nf);
        self.kept_after(seq, most, wanted).into_iter().map(Event::from).collect()
    }

    fn kept_after(&self, seq: u64, most: usize, wanted: impl Fn(&Kept) -> bool) -> Vec<Kept> {
        let ring = self.ring();
        let first = ring.emitted - ring.kept.len() as u64;
        let skip = usize::try_from(seq.saturating_sub(first)).unwrap_or(usize::MAX);
        ring.kept.iter().skip(skip).filter(|kept| wanted(kept)).take(most).cloned().collect()
    }

    /// The number of the newest event.
    pub fn last_seq(&self) -> u64 {
        self.ring().emitted
    }

    /// Waits for an event after number `seq` that `wanted` accepts. It never gives up: bound it from outside.
    pub async fn wait(&self, mut seq: u64, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        loop {
            let grown = self.0.grown.notified();
            tokio::pin!(grown);
            grown.as_mut().enable();
            for event in self.after(seq, MAX_EVENTS) {
                seq = event.seq;
                if wanted(&event) {
                    return event;
                }
            }
            grown.await;
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Milliseconds to one decimal, as they are told.
pub(crate) fn rounded_ms(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 10_000.0).round() / 10.0
}

/// RFC 3339 with milliseconds.
pub(crate) fn utc(unix_us: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(unix_us).unwrap_or_default();
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emit(events: &Events, kind: Kind) {
        events.emit(&Arc::from("smf"), &Clock::system(), kind, Facts::default());
    }

    #[test]
    fn names_are_unique_and_of_one_form() {
        let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|k| k.as_str()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        assert!(
            names
                .iter()
                .all(|n| n.split_once('.').is_some_and(|(noun, verb)| !noun.is_empty() && !verb.is_empty()))
        );
    }

    #[test]
    fn every_kind_is_explained() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.as_str()), Some(*kind));
            let clause = kind.clause();
            let known = ["TS ", "RFC ", "no clause"].iter().any(|start| clause.starts_with(start));
            assert!(!kind.meaning().is_empty() && known, "{kind:?}");
        }
    }

    #[test]
    fn the_ring_forgets_the_oldest_and_keeps_counting() {
        let events = Events::default();
        (0..MAX_EVENTS + 10).for_each(|_| emit(&events, Kind::ClientGone));
        let kept = events.after(0, usize::MAX);
        assert_eq!((kept.len(), kept[0].seq), (MAX_EVENTS, 11));
        assert_eq!(events.after(events.last_seq() - 1, 5).len(), 1);
    }

    #[test]
    fn what_others_send_is_cut() {
        let events = Events::default();
        let method = Method::from_bytes(&[b'X'; 60_000]).ok();
        let facts = Facts { uri: Some("é".repeat(MAX_EVENT_TEXT).into()), method, ..Facts::default() };
        events.emit(&Arc::from("smf"), &Clock::system(), Kind::ClientGone, facts.detail("short"));
        let [event] = events.of_nf(Some("smf"), 0, 9).try_into().expect("one event");
        assert_eq!(event.uri.map(|uri| uri.len()), Some(MAX_EVENT_TEXT + "…".len()));
        assert_eq!(event.method.map(|method| method.len()), Some(16));
        assert_eq!(event.detail.as_deref(), Some("short"));
        assert!(events.of_nf(Some("udm"), 0, 9).is_empty());
    }

    #[tokio::test]
    async fn an_event_emitted_before_the_wait_is_found() {
        let events = Events::default();
        emit(&events, Kind::ReleaseSent);
        assert_eq!(events.wait(0, |e| e.event == Kind::ReleaseSent).await.seq, 1);
    }

    #[test]
    fn a_trace_travels_in_traceparent() {
        let trace = TraceId(0xabc);
        assert_eq!(TraceId::from_traceparent(&trace.to_traceparent(RequestId(7))), Some(trace));
        for bad in ["", "00-", "00-zz", "00-00000000000000000000000000000000-0000000000000001-01", "é"] {
            assert_eq!(TraceId::from_traceparent(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_utc_with_milliseconds() {
        assert_eq!(utc(1_796_001_902_388_656), "2026-11-30T01:25:02.388Z");
    }
}
