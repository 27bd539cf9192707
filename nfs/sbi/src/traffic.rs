//! What went over the wire: the newest requests that the NFs of a process received and sent, whole.

use crate::event::{RequestId, TraceId, utc};
use crate::multipart::{self, Part};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many requests a process remembers; older ones are forgotten.
pub const MAX_EXCHANGES: usize = 1_000;

/// How many bytes of bodies are shown at once; the rest is asked for by the number of the last.
pub const MAX_SHOWN_BODIES: usize = 8 * 1024 * 1024;

/// How much of a body is remembered, in bytes.
pub const MAX_RECORDED_BODY: usize = 64 * 1024;

/// Which way a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The NF received it.
    Received,
    /// The NF sent it.
    Sent,
}

/// A request or an answer as it was on the wire.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, at most [`MAX_RECORDED_BODY`] of it.
    pub body: Bytes,
    /// Whether the body is not whole.
    pub cut: bool,
}

impl Content {
    /// Headers and body, the body cut if it is too long.
    pub fn new(headers: HeaderMap, body: Bytes) -> Self {
        let cut = body.len() > MAX_RECORDED_BODY;
        // A view would keep the whole.
        let body = if cut { Bytes::copy_from_slice(&body[..MAX_RECORDED_BODY]) } else { body };
        Content { headers, body, cut }
    }
}

/// A request and what came of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When it was complete, microseconds since the Unix epoch by the NF's clock.
    pub unix_us: i64,
    /// The NF.
    pub nf: Arc<str>,
    /// Whether the NF received or sent it.
    pub direction: Direction,
    /// The request that was being served: this one, or the one for which it was sent.
    pub served: RequestId,
    /// The procedure.
    pub trace: TraceId,
    /// The other party, as in events.
    pub peer: String,
    /// The method.
    pub method: Method,
    /// Path and query of what was received; the whole URI of what was sent.
    pub uri: String,
    /// The request.
    pub request: Content,
    /// The answer; none if there was none.
    pub answer: Option<(StatusCode, Content)>,
    /// Whether a fault rule was applied to it.
    pub faulted: bool,
}

/// The exchanges of a process: a bounded ring, or none.
#[derive(Clone)]
pub struct Traffic(Option<Arc<Mutex<Ring>>>);

impl Default for Traffic {
    fn default() -> Self {
        Traffic(Some(Arc::default()))
    }
}

#[derive(Default)]
struct Ring {
    kept: VecDeque<Exchange>,
    recorded: u64,
}

impl Traffic {
    /// Remembers nothing.
    pub fn forgotten() -> Self {
        Traffic(None)
    }

    /// Whether anything is kept: else it need not be copied together.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Adds an exchange.
    pub fn record(&self, exchange: Exchange) {
        let Some(mut ring) = self.ring() else { return };
        ring.recorded += 1;
        let forgotten = if ring.kept.len() == MAX_EXCHANGES { ring.kept.pop_front() } else { None };
        ring.kept.push_back(exchange);
        drop(ring);
        drop(forgotten);
    }

    /// The same as [`Traffic::after`], at most [`MAX_SHOWN_BODIES`] of bodies.
    pub fn shown_after(&self, nf: Option<&str>, seq: u64) -> Vec<(u64, Exchange)> {
        let mut bytes = 0;
        let fits = |(_, exchange): &(u64, Exchange)| {
            let before = bytes;
            bytes += exchange.request.body.len()
                + exchange.answer.as_ref().map_or(0, |(_, answer)| answer.body.len());
            before == 0 || bytes <= MAX_SHOWN_BODIES
        };
        self.after(nf, seq).into_iter().take_while(fits).collect()
    }

    /// The exchanges after number `seq` that are still remembered, numbered, only those of the NF `nf` if one is named.
    pub fn after(&self, nf: Option<&str>, seq: u64) -> Vec<(u64, Exchange)> {
        let Some(ring) = self.ring() else { return Vec::new() };
        let first = ring.recorded - ring.kept.len() as u64 + 1;
        let numbered = (first..).zip(ring.kept.iter());
        let wanted = |(n, e): &(u64, &Exchange)| *n > seq && nf.is_none_or(|nf| &*e.nf == nf);
        numbered.filter(wanted).map(|(n, e)| (n, e.clone())).collect()
    }

    /// Forgets them all.
    pub fn clear(&self) {
        if let Some(mut ring) = self.ring() {
            ring.kept.clear();
        }
    }

    fn ring(&self) -> Option<MutexGuard<'_, Ring>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An exchange as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    seq: u64,
    time: String,
    nf: String,
    direction: Direction,
    peer: String,
    request: RequestId,
    trace: TraceId,
    method: String,
    uri: String,
    #[serde(flatten)]
    content: ShownContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<ShownAnswer>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    faulted: bool,
}

#[derive(Serialize)]
struct ShownAnswer {
    status: u16,
    #[serde(flatten)]
    content: ShownContent,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownContent {
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "ShownBody::is_empty")]
    body: ShownBody,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    body_cut: bool,
}

