//! What an endpoint answers: a reply, or a failure.

use super::delivery::{Delivery, Handover};
use crate::client::{Answer, Upstream};
use crate::problem::{Cause, PROBLEM_JSON, ProblemDetails};
use crate::release::Committed;
use actix::Recipient;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};
use bytes::Bytes;

/// An answer, as an actor gives it to its endpoint.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: http::StatusCode,
    /// The `Location` of a created resource.
    pub location: Option<String>,
    /// The body and its media type.
    pub body: Option<(&'static str, Bytes)>,
    /// What happens if this answer cannot be handed to its client.
    pub delivery: Option<Delivery>,
}

const JSON: &str = "application/json";

impl Reply {
    fn new(status: http::StatusCode) -> Self {
        Reply { status, location: None, body: None, delivery: None }
    }

    /// 204.
    pub fn no_content() -> Self {
        Reply::new(http::StatusCode::NO_CONTENT)
    }

    /// 200 with a JSON body.
    pub fn ok(body: &impl serde::Serialize) -> Self {
        Reply::new(http::StatusCode::OK).with_json(body)
    }

    /// 200 with a body that is JSON already.
    pub fn json(body: Bytes) -> Self {
        Reply { body: Some((JSON, body)), ..Reply::new(http::StatusCode::OK) }
    }

    /// 201 with a JSON body. `committed` is the proof that everything created upstream for it has an owner; `actor` is
    /// told whether it was handed over.
    pub fn created(
        location: String,
        body: &impl serde::Serialize,
        committed: &Committed,
        actor: Recipient<Handover>,
    ) -> Self {
        Reply::created_here(location, body).delivered_by(Delivery::of(committed, actor))
    }

    /// 200 with the new value, to a PUT that replaced one; otherwise as [`Reply::created`].
    pub fn replaced(body: &impl serde::Serialize, committed: &Committed, actor: Recipient<Handover>) -> Self {
        Reply::ok(body).delivered_by(Delivery::of(committed, actor))
    }

    /// 204 to an update; otherwise as [`Reply::created`].
    pub fn updated(committed: &Committed, actor: Recipient<Handover>) -> Self {
        Reply::no_content().delivered_by(Delivery::of(committed, actor))
    }

    /// 201 with a JSON body, for what exists in this NF alone: nothing was created upstream.
    pub fn created_here(location: String, body: &impl serde::Serialize) -> Self {
        Reply { location: Some(location), ..Reply::new(http::StatusCode::CREATED).with_json(body) }
    }

    /// The same, telling `delivery` whether it was handed over.
    #[must_use]
    pub fn delivered_by(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }

    /// As an in-process consumer gets it: handed over at once.
    pub fn into_answer(self) -> Answer {
        if let Some(delivery) = self.delivery {
            delivery.done();
        }
        let mut answer = Answer::new(self.status);
        let location = self.location.and_then(|l| http::HeaderValue::from_str(&l).ok());
        answer.headers.extend(location.map(|l| (http::header::LOCATION, l)));
        answer.body = self.body.map(|(_, body)| body).unwrap_or_default();
        answer
    }

    fn with_json(mut self, body: &impl serde::Serialize) -> Self {
        self.body = Some((JSON, crate::json::to_bytes(body)));
        self
    }

    /// The same with a body of any type.
    #[must_use]
    pub fn with_body(mut self, content_type: &'static str, body: Bytes) -> Self {
        self.body = Some((content_type, body));
        self
    }
}

impl Responder for Reply {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::build(actix_status(self.status));
        if let Some(location) = self.location {
            response.insert_header(("location", location));
        }
        let mut response = match self.body {
            Some((content_type, body)) => response.content_type(content_type).body(body),
            None => response.finish(),
        };
        if let Some(delivery) = self.delivery {
            response.extensions_mut().insert(delivery);
        }
        response
    }
}

/// The same status in the `http` crate that actix uses.
fn actix_status(status: http::StatusCode) -> StatusCode {
    StatusCode::from_u16(status.as_u16()).expect("a status is a status")
}

/// Why a request is not answered with success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its client has stopped waiting, or is about to: the server answers 504 at the deadline, or drops.
    TimedOut,
    /// An error.
    Problem(ProblemDetails),
}

impl Failure {
    /// An error with a cause.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Failure::Problem(ProblemDetails::new(cause, detail))
    }

    /// As an in-process consumer gets it.
    pub fn into_answer(self) -> Answer {
        let problem = match self {
            Failure::Problem(problem) => problem,
            Failure::TimedOut => {
                ProblemDetails::new(Cause::TimedOutRequest, "the client has stopped waiting")
            }
        };
        Answer { body: problem.to_bytes(), ..Answer::new(problem.http_status()) }
    }
}

impl From<ProblemDetails> for Failure {
    fn from(problem: ProblemDetails) -> Self {
        Failure::Problem(problem)
    }
}

/// What an upstream's failure means to the client (our choice where the standard is silent): 4xx are passed on with
/// their cause, other errors become 500, silence becomes 504 `TARGET_NF_NOT_REACHABLE`.
impl From<Upstream> for Failure {
    fn from(upstream: Upstream) -> Self {
        match upstream {
            Upstream::TimedOut => Failure::TimedOut,
            Upstream::OwnTimer(_) => Failure::new(
                Cause::TargetNfNotReachable,
                "an upstream did not answer within this NF's own timer",
            ),
            Upstream::NotReachable(why) | Upstream::Unanswered(why) => {
                Failure::new(Cause::TargetNfNotReachable, why)
            }
            Upstream::Congested(why) => Failure::new(Cause::NfCongestion, why),
            Upstream::Refused(answer) if answer.status.is_client_error() => {
                Failure::Problem(answer.problem())
            }
            Upstream::Refused(answer) if answer.status == http::StatusCode::GATEWAY_TIMEOUT => {
                Failure::new(Cause::TargetNfNotReachable, "an upstream answered 504")
            }
            Upstream::Refused(answer) => {
                let status = answer.status.as_u16();
                Failure::new(Cause::UnspecifiedNfFailure, format!("an upstream answered {status}"))
            }
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::TimedOut => f.write_str("the client has stopped waiting"),
            Failure::Problem(problem) => f.write_str(problem.detail.as_deref().unwrap_or("an error")),
        }
    }
}

impl std::error::Error for Failure {}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Failure::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Failure::Problem(problem) => actix_status(problem.http_status()),
        }
    }

    fn error_response(&self) -> HttpResponse {
        let Failure::Problem(problem) = self else { return HttpResponse::new(self.status_code()) };
        HttpResponse::build(self.status_code()).content_type(PROBLEM_JSON).body(problem.to_bytes())
    }
}
