//! Where fault rules apply to a request that is being served.

use super::adapter::{json_response, problem_response};
use super::arrival::Arrival;
use super::body::ResponseBody;
use super::front::{End, Front};
use super::gone::Gone;
use crate::event::Kind;
use crate::fault::{Altered, Effect, Fault, On, Subject};
use crate::party::NfType;
use crate::problem::ProblemDetails;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use std::time::Duration;

impl Front {
    fn fault(&self, arrival: &Arrival, on: On) -> Option<Fault> {
        if !self.party.env.faults.any() {
            return None;
        }
        let body = arrival.body.read_so_far();
        let subject = Subject {
            nf: &self.party.name,
            peer: &arrival.peer,
            method: &arrival.method,
            path: &arrival.path,
            headers: &arrival.headers,
            body: &body,
            deadline: arrival.served.deadline.as_ref(),
        };
        let fault = self.party.env.faults.take(on, &subject, self.now())?;
        arrival.faulted.set(true);
        self.party.emit(Kind::FaultApplied, self.facts(arrival).detail(fault.to_string()));
        Some(fault)
    }

    pub(super) async fn fault_on_request(&self, arrival: &Arrival, gone: &Gone) -> Option<End> {
        if self.party.env.faults.need_body(&self.party.name, On::Request) {
            Box::pin(arrival.body.read_ahead(self.now() + super::front::BODY_PATIENCE)).await;
        }
        let fault = self.fault(arrival, On::Request)?;
        Box::pin(self.apply_to_request(fault, gone)).await
    }

    async fn apply_to_request(&self, fault: Fault, gone: &Gone) -> Option<End> {
        tokio::time::sleep(fault.delay).await;
        match fault.effect {
            Effect::Proceed
            | Effect::LoseResponse
            | Effect::Trickle { .. }
            | Effect::RefuseConnection
            | Effect::LetThrough
            | Effect::Spoil(_) => None,
            Effect::Answer(altered) => Some(Ok(self.sign(instead(&altered)))),
            Effect::Drop => Some(hold(fault.hold, gone).await),
            Effect::Reset(code) => Some(Err(h2::Reason::from(code).into())),
            Effect::GoAway => {
                gone.line.say_goaway();
                None
            }
        }
    }

    /// Whether an SCP takes a late request for one that is in time.
    pub(super) async fn lets_through(&self, arrival: &Arrival) -> bool {
        if self.party.nf_type != NfType::Scp {
            return false;
        }
        let Some(fault) = self.fault(arrival, On::Late) else { return false };
        tokio::time::sleep(fault.delay).await;
        true
    }

    /// Faults on an answer that has been handed over: what happens to it now is the network's doing.
    pub(super) async fn fault_on_response(&self, arrival: &Arrival, end: End, gone: &Gone) -> End {
        let answered = end.is_ok();
        let end = match self.fault(arrival, On::Response) {
            None => end,
            Some(fault) => Box::pin(apply_to_response(fault, end, gone)).await,
        };
        if let (true, Ok(answer)) = (answered, &end) {
            self.party.emit(Kind::ResponseSent, self.facts(arrival).status(answer.status().as_u16()));
        }
        end
    }
}

async fn apply_to_response(fault: Fault, end: End, gone: &Gone) -> End {
    let mut answer = end?;
    answer.body_mut().delivered();
    tokio::time::sleep(fault.delay).await;
    match fault.effect {
        Effect::Proceed | Effect::RefuseConnection | Effect::LetThrough | Effect::Spoil(_) => Ok(answer),
        Effect::Answer(altered) => Ok(alter(answer, &altered)),
        Effect::Reset(code) => Err(h2::Reason::from(code).into()),
        Effect::Drop | Effect::LoseResponse => hold(fault.hold, gone).await,
        Effect::Trickle { bytes, every } => Ok(answer.map(|body| body.trickling(bytes, every))),
        Effect::GoAway => {
            gone.line.say_goaway();
            Ok(answer)
        }
    }
}

/// The answer with what the rule wants otherwise.
fn alter(mut answer: hyper::Response<ResponseBody>, altered: &Altered) -> hyper::Response<ResponseBody> {
    let may_be = |s: &StatusCode| altered.body.is_some() || answer.status().is_success() || !s.is_success();
    if let Some(status) = altered.status.filter(may_be) {
        *answer.status_mut() = status;
    }
    if let Some((content_type, body)) = &altered.body {
        answer.headers_mut().insert(CONTENT_TYPE, content_type.clone());
        answer.headers_mut().remove(CONTENT_LENGTH);
        *answer.body_mut() = ResponseBody::bytes(body.clone());
    }
    altered.alter(answer.headers_mut());
    bodiless(answer)
}

/// Without a body where there cannot be one: RFC 9110 §15.3.5 and §15.4.5.
fn bodiless(mut answer: hyper::Response<ResponseBody>) -> hyper::Response<ResponseBody> {
    if matches!(answer.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        answer.headers_mut().remove(CONTENT_TYPE);
        answer.headers_mut().remove(CONTENT_LENGTH);
        *answer.body_mut() = ResponseBody::bytes(Bytes::new());
    }
    answer
}

/// An answer where nothing was done.
fn instead(altered: &Altered) -> hyper::Response<ResponseBody> {
    let status = altered.status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status.is_success() && altered.body.is_none() {
        let mut nothing = json_response(status, "application/json", Bytes::new());
        nothing.headers_mut().remove(CONTENT_TYPE);
        altered.alter(nothing.headers_mut());
        return bodiless(nothing);
    }
    alter(problem_response(&ProblemDetails::plain(status.as_u16(), "a fault rule answers so")), altered)
}

/// Keeps the stream open until the client resets it, at most `most`.
async fn hold(most: Duration, gone: &Gone) -> End {
    let _ = tokio::time::timeout(most, gone.wait()).await;
    Err(h2::Reason::CANCEL.into())
}
