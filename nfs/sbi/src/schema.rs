//! Messages held against the schemas of their API, by whoever can: this crate knows no schema.

use crate::event::{Facts, Kind};
use crate::party::Party;
use crate::problem::{Cause, InvalidParam, ProblemDetails};
use crate::traffic::Content;
use http::{Method, StatusCode};
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// How many peers and operations are remembered as logged; violations beyond are events only.
const MAX_TOLD: usize = 1_024;

/// Holds messages against the API descriptions of their operations.
pub trait SchemaCheck: Send + Sync {
    /// Judges a request; `None` if no operation is known for it.
    fn request(&self, method: &Method, uri: &str, request: &Content) -> Option<Judged>;

    /// Judges an answer to such a request.
    fn answer(&self, method: &Method, uri: &str, status: StatusCode, answer: &Content) -> Option<Judged>;

    /// Remembers where a request wants to be called back, so that what is sent there can be judged.
    fn learn(&self, method: &Method, uri: &str, request: &Content);
}

/// What the NFs of a process hold the messages of others against.
#[derive(Clone)]
pub struct Schemas {
    pub(crate) check: Arc<dyn SchemaCheck>,
    /// Whether a request that is not as its API says is refused.
    pub(crate) refuse: bool,
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl Schemas {
    /// Violations are told; with `refuse`, a request with one that is not tolerated gets 400.
    pub fn new(check: Arc<dyn SchemaCheck>, refuse: bool) -> Self {
        Schemas { check, refuse, told: Arc::default() }
    }

    /// An event each time, a line in the log once per peer and operation.
    pub(crate) fn tell(&self, party: &Party, facts: Facts, judged: &Judged) {
        let (peer, told) = (facts.peer.clone().unwrap_or_default(), judged.told());
        if self.first_time(&format!("{} {} {}", party.name, host(&peer), judged.operation)) {
            tracing::warn!(nf = %party.name, %peer, operation = judged.operation, "schema.violated: {told}");
        }
        party.emit(Kind::SchemaViolated, facts.detail(told));
    }

    fn first_time(&self, what: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MAX_TOLD && told.insert(what.to_owned())
    }
}

/// What was found of a message.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The operation: file, method and path template.
    pub operation: String,
    /// Everything that is not as its file says.
    pub violations: Vec<Violation>,
}

/// Something in a message that is not as its API says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, and what was expected.
    pub param: InvalidParam,
    /// The error that a request with it gets.
    pub cause: Cause,
    /// Real NFs are known to send it: never an error.
    pub tolerated: bool,
}

impl Violation {
    /// One that is not tolerated.
    pub fn new(param: InvalidParam, cause: Cause) -> Self {
        Violation { param, cause, tolerated: false }
    }
}

/// A peer without a name has another port on each connection.
fn host(peer: &str) -> String {
    peer.parse::<SocketAddr>().map_or_else(|_| peer.to_owned(), |at| at.ip().to_string())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidParam { param, reason } = &self.param;
        let place = if param.is_empty() { "the whole body" } else { param };
        write!(f, "{place}: {}", reason.as_deref().unwrap_or("wrong"))
    }
}

impl Judged {
    /// The error for a request with these violations; none if all of them are tolerated.
    pub fn problem(&self) -> Option<ProblemDetails> {
        let mut wrong = self.violations.iter().filter(|v| !v.tolerated).peekable();
        let cause = wrong.peek()?.cause;
        let problem = ProblemDetails::new(cause, format!("the request is not as {} says", self.operation));
        Some(wrong.fold(problem, |problem, violation| problem.with_param(violation.param.clone())))
    }

    /// All violations in one line; empty if there are none.
    pub fn told(&self) -> String {
        self.violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_what_is_wrong_and_not_what_is_tolerated() {
        let wrong = Violation::new(InvalidParam::body("/a", "missing"), Cause::MandatoryIeMissing);
        let known = Violation {
            tolerated: true,
            ..Violation::new(InvalidParam::body("/b", "odd"), Cause::InvalidApi)
        };
        let judged = |violations| Judged { operation: "x".into(), violations };
        assert_eq!(judged(vec![known.clone()]).problem(), None);
        let both = judged(vec![known, wrong.clone()]);
        let problem = both.problem().expect("a problem");
        assert!(problem.is(Cause::MandatoryIeMissing) && problem.invalid_params == [wrong.param]);
        assert_eq!(both.told(), "/b: odd; /a: missing");
    }
}
