//! A request to send, and the answer to it.

use super::written_call::WrittenCall;
use crate::header::{CALLBACK, Pair, SenderTimestamp};
use crate::party::NfType;
use crate::problem::{Cause, ProblemDetails, Progress};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How those sign who pass requests on, TS 29.500 §6.10.8.2 (Rel-17).
const INTERMEDIARIES: [&str; 2] = ["SCP", "SEPP"];

/// What they say of what they did not pass on.
const NOT_FORWARDED: [Cause; 3] =
    [Cause::NrfNotReachable, Cause::NfDiscoveryFailure, Cause::MaxScpHopsReached];

/// The largest answer body that is kept; what is longer counts as cut off.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// A request to an upstream. One that may have to be sent after a restart is written to the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "WrittenCall", try_from = "WrittenCall")]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The absolute URI, exactly as it shall go out.
    pub uri: String,
    /// Headers beside those that the client writes itself.
    pub headers: HeaderMap,
    /// The body's media type.
    pub content_type: Option<String>,
    /// The body.
    pub body: Bytes,
    /// How the timing headers are written; anything but the default is wrong on purpose.
    pub timing: TimingMode,
}

/// How a call writes its pair of timing headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimingMode {
    /// As they should be.
    #[default]
    True,
    /// The stamp is off by so many milliseconds.
    Skewed(i64),
    /// Not at all.
    Omitted,
}

impl TimingMode {
    pub(crate) fn apply(self, pair: Pair, headers: &mut HeaderMap) {
        match self {
            TimingMode::True => pair.write(headers),
            TimingMode::Skewed(by_ms) => {
                let stamp = SenderTimestamp::from_unix_ms(pair.stamp.unix_ms().saturating_add(by_ms));
                Pair::new(stamp, pair.max).write(headers);
            }
            TimingMode::Omitted => {}
        }
    }
}

impl Call {
    /// A request without a body.
    pub fn new(method: Method, uri: impl Into<String>) -> Self {
        Call {
            method,
            uri: uri.into(),
            headers: HeaderMap::new(),
            content_type: None,
            body: Bytes::new(),
            timing: TimingMode::default(),
        }
    }

    /// A GET.
    pub fn get(uri: impl Into<String>) -> Self {
        Call::new(Method::GET, uri)
    }

    /// The same, marked as the notification `kind`, TS 29.500 §5.2.3.2.3 (Rel-17): an SCP or SEPP on the way sees it.
    #[must_use]
    pub fn callback(mut self, kind: &'static str) -> Self {
        self.headers.insert(CALLBACK, HeaderValue::from_static(kind));
        self
    }

    /// The same, with a body.
    #[must_use]
    pub fn with_body(mut self, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        self.content_type = Some(content_type.into());
        self.body = body.into();
        self
    }

    /// The same, with a JSON body.
    #[must_use]
    pub fn with_json(self, body: &impl serde::Serialize) -> Self {
        self.with_body("application/json", crate::json::to_bytes(body))
    }

    /// The scheme of the URI.
    pub(crate) fn scheme(&self) -> &str {
        split(&self.uri).0
    }

    /// `host[:port]` of the URI.
    pub fn authority(&self) -> &str {
        authority(&self.uri)
    }

    /// Path and query of the URI.
    pub fn path(&self) -> &str {
        split(&self.uri).2
    }
}

/// An upstream's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty if it was cut off.
    pub body: Bytes,
    /// Whether the body did not arrive whole, or was longer than [`MAX_ANSWER_BYTES`].
    pub cut_off: bool,
}

impl Answer {
    /// An answer without a body.
    pub fn new(status: StatusCode) -> Self {
        Answer { status, headers: HeaderMap::new(), body: Bytes::new(), cut_off: false }
    }

    /// The `Location`, exactly as given. One that is empty, or a fragment alone, would name what the request was sent to:
    /// it counts as none.
    pub fn location(&self) -> Option<&str> {
        location_in(&self.headers)
    }

