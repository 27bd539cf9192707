//! The endpoints of `Nnrf_NFManagement`, TS 29.510 §6.1 (Rel-17).

use crate::nrf::{Nrf, Operation, ask};
use actix_web::{HttpRequest, web};
use api::common::{NfInstanceId, expect_callback};
use api::decode::decode_kept;
use api::nnrf_nfm::{NF_INSTANCES, NfProfile, NrfSubscription, SUBSCRIPTIONS};
use api::path::variable;
use api::query::Query;
use bytes::Bytes;
use sbi::json::JSON_PATCH;
use sbi::party::Served;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply, Shards, content_type};

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let instance = web::resource(format!("{NF_INSTANCES}/{{nfInstanceID}}"))
        .route(web::put().to(register))
        .route(web::patch().to(update))
        .route(web::delete().to(deregister))
        .route(web::get().to(read));
    let subscription = web::resource(format!("{SUBSCRIPTIONS}/{{subscriptionID}}"))
        .route(web::patch().to(prolong))
        .route(web::delete().to(unsubscribe));
    app.service(instance)
        .service(web::resource(NF_INSTANCES).route(web::get().to(list)))
        .service(subscription)
        .service(web::resource(SUBSCRIPTIONS).route(web::post().to(subscribe)))
        .service(web::resource("/oauth2/token").route(web::post().to(no_token)));
}

fn id_of(path: &str) -> Result<NfInstanceId, ProblemDetails> {
    variable("nfInstanceID", path)
}

async fn register(
    id: web::Path<String>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    let (id, profile): (_, NfProfile) = (id_of(&id)?, decode_kept(&body)?);
    if profile.nf_instance_id != id {
        let expected = format!("expected {id}, as in the path");
        let param = InvalidParam::body("/nfInstanceId", expected.clone());
        let problem = ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("nfInstanceId: {expected}"));
        return Err(problem.with_param(param).into());
    }
    ask(&shards, served, Operation::Register(Box::new(profile))).await
}

async fn update(
    id: web::Path<String>,
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    expect_json_patch(&request)?;
    ask(&shards, served, Operation::Update(id_of(&id)?, body)).await
}

/// A real core's heart-beat came with another type once, and was half understood: it is refused.
fn expect_json_patch(request: &HttpRequest) -> Result<(), ProblemDetails> {
    let said = content_type(request);
    let media_type = said.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(JSON_PATCH) {
        return Ok(());
    }
    Err(ProblemDetails::plain(415, format!("expected {JSON_PATCH}, but found {said:.64}")))
}

async fn deregister(
    id: web::Path<String>,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    ask(&shards, served, Operation::Deregister(id_of(&id)?)).await
}

async fn read(
    id: web::Path<String>,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    ask(&shards, served, Operation::Read(id_of(&id)?)).await
}

async fn list(
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    let query = Query::parse(request.query_string())?;
    let nf_type = query.single("nf-type")?.map(str::to_owned);
    let limit = query.text("limit")?.unwrap_or(usize::MAX);
    ask(&shards, served, Operation::List { nf_type, limit }).await
}

async fn subscribe(body: Bytes, served: Served, shards: web::Data<Shards<Nrf>>) -> Result<Reply, Failure> {
    let subscription: NrfSubscription = decode_kept(&body)?;
    expect_callback("/nfStatusNotificationUri", &subscription.nf_status_notification_uri)?;
    ask(&shards, served, Operation::Subscribe(Box::new(subscription))).await
}

async fn prolong(
    id: web::Path<String>,
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    expect_json_patch(&request)?;
    ask(&shards, served, Operation::Prolong(id.into_inner(), body)).await
}

async fn unsubscribe(
    id: web::Path<String>,
    served: Served,
    shards: web::Data<Shards<Nrf>>,
) -> Result<Reply, Failure> {
    ask(&shards, served, Operation::Unsubscribe(id.into_inner())).await
}

/// OAuth2 is optional in a network, TS 33.501 §13.4.1 (Rel-17), and not done here.
async fn no_token() -> Result<Reply, Failure> {
    Err(ProblemDetails::plain(
        501,
        "this mock NRF hands out no access tokens: configure its peers without OAuth2",
    )
    .into())
}
