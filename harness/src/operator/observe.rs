//! What can be looked at: whether it lives, who is there, what they hold and made, what happened.

use super::{Operator, bad_query, named_nf};
use crate::process::{NfHandle, Process};
use actix_web::{HttpRequest, HttpResponse, web};
use api::query::Query;
use futures_util::stream;
use http::StatusCode;
use sbi::event::Events;
use sbi::journal::Journal;
use sbi::party::Party;
use sbi::problem::ProblemDetails;
use sbi::release::{Resource, State};
use sbi::server::{Failure, Held, Reply};
use sbi::skew::Measured;
use sbi::traffic::Shown;
use serde::Serialize;
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::atomic::Ordering::Relaxed;

/// How many events one answer holds at most.
pub const MAX_EVENTS_PER_ANSWER: usize = 10_000;

/// The routes.
pub(super) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/livez").get(livez).route(web::head().to(livez)))
        .service(web::resource("/readyz").get(readyz).route(web::head().to(readyz)))
        .service(web::resource("/mock5g/v1/nfs").get(nfs))
        .service(web::resource("/mock5g/v1/held").get(held))
        .service(web::resource("/mock5g/v1/resources").get(resources))
        .service(web::resource("/mock5g/v1/events").get(events))
        .service(web::resource("/mock5g/v1/events/stream").get(event_stream))
        .service(web::resource("/mock5g/v1/requests").get(requests))
        .service(web::resource("/mock5g/v1/clocks").get(clocks));
}

#[derive(Serialize)]
struct Status {
    status: Cow<'static, str>,
}

async fn livez() -> Reply {
    Reply::ok(&Status { status: "alive".into() })
}

async fn readyz(operator: web::Data<Operator>) -> Reply {
    match why_not_ready(&operator) {
        None => Reply::ok(&Status { status: "ready".into() }),
        Some(status) => Reply { status: StatusCode::SERVICE_UNAVAILABLE, ..Reply::ok(&Status { status }) },
    }
}

fn why_not_ready(operator: &Operator) -> Option<Cow<'static, str>> {
    if !operator.ready.load(Relaxed) {
        return Some("stopping".into());
    }
    operator.process.nfs.iter().find_map(|nf| why_nf_not_ready(&nf.party)).map(Cow::from)
}

fn why_nf_not_ready(party: &Party) -> Option<String> {
    if let Some(trouble) = party.journal.as_ref().and_then(Journal::trouble) {
        return Some(format!("{}: {trouble}", party.name));
    }
    let nrf = party.nrf.as_ref().filter(|nrf| !nrf.is_registered())?;
    Some(format!("{}: not registered at the NRF {}", party.name, nrf.root()))
}

#[derive(Serialize)]
struct HeldBy {
    nf: String,
    #[serde(flatten)]
    held: Held,
}

async fn held(request: HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf"])?;
    let held = operator.process.held(named_nf(&query, &operator)?).await;
    let held: Vec<_> = held.into_iter().map(|(nf, held)| HeldBy { nf, held }).collect();
    Ok(Reply::ok(&held))
}

async fn resources(request: HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?.only(&["state", "nf"])?;
    let states = query.single("state")?.map(states).transpose()?;
    let nf = named_nf(&query, &operator)?;
    let wanted = |r: &Resource| {
        states.as_ref().is_none_or(|states| states.contains(&r.state)) && nf.is_none_or(|nf| r.by == nf)
    };
    let resources: Vec<_> = operator.process.resources().await.into_iter().filter(wanted).collect();
    Ok(Reply::ok(&resources))
}

/// The states that a value of `state` means. `open`: it is not known yet whether it will be kept.
fn states(value: &str) -> Result<Vec<State>, Failure> {
    match value {
        "open" => Ok(vec![State::Intended, State::InFlight, State::Held]),
        _ => {
            let named = State::ALL.into_iter().find(|state| state.as_str() == value);
            let names = State::ALL.map(State::as_str).join(", ");
            let unknown = || bad_query("state", &format!("expected open or one of {names}"));
            Ok(vec![named.ok_or_else(unknown)?])
        }
    }
}