    /// The body as JSON; `None` if it is something else.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The problem that an error answer tells of, also where 29.502 wraps it as `{"error": {...}}`; an empty one with
    /// the status if the body is something else.
    pub fn problem(&self) -> ProblemDetails {
        let body: serde_json::Value = self.json().unwrap_or_default();
        let inner = body.get("error").filter(|e| e.is_object()).unwrap_or(&body).clone();
        let problem: ProblemDetails = serde_json::from_value(inner).unwrap_or_default();
        ProblemDetails { status: Some(self.status.as_u16()), ..problem }
    }

    /// Whether an intermediary says that it has no answer: an SCP, a SEPP, or a gateway that speaks no problem details. What the
    /// producer did, or may still do, is not known then (our choice).
    pub fn is_silence(&self) -> bool {
        let is_gateways = matches!(self.status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT);
        is_gateways
            && match self.is_an_intermediarys() {
                true => !self.was_not_forwarded(),
                false => !self.is_an_nfs(),
            }
    }

    /// Whether an intermediary that has no answer knows that none will come.
    pub(crate) fn is_the_end(&self) -> bool {
        self.problem().passed_on == Some(Progress::Ended)
    }

    fn is_an_intermediarys(&self) -> bool {
        INTERMEDIARIES.iter().any(|of| self.is_signed(of))
    }

    /// An NF signs, or says what is wrong in JSON; a gateway does so in HTML, if at all.
    fn is_an_nfs(&self) -> bool {
        NfType::ALL.iter().any(|of| self.is_signed(of.as_str()))
            || serde_json::from_slice::<serde::de::IgnoredAny>(&self.body).is_ok()
    }

    /// Whether its sender says that it is of this type.
    fn is_signed(&self, of: &str) -> bool {
        let server = self.headers.get(header::SERVER).map_or(&b""[..], HeaderValue::as_bytes);
        let is_it = server.get(..of.len()).is_some_and(|it| it.eq_ignore_ascii_case(of.as_bytes()));
        is_it && matches!(server.get(of.len()), None | Some(b'-' | b':'))
    }

    fn was_not_forwarded(&self) -> bool {
        let problem = self.problem();
        problem.passed_on == Some(Progress::No) || NOT_FORWARDED.iter().any(|cause| problem.is(*cause))
    }

    /// Whether this is 504 `TIMED_OUT_REQUEST`.
    pub fn is_timed_out(&self) -> bool {
        self.status == StatusCode::GATEWAY_TIMEOUT && self.problem().is(Cause::TimedOutRequest)
    }
}

/// The same of the headers of an answer.
pub fn location_in(headers: &HeaderMap) -> Option<&str> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    Some(location).filter(|location| !location.is_empty() && !location.starts_with('#'))
}

/// `host[:port]` of a URI.
pub(crate) fn authority(uri: &str) -> &str {
    split(uri).1
}

/// Scheme, authority, and path with query.
fn split(uri: &str) -> (&str, &str, &str) {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("http", uri));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (scheme, &rest[..end], &rest[end..])
}

/// The URI that `location` means in an answer to `target`: as given if absolute, else relative to the target.
///
/// RFC 9110 §10.2.2. The bytes of the location are kept: it may hold percent-encodings that matter to its owner.
pub fn resolve(target: &str, location: &str) -> String {
    let (scheme, authority, path) = split(target);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match location {
        l if has_scheme(l) => l.to_owned(),
        l if l.starts_with("//") => format!("{scheme}:{l}"),
        l if l.starts_with('/') => format!("{scheme}://{authority}{l}"),
        l if l.starts_with('?') => format!("{scheme}://{authority}{path}{l}"),
        l => {
            let folder = path.rfind('/').map_or("", |end| &path[..end]);
            let end = l.find(['?', '#']).unwrap_or(l.len());
            let (relative, rest) = l.split_at(end);
            format!("{scheme}://{authority}{}{rest}", without_dots(&format!("{folder}/{relative}")))
        }
    }
}

