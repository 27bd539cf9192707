//! Where fault rules apply to a request that is being served.

use super::adapter::{json_response, problem_response};
use super::arrival::Arrival;
use super::body::ResponseBody;
use super::front::{End, Front};
use super::gone::Gone;
use crate::event::Kind;
use crate::fault::{Effect, Fault, On};
use crate::problem::ProblemDetails;
use http::StatusCode;
use std::time::Duration;

impl Front {
    fn fault(&self, arrival: &Arrival, on: On) -> Option<Fault> {
        let fault =
            self.party.env.faults.take(&self.party.name, on, arrival.method.as_str(), &arrival.path)?;
        self.party.emit(Kind::FaultApplied, self.facts(arrival).detail(fault.to_string()));
        Some(fault)
    }

    pub(super) async fn fault_on_request(&self, arrival: &Arrival, gone: &Gone) -> Option<End> {
        let fault = self.fault(arrival, On::Request)?;
        tokio::time::sleep(fault.delay).await;
        match fault.effect {
            Effect::Proceed | Effect::LoseResponse | Effect::RefuseConnection => None,
            Effect::Status(status, body) => Some(Ok(self.sign(altered(status, body)))),
            Effect::Drop => Some(hold(fault.hold, gone).await),
            Effect::Reset(code) => Some(Err(h2::Reason::from(code).into())),
        }
    }

    /// Faults on an answer that has been handed over: what happens to it now is the network's doing.
    pub(super) async fn fault_on_response(&self, arrival: &Arrival, end: End, gone: &Gone) -> End {
        let status = end.as_ref().ok().map(|answer| answer.status().as_u16());
        let end = match self.fault(arrival, On::Response) {
            None => end,
            Some(fault) => apply_to_response(fault, end, gone).await,
        };
        if let (Some(_), Ok(answer)) = (status, &end) {
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
        Effect::Proceed | Effect::RefuseConnection => Ok(answer),
        Effect::Status(status, None) => {
            if answer.status().is_success() || !status.is_success() {
                *answer.status_mut() = status;
            }
            Ok(answer)
        }
        Effect::Status(status, body) => Ok(altered(status, body)),
        Effect::Reset(code) => Err(h2::Reason::from(code).into()),
        Effect::Drop | Effect::LoseResponse => hold(fault.hold, gone).await,
    }
}

fn altered(status: StatusCode, body: Option<String>) -> hyper::Response<ResponseBody> {
    match body {
        Some(body) => json_response(status, "application/json", body.into()),
        None => problem_response(&ProblemDetails::plain(status.as_u16(), "a fault rule answers so")),
    }
}

/// Keeps the stream open until the client resets it, at most `most`.
async fn hold(most: Duration, gone: &Gone) -> End {
    let _ = tokio::time::timeout(most, gone.wait()).await;
    Err(h2::Reason::CANCEL.into())
}
