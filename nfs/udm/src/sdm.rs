//! The endpoints of `Nudm_SDM`, TS 29.503 §6.1 (Rel-17).

use crate::udm::Udm;
use actix::Message;
use actix_web::{HttpRequest, web};
use api::common::{Supi, expect_callback};
use api::decode::decode_kept;
use api::nudm_sdm::{SdmSubsModification, SdmSubscription, SubscribedData};
use api::path::variable;
use bytes::Bytes;
use sbi::party::Served;
use sbi::server::{Failure, Reply, Shards};

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let subscription = web::resource("/sdm-subscriptions/{id}");
    // What they begin with is matched once; most of what follows is no pattern.
    let of_supi = web::scope("/nudm-sdm/v2/{supi}")
        .service(web::resource("/sdm-subscriptions").route(web::post().to(subscribe)))
        .service(web::resource("/ue-context-in-smf-data").route(web::get().to(get_ue_context)))
        .service(web::resource("").route(web::get().to(get_data_sets)))
        .service(subscription.route(web::patch().to(modify)).route(web::delete().to(unsubscribe)))
        .service(
            web::resource("/{data:am-data|smf-select-data|nssai|sm-data}").route(web::get().to(get_data)),
        );
    app.service(of_supi);
}

/// Read data of one kind.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetData {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) data: SubscribedData,
    pub(crate) query: String,
}

async fn get_data(
    path: web::Path<(String, String)>,
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, data) = path.into_inner();
    let supi = variable("supi", &supi)?;
    let data = match data.as_str() {
        "am-data" => SubscribedData::Am,
        "smf-select-data" => SubscribedData::SmfSelection,
        "nssai" => SubscribedData::Nssai,
        _ => SubscribedData::Sm,
    };
    shards.ask(shards.here(), GetData { served, supi, data, query: request.query_string().to_owned() }).await
}

/// Read data of several kinds.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetDataSets {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) query: String,
}

async fn get_data_sets(
    supi: web::Path<String>,
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let supi: Supi = variable("supi", &supi)?;
    let query = request.query_string().to_owned();
    shards.ask(shards.of(supi.as_str()), GetDataSets { served, supi, query }).await
}

/// Read which SMFs serve.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetUeContext {
    pub(crate) supi: Supi,
}

async fn get_ue_context(supi: web::Path<String>, shards: web::Data<Shards<Udm>>) -> Result<Reply, Failure> {
    let supi: Supi = variable("supi", &supi)?;
    shards.ask(shards.of(supi.as_str()), GetUeContext { supi }).await
}

/// Subscribe to changes.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Subscribe {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) value: SdmSubscription,
}

async fn subscribe(
    supi: web::Path<String>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, value): (Supi, SdmSubscription) = (variable("ueId", &supi)?, decode_kept(&body)?);
    expect_callback("/callbackReference", &value.callback_reference)?;
    shards.ask(shards.of(supi.as_str()), Subscribe { served, supi, value }).await
}

/// Change a subscription.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Modify {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) id: String,
    pub(crate) modification: SdmSubsModification,
}

async fn modify(
    path: web::Path<(String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, id) = path.into_inner();
    let (supi, modification): (Supi, _) = (variable("ueId", &supi)?, decode_kept(&body)?);
    shards.ask(shards.of(supi.as_str()), Modify { served, supi, id, modification }).await
}

/// Unsubscribe.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Unsubscribe {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) id: String,
}

async fn unsubscribe(
    path: web::Path<(String, String)>,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, id) = path.into_inner();
    let supi: Supi = variable("ueId", &supi)?;
    shards.ask(shards.of(supi.as_str()), Unsubscribe { served, supi, id }).await
}
