//! The endpoints of `Nudm_UECM` for the registration of an AMF over 3GPP access, TS 29.503 §6.2.3.2 (Rel-17).

use crate::udm::{Core, Udm};
use actix::Message;
use actix_web::web;
use api::common::Supi;
use api::decode::decode_kept;
use api::nudm_uecm::{Amf3GppAccessRegistration, Amf3GppAccessRegistrationModification};
use api::path::variable;
use bytes::Bytes;
use sbi::party::Served;
use sbi::server::{Failure, Reply, Shards};
use std::rc::Rc;

/// The routes below a UE's registrations.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(
        web::resource("/amf-3gpp-access")
            .route(web::put().to(register))
            .route(web::get().to(get))
            .route(web::patch().to(modify)),
    );
}

/// An AMF registers.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct RegisterAmf {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) value: Amf3GppAccessRegistration,
}

async fn register(
    supi: web::Path<String>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, value): (Supi, _) = (variable("ueId", &supi)?, decode_kept(&body)?);
    shards.ask(shards.of(supi.as_str()), RegisterAmf { served, supi, value }).await
}

/// An AMF changes its registration, or purges the UE.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct ModifyAmf {
    pub(crate) served: Served,
    pub(crate) supi: Supi,
    pub(crate) modification: Amf3GppAccessRegistrationModification,
}

/// A real core's AMF sends its merge patch as `application/json`, so the media type is not looked at.
async fn modify(
    supi: web::Path<String>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, modification): (Supi, _) = (variable("ueId", &supi)?, decode_kept(&body)?);
    shards.ask(shards.of(supi.as_str()), ModifyAmf { served, supi, modification }).await
}

/// Read the registration.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetAmf {
    served: Served,
    supi: Supi,
}

async fn get(
    supi: web::Path<String>,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let supi = variable("ueId", &supi)?;
    shards.ask(shards.here(), GetAmf { served, supi }).await
}

/// Reads it from the UDR; one that was purged too, as the last that was known.
pub(crate) async fn read(core: Rc<Core>, message: GetAmf) -> Result<Reply, Failure> {
    let call = core.amf_registration_call(&message.supi);
    let answer = core.shard.client().ask(&message.served, call).await?;
    Ok(Reply::json(answer.body))
}
