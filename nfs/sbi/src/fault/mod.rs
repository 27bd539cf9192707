//! Faults on purpose: what a test or a person makes go wrong, where, and how often.

mod effect;
mod rule;

pub use effect::{Altered, Effect, Spoilt};
pub use rule::{DEFAULT_HOLD, Delay, On, Rule, Subject};

use crate::clock::Instant;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many rules a process takes.
pub const MAX_RULES: usize = 1_024;

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

/// A rule, and how often it was looked at.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The rule; what is left of its `skip` and `times`.
    pub rule: Rule,
    /// How many requests it matched.
    pub matched: u64,
    /// To how many of them it was applied.
    pub applied: u64,
}

/// The fault rules of a process, in the order they were set.
#[derive(Clone, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rules: Mutex<Vec<Counted>>,
    count: AtomicUsize,
}

impl Faults {
    /// Sets a rule, replacing one of the same name; whether there was one.
    ///
    /// # Errors
    ///
    /// If there are [`MAX_RULES`] others.
    pub fn set(&self, rule: Rule) -> Result<bool, TooManyRules> {
        let mut rules = self.rules();
        let rule = Counted { rule, matched: 0, applied: 0 };
        if let Some(same) = rules.iter_mut().find(|r| r.rule.id == rule.rule.id) {
            *same = rule;
            return Ok(true);
        }
        if rules.len() == MAX_RULES {
            return Err(TooManyRules);
        }
        rules.push(rule);
        self.0.count.store(rules.len(), Relaxed);
        Ok(false)
    }

    /// Removes a rule; whether there was one.
    pub fn remove(&self, id: &str) -> bool {
        let mut rules = self.rules();
        let before = rules.len();
        rules.retain(|r| r.rule.id != id);
        self.0.count.store(rules.len(), Relaxed);
        rules.len() < before
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.rules().clear();
        self.0.count.store(0, Relaxed);
    }

    /// All rules, in the order they were set.
    pub fn all(&self) -> Vec<Counted> {
        self.rules().clone()
    }

    /// Whether a rule for requests at this NF looks at their bodies.
    pub fn need_body(&self, nf: &str, on: On) -> bool {
        self.any() && self.rules().iter().any(|r| r.rule.is_about(nf, on) && r.rule.supi.is_some())
    }

    /// The first rule that applies to this request, counted. Costs one load while there are no rules.
    pub fn take(&self, on: On, subject: &Subject<'_>, now: Instant) -> Option<Fault> {
        if !self.any() {
            return None;
        }
        let mut rules = self.rules();
        let mut matching = rules.iter_mut().filter(|r| r.rule.matches(on, subject));
        let counted = matching.find_map(|r| {
            r.matched += 1;
            r.rule.count().then_some(r)
        })?;
        counted.applied += 1;
        let delay = counted.rule.draw_delay(subject, now);
        let Rule { id, effect, hold, .. } = &counted.rule;
        Some(Fault { rule: id.clone(), delay, effect: effect.clone(), hold: *hold })
    }

    /// Whether there is any rule.
    pub fn any(&self) -> bool {
        self.0.count.load(Relaxed) > 0
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Counted>> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, Method};
    use regex_lite::Regex;

    fn applies(faults: &Faults, on: On, subject: Subject<'_>) -> bool {
        faults.take(on, &subject, Instant::now()).is_some()
    }

    fn subject<'a>(headers: &'a HeaderMap, method: &'a Method, path: &'a str) -> Subject<'a> {
        Subject { nf: "udm", peer: "smf", method, path, headers, body: b"", deadline: None }
    }

    #[test]
    fn a_rule_applies_to_the_nth_match_so_many_times() {
        let (faults, headers) = (Faults::default(), HeaderMap::new());
        let rule = Rule { skip: 1, times: Some(2), at: Some("udm".into()), ..Rule::new("x", On::Request) };
        faults.set(rule).expect("room");
        let put = subject(&headers, &Method::PUT, "/a");
        let hits: Vec<_> = (0..5).map(|_| applies(&faults, On::Request, put)).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert!(!applies(&faults, On::Request, Subject { nf: "smf", ..put }));
        let counted = &faults.all()[0];
        assert_eq!((counted.matched, counted.applied), (5, 2));
    }

    #[test]
    fn everything_named_narrows_a_rule() {
        let mut headers = HeaderMap::new();
        headers.insert("x-lab", "seven".parse().expect("a value"));
        let put = Subject {
            body: br#"{"supi":"imsi-1"}"#,
            ..subject(&headers, &Method::PUT, "/nudm-uecm/v1/imsi-2")
        };
        let pattern = |text: &str| Regex::new(text).expect("a pattern");
        let all = |rule: Rule| {
            let faults = Faults::default();
            faults.set(rule).expect("room");
            applies(&faults, On::Response, put)
        };
        let any = || Rule::new("x", On::Response);
        assert!(all(Rule { method: Some("put".into()), path: Some(pattern("^/nudm-uecm/")), ..any() }));
        assert!(!all(Rule { method: Some("GET".into()), ..any() }));
        assert!(!all(Rule { path: Some(pattern("^/nudm-sdm/")), ..any() }));
        assert!(all(Rule { peer: Some("smf".into()), ..any() }));
        assert!(!all(Rule { peer: Some("amf".into()), ..any() }));
        let header = |value| Some(("x-lab".parse().expect("a name"), pattern(value)));
        assert!(all(Rule { header: header("^se"), ..any() }));
        assert!(!all(Rule { header: header("^en"), ..any() }));
        for (supi, named) in [("imsi-1", true), ("imsi-2", true), ("imsi-", false)] {
            assert_eq!(all(Rule { supi: Some(supi.into()), ..any() }), named, "{supi}");
        }
    }

    #[test]
    fn the_same_seed_throws_the_same_dice() {
        let throws = |seed| {
            let (faults, headers) = (Faults::default(), HeaderMap::new());
            let dice = fastrand::Rng::with_seed(seed);
            let delay = Delay::Random(Duration::from_millis(10), Duration::from_millis(20));
            faults
                .set(Rule { probability: Some(0.5), delay, dice, ..Rule::new("x", On::Send) })
                .expect("room");
            let get = subject(&headers, &Method::GET, "/");
            let faults: Vec<_> = (0..100).map(|_| faults.take(On::Send, &get, Instant::now())).collect();
            faults.into_iter().map(|f| f.map(|f| f.delay)).collect::<Vec<_>>()
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        let applied: Vec<_> = throws(7).into_iter().flatten().collect();
        assert!((20..80).contains(&applied.len()), "{}", applied.len());
        assert!(applied.iter().all(|delay| (10..=20).contains(&delay.as_millis())));
    }

    #[test]
    fn rules_are_bounded_and_replaced_by_name() {
        let faults = Faults::default();
        for n in 0..MAX_RULES {
            assert!(!faults.set(Rule::new(n.to_string(), On::Request)).expect("room"));
        }
        assert!(faults.set(Rule::new("0", On::Request)).expect("room"));
        assert!(faults.set(Rule::new("one more", On::Request)).is_err());
        assert!(faults.remove("5") && !faults.remove("5"));
    }
}
