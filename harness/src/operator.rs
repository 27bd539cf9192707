//! The operator plane: what a person or a script asks of the NFs of a process, on a port of its own.

use crate::process::Process;
use actix_web::{App, web};
use api::query::Query;
use http::StatusCode;
use sbi::directory::Directory;
use sbi::env::Env;
use sbi::event::Events;
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
pub async fn serve(operator: Operator, listener: Box<dyn Listen>) {
    let party = Party { name: "operator".into(), env: quiet(&operator.process.env), ..unnoticed(&operator) };
    let app = App::new().app_data(web::Data::new(operator)).configure(routes);
    let front = Front::new(party, server::handler(app).await, |_, _| false);
    let serve = |connection| drop(tokio::task::spawn_local(front.clone().serve(connection)));
    server::accept(listener, serve).await;
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
    app.service(web::resource("/livez").get(livez).route(web::head().to(livez)))
        .service(web::resource("/readyz").get(readyz).route(web::head().to(readyz)))
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
        false => {
            Reply { status: StatusCode::SERVICE_UNAVAILABLE, ..Reply::ok(&Status { status: "stopping" }) }
        }
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
    let held = operator.process.held(named_nf(&query, &operator)?).await;
    let held: Vec<_> = held.into_iter().map(|(nf, held)| HeldBy { nf, held }).collect();
    Ok(Reply::ok(&held))
}

async fn resources(request: actix_web::HttpRequest, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?;
    let states = query.single("state")?.map(states).transpose()?;
    let wanted = |r: &Resource| states.as_ref().is_none_or(|states| states.contains(&r.state));
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
    let after = match query.single("after")?.map(str::parse) {
        None => 0,
        Some(Ok(after)) => after,
        Some(Err(_)) => return Err(bad_query("after", "expected the seq of an event, a whole number")),
    };
    let nf = named_nf(&query, &operator)?;
    Ok(Reply::ok(&operator.process.env.events.of_nf(nf, after, MAX_EVENTS_PER_ANSWER)))
}

async fn unknown() -> Result<Reply, Failure> {
    let there = "/livez, /readyz, /mock5g/v1/held, /mock5g/v1/resources, /mock5g/v1/events";
    Err(ProblemDetails::plain(404, format!("the operator plane has {there}")).into())
}

/// The NF that the query names, which has to be here.
fn named_nf<'a>(query: &'a Query, operator: &Operator) -> Result<Option<&'a str>, Failure> {
    let Some(name) = query.single("nf")? else { return Ok(None) };
    if operator.process.nf(name).is_some() {
        return Ok(Some(name));
    }
    let names: Vec<_> = operator.process.nfs.iter().map(|nf| nf.party.name.to_string()).collect();
    let detail = format!("there is no NF {:.32}; there is {}", name, names.join(", "));
    Err(ProblemDetails::plain(404, detail).into())
}

fn bad_query(name: &str, reason: &str) -> Failure {
    let problem = ProblemDetails::plain(400, format!("query parameter {name}: {reason}"));
    problem.with_param(InvalidParam::query(name, reason)).into()
}
