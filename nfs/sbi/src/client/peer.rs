//! The connections to one peer.
//!
//! HTTP/2 with prior knowledge. Streams are counted, the next connection is opened when one is full (TS 29.500 §5.2.6
//! (Rel-17)), idle ones are pinged, and one is kept for releases only, so that a release never queues behind what it
//! cleans up.

use super::call::{Answer, MAX_ANSWER_BYTES};
use super::outgoing::Outgoing;
use crate::event::{Facts, Kind};
use crate::goaway::{self, Goaway, Watched};
use crate::local::LocalExec;
use crate::net::{BoxIo, STREAM_WINDOW};
use crate::party::Party;
use crate::server::{MAX_HEADER_BYTES, RequestBody};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::task::spawn_local;

/// How many connections for calls are kept to one peer; the one for releases comes on top.
pub const MAX_CONNECTIONS_PER_PEER: usize = 8;

/// How many streams are used on one connection at most, even if the peer allows more.
const MAX_STREAMS: usize = 100;

/// How long the body of an answer may take once its head is there; then it counts as cut off.
pub const ANSWER_BODY_PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked whether a peer allows more streams: nothing tells.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How many different GOAWAYs of one peer are logged; further ones are events only.
const MAX_REASONS: usize = 16;

const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Which connections a request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Those for calls.
    Calls,
    /// The one for releases.
    Releases,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It was certainly not processed: it never left, or the peer says so.
    #[error("not sent: {0}")]
    NotSent(String),
    /// It was sent; whether it was processed is not known. `ended`: the peer ended the stream or the connection, so
    /// it is not working on it any more (our assumption); otherwise we stopped listening.
    #[error("no answer: {why}")]
    Unknown {
        /// What happened instead of an answer.
        why: String,
        /// Whether the peer ended the exchange.
        ended: bool,
    },
}

/// Why a stream brought no answer.
pub(super) enum Missed {
    /// The connection had ended, or was about to, before the request left: another one is to be taken.
    Stale(String),
    /// The peer says that it did not process it: REFUSED_STREAM, or GOAWAY with an earlier last stream, RFC 9113 §8.7.
    Refused(String),
    /// It was sent, and the peer ended the stream or the connection: whether it was processed is not known.
    Lost(String),
}

impl From<Missed> for NoAnswer {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Stale(why) | Missed::Refused(why) => NoAnswer::NotSent(why),
            Missed::Lost(why) => NoAnswer::Unknown { why, ended: true },
        }
    }
}

type Sender = SendRequest<Outgoing>;
type Told = Box<dyn FnMut(goaway::From, Goaway)>;
type Driver = http2::Connection<TokioIo<Watched<BoxIo, Told>>, Outgoing, LocalExec>;

struct Connection {
    sender: Sender,
    in_flight: Cell<usize>,
    /// The peer has said GOAWAY: what runs may end, nothing new is begun.
    is_going_away: Rc<Cell<bool>>,
    /// Knows how many streams the peer allows, as far as it has said so; gone once the connection has ended. hyper calls
    /// a sender closed only when its driver was dropped, so an ended driver must not be kept.
    driver: Rc<RefCell<Option<Driver>>>,
}

impl Connection {
    fn has_room(&self) -> bool {
        let allowed = self.driver.borrow().as_ref().map_or(0, Driver::current_max_send_streams);
        self.in_flight.get() < allowed.min(MAX_STREAMS)
    }

    fn has_ended(&self) -> bool {
        self.is_going_away.get() || self.sender.is_closed() || self.driver.borrow().is_none()
    }
}

/// A peer and the connections to it.
pub(super) struct Peer {
    host: String,
    port: u16,
    calls: RefCell<Vec<Rc<Connection>>>,
    releases: RefCell<Vec<Rc<Connection>>>,
    dialling: [Mutex<()>; 2],
    freed: Rc<Notify>,
    authority: String,
    told: Rc<RefCell<Reasons>>,
}