/// JSON as JSON, other text as text, anything else as `{"base64": ...}`; beside it the parts, if it has any.
struct ShownBody {
    whole: Bytes,
    parts: Vec<Part>,
}

impl ShownBody {
    fn of(content_type: Option<&HeaderValue>, whole: Bytes) -> Self {
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let parts = multipart::parse(content_type, whole.clone()).unwrap_or_default();
        ShownBody { whole, parts }
    }

    fn is_empty(&self) -> bool {
        self.whole.is_empty()
    }
}

impl Serialize for ShownBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parts.is_empty() {
            return shown(&self.whole).serialize(serializer);
        }
        let part = |part: &Part| json!({"contentType": part.content_type, "contentId": part.content_id, "body": shown(&part.body)});
        let parts: Vec<_> = self.parts.iter().map(part).collect();
        json!({"base64": STANDARD.encode(&self.whole), "parts": parts}).serialize(serializer)
    }
}

fn shown(body: &[u8]) -> Value {
    match (serde_json::from_slice(body), std::str::from_utf8(body)) {
        (Ok(json), _) => json,
        (_, Ok(text)) => text.into(),
        _ => json!({"base64": STANDARD.encode(body)}),
    }
}

impl From<(u64, Exchange)> for Shown {
    fn from((seq, exchange): (u64, Exchange)) -> Self {
        let Exchange { unix_us, nf, direction, served, trace, peer, method, uri, request, answer, faulted } =
            exchange;
        let response =
            answer.map(|(status, content)| ShownAnswer { status: status.as_u16(), content: content.into() });
        Shown {
            seq,
            time: utc(unix_us),
            nf: nf.to_string(),
            direction,
            peer,
            request: served,
            trace,
            method: method.to_string(),
            uri,
            content: request.into(),
            response,
            faulted,
        }
    }
}

impl From<Content> for ShownContent {
    fn from(content: Content) -> Self {
        let Content { headers, body, cut } = content;
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let content_type = headers.get(CONTENT_TYPE).cloned();
        let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        ShownContent { headers, body: ShownBody::of(content_type.as_ref(), body), body_cut: cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(nf: &str, body: &[u8]) -> Exchange {
        Exchange {
            unix_us: 0,
            nf: nf.into(),
            direction: Direction::Received,
            served: RequestId(1),
            trace: TraceId(1),
            peer: "amf".into(),
            method: Method::PUT,
            uri: "/x".into(),
            request: Content::new(HeaderMap::new(), Bytes::copy_from_slice(body)),
            answer: Some((StatusCode::NO_CONTENT, Content::default())),
            faulted: false,
        }
    }

    #[test]
    fn the_ring_forgets_the_oldest_and_keeps_counting() {
        let traffic = Traffic::default();
        (0..MAX_EXCHANGES + 3).for_each(|_| traffic.record(exchange("smf", b"")));
        let kept = traffic.after(Some("smf"), 0);
        assert_eq!((kept.len(), kept[0].0), (MAX_EXCHANGES, 4));
        assert_eq!(traffic.after(None, kept[MAX_EXCHANGES - 1].0 - 1).len(), 1);
        assert!(traffic.after(Some("udm"), 0).is_empty());
    }

    #[test]
    fn so_many_bytes_are_shown_at_once() {
        let traffic = Traffic::default();
        (0..200).for_each(|_| traffic.record(exchange("smf", &[b'x'; MAX_RECORDED_BODY])));
        let first = traffic.shown_after(None, 0);
        assert_eq!(first.len(), MAX_SHOWN_BODIES / MAX_RECORDED_BODY);
        assert_eq!(traffic.shown_after(None, first[first.len() - 1].0).len(), 200 - first.len());
    }

    #[test]
    fn bodies_are_shown_as_what_they_are() {
        let shown = |body: &[u8]| {
            let shown = serde_json::to_value(Shown::from((7, exchange("smf", body)))).expect("JSON");
            shown["body"].clone()
        };
        assert_eq!(shown(br#"{"a":1}"#), serde_json::json!({"a": 1}));
        assert_eq!(shown(b"--x"), serde_json::json!("--x"));
        assert_eq!(shown(b"\xff\xfe"), serde_json::json!({"base64": "//4="}));
        assert_eq!(shown(b""), Value::Null);
        let mut related = exchange("smf", b"--b\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b\r\nContent-Id: n1\r\n\r\n\xff\r\n--b--");
        related
            .request
            .headers
            .insert(CONTENT_TYPE, HeaderValue::from_static("multipart/related; boundary=b"));
        let body = serde_json::to_value(Shown::from((7, related))).expect("JSON")["body"].clone();
        assert!(body["base64"].is_string(), "{body}");
        assert_eq!(
            (&body["parts"][0]["body"]["a"], &body["parts"][1]["contentId"]),
            (&json!(1), &json!("n1"))
        );
        assert_eq!(body["parts"][1]["body"], json!({"base64": "/w=="}));
        assert_eq!(
            Content::new(HeaderMap::new(), vec![0; MAX_RECORDED_BODY + 1].into()).body.len(),
            MAX_RECORDED_BODY
        );
    }
}
