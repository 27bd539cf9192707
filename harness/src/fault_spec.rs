//! Fault rules as people write them, in JSON: `{"at": "udm", "on": "response", "match": {...}, "do": {...}, "times": 1}`.

use api::common::Supi;
use api::decode::Ie;
use bytes::Bytes;
use fastrand::Rng;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use regex_lite::Regex;
use sbi::fault::{Altered, DEFAULT_HOLD, Delay, Effect, On, Rule, Spoilt};
use sbi::header::{MAX_RSP_TIME, SENDER_TIMESTAMP};
use sbi::problem::PROBLEM_JSON;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest delay or hold, in ms: nobody waits longer for an answer than a request can say.
pub const MAX_FAULT_MS: u64 = 99_999;

/// A fault rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    at: Option<String>,
    #[serde(default)]
    on: OnSpec,
    #[serde(default)]
    r#match: MatchSpec,
    r#do: DoSpec,
    times: Option<u32>,
}

impl Ie for FaultSpec {
    const MANDATORY: &'static [&'static str] = &["do"];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum OnSpec {
    #[default]
    Request,
    Response,
}

impl TryFrom<String> for OnSpec {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "request" => Ok(OnSpec::Request),
            "response" => Ok(OnSpec::Response),
            _ => Err("expected request or response"),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchSpec {
    method: Option<String>,
    path: Option<String>,
    peer: Option<String>,
    header: Option<HeaderSpec>,
    supi: Option<String>,
    nth: Option<u32>,
    probability: Option<f64>,
    #[serde(default)]
    seed: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `name` and `value`")]
struct HeaderSpec {
    name: String,
    value: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DoSpec {
    delay_ms: Option<DelaySpec>,
    delay_past_deadline_ms: Option<u64>,
    #[serde(default)]
    drop: bool,
    reset: Option<ResetSpec>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    body: Option<Value>,
    #[serde(default)]
    lose_response: bool,
    hold_ms: Option<u64>,
    #[serde(default)]
    goaway: bool,
    trickle: Option<TrickleSpec>,
    #[serde(default)]
    restamp_only: bool,
    extend_deadline_ms: Option<u64>,
    #[serde(default)]
    drop_timing_headers: Vec<String>,
    #[serde(default)]
    forward_expired: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "expected milliseconds, or an object with `min` and `max`")]
enum DelaySpec {
    Fixed(u64),
    Random { min: u64, max: u64 },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected an HTTP/2 error code or its name")]
enum ResetSpec {
    Code(u32),
    Name(String),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `bytes` and `every_ms`")]
struct TrickleSpec {
    bytes: usize,
    every_ms: u64,
}

/// What is wrong with a rule: where, as a JSON Pointer, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The attribute.
    pub pointer: &'static str,
    /// What was expected.
    pub reason: String,
}

type Usable<T> = Result<T, Unusable>;

fn unusable<T>(pointer: &'static str, reason: impl Into<String>) -> Usable<T> {
    Err(Unusable { pointer, reason: reason.into() })
}

impl FaultSpec {
    /// The rule `id`, for a process with these NFs and APIs (as path prefixes).
    ///
    /// # Errors
    ///
    /// If a value is out of range, or the rule could never apply to anything.
    pub fn rule(self, id: &str, nfs: &[(&str, &[&str])]) -> Usable<Rule> {
        let at = self.at.as_deref();
        let meant: Vec<_> = nfs.iter().filter(|(name, _)| at.is_none_or(|at| at == *name)).collect();
        if let (Some(at), []) = (at, meant.as_slice()) {
            let names: Vec<_> = nfs.iter().map(|(name, _)| *name).collect();
            return unusable(
                "/at",
                format!("no NF here is called {at:.32}: it would never match; there is {}", names.join(", ")),
            );
        }
        let apis: Vec<_> = meant.iter().flat_map(|(_, apis)| *apis).copied().collect();
        if self.times == Some(0) {
            return unusable("/times", "expected 1 or more: it would never apply");
        }
        let effect = self.r#do.effect(self.on)?;
        let on = match (self.on, &effect) {
            (_, Effect::LetThrough) => On::Late,
            (_, Effect::Spoil(_)) => On::Forward,
            (OnSpec::Request, _) => On::Request,
            (OnSpec::Response, _) => On::Response,
        };
        // An SCP has no APIs of its own.
        let forwards = meant.iter().any(|(_, apis)| apis.is_empty());
        if matches!(on, On::Late | On::Forward) && !forwards {
            return unusable("/at", "expected an SCP: nobody else forwards requests");
        }
        if matches!(on, On::Late | On::Forward) && self.on == OnSpec::Response {
            return unusable("/on", "expected request: an SCP does this to what it passes on");
        }
        let spec = self.r#match;
        let (skip, times) = match spec.nth {
            Some(0) => return unusable("/match/nth", "expected 1 for the first match, or more"),
            Some(nth) => (nth - 1, Some(self.times.unwrap_or(1))),
            None => (0, self.times),
        };
        Ok(Rule {
            at: self.at,
            peer: spec.peer.map(|peer| peer.to_ascii_lowercase()),
            method: spec.method.map(method).transpose()?,
            path: spec.path.map(|path| path_pattern(&path, &apis, forwards)).transpose()?,
            header: spec.header.map(header_pattern).transpose()?,
            supi: spec.supi.map(supi).transpose()?,
            skip,
            times,
            probability: spec.probability.map(probability).transpose()?,
            dice: Rng::with_seed(spec.seed),
            delay: self.r#do.delay()?,
            hold: self.r#do.hold_ms.map_or(Ok(DEFAULT_HOLD), |ms| bounded(ms, "/do/hold_ms"))?,
            effect,
            ..Rule::new(id, on)
        })
    }
}

fn supi(text: String) -> Usable<String> {
    match text.parse::<Supi>() {
        Ok(_) => Ok(text),
        Err(malformed) => unusable("/match/supi", format!("{malformed}: it would never match")),
    }
}

fn method(name: String) -> Usable<String> {
    const METHODS: [Method; 6] =
        [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    match METHODS.iter().any(|method| name.eq_ignore_ascii_case(method.as_str())) {
        true => Ok(name),
        false => unusable(
            "/match/method",
            "expected GET, POST, PUT, PATCH, DELETE or OPTIONS: it would never match",
        ),
    }
}

fn pattern(pointer: &'static str, text: &str) -> Usable<Regex> {
    Regex::new(text).or_else(|error| unusable(pointer, format!("expected a regular expression: {error}")))
}

/// A pattern that is anchored at the start has to begin like one of the APIs, or never matches; unless all `pass` here.
fn path_pattern(text: &str, apis: &[&str], pass: bool) -> Usable<Regex> {
    let pattern = pattern("/match/path", text)?;
    let literal = text.strip_prefix('^').map(literal_start);
    let fits = |start: &str| apis.iter().any(|api| api.starts_with(start) || start.starts_with(api));
    match literal {
        Some(start) if !pass && !fits(start) => unusable(
            "/match/path",
            format!(
                "no path here begins with {start:.64}: it would never match; the APIs are {}",
                apis.join(", ")
            ),
        ),
        _ => Ok(pattern),
    }
}

/// What `pattern` begins with before anything in it has a special meaning.
fn literal_start(pattern: &str) -> &str {
    let end = pattern.find(|c| "\\.+*?()|[]{}^$".contains(c)).unwrap_or(pattern.len());
    let optional = pattern[end..].starts_with(['*', '?', '{']);
    let cut = pattern[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    if optional { &pattern[..cut] } else { &pattern[..end] }
}

fn header_pattern(spec: HeaderSpec) -> Usable<(HeaderName, Regex)> {
    let Ok(name) = spec.name.parse() else {
        return unusable("/match/header/name", "expected a header's name");
    };
    Ok((name, pattern("/match/header/value", spec.value.as_deref().unwrap_or(""))?))
}

fn probability(value: f64) -> Usable<f64> {
    match value > 0.0 && value <= 1.0 {
        true => Ok(value),
        false => unusable("/match/probability", "expected more than 0 and at most 1"),
    }
}

fn bounded(ms: u64, pointer: &'static str) -> Usable<Duration> {
    match ms <= MAX_FAULT_MS {
        true => Ok(Duration::from_millis(ms)),
        false => unusable(pointer, format!("expected at most {MAX_FAULT_MS} ms")),
    }
}

impl DoSpec {
    fn delay(&self) -> Usable<Delay> {
        match (self.delay_ms, self.delay_past_deadline_ms) {
            (None, None) => Ok(Delay::Fixed(Duration::ZERO)),
            (Some(_), Some(_)) => unusable("/do/delay_ms", "expected one delay, but found two"),
            (None, Some(by)) => bounded(by, "/do/delay_past_deadline_ms").map(Delay::PastDeadline),
            (Some(DelaySpec::Fixed(ms)), None) => bounded(ms, "/do/delay_ms").map(Delay::Fixed),
            (Some(DelaySpec::Random { min, max }), None) if min <= max => {
                Ok(Delay::Random(bounded(min, "/do/delay_ms")?, bounded(max, "/do/delay_ms")?))
            }
            (Some(DelaySpec::Random { .. }), None) => {
                unusable("/do/delay_ms", "expected min to be at most max")
            }
        }
    }

    fn effect(&self, on: OnSpec) -> Usable<Effect> {
        let mut effects = Vec::new();
        if self.status.is_some() || self.body.is_some() || !self.headers.is_empty() {
            effects.push(self.answer(on)?);
        }
        effects.extend(self.drop.then_some(Effect::Drop));
        effects.extend(self.reset.as_ref().map(reset).transpose()?.map(Effect::Reset));
        effects.extend(self.lose_response.then_some(Effect::LoseResponse));
        effects.extend(self.goaway.then_some(Effect::GoAway));
        effects.extend(self.trickle.map(trickle).transpose()?);
        effects.extend(self.forward_expired.then_some(Effect::LetThrough));
        effects.extend(self.spoilt()?.into_iter().map(Effect::Spoil));
        let only_response = |e: &Effect| matches!(e, Effect::LoseResponse | Effect::Trickle { .. });
        match effects.as_slice() {
            [] if self.delay_ms.is_some() || self.delay_past_deadline_ms.is_some() => Ok(Effect::Proceed),
            [] => unusable("/do", "expected a delay or something that goes wrong"),
            [effect] if on != OnSpec::Response && only_response(effect) => {
                unusable("/on", "lose_response and trickle are for responses: it would do nothing")
            }
            [effect] => Ok(effect.clone()),
            [_, _, ..] => unusable(
                "/do",
                "expected one of drop, reset, status (with headers and body), lose_response, goaway, trickle, and at an SCP \
                 restamp_only, extend_deadline_ms, drop_timing_headers and forward_expired",
            ),
        }
    }

    /// What an SCP does to the deadlines of what it passes on.
    fn spoilt(&self) -> Usable<Vec<Spoilt>> {
        let mut spoilt = Vec::new();
        spoilt.extend(self.restamp_only.then_some(Spoilt::RestampedOnly));
        if let Some(ms) = self.extend_deadline_ms {
            spoilt.push(Spoilt::Extended(bounded(ms, "/do/extend_deadline_ms")?));
        }
        if !self.drop_timing_headers.is_empty() {
            let names = self.drop_timing_headers.iter().map(|name| timing_header(name));
            let names = names.collect::<Option<Vec<_>>>();
            let expected = "expected 3gpp-Sbi-Sender-Timestamp, 3gpp-Sbi-Max-Rsp-Time or both";
            let Some(names) = names else { return unusable("/do/drop_timing_headers", expected) };
            spoilt.push(Spoilt::Without(names));
        }
        Ok(spoilt)
    }

    fn answer(&self, on: OnSpec) -> Usable<Effect> {
        if self.status.is_none() && on != OnSpec::Response {
            return unusable(
                "/do/status",
                "expected the status to answer with instead of serving the request",
            );
        }
        let status = match self.status.map(StatusCode::from_u16) {
            None => None,
            Some(Ok(status)) if (200..600).contains(&status.as_u16()) => Some(status),
            Some(_) => return unusable("/do/status", "expected an HTTP status from 200 to 599"),
        };
        let bodiless = matches!(status, Some(StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED));
        if bodiless && self.body.as_ref().is_some_and(|body| *body != "") {
            return unusable("/do/body", "expected none: 204 and 304 have no body");
        }
        let headers = self.headers.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().ok()?;
            let value = value.as_ref().map(|value| HeaderValue::from_str(value)).transpose().ok()?;
            Some((name, value))
        });
        let Some(headers) = headers.collect::<Option<Vec<_>>>() else {
            return unusable("/do/headers", "expected header names, each with a value or null to remove it");
        };
        let is_error = status.is_some_and(|status| status.is_client_error() || status.is_server_error());
        // What wraps a problem is no problem itself, TS 29.502 §6.1.3.2.3.1 (Rel-17).
        let media_type = |body: &Value| match is_error && body.get("error").is_none() {
            true => PROBLEM_JSON,
            false => "application/json",
        };
        let body = self.body.as_ref().map(|body| match body {
            Value::String(text) => (HeaderValue::from_static("text/plain"), Bytes::from(text.clone())),
            json => (HeaderValue::from_static(media_type(json)), Bytes::from(json.to_string())),
        });
        Ok(Effect::Answer(Altered { status, headers, body }))
    }
}

fn timing_header(name: &str) -> Option<HeaderName> {
    [SENDER_TIMESTAMP, MAX_RSP_TIME].into_iter().find(|known| name.eq_ignore_ascii_case(known.as_str()))
}

fn trickle(spec: TrickleSpec) -> Usable<Effect> {
    if spec.bytes == 0 {
        return unusable("/do/trickle/bytes", "expected 1 or more");
    }
    Ok(Effect::Trickle { bytes: spec.bytes, every: bounded(spec.every_ms, "/do/trickle/every_ms")? })
}

/// An HTTP/2 error code, or its name, RFC 9113 §7.
fn reset(spec: &ResetSpec) -> Usable<u32> {
    const KNOWN: u32 = 14;
    match spec {
        ResetSpec::Code(code) => Ok(*code),
        ResetSpec::Name(name) => {
            let named =
                (0..KNOWN).find(|code| format!("{:?}", h2::Reason::from(*code)).eq_ignore_ascii_case(name));
            named.map_or_else(
                || {
                    unusable(
                        "/do/reset",
                        "expected an HTTP/2 error code or its name, as CANCEL or REFUSED_STREAM",
                    )
                },
                Ok,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(spec: Value) -> Usable<Rule> {
        let spec: FaultSpec = serde_json::from_value(spec).expect("a rule");
        let at = spec.at.clone();
        let nfs: [(&str, &[&str]); 3] =
            [("udm", &["/nudm-sdm/v2", "/nudm-uecm/v1"]), ("smf", &["/nsmf-pdusession/v1"]), ("scp", &[])];
        // Without a name the SCP is among those that are meant only where it is the subject.
        let spoils = spec.r#do.forward_expired || spec.r#do.spoilt().is_ok_and(|spoilt| !spoilt.is_empty());
        let all = at.is_some() || spoils;
        spec.rule("x", if all { &nfs } else { &nfs[..2] })
    }

    #[test]
    fn every_effect_can_be_written() {
        for (on, what, effect) in [
            ("response", json!({"delay_ms": 800}), Effect::Proceed),
            ("request", json!({"drop": true}), Effect::Drop),
            ("request", json!({"reset": "refused_stream"}), Effect::Reset(7)),
            ("request", json!({"reset": 8}), Effect::Reset(8)),
            ("request", json!({"status": 503}), Effect::status(503)),
            ("response", json!({"lose_response": true}), Effect::LoseResponse),
            ("response", json!({"goaway": true}), Effect::GoAway),
            ("request", json!({"restamp_only": true}), Effect::Spoil(Spoilt::RestampedOnly)),
            (
                "request",
                json!({"extend_deadline_ms": 500}),
                Effect::Spoil(Spoilt::Extended(Duration::from_millis(500))),
            ),
            (
                "request",
                json!({"drop_timing_headers": ["3gpp-Sbi-Max-Rsp-Time"]}),
                Effect::Spoil(Spoilt::Without(vec![MAX_RSP_TIME])),
            ),
            ("request", json!({"forward_expired": true}), Effect::LetThrough),
            (
                "response",
                json!({"trickle": {"bytes": 5, "every_ms": 10}}),
                Effect::Trickle { bytes: 5, every: Duration::from_millis(10) },
            ),
        ] {
            let rule = rule(json!({"on": on, "do": what})).unwrap_or_else(|e| panic!("{what}: {e:?}"));
            assert_eq!(rule.effect, effect, "{what}");
        }
    }

    #[test]
    fn what_can_never_match_is_said_so() {
        let drop = json!({"drop": true});
        for (spec, pointer) in [
            (json!({"at": "amf", "do": drop}), "/at"),
            (json!({"times": 0, "do": drop}), "/times"),
            (json!({"match": {"nth": 0}, "do": drop}), "/match/nth"),
            (json!({"match": {"method": "FETCH"}, "do": drop}), "/match/method"),
            (json!({"match": {"path": "^/nudm-uecm/v2/"}, "do": drop}), "/match/path"),
            (json!({"match": {"path": "("}, "do": drop}), "/match/path"),
            (json!({"at": "smf", "match": {"path": "^/nudm-uecm/"}, "do": drop}), "/match/path"),
            (json!({"match": {"supi": "001010000000001"}, "do": drop}), "/match/supi"),
            (json!({"do": {"status": 204, "body": {}}}), "/do/body"),
            (json!({"do": {"status": 600}}), "/do/status"),
            (json!({"match": {"probability": 0.0}, "do": drop}), "/match/probability"),
            (json!({"at": "udm", "do": {"restamp_only": true}}), "/at"),
            (json!({"at": "scp", "do": {"restamp_only": true, "forward_expired": true}}), "/do"),
            (json!({"at": "scp", "on": "response", "do": {"restamp_only": true}}), "/on"),
            (json!({"do": {"drop_timing_headers": ["date"]}}), "/do/drop_timing_headers"),
            (json!({"do": {"extend_deadline_ms": 100_000}}), "/do/extend_deadline_ms"),
            (json!({"do": {}}), "/do"),
            (json!({"do": {"drop": true, "status": 500}}), "/do"),
            (json!({"do": {"lose_response": true}}), "/on"),
            (json!({"do": {"headers": {"x": "y"}}}), "/do/status"),
            (json!({"do": {"status": 99}}), "/do/status"),
            (json!({"do": {"delay_ms": {"min": 5, "max": 1}}}), "/do/delay_ms"),
            (json!({"do": {"delay_ms": 100_000}}), "/do/delay_ms"),
        ] {
            assert_eq!(rule(spec.clone()).map(|_| ()).map_err(|e| e.pointer), Err(pointer), "{spec}");
        }
    }

    #[test]
    fn an_anchored_path_may_end_before_or_go_beyond_an_api() {
        for path in [
            "^/nudm-uecm/",
            "^/nudm-(sdm|uecm)/",
            "^/nud.*",
            "smf-registrations",
            "^/nudm-sdm/v2/imsi-1",
            "^/x?",
        ] {
            let found = rule(json!({"match": {"path": path}, "do": {"drop": true}}));
            assert!(found.is_ok(), "{path}: {found:?}");
        }
    }
}