/// The last segment of a URI's path, decoded; `None` if it is no UTF-8.
pub(crate) fn last_segment(uri: &str) -> Option<String> {
    let path = split(uri).2.split(['?', '#']).next()?;
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    percent_decode_str(last).decode_utf8().ok().map(Into::into)
}

/// `text` as one segment of a path.
pub(crate) fn encoded(text: &str) -> PercentEncode<'_> {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, KEPT)
}

/// The path without its `.` and `..` segments, RFC 3986 §5.2.4.
fn without_dots(path: &str) -> String {
    let mut kept = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

/// RFC 3986 §3.1: a letter, then letters, digits, `+`, `-` and `.`, up to the first colon.
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    let more = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_taken_exactly_as_given() {
        let target = "http://udm:7712/site-a/nudm-sdm/v2/imsi-1/sdm-subscriptions?x=1";
        for (location, expected) in [
            ("http://other/p%2Fq", "http://other/p%2Fq"),
            ("/nudm-sdm/v2/1", "http://udm:7712/nudm-sdm/v2/1"),
            ("sdm-subscriptions/7", "http://udm:7712/site-a/nudm-sdm/v2/imsi-1/sdm-subscriptions/7"),
            ("//elsewhere/x", "http://elsewhere/x"),
            ("7?next=http://other/", "http://udm:7712/site-a/nudm-sdm/v2/imsi-1/7?next=http://other/"),
            ("../../x/./y?z=/..", "http://udm:7712/site-a/nudm-sdm/x/y?z=/.."),
            ("./7", "http://udm:7712/site-a/nudm-sdm/v2/imsi-1/7"),
            ("?y=2", "http://udm:7712/site-a/nudm-sdm/v2/imsi-1/sdm-subscriptions?y=2"),
        ] {
            assert_eq!(resolve(target, location), expected);
        }
    }

    #[test]
    fn authority_and_path_are_cut_without_loss() {
        let call = Call::get("http://[::1]:7003/a/b?c=%2F");
        assert_eq!((call.authority(), call.path()), ("[::1]:7003", "/a/b?c=%2F"));
    }

    #[test]
    fn an_intermediary_without_an_answer_says_nothing_of_the_producer() {
        let said = |status: StatusCode, server: &'static str, body: &'static str| {
            let mut answer = Answer { body: Bytes::from_static(body.as_bytes()), ..Answer::new(status) };
            answer.headers.insert(header::SERVER, HeaderValue::from_static(server));
            answer.is_silence()
        };
        let (bad, timeout) = (StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT);
        let timed_out = r#"{"cause":"TIMED_OUT_REQUEST"}"#;
        for server in ["SCP-1", "scp-scp1.operator.com", "SEPP-x"] {
            assert!(said(timeout, server, timed_out) && said(bad, server, ""), "{server}");
            assert!(!said(StatusCode::SERVICE_UNAVAILABLE, server, ""));
            assert!(!said(timeout, server, r#"{"cause":"NRF_NOT_REACHABLE"}"#));
            assert!(!said(timeout, server, r#"{"cause":"TARGET_NF_NOT_REACHABLE","passedOn":"no"}"#));
        }
        assert!(said(bad, "nghttpx", "<html>") && said(timeout, "", ""));
        for (server, body) in [("UDM-1", timed_out), ("", timed_out), ("UDM-1", ""), ("UDM:\"7\"", "")] {
            assert!(!said(timeout, server, body), "a producer's own word: {server}");
        }
    }

    #[test]
    fn a_wrapped_problem_is_found() {
        let mut answer = Answer::new(StatusCode::GATEWAY_TIMEOUT);
        answer.body = Bytes::from_static(br#"{"error":{"status":504,"cause":"TIMED_OUT_REQUEST"}}"#);
        assert!(answer.is_timed_out());
        answer.body = Bytes::from_static(b"<html>");
        assert_eq!(answer.problem().status, Some(504));
    }
}
