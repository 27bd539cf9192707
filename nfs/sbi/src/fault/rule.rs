//! Which requests a fault is for.

use super::effect::Effect;
use crate::clock::Instant;
use crate::deadline::Deadline;
use fastrand::Rng;
use http::{HeaderMap, HeaderName, Method};
use regex_lite::Regex;
use std::time::Duration;

/// How long a stream is held open when its answer is lost, unless the rule says otherwise.
pub const DEFAULT_HOLD: Duration = Duration::from_secs(60);

/// Where in the life of a request a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// At the producer, before anything looks at the request; a delay here is a slow network.
    Request,
    /// At the producer, when the answer has been handed over; a delay here makes the answer late.
    Response,
    /// At the consumer, before the request is sent.
    Send,
    /// At an SCP, when a request turns out to be late.
    Late,
    /// At an SCP, before it passes a request on.
    Forward,
}

/// How long it takes until something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always so long.
    Fixed(Duration),
    /// Differently each time, from the first to the second.
    Random(Duration, Duration),
    /// Until so long after the deadline of the request; not at all if it has none.
    PastDeadline(Duration),
}

/// What a rule looks at.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The NF at which it is looked.
    pub nf: &'a str,
    /// The other party, as in events.
    pub peer: &'a str,
    /// The method.
    pub method: &'a Method,
    /// The path.
    pub path: &'a str,
    /// The headers of the request.
    pub headers: &'a HeaderMap,
    /// The body of the request, as far as it is known.
    pub body: &'a [u8],
    /// Its deadline.
    pub deadline: Option<&'a Deadline>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, for replacing and removing it.
    pub id: String,
    /// The NF at which it applies; any if `None`.
    pub at: Option<String>,
    /// Where in the life of a request.
    pub on: On,
    /// Only requests from this peer (on `Send`: to it), as in events.
    pub peer: Option<String>,
    /// Only this method.
    pub method: Option<String>,
    /// Only paths in which this pattern is found.
    pub path: Option<Regex>,
    /// Only requests with this header, in whose value this pattern is found.
    pub header: Option<(HeaderName, Regex)>,
    /// Only requests whose path or body names this SUPI.
    pub supi: Option<String>,
    /// How many matches pass unharmed first.
    pub skip: u32,
    /// How often it applies; for ever if `None`.
    pub times: Option<u32>,
    /// How likely it is to apply to a match, from 0 to 1; the dice have a seed.
    pub probability: Option<f64>,
    /// What it does first.
    pub delay: Delay,
    /// What it does then.
    pub effect: Effect,
    /// How long `Drop` and `LoseResponse` hold the stream.
    pub hold: Duration,
    /// The dice of `probability` and of random delays.
    pub dice: Rng,
}

impl Rule {
    /// A rule that matches everything at `on` and does nothing yet.
    pub fn new(id: impl Into<String>, on: On) -> Self {
        Rule {
            id: id.into(),
            at: None,
            on,
            peer: None,
            method: None,
            path: None,
            header: None,
            supi: None,
            skip: 0,
            times: None,
            probability: None,
            delay: Delay::Fixed(Duration::ZERO),
            effect: Effect::Proceed,
            hold: DEFAULT_HOLD,
            dice: Rng::with_seed(0),
        }
    }

    /// A rule at the NF `nf`, on requests that it receives; named after what it matches and does only once set.
    pub fn at(nf: &str) -> Self {
        Rule { at: Some(nf.into()), ..Rule::new(format!("at {nf}"), On::Request) }
    }

    /// The same, on its answers.
    #[must_use]
    pub fn on_response(self) -> Self {
        Rule { on: On::Response, id: format!("{} on response", self.id), ..self }
    }

    /// The same, on requests that it passes on.
    #[must_use]
    pub fn on_forward(self) -> Self {
        Rule { on: On::Forward, id: format!("{} on forward", self.id), ..self }
    }

    /// The same, on late requests that it would refuse to pass on.
    #[must_use]
    pub fn on_late(self) -> Self {
        Rule { on: On::Late, id: format!("{} on late", self.id), ..self }
    }

    /// The same, on requests that it sends.
    #[must_use]
    pub fn on_send(self) -> Self {
        Rule { on: On::Send, id: format!("{} on send", self.id), ..self }
    }

    /// The same, for requests of `method` whose path has `pattern` only.
    ///
    /// # Panics
    ///
    /// If `pattern` is no regular expression.
    #[must_use]
    pub fn matching(self, method: &str, pattern: &str) -> Self {
        let path = Regex::new(pattern).expect("a regular expression");
        Rule {
            id: format!("{} {method} {pattern}", self.id),
            method: Some(method.into()),
            path: Some(path),
            ..self
        }
    }

    /// The same, after so many milliseconds.
    #[must_use]
    pub fn delay_ms(self, ms: u64) -> Self {
        Rule { delay: Delay::Fixed(Duration::from_millis(ms)), ..self }
    }

    /// The same, with an effect.
    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        Rule { effect, ..self }
    }

    /// The same, once.
    #[must_use]
    pub fn once(self) -> Self {
        Rule { times: Some(1), ..self }
    }

    pub(super) fn is_about(&self, nf: &str, on: On) -> bool {
        self.on == on && self.at.as_deref().is_none_or(|at| at == nf)
    }

    pub(super) fn matches(&self, on: On, subject: &Subject<'_>) -> bool {
        self.is_about(subject.nf, on)
            && self.peer.as_deref().is_none_or(|peer| peer == subject.peer)
            && self.method.as_deref().is_none_or(|m| m.eq_ignore_ascii_case(subject.method.as_str()))
            && self.path.as_ref().is_none_or(|pattern| pattern.is_match(subject.path))
            && self.header.as_ref().is_none_or(|(name, pattern)| has(subject.headers, name, pattern))
            && self.supi.as_deref().is_none_or(|supi| names(subject, supi))
    }

    /// Counts a match; whether the rule applies to it.
    pub(super) fn count(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.times == Some(0) || self.probability.is_some_and(|p| self.dice.f64() >= p) {
            return false;
        }
        self.times = self.times.map(|left| left - 1);
        true
    }

    pub(super) fn draw_delay(&mut self, subject: &Subject<'_>, now: Instant) -> Duration {
        match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::Random(least, most) => {
                let spread = most.saturating_sub(least).as_micros();
                let spread = u64::try_from(spread).unwrap_or(u64::MAX);
                least + Duration::from_micros(self.dice.u64(0..=spread))
            }
            Delay::PastDeadline(by) => subject
                .deadline
                .map_or(Duration::ZERO, |deadline| deadline.at().saturating_duration_since(now) + by),
        }
    }
}

fn has(headers: &HeaderMap, name: &HeaderName, pattern: &Regex) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| pattern.is_match(value)))
}

/// Whether the SUPI stands in the path, or in quotes in the body.
fn names(subject: &Subject<'_>, supi: &str) -> bool {
    let quoted = format!("\"{supi}\"");
    subject.path.split('/').any(|segment| segment == supi)
        || subject.body.windows(quoted.len()).any(|bytes| bytes == quoted.as_bytes())
}
