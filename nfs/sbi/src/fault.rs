//! Faults on purpose: what a test or a person makes go wrong, where, and how often.

use http::StatusCode;
use regex_lite::Regex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many rules a process takes.
pub const MAX_RULES: usize = 1_024;

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
}

/// What goes wrong after the delay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing more: the delay was all.
    #[default]
    Proceed,
    /// This status with this body: instead of doing anything on `Request`, instead of the real answer on `Response`.
    /// Without a body, an answer keeps its own, and a failure does not become a success.
    Status(StatusCode, Option<String>),
    /// Nothing is done, nothing is said: the stream stays open until the client resets it, at most the hold time.
    Drop,
    /// The stream is reset with this HTTP/2 error code.
    Reset(u32),
    /// Everything is done, but the answer never leaves; otherwise like `Drop`.
    LoseResponse,
    /// On `Send`, where nothing else but a delay can be: the connection is refused.
    RefuseConnection,
}

impl Effect {
    /// This status, without a body of its own.
    ///
    /// # Panics
    ///
    /// If there is no such status.
    pub fn status(code: u16) -> Self {
        Effect::Status(StatusCode::from_u16(code).expect("an HTTP status"), None)
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Effect::Proceed => f.write_str("goes on"),
            Effect::Status(status, _) => write!(f, "answers {}", status.as_u16()),
            Effect::Drop => f.write_str("says nothing"),
            Effect::Reset(code) => write!(f, "resets the stream with {:?}", h2::Reason::from(*code)),
            Effect::LoseResponse => f.write_str("loses the answer"),
            Effect::RefuseConnection => f.write_str("refuses the connection"),
        }
    }
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
    /// Only this method.
    pub method: Option<String>,
    /// Only paths in which this pattern is found.
    pub path: Option<Regex>,
    /// How many matches pass unharmed first.
    pub skip: u32,
    /// How often it applies; for ever if `None`.
    pub times: Option<u32>,
    /// What it does first.
    pub delay: Duration,
    /// What it does then.
    pub effect: Effect,
    /// How long `Drop` and `LoseResponse` hold the stream.
    pub hold: Duration,
}

impl Rule {
    /// A rule that matches everything at `on` and does nothing yet.
    pub fn new(id: impl Into<String>, on: On) -> Self {
        Rule {
            id: id.into(),
            at: None,
            on,
            method: None,
            path: None,
            skip: 0,
            times: None,
            delay: Duration::ZERO,
            effect: Effect::Proceed,
            hold: DEFAULT_HOLD,
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
        Rule { delay: Duration::from_millis(ms), ..self }
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

    fn matches(&self, nf: &str, on: On, method: &str, path: &str) -> bool {
        self.on == on
            && self.at.as_deref().is_none_or(|at| at == nf)
            && self.method.as_deref().is_none_or(|m| m.eq_ignore_ascii_case(method))
            && self.path.as_ref().is_none_or(|pattern| pattern.is_match(path))
    }

    /// Counts a match; whether the rule applies to it.
    fn count(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match &mut self.times {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

/// What to do to one request.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The rule's name.
    pub rule: String,
    /// First wait so long.
    pub delay: Duration,
    /// Then do this.
    pub effect: Effect,
    /// And hold the stream at most so long.
    pub hold: Duration,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.rule)?;
        if !self.delay.is_zero() {
            write!(f, " waits {} ms,", self.delay.as_millis())?;
        }
        write!(f, " {}", self.effect)
    }
}

/// Too many rules.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{MAX_RULES} fault rules are set already; remove one first")]
pub struct TooManyRules;

/// The fault rules of a process, in the order they were set.
#[derive(Clone, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rules: Mutex<Vec<Rule>>,
    count: AtomicUsize,
}

impl Faults {
    /// Sets a rule, replacing one of the same name.
    pub fn set(&self, rule: Rule) -> Result<(), TooManyRules> {
        let mut rules = self.rules();
        rules.retain(|r| r.id != rule.id);
        if rules.len() == MAX_RULES {
            return Err(TooManyRules);
        }
        rules.push(rule);
        self.0.count.store(rules.len(), Relaxed);
        Ok(())
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.rules().clear();
        self.0.count.store(0, Relaxed);
    }

    /// The first rule that applies to this request, counted. Costs one load while there are no rules.
    pub fn take(&self, nf: &str, on: On, method: &str, path: &str) -> Option<Fault> {
        if self.0.count.load(Relaxed) == 0 {
            return None;
        }
        let mut rules = self.rules();
        let mut matching = rules.iter_mut().filter(|r| r.matches(nf, on, method, path));
        let rule = matching.find_map(|r| r.count().then_some(r))?;
        Some(Fault { rule: rule.id.clone(), delay: rule.delay, effect: rule.effect.clone(), hold: rule.hold })
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_applies_to_the_nth_match_so_many_times() {
        let faults = Faults::default();
        let rule = Rule { skip: 1, times: Some(2), at: Some("udm".into()), ..Rule::new("x", On::Request) };
        faults.set(rule).expect("room");
        let hits: Vec<_> = (0..5).map(|_| faults.take("udm", On::Request, "PUT", "/a").is_some()).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert!(faults.take("smf", On::Request, "PUT", "/a").is_none());
    }

    #[test]
    fn method_and_path_narrow_a_rule() {
        let faults = Faults::default();
        let path = Some(Regex::new("^/nudm-uecm/").expect("pattern"));
        faults.set(Rule { method: Some("PUT".into()), path, ..Rule::new("x", On::Response) }).expect("room");
        assert!(faults.take("udm", On::Response, "GET", "/nudm-uecm/v1").is_none());
        assert!(faults.take("udm", On::Response, "PUT", "/nudm-sdm/v2").is_none());
        assert!(faults.take("udm", On::Response, "put", "/nudm-uecm/v1").is_some());
    }

    #[test]
    fn rules_are_bounded_and_replaced_by_name() {
        let faults = Faults::default();
        for n in 0..MAX_RULES {
            faults.set(Rule::new(n.to_string(), On::Request)).expect("room");
        }
        assert!(faults.set(Rule::new("0", On::Request)).is_ok());
        assert!(faults.set(Rule::new("one more", On::Request)).is_err());
    }
}
