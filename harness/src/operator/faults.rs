//! Fault rules, set while the NFs run.

use super::Operator;
use crate::fault_spec::FaultSpec;
use actix_web::web;
use api::decode::decode;
use bytes::Bytes;
use sbi::fault::Counted;
use sbi::problem::{InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply};
use serde_json::{Value, json};

/// The longest name of a rule, in bytes.
const MAX_ID_BYTES: usize = 64;

/// The routes.
pub(super) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/mock5g/v1/faults").get(list).delete(clear))
        .service(web::resource("/mock5g/v1/faults/{id}").put(set).get(get).delete(remove));
}

/// 201 for a new rule, 200 for one that replaces another of its name; its counts begin anew.
async fn set(id: web::Path<String>, body: Bytes, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let id = id.into_inner();
    if id.len() > MAX_ID_BYTES {
        return Err(
            ProblemDetails::plain(400, format!("expected a name of at most {MAX_ID_BYTES} bytes")).into()
        );
    }
    let spec: FaultSpec = decode(&body)?;
    let nfs: Vec<_> = operator.process.nfs.iter().map(|nf| (&*nf.party.name, nf.apis)).collect();
    let rule = spec.rule(&id, &nfs).map_err(|unusable| {
        let problem = ProblemDetails::plain(400, format!("{}: {}", unusable.pointer, unusable.reason));
        problem.with_param(InvalidParam::body(unusable.pointer, unusable.reason))
    })?;
    let faults = &operator.process.env.faults;
    let replaced = faults.set(rule).map_err(|full| ProblemDetails::plain(503, full.to_string()))?;
    let written: Value = serde_json::from_slice(&body).unwrap_or_default();
    let shown = json!({"id": id, "rule": written, "matched": 0, "applied": 0});
    operator.written_rules().insert(id.clone(), written);
    let location = format!("/mock5g/v1/faults/{}", api::percent::encoded(&id));
    Ok(if replaced { Reply::ok(&shown) } else { Reply::created_here(location, &shown) })
}

async fn list(operator: web::Data<Operator>) -> Reply {
    let rules = operator.process.env.faults.all();
    Reply::ok(&rules.iter().map(|rule| shown(&operator, rule)).collect::<Vec<_>>())
}

async fn get(id: web::Path<String>, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let rules = operator.process.env.faults.all();
    let found = rules.iter().find(|counted| counted.rule.id == *id);
    found.map(|counted| Reply::ok(&shown(&operator, counted))).ok_or_else(|| no_rule(&id))
}

async fn remove(id: web::Path<String>, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    operator.written_rules().remove(&*id);
    match operator.process.env.faults.remove(&id) {
        true => Ok(Reply::no_content()),
        false => Err(no_rule(&id)),
    }
}

async fn clear(operator: web::Data<Operator>) -> Reply {
    operator.written_rules().clear();
    operator.process.env.faults.clear();
    Reply::no_content()
}

fn shown(operator: &Operator, counted: &Counted) -> Value {
    let id = &counted.rule.id;
    let written = operator.written_rules().get(id).cloned();
    json!({"id": id, "rule": written, "matched": counted.matched, "applied": counted.applied})
}

fn no_rule(id: &str) -> Failure {
    ProblemDetails::plain(404, format!("there is no fault rule {id:.64}")).into()
}
