//! How a procedure of the AMF ended.

use sbi::client::Upstream;
use sbi::event::TraceId;

/// How it ended. At a tie between answer and timer it is `GaveUp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every producer answered with success in time.
    Established {
        /// The URI of the SM context, or of the registration.
        location: String,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
    /// A producer answered with an error, or could not be reached.
    Refused {
        /// The status; none if there was no answer.
        status: Option<u16>,
        /// The cause, if the answer named one.
        cause: Option<String>,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
    /// The AMF's time ended, a producer said that it had (504 `TIMED_OUT_REQUEST`), or it ended the exchange without a word.
    GaveUp {
        /// The answer that said so.
        answer: Option<u16>,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
}

impl Outcome {
    /// As in reports: `established`, `refused`, `gave_up`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Established { .. } => "established",
            Outcome::Refused { .. } => "refused",
            Outcome::GaveUp { .. } => "gave_up",
        }
    }

    /// The procedure, in the event stream.
    pub fn trace(&self) -> TraceId {
        match self {
            Outcome::Established { trace, .. }
            | Outcome::Refused { trace, .. }
            | Outcome::GaveUp { trace, .. } => *trace,
        }
    }
}

/// How a procedure ended that an upstream did not answer with success.
pub(crate) fn ended(upstream: Upstream, trace: TraceId) -> Outcome {
    match upstream {
        Upstream::TimedOut | Upstream::Unanswered(_) => Outcome::GaveUp { answer: None, trace },
        Upstream::OwnTimer(answer) => Outcome::GaveUp { answer: answer.map(|a| a.status.as_u16()), trace },
        Upstream::NotReachable(_) | Upstream::Congested(_) => {
            Outcome::Refused { status: None, cause: None, trace }
        }
        Upstream::Refused(answer) => {
            Outcome::Refused { status: Some(answer.status.as_u16()), cause: answer.problem().cause, trace }
        }
    }
}
