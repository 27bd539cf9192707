//! The operator plane: what a person or a script asks of the NFs of a process, on a port of its own.

mod faults;
mod metrics;
mod observe;
mod reset;
mod stimuli;
mod subscribers;

pub use observe::MAX_EVENTS_PER_ANSWER;

use crate::process::Process;
use actix_web::{App, web};
use api::query::Query;
use sbi::directory::Directory;
use sbi::env::Env;
use sbi::event::Events;
use sbi::fault::Faults;
use sbi::net::Listen;
use sbi::party::Party;
use sbi::policy::{Mode, Policy};
use sbi::problem::{InvalidParam, ProblemDetails};
use sbi::server::{self, Failure, Front, Reply};
use sbi::skew::Skews;
use sbi::traffic::Traffic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the operator plane tells of.
#[derive(Clone)]
pub struct Operator {
    /// The NFs.
    pub process: Process,
    /// Whether they are ready to serve.
    pub ready: Arc<AtomicBool>,
    written_rules: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Operator {
    /// Of NFs that are ready.
    pub fn of(process: Process) -> Self {
        Operator { process, ready: Arc::new(AtomicBool::new(true)), written_rules: Arc::default() }
    }

    /// The fault rules as they were written, by name.
    fn written_rules(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.written_rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the operator plane on `listener`, for as long as the calling thread lives.
pub async fn serve(operator: Operator, listener: Box<dyn Listen>) {
    let party = Party { name: "operator".into(), env: quiet(&operator.process.env), ..unnoticed(&operator) };
    let app = App::new().app_data(web::Data::new(operator)).configure(routes);
    let front = Front::new(party, server::handler(app).await, |_, _, _| false);
    let serve = |connection| drop(tokio::task::spawn_local(front.clone().serve(connection)));
    server::accept(listener, serve).await;
}

fn unnoticed(operator: &Operator) -> Party {
    let mut policy = Policy::default();
    policy.deadline.mode = Mode::Off;
    let first = &operator.process.nfs[0].party;
    Party { policy, journal: None, nrf: None, scp: None, ..first.clone() }
}

/// Requests to the operator plane are no events of the NFs, and neither fault rules nor schemas are for them.
fn quiet(env: &Env) -> Env {
    Env {
        events: Events::default(),
        traffic: Traffic::forgotten(),
        faults: Faults::default(),
        directory: Directory::default(),
        skews: Skews::default(),
        schemas: None,
        ..env.clone()
    }
}

fn routes(app: &mut web::ServiceConfig) {
    observe::routes(app);
    faults::routes(app);
    stimuli::routes(app);
    subscribers::routes(app);
    reset::routes(app);
    app.service(web::resource("/metrics").get(metrics::metrics));
    app.default_service(web::to(unknown));
}

const THERE: &str = "/livez, /readyz, /metrics, and below /mock5g/v1: nfs, events, events/stream, requests, clocks, held, \
resources, faults, faults/{id}, subscribers/{supi}, amf/pdu-sessions, amf/registrations, reset";

async fn unknown() -> Result<Reply, Failure> {
    Err(ProblemDetails::plain(404, format!("the operator plane has {THERE}")).into())
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