/// What an NF measures of a peer's clock.
#[derive(Serialize)]
struct ClockOfPeer {
    nf: String,
    #[serde(flatten)]
    measured: Measured,
    meaning: String,
}

async fn clocks(request: HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf"])?;
    let nf = named_nf(&query, &operator)?;
    let wanted = operator.process.nfs.iter().filter(|of| nf.is_none_or(|nf| &*of.party.name == nf));
    let of_nf = |nf: &NfHandle| {
        let name = nf.party.name.to_string();
        let of_peer = move |measured: Measured| {
            let meaning = measured.to_string();
            ClockOfPeer { nf: name.clone(), measured, meaning }
        };
        nf.party.env.skews.measured().into_iter().map(of_peer).collect::<Vec<_>>()
    };
    Ok(Reply::ok(&wanted.flat_map(of_nf).collect::<Vec<_>>()))
}

async fn events(request: HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf", "after"])?;
    let (nf, after) = (named_nf(&query, &operator)?, after(&query)?);
    Ok(Reply::ok(&operator.process.env.events.of_nf(nf, after, MAX_EVENTS_PER_ANSWER)))
}

/// The number after which is asked for; 0 if none is named.
fn after(query: &Query) -> Result<u64, Failure> {
    let number = query.single("after")?.map(str::parse).transpose();
    let number = number.map_err(|_| bad_query("after", "expected the seq of an entry, a whole number"));
    Ok(number?.unwrap_or(0))
}

/// Events as they happen, as server-sent events: `id` is the number, `event` the kind, `data` the JSON.
async fn event_stream(request: HttpRequest, operator: web::Data<Operator>) -> Result<HttpResponse, Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf", "after"])?;
    let nf = named_nf(&query, &operator)?.map(str::to_owned);
    let after = after(&query)?;
    let events = operator.process.env.events.clone();
    let frames = stream::unfold(after, move |seq| {
        let (events, nf) = (events.clone(), nf.clone());
        async move { Some(next_frame(&events, nf.as_deref(), seq).await) }
    });
    Ok(HttpResponse::Ok().content_type("text/event-stream").streaming(frames))
}

async fn next_frame(events: &Events, nf: Option<&str>, seq: u64) -> (Result<bytes::Bytes, Infallible>, u64) {
    let event = events.wait(seq, |event| nf.is_none_or(|nf| &*event.nf == nf)).await;
    let json = serde_json::to_string(&event).unwrap_or_default();
    let frame = format!("id: {}\nevent: {}\ndata: {json}\n\n", event.seq, event.event.as_str());
    (Ok(frame.into()), event.seq)
}

async fn requests(request: HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf", "after"])?;
    let (nf, after) = (named_nf(&query, &operator)?, after(&query)?);
    let (traffic, nf) = (operator.process.env.traffic.clone(), nf.map(str::to_owned));
    // Long bodies take long to write out, and new connections are accepted on this thread.
    let written = web::block(move || {
        let exchanges = traffic.shown_after(nf.as_deref(), after);
        sbi::json::to_bytes(&exchanges.into_iter().map(Shown::from).collect::<Vec<_>>())
    });
    let body = written.await.map_err(|_| ProblemDetails::plain(503, "the operator plane is stopping"))?;
    Ok(Reply::json(body))
}

/// An NF of this process.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Present<'a> {
    nf: &'a str,
    r#type: &'static str,
    instance_id: String,
    sbi: &'a str,
    state: &'static str,
}

async fn nfs(operator: web::Data<Operator>) -> Reply {
    let Process { nfs, .. } = &operator.process;
    let state = if operator.ready.load(Relaxed) { "ready" } else { "stopping" };
    let present = |nf: &NfHandle| -> serde_json::Value {
        sbi::json::to_value(&Present {
            nf: &nf.party.name,
            r#type: nf.party.nf_type.name(),
            instance_id: nf.party.instance_id.to_string(),
            sbi: &nf.party.api_root,
            state,
        })
    };
    Reply::ok(&nfs.iter().map(present).collect::<Vec<_>>())
}
