//! An actix-web app behind hyper: requests and answers cross between http 1 (hyper) and http 0.2 (actix).

use super::body::{RequestBody, ResponseBody};
use super::delivery::Delivery;
use super::front::{Handler, Outcome};
use super::reply::Failure;
use crate::clock::Instant;
use crate::party::Served;
use crate::problem::{PROBLEM_JSON, ProblemDetails};
use actix_http::{Payload, Request};
use actix_service::{IntoServiceFactory, Service, ServiceFactory};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::http as http02;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::future::{LocalBoxFuture, Ready, ready};
use std::net::SocketAddr;
use std::rc::Rc;

type Call = LocalBoxFuture<'static, Result<ServiceResponse<BoxBody>, Error>>;

/// Makes an actix-web app the handler of a [`super::Front`]. Called once per worker.
pub async fn handler<I, S, B>(app: I) -> Handler
where
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig, Response = ServiceResponse<B>, Error = Error>,
    S::InitError: std::fmt::Debug,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let service = app.into_factory().new_service(AppConfig::default()).await;
    let service = service.expect("an app without asynchronous set-up always starts");
    let call = Rc::new(move |request: Request| -> Call {
        let answer = service.call(request);
        Box::pin(async move { answer.await.map(ServiceResponse::map_into_boxed_body) })
    });
    Rc::new(move |request, peer, served, patience| {
        let call = call.clone();
        Box::pin(async move {
            let Some(request) = convert_request(request, peer, served, patience) else {
                let problem = ProblemDetails::plain(400, "expected a valid URI as request target");
                return Outcome::problem(&problem);
            };
            match call(request).await {
                Ok(response) => convert_response(response.into_parts().1),
                Err(error) => convert_response(HttpResponse::from_error(error)),
            }
        })
    })
}

/// Endpoints get the [`Served`] of their request by naming it as an argument.
impl FromRequest for Served {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut actix_web::dev::Payload) -> Self::Future {
        let missing =
            || Failure::Problem(ProblemDetails::plain(500, "the request did not pass the admission"));
        ready(request.extensions().get::<Served>().copied().ok_or_else(missing))
    }
}

/// `None` if the target is no URI.
fn convert_request(
    request: hyper::Request<RequestBody>,
    peer: SocketAddr,
    served: Served,
    patience: Instant,
) -> Option<Request> {
    let (parts, body) = request.into_parts();
    let payload = match body.is_empty() {
        true => Payload::None,
        false => {
            let payload: actix_http::BoxedPayloadStream = Box::pin(body.until(patience));
            Payload::Stream { payload }
        }
    };
    let mut request = Request::with_payload(payload);
    request.extensions_mut().insert(served);
    let head = request.head_mut();
    head.peer_addr = Some(peer);
    head.method = http02::Method::from_bytes(parts.method.as_str().as_bytes()).ok()?;
    head.version = match parts.version {
        hyper::Version::HTTP_2 => http02::Version::HTTP_2,
        hyper::Version::HTTP_10 => http02::Version::HTTP_10,
        _ => http02::Version::HTTP_11,
    };
    head.uri = parts.uri.path_and_query().map_or("/", |p| p.as_str()).parse().ok()?;
    for (name, value) in &parts.headers {
        let name = http02::header::HeaderName::from_bytes(name.as_str().as_bytes()).ok()?;
        head.headers.append(name, http02::header::HeaderValue::from_bytes(value.as_bytes()).ok()?);
    }
    Some(request)
}

fn convert_response(response: HttpResponse) -> Outcome {
    if matches!(response.error().and_then(|e| e.as_error::<Failure>()), Some(Failure::TimedOut)) {
        return Outcome::timed_out();
    }
    let (mut response, body) = response.into_parts();
    let delivery = response.extensions_mut().remove::<Delivery>();
    let status = hyper::StatusCode::from_u16(response.status().as_u16()).unwrap_or_default();
    let headers = sorted_headers(&mut response);
    let explained =
        headers.iter().any(|(name, value)| name == "content-type" && value.as_bytes().ends_with(b"json"));
    let mut out = if status.as_u16() >= 400 && !explained {
        explain(status, body)
    } else {
        let mut out = hyper::Response::new(ResponseBody::actix(body).with_delivery(delivery));
        *out.status_mut() = status;
        out
    };
    for (name, value) in headers {
        if !out.headers().contains_key(&name) && name != hyper::header::CONTENT_LENGTH {
            out.headers_mut().append(name, value);
        }
    }
    Outcome::Answer(out)
}

/// actix's header map iterates in random order: sorted, so that runs repeat.
fn sorted_headers<B>(
    response: &mut HttpResponse<B>,
) -> Vec<(hyper::header::HeaderName, hyper::header::HeaderValue)> {
    let converted = response.headers().iter().filter_map(|(name, value)| {
        let name = hyper::header::HeaderName::from_bytes(name.as_str().as_bytes()).ok()?;
        Some((name, hyper::header::HeaderValue::from_bytes(value.as_bytes()).ok()?))
    });
    let mut headers: Vec<_> = converted.collect();
    headers.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    headers
}

/// An error that actix itself made (405, 413 ...) becomes a problem.
fn explain(status: hyper::StatusCode, body: BoxBody) -> hyper::Response<ResponseBody> {
    let said = body.try_into_bytes().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let detail = if said.is_empty() { status.canonical_reason().unwrap_or_default().into() } else { said };
    problem_response(&ProblemDetails::plain(status.as_u16(), detail))
}

/// A problem as an answer.
pub(super) fn problem_response(problem: &ProblemDetails) -> hyper::Response<ResponseBody> {
    json_response(problem.http_status(), PROBLEM_JSON, problem.to_bytes())
}

pub(super) fn json_response(
    status: hyper::StatusCode,
    content_type: &'static str,
    body: Bytes,
) -> hyper::Response<ResponseBody> {
    let mut response = hyper::Response::new(ResponseBody::bytes(body));
    *response.status_mut() = status;
    let content_type = hyper::header::HeaderValue::from_static(content_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, content_type);
    response
}
