//! What is known of a request before its body is read, and what is odd about its timing headers.

use super::admission::Admission;
use super::body::RequestBody;
use super::front::Front;
use super::kind::RequestKind;
use crate::event::{Facts, Kind, TraceId};
use crate::header::TRACEPARENT;
use crate::party::Served;
use crate::policy::LateRelease;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Method};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

/// How many warnings are remembered as logged; each is logged once per peer.
const MAX_TOLD: usize = 1_024;

/// What is known of a request before its body is read.
pub(super) struct Arrival {
    pub(super) method: Method,
    pub(super) path: Arc<str>,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: RequestBody,
    pub(super) kind: RequestKind,
    pub(super) served: Served,
    pub(super) admission: Admission,
    pub(super) peer: Arc<str>,
    /// Whether a fault rule was applied to it.
    pub(super) faulted: Cell<bool>,
}

impl Front {
    pub(super) fn arrive(&self, request: &hyper::Request<RequestBody>, peer: SocketAddr) -> Arrival {
        let (headers, env) = (request.headers(), &self.party.env);
        let policy = &self.party.policy.deadline;
        self.party.look_at_clock();
        let admission = Admission::read(headers, policy, &env.clock);
        self.listen(&admission, headers, peer);
        let path: Arc<str> = request.uri().path().into();
        let kind = RequestKind::of(request.method(), &path);
        let only_releases = kind == RequestKind::Release && policy.late_release == LateRelease::Perform;
        let served = Served {
            request: env.events.next_request(),
            trace: trace_of(headers).unwrap_or_else(|| TraceId::fresh(&env.entropy)),
            deadline: admission.deadline,
            only_releases,
            own_timer: None,
        };
        let peer = self.party.sender_of(headers).unwrap_or_else(|| peer.to_string().into());
        let arrival = Arrival {
            method: request.method().clone(),
            path,
            target: request.uri().path_and_query().map_or("/", |p| p.as_str()).to_owned(),
            headers: headers.clone(),
            body: request.body().clone(),
            kind,
            served,
            admission,
            peer,
            faulted: Cell::new(false),
        };
        self.party.emit(Kind::RequestReceived, self.facts(&arrival));
        self.tell_timing(&arrival);
        arrival
    }

    /// What a request tells of its sender's clock. Who does not sign is known by its address.
    fn listen(&self, admission: &Admission, headers: &HeaderMap, peer: SocketAddr) {
        let Some((stamp, arrived_ms)) = admission.sent_and_arrived else { return };
        match headers.get(USER_AGENT) {
            Some(signature) => self.ears.heard_request(&self.party, signature, stamp, arrived_ms),
            None => {
                if let Ok(address) = HeaderValue::from_str(&peer.ip().to_string()) {
                    self.ears.heard_request(&self.party, &address, stamp, arrived_ms);
                }
            }
        }
    }

    pub(super) fn facts(&self, arrival: &Arrival) -> Facts {
        Facts {
            peer: Some(arrival.peer.clone()),
            method: Some(arrival.method.clone()),
            uri: Some(arrival.path.clone()),
            ..arrival.served.facts(&self.party)
        }
    }

    fn tell_timing(&self, arrival: &Arrival) {
        let Admission { malformed, completed, skew_ms, ignored, .. } = &arrival.admission;
        if let Some(malformed) = malformed {
            self.warn(arrival, Kind::TimingMalformed, format!("{}: {}", malformed.header, malformed.reason));
        }
        if let Some(age) = skew_ms {
            let what =
                format!("the stamp is {age} ms old by this NF's clock: are both clocks NTP-synchronised?");
            self.warn(arrival, Kind::SkewObserved, what);
        }
        if let Some(why) = ignored {
            self.warn(arrival, Kind::TimingIgnored, format!("the timing headers do not count: {why}"));
        }
        if *completed {
            self.warn(arrival, Kind::TimingCompleted, "no milliseconds in the stamp: read as .999".into());
        }
    }

    /// An event each time, a line in the log once per peer.
    fn warn(&self, arrival: &Arrival, kind: Kind, what: String) {
        if self.first_time(kind, &arrival.peer) {
            tracing::warn!(nf = %self.party.name, peer = &*arrival.peer, "{}: {what}", kind.as_str());
        }
        self.party.emit(kind, self.facts(arrival).detail(what));
    }

    pub(super) fn first_time(&self, kind: Kind, peer: &str) -> bool {
        let mut told = self.told.borrow_mut();
        told.len() < MAX_TOLD && told.insert(format!("{} {peer}", kind.as_str()))
    }
}

fn trace_of(headers: &HeaderMap) -> Option<TraceId> {
    TraceId::from_traceparent(headers.get(TRACEPARENT)?.to_str().ok()?)
}
