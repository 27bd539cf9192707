//! The endpoints of `Nudm_SDM`, TS 29.503 §6.1 (Rel-17).

use crate::udm::Udm;
use actix::Message;
use actix_web::{HttpRequest, web};
use api::common::{Supi, expect_callback};
use api::decode::decode_kept;
use api::nudm_sdm::SdmSubscription;
use api::path::variable;
use bytes::Bytes;
use sbi::party::Served;
use sbi::server::{Failure, Reply, Shards};

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/nudm-sdm/v2/{supi}/sm-data").route(web::get().to(get_sm_data)))
        .service(web::resource("/nudm-sdm/v2/{supi}/sdm-subscriptions").route(web::post().to(subscribe)))
        .service(
            web::resource("/nudm-sdm/v2/{supi}/sdm-subscriptions/{id}").route(web::delete().to(unsubscribe)),
        );
}

/// Read session data.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetSmData {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) query: String,
}

async fn get_sm_data(
    supi: web::Path<String>,
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let supi = variable("supi", &supi)?;
    shards.ask(shards.here(), GetSmData { served, supi, query: request.query_string().to_owned() }).await
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
