//! The endpoints of `Nsmf_PDUSession`, TS 29.502 §6.1 (Rel-17), and the SMF's callbacks.

use crate::message::{CreateSmContext, ModifySmContext, ReleaseSmContext, RetrieveSmContext, SdmNotify};
use crate::smf::Smf;
use actix::Addr;
use actix_web::{HttpRequest, web};
use api::common::expect_callback;
use api::decode::{Ie, decode};
use api::nas::Header;
use api::nsmf_pdusession::{
    SM_CONTEXTS, SmContextCreateData, SmContextReleaseData, SmContextRetrieveData, SmContextUpdateData,
};
use api::nudm_sdm::ModificationNotification;
use api::related::Related;
use bytes::Bytes;
use sbi::header::{ORIGINATION_TIMESTAMP, OriginationTimestamp};
use sbi::party::Served;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply, Shards, content_type};

/// The path under which a UDM tells of changes, followed by the subscription's own name.
pub(crate) const SDM_CALLBACK: &str = "/nsmf-callback/v1/sdm-subscriptions";

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let of_context = web::scope("/{reference}")
        .service(web::resource("/retrieve").route(web::post().to(retrieve)))
        .service(web::resource("/modify").route(web::post().to(modify)))
        .service(web::resource("/release").route(web::post().to(release)));
    let contexts = web::scope(SM_CONTEXTS).service(web::resource("").route(web::post().to(create)));
    app.service(contexts.service(of_context))
        .service(web::resource(format!("{SDM_CALLBACK}/{{name}}")).route(web::post().to(sdm_notify)));
}

async fn create(
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Smf>>,
) -> Result<Reply, Failure> {
    let originated = request.headers().get_all(ORIGINATION_TIMESTAMP.as_str()).map(|value| value.as_bytes());
    let originated = OriginationTimestamp::read(originated);
    let body = Related::read(content_type(&request), body)?;
    let data: SmContextCreateData = decode(&body.json)?;
    check_reference(&data, &body)?;
    expect_callback("/smContextStatusUri", &data.sm_context_status_uri)?;
    let session = data.session()?;
    let request = establishment_request(&data, &body);
    let actor = shards.of(session.supi.as_str());
    shards.ask(actor, CreateSmContext { served, data, session, request, originated }).await
}

/// What the UE asks for: the part that `n1SmMsg` names. One that is no request for a session is nothing that could be
/// answered (our choice: the SM context is created all the same).
fn establishment_request(data: &SmContextCreateData, body: &Related) -> Option<Header> {
    let n1 = data.n1_sm_msg.as_ref()?;
    Header::read(&body.part(&n1.content_id)?.body).filter(|header| header.is_establishment_request())
}

async fn modify(
    reference: web::Path<String>,
    request: HttpRequest,
    body: Bytes,
    shards: web::Data<Shards<Smf>>,
) -> Result<Reply, Failure> {
    let data: SmContextUpdateData = decode(&Related::read(content_type(&request), body)?.json)?;
    let reference = reference.into_inner();
    shards.ask(shard_of(&shards, &reference)?, ModifySmContext { reference, data }).await
}

/// A body that may be left out.
fn optional<T: Ie>(body: &Bytes) -> Result<Option<T>, Failure> {
    if body.is_empty() { Ok(None) } else { Ok(Some(decode(body)?)) }
}

/// `n1SmMsg` names a part by its Content-Id: the part has to be there. Plain JSON has no parts to name.
fn check_reference(data: &SmContextCreateData, body: &Related) -> Result<(), Failure> {
    let Some(n1) = data.n1_sm_msg.as_ref().filter(|_| !body.is_plain()) else { return Ok(()) };
    if body.part(&n1.content_id).is_some() {
        return Ok(());
    }
    let param = InvalidParam::body("/n1SmMsg/contentId", "expected the Content-Id of a part");
    let problem = ProblemDetails::new(Cause::OptionalIeIncorrect, "n1SmMsg names a part that is not there");
    Err(problem.with_param(param).into())
}

async fn retrieve(
    reference: web::Path<String>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Smf>>,
) -> Result<Reply, Failure> {
    let _: Option<SmContextRetrieveData> = optional(&body)?;
    let reference = reference.into_inner();
    shards.ask(shard_of(&shards, &reference)?, RetrieveSmContext { served, reference }).await
}

async fn release(
    reference: web::Path<String>,
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Smf>>,
) -> Result<Reply, Failure> {
    let _: Option<SmContextReleaseData> = optional(&Related::read(content_type(&request), body)?.json)?;
    let reference = reference.into_inner();
    shards.ask(shard_of(&shards, &reference)?, ReleaseSmContext { served, reference }).await
}

async fn sdm_notify(
    name: web::Path<String>,
    body: Bytes,
    shards: web::Data<Shards<Smf>>,
) -> Result<Reply, Failure> {
    let _: ModificationNotification = decode(&body)?;
    let callback = name.into_inner();
    shards.ask(shard_of(&shards, &callback)?, SdmNotify { callback }).await
}

/// The shard that a handed-out reference names.
fn shard_of<'a>(shards: &'a Shards<Smf>, reference: &str) -> Result<&'a Addr<Smf>, Failure> {
    let shard = reference.split('-').next().and_then(|shard| shard.parse().ok());
    shard.and_then(|shard| shards.at(shard)).ok_or_else(|| not_found(reference))
}

/// 404 `CONTEXT_NOT_FOUND`.
pub(crate) fn not_found(reference: &str) -> Failure {
    let reference: String = reference.chars().take(64).collect();
    Failure::new(Cause::ContextNotFound, format!("there is no SM context {reference}"))
}
