//! Back to the beginning, without restarting.

use super::Operator;
use actix_web::web;
use sbi::problem::ProblemDetails;
use sbi::server::{Failure, Reply};
use std::time::Duration;

/// How often it is looked whether everything has come to rest.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The routes.
pub(super) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/mock5g/v1/reset").post(reset));
}

/// Faults go first. Procedures end, what the NFs own is released, and then everything is forgotten: contexts, what
/// consumers wrote, settled resources, events and requests. 503 if that takes longer than `drain_ms`; nothing is
/// forgotten then.
async fn reset(operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let process = &operator.process;
    process.env.faults.clear();
    operator.written_rules().clear();
    let most = process.nfs.iter().map(|nf| nf.party.policy.drain).max().unwrap_or_default();
    let rest = async {
        at_rest(&operator).await;
        for nf in &process.nfs {
            nf.release_all().await;
        }
        at_rest(&operator).await;
    };
    if tokio::time::timeout(most, rest).await.is_err() {
        let detail = format!("procedures or releases have not ended within {} ms", most.as_millis());
        return Err(ProblemDetails::plain(503, detail).into());
    }
    process.forget().await;
    Ok(Reply::no_content())
}

async fn at_rest(operator: &Operator) {
    while !operator.process.is_idle().await {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
