//! What goes wrong.

use crate::header::{MaxRspTime, Pair, SenderTimestamp, Timing};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::Duration;

/// What goes wrong after the delay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing more: the delay was all.
    #[default]
    Proceed,
    /// Another answer: instead of doing anything on `Request`, instead of the real one on `Response`.
    Answer(Altered),
    /// Nothing is done, nothing is said: the stream stays open until the client resets it, at most the hold time.
    Drop,
    /// The stream is reset with this HTTP/2 error code.
    Reset(u32),
    /// Everything is done, but the answer never leaves; otherwise like `Drop`.
    LoseResponse,
    /// The request is served, and its connection says GOAWAY.
    GoAway,
    /// The answer's body leaves in pieces.
    Trickle {
        /// Of so many bytes.
        bytes: usize,
        /// So far apart.
        every: Duration,
    },
    /// On `Send`, where nothing else but a delay can be: the connection is refused.
    RefuseConnection,
    /// On `Late`: an SCP takes the request for one that is in time.
    LetThrough,
    /// On `Forward`: an SCP spoils the pair of timing headers.
    Spoil(Spoilt),
}

/// How an SCP spoils the pair of timing headers of a request that it passes on; TS 29.500 §6.11.2.2 (Rel-17) allows none of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoilt {
    /// It is stamped anew, and the time to wait stays as it was: the deadline moves.
    RestampedOnly,
    /// The time to wait grows by so much.
    Extended(Duration),
    /// One of the two, or both, are gone.
    Without(Vec<HeaderName>),
}

impl Spoilt {
    /// Does that to the headers of a request that leaves when `stamp` says.
    pub fn spoil(&self, headers: &mut HeaderMap, stamp: SenderTimestamp) {
        let pair = Timing::read(headers).pair();
        match (self, pair) {
            (Spoilt::Without(names), _) => names.iter().for_each(|name| drop(headers.remove(name))),
            (Spoilt::RestampedOnly, Some(pair)) => Pair::new(stamp, pair.max).write(headers),
            (Spoilt::Extended(by), Some(pair)) => {
                let ms = u64::from(pair.max.ms())
                    .saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
                let max = MaxRspTime::from_ms(ms).unwrap_or(MaxRspTime::MAX);
                Pair::new(pair.stamp, max).write(headers);
            }
            (_, None) => {}
        }
    }
}

impl std::fmt::Display for Spoilt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Spoilt::RestampedOnly => f.write_str("stamps anew and adjusts nothing"),
            Spoilt::Extended(by) => write!(f, "lets the client wait {} ms longer", by.as_millis()),
            Spoilt::Without(names) => {
                let names: Vec<_> = names.iter().map(HeaderName::as_str).collect();
                write!(f, "leaves out {}", names.join(" and "))
            }
        }
    }
}

/// What of an answer is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Altered {
    /// Its status. A failure does not become a success unless it gets a body too.
    pub status: Option<StatusCode>,
    /// Headers that it gets, or loses.
    pub headers: Vec<(HeaderName, Option<HeaderValue>)>,
    /// Its body, with its media type.
    pub body: Option<(HeaderValue, Bytes)>,
}

impl Effect {
    /// This status, and nothing else.
    ///
    /// # Panics
    ///
    /// If there is no such status.
    pub fn status(code: u16) -> Self {
        let status = Some(StatusCode::from_u16(code).expect("an HTTP status"));
        Effect::Answer(Altered { status, ..Altered::default() })
    }

    /// This status with this JSON body.
    ///
    /// # Panics
    ///
    /// If there is no such status.
    pub fn json(code: u16, body: &'static str) -> Self {
        let status = Some(StatusCode::from_u16(code).expect("an HTTP status"));
        let body = (HeaderValue::from_static("application/json"), Bytes::from_static(body.as_bytes()));
        Effect::Answer(Altered { status, body: Some(body), ..Altered::default() })
    }
}

impl Altered {
    /// Sets and removes the headers.
    pub(crate) fn alter(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            match value {
                Some(value) => drop(headers.insert(name, value.clone())),
                None => drop(headers.remove(name)),
            }
        }
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Effect::Proceed => f.write_str("goes on"),
            Effect::Answer(Altered { status: Some(status), .. }) => write!(f, "answers {}", status.as_u16()),
            Effect::Answer(_) => f.write_str("alters the answer"),
            Effect::Drop => f.write_str("says nothing"),
            Effect::Reset(code) => write!(f, "resets the stream with {:?}", h2::Reason::from(*code)),
            Effect::LoseResponse => f.write_str("loses the answer"),
            Effect::GoAway => f.write_str("says GOAWAY"),
            Effect::Trickle { bytes, every } => {
                write!(f, "sends {bytes} bytes every {} ms", every.as_millis())
            }
            Effect::RefuseConnection => f.write_str("refuses the connection"),
            Effect::LetThrough => f.write_str("lets the late request through"),
            Effect::Spoil(spoilt) => write!(f, "{spoilt}"),
        }
    }
}
