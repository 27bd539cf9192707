//! Why there is no answer of a producer to pass back, and what the SCP says instead.

use sbi::header::TARGET_API_ROOT;
use sbi::problem::{Cause, ProblemDetails, Progress};
use sbi::server::{Outcome, PassedOn};

/// Why there is no answer to pass back.
pub(crate) enum Unanswered {
    /// The client has stopped waiting.
    TimedOut(PassedOn),
    /// An error of the SCP's own.
    Problem(Box<ProblemDetails>, PassedOn),
}

impl Unanswered {
    /// An error of the SCP's own: the request was passed on to nobody.
    pub(crate) fn own(cause: Cause, detail: impl Into<String>) -> Self {
        ProblemDetails::new(cause, detail).into()
    }

    /// Whether the target could not be reached, and nobody has seen the request: another one may serve it.
    pub(crate) fn may_be_repeated(&self) -> bool {
        matches!(self, Unanswered::Problem(problem, PassedOn { progress: Progress::No, .. })
            if problem.is(Cause::TargetNfNotReachable))
    }
}

impl From<ProblemDetails> for Unanswered {
    fn from(problem: ProblemDetails) -> Self {
        Unanswered::Problem(problem.into(), PassedOn::NO)
    }
}

impl From<Unanswered> for Outcome {
    /// Whom this SCP has asked is said, and that it has asked nobody: its client may have to look for what came of it (our
    /// choice).
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::TimedOut(passed_on) => Outcome::TimedOut(passed_on),
            Unanswered::Problem(problem, PassedOn { progress, to }) => {
                let mut outcome = Outcome::problem(&problem.passed_on(progress));
                if let (Outcome::Answer(answer), Some(root)) = (&mut outcome, to) {
                    answer.headers_mut().insert(TARGET_API_ROOT, root);
                }
                outcome
            }
        }
    }
}