/// Which GOAWAYs of one peer were logged.
#[derive(Default)]
struct Reasons(BTreeSet<(&'static str, u32)>);

impl Reasons {
    /// Whether it is to be logged.
    fn insert(&mut self, reason: (&'static str, u32)) -> bool {
        self.0.len() < MAX_REASONS && self.0.insert(reason)
    }
}

impl Peer {
    pub(super) fn new(authority: &str) -> Result<Self, NoAnswer> {
        let bad = || NoAnswer::NotSent(format!("expected host[:port] in the URI, found {authority:?}"));
        let parsed: http::uri::Authority = authority.parse().map_err(|_| bad())?;
        Ok(Peer {
            host: parsed.host().to_owned(),
            port: parsed.port_u16().unwrap_or(80),
            calls: RefCell::default(),
            releases: RefCell::default(),
            dialling: Default::default(),
            freed: Rc::default(),
            authority: authority.to_owned(),
            told: Rc::default(),
        })
    }

    /// Whether a request to this peer is in flight.
    pub(super) fn busy(&self) -> bool {
        let (calls, releases) = (self.calls.borrow(), self.releases.borrow());
        calls.iter().chain(releases.iter()).any(|c| c.in_flight.get() > 0)
    }

    /// A stream on a connection that has room now.
    pub(super) fn lease_now(&self, lane: Lane) -> Option<Lease> {
        self.room(match lane {
            Lane::Calls => &self.calls,
            Lane::Releases => &self.releases,
        })
    }

    /// A stream on a connection with room, opening the next one if there may be another. Waits otherwise.
    pub(super) async fn lease(self: &Rc<Self>, party: &Party, lane: Lane) -> Result<Lease, NoAnswer> {
        let (connections, most, dialling) = match lane {
            Lane::Calls => (&self.calls, MAX_CONNECTIONS_PER_PEER, &self.dialling[0]),
            Lane::Releases => (&self.releases, 1, &self.dialling[1]),
        };
        loop {
            let freed = self.freed.notified();
            if let Some(lease) = self.room(connections) {
                return Ok(lease);
            }
            if connections.borrow().len() >= most {
                let _ = tokio::time::timeout(LOOK_AGAIN, freed).await;
                continue;
            }
            let _one_at_a_time = dialling.lock().await;
            if let Some(lease) = self.room(connections) {
                return Ok(lease);
            }
            if connections.borrow().len() < most {
                let connection = self.dial(party).await?;
                connections.borrow_mut().push(Rc::new(connection));
            }
        }
    }

    fn room(&self, connections: &RefCell<Vec<Rc<Connection>>>) -> Option<Lease> {
        let mut connections = connections.borrow_mut();
        connections.retain(|c| !c.has_ended());
        let connection = connections.iter().find(|c| c.has_room())?.clone();
        connection.in_flight.set(connection.in_flight.get() + 1);
        Some(Lease { connection, freed: self.freed.clone() })
    }

    async fn dial(&self, party: &Party) -> Result<Connection, NoAnswer> {
        let failed =
            |e: &dyn std::fmt::Display| NoAnswer::NotSent(format!("{}:{}: {e}", self.host, self.port));
        let io = party.env.net.connect(&self.host, self.port).await.map_err(|e| failed(&e))?;
        let is_going_away = Rc::new(Cell::new(false));
        let io = Watched::client(io, self.told(party, is_going_away.clone()));
        let handshake = Builder::new(LocalExec)
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HEADER_BYTES as u32)
            // A body that nobody reads holds up no other.
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(STREAM_WINDOW * MAX_STREAMS as u32)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(io));
        let (sender, driver) = handshake.await.map_err(|e| failed(&e))?;
        let (freed, driver) = (self.freed.clone(), Rc::new(RefCell::new(Some(driver))));
        let driven = driver.clone();
        spawn_local(async move {
            let ended = std::future::poll_fn(|cx| match driven.borrow_mut().as_mut() {
                Some(driver) => Pin::new(driver).poll(cx),
                None => Poll::Ready(Ok(())),
            });
            if let Err(error) = ended.await {
                tracing::debug!(%error, "connection ended");
            }
            drop(driven.borrow_mut().take());
            freed.notify_waiters();
        });
        Ok(Connection { sender, in_flight: Cell::new(0), is_going_away, driver })
    }

    /// An event for each GOAWAY of the peer, and for one of ours that is an error; a line in the log once per peer and
    /// reason, unless the connection simply ends.
    fn told(&self, party: &Party, is_going_away: Rc<Cell<bool>>) -> Told {
        let (party, freed, told) = (party.clone(), self.freed.clone(), self.told.clone());
        let name = party.env.directory.name(&self.authority);
        Box::new(move |from, goaway| {
            let kind = match from {
                goaway::From::Us if goaway.is_graceful() => return,
                goaway::From::Us => Kind::GoawaySent,
                goaway::From::Peer => Kind::GoawayReceived,
            };
            is_going_away.set(true);
            freed.notify_waiters();
            if !goaway.is_graceful() && told.borrow_mut().insert((kind.as_str(), goaway.reason.into())) {
                tracing::warn!(nf = %party.name, peer = &*name, "{}: {goaway}", kind.as_str());
            }
            party.emit(
                kind,
                Facts { peer: Some(name.clone()), ..Facts::default() }.detail(goaway.to_string()),
            );
        })
    }
}

/// A stream on a connection, counted until it is dropped.
pub(crate) struct Lease {
    connection: Rc<Connection>,
    freed: Rc<Notify>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.in_flight.set(self.connection.in_flight.get() - 1);
        self.freed.notify_waiters();
    }
}

