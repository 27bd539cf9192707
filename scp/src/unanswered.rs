//! Why there is no answer of a producer to pass back, and what the SCP says instead.

use http::HeaderValue;
use sbi::header::TARGET_API_ROOT;
use sbi::problem::{Cause, ProblemDetails};
use sbi::server::{Outcome, PassedOn};

/// Why there is no answer to pass back.
pub(crate) enum Unanswered {
    /// The client has stopped waiting.
    TimedOut(PassedOn),
    /// An error of the SCP's own.
    Problem(ProblemDetails, PassedOn),
}

impl Unanswered {
    /// An error of the SCP's own: the request was passed on to nobody.
    pub(crate) fn own(cause: Cause, detail: impl Into<String>) -> Self {
        ProblemDetails::new(cause, detail).into()
    }
}

impl Unanswered {
    /// Whether the target could not be reached, and nobody has seen the request: another one may serve it.
    pub(crate) fn may_be_repeated(&self) -> bool {
        matches!(self, Unanswered::Problem(problem, PassedOn::ToNobody) if problem.is(Cause::TargetNfNotReachable))
    }
}

impl From<ProblemDetails> for Unanswered {
    fn from(problem: ProblemDetails) -> Self {
        Unanswered::Problem(problem, PassedOn::ToNobody)
    }
}

impl From<Unanswered> for Outcome {
    /// Whom this SCP has asked is said, and that it has asked nobody: its client may have to look for what came of it (our
    /// choice).
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::TimedOut(passed_on) => Outcome::TimedOut(passed_on),
            Unanswered::Problem(problem, PassedOn::ToNobody) => Outcome::problem(&problem.not_forwarded()),
            Unanswered::Problem(problem, PassedOn::Further) => Outcome::problem(&problem),
            Unanswered::Problem(problem, PassedOn::To(root)) => asked(Outcome::problem(&problem), root),
        }
    }
}

fn asked(mut outcome: Outcome, root: HeaderValue) -> Outcome {
    if let Outcome::Answer(answer) = &mut outcome {
        answer.headers_mut().insert(TARGET_API_ROOT, root);
    }
    outcome
}
