//! The operator plane: what a person or a script asks of the NFs of a process, on a port of its own.

use crate::process::Process;
use actix_web::{App, web};
use api::query::Query;
use sbi::directory::Directory;
use sbi::env::Env;
use sbi::event::{Event, Events};
use sbi::fault::Faults;
use sbi::net::Listen;
use sbi::party::Party;
use sbi::policy::{Mode, Policy};
use sbi::problem::{InvalidParam, ProblemDetails};
use sbi::release::{Resource, State};
use sbi::server::{self, Failure, Front, Held, Reply};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How many events one answer holds at most.
pub const MAX_EVENTS_PER_ANSWER: usize = 10_000;

/// What the operator plane tells of.
#[derive(Clone)]
pub struct Operator {
    /// The NFs.
    pub process: Process,
    /// Whether they are ready to serve.
    pub ready: Arc<AtomicBool>,
}

/// Serves the operator plane on `listener`, for as long as the calling thread lives.
pub async fn serve(operator: Operator, mut listener: Box<dyn Listen>) {
    let party = Party { name: "operator".into(), env: quiet(&operator.process.env), ..unnoticed(&operator) };
    let app = App::new().app_data(web::Data::new(operator)).configure(routes);
    let front = Front::new(party, server::handler(app).await, |_, _| false);
    loop {
        match listener.accept().await {
            Ok((open, peer)) => match open() {
                Ok(io) => drop(tokio::task::spawn_local(front.clone().serve(io, peer))),
                Err(error) => tracing::warn!(%error, "operator plane: a connection was lost"),
            },
            Err(error) => {
                tracing::warn!(%error, "operator plane: a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

fn unnoticed(operator: &Operator) -> Party {
    let mut policy = Policy::default();
    policy.deadline.mode = Mode::Off;
    let first = &operator.process.nfs[0].party;
    Party { policy, ..first.clone() }
}

/// Requests to the operator plane are no events of the NFs, and fault rules are not for them.
fn quiet(env: &Env) -> Env {
    Env {
        events: Events::default(),
        faults: Faults::default(),
        directory: Directory::default(),
        ..env.clone()
    }
}

fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/livez").get(livez))
        .service(web::resource("/readyz").get(readyz))
        .service(web::resource("/mock5g/v1/held").get(held))
        .service(web::resource("/mock5g/v1/resources").get(resources))
        .service(web::resource("/mock5g/v1/events").get(events))
        .default_service(web::to(unknown));
}

#[derive(Serialize)]
struct Status {
    status: &'static str,
}

async fn livez() -> Reply {
    Reply::ok(&Status { status: "alive" })
}

async fn readyz(operator: web::Data<Operator>) -> Reply {
    match operator.ready.load(Relaxed) {
        true => Reply::ok(&Status { status: "ready" }),
        false => Reply { status: 503, ..Reply::ok(&Status { status: "stopping" }) },
    }
}

#[derive(Serialize)]
struct HeldBy {
    nf: String,
    #[serde(flatten)]
    held: Held,
}

async fn held(request: actix_web::HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?;
    let name = query.get("nf");
    if let Some(name) = name.filter(|name| operator.process.nf(name).is_none()) {
        return Err(no_nf(&operator, name));
    }
    let held = operator.process.held(name).await;
    let held: Vec<_> = held.into_iter().map(|(nf, held)| HeldBy { nf, held }).collect();
    Ok(Reply::ok(&held))
}

async fn resources(request: actix_web::HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?;
    let states = query.get("state").map(states).transpose()?;
    let wanted =
        |r: &Resource| states.as_ref().is_none_or(|states| states.iter().any(|s| s.as_str() == r.state));
    let resources: Vec<_> = operator.process.resources().await.into_iter().filter(wanted).collect();
    Ok(Reply::ok(&resources))
}

/// The states that a value of `state` means. `open`: it is not known yet whether it will be kept.
fn states(value: &str) -> Result<Vec<State>, Failure> {
    match value {
        "open" => Ok(vec![State::Intended, State::InFlight, State::Held]),
        "committed" => Ok(vec![State::Owned]),
        "releasing" => Ok(vec![State::Releasing]),
        "released" => Ok(vec![State::Released]),
        "hanging" => Ok(vec![State::Hanging]),
        _ => Err(bad_query("state", "expected open, committed, releasing, released or hanging")),
    }
}

async fn events(request: actix_web::HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?;
    let after = match query.get("after").map(str::parse) {
        None => 0,
        Some(Ok(after)) => after,
        Some(Err(_)) => return Err(bad_query("after", "expected the seq of an event, a whole number")),
    };
    let nf = query.get("nf");
    let wanted = |e: &Event| nf.is_none_or(|nf| &*e.nf == nf);
    let events = operator.process.env.events.after(after, usize::MAX);
    let events: Vec<_> = events.into_iter().filter(wanted).take(MAX_EVENTS_PER_ANSWER).collect();
    Ok(Reply::ok(&events))
}

async fn unknown() -> Result<Reply, Failure> {
    let there = "/livez, /readyz, /mock5g/v1/held, /mock5g/v1/resources, /mock5g/v1/events";
    Err(ProblemDetails::plain(404, format!("the operator plane has {there}")).into())
}

fn no_nf(operator: &Operator, name: &str) -> Failure {
    let names: Vec<_> = operator.process.nfs.iter().map(|nf| nf.party.name.to_string()).collect();
    let detail = format!("there is no NF {:.32}; there is {}", name, names.join(", "));
    ProblemDetails::plain(404, detail).into()
}

fn bad_query(name: &str, reason: &str) -> Failure {
    let problem = ProblemDetails::plain(400, format!("query parameter {name}: {reason}"));
    problem.with_param(InvalidParam::query(name, reason)).into()
}
