//! The endpoint of `Nnrf_NFDiscovery`, TS 29.510 §6.2 (Rel-17).

use crate::nrf::{Nrf, Operation, ask};
use crate::search::Search;
use actix_web::{HttpRequest, web};
use api::nnrf_nfm::NfProfile;
use sbi::party::Served;
use sbi::server::{Failure, Reply, Shards};
use serde::Serialize;

/// What was found, TS 29.510 §6.2.6.2.2 (Rel-17).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchResult {
    /// For how many seconds the consumer may take it to be so.
    pub(crate) validity_period: u64,
    pub(crate) nf_instances: Vec<NfProfile>,
}

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/nnrf-disc/v1/nf-instances").route(web::get().to(search)));
}

async fn search(
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    let search = Search::parse(request.query_string())?;
    ask(&shards, served, Operation::Find(Box::new(search))).await
}