impl Lease {
    /// Sends the request and receives the answer. Dropping the future resets the stream with CANCEL.
    pub(super) async fn send(self, request: http::Request<Bytes>) -> Result<Answer, Missed> {
        let request = request.map(|body| Outgoing::Whole(Full::new(body)));
        let response = self.answer(request).await?;
        let (head, body) = response.into_parts();
        // The head alone tells what was created: a body that never ends does not keep that back.
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect();
        let body = tokio::time::timeout(ANSWER_BODY_PATIENCE, body).await.ok().and_then(Result::ok);
        let cut_off = body.is_none();
        let body = body.map(|b| b.to_bytes()).unwrap_or_default();
        Ok(Answer { status: head.status, headers: head.headers, body, cut_off })
    }
}

impl Lease {
    /// Sends a request whose body comes as it comes, and waits for the head of the answer.
    pub(super) async fn forward(
        self,
        request: http::Request<RequestBody>,
    ) -> Result<(http::Response<Incoming>, Lease), Missed> {
        let answer = self.answer(request.map(Outgoing::Passed)).await?;
        Ok((answer, self))
    }

    async fn answer(&self, request: http::Request<Outgoing>) -> Result<http::Response<Incoming>, Missed> {
        match self.connection.sender.clone().try_send_request(request).await {
            Ok(response) => Ok(response),
            Err(e) if e.message().is_some() => Err(Missed::Stale(e.error().to_string())),
            Err(e) => Err(missed(e.error())),
        }
    }
}

/// The library marks with the GOAWAY exactly the streams above its last one, and those that it did not open any more;
/// what else is open when the connection ends is an I/O error.
fn missed(error: &hyper::Error) -> Missed {
    let h2 = std::error::Error::source(error).and_then(|s| s.downcast_ref::<h2::Error>());
    match h2.and_then(|h2| Some((h2, h2.reason()?))) {
        Some((_, h2::Reason::REFUSED_STREAM)) => {
            Missed::Refused("refused by the peer (REFUSED_STREAM)".into())
        }
        Some((h2, reason)) if h2.is_go_away() && h2.is_remote() => {
            Missed::Refused(format!("not processed by the peer (GOAWAY, {})", goaway::name_of(reason)))
        }
        Some((_, reason)) => Missed::Lost(format!("stream reset: {reason}")),
        None => Missed::Lost(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_26_a_port_that_is_not_said_is_that_of_http() {
        for (authority, host, port) in [
            ("udm.example", "udm.example", 80),
            ("UDM.Example:80", "UDM.Example", 80),
            ("127.0.0.1:7712", "127.0.0.1", 7712),
            ("[::1]", "[::1]", 80),
            ("[::1]:7003", "[::1]", 7003),
        ] {
            let peer = Peer::new(authority).expect(authority);
            assert_eq!((peer.host.as_str(), peer.port), (host, port), "{authority}");
        }
    }
}
