//! Which SMF serves a session: `Nudm_UECM_Registration`, `Get` and `Deregistration`, TS 29.503 §5.3.2 (Rel-17).
//!
//! Creates: R14, the same registration in the UDR; released when the SMF's time is over, or put back to what the UDR
//! held before.

use crate::context::{Registration, RegistrationKey, owner};
use crate::udm::{Core, Udm};
use crate::uecm_amf;
use actix::Message;
use actix_web::{HttpRequest, web};
use api::common::{NfInstanceId, PduSessionId, Supi};
use api::decode::decode_kept;
use api::nudm_uecm::{self, SmfRegistration};
use api::path::variable;
use api::query::Query;
use bytes::Bytes;
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::release::Attempt;
use sbi::server::{Failure, Reply, Shards};
use std::rc::Rc;

/// The routes: what they begin with is matched once.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let of_ue = web::scope("/nudm-uecm/v1/{ueId}/registrations");
    app.service(of_ue.configure(uecm_amf::routes).configure(of_sessions));
}

fn of_sessions(registrations: &mut web::ServiceConfig) {
    registrations
        .service(web::resource("/smf-registrations").route(web::get().to(get_registrations)))
        .service(
            web::resource("/smf-registrations/{pduSessionId}")
                .route(web::put().to(put_registration))
                .route(web::get().to(get_registration))
                .route(web::delete().to(delete_registration)),
        );
}

fn key(path: web::Path<(String, String)>) -> Result<RegistrationKey, Failure> {
    let (supi, id) = path.into_inner();
    Ok(RegistrationKey { supi: variable("ueId", &supi)?, pdu_session_id: variable("pduSessionId", &id)? })
}

/// An SMF registers.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Register {
    served: Served,
    key: RegistrationKey,
    value: SmfRegistration,
}

async fn put_registration(
    path: web::Path<(String, String)>,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (key, value): (_, SmfRegistration) = (key(path)?, decode_kept(&body)?);
    value.expect_session(key.pdu_session_id)?;
    shards.ask(shards.of(key.supi.as_str()), Register { served, key, value }).await
}

/// Registers an SMF: 201 the first time, 200 when it replaces a registration: a real SMF takes
/// 204 for an error.
pub(crate) async fn register(core: Rc<Core>, message: Register) -> Result<Reply, Failure> {
    let Register { served, key, value } = message;
    let _turn = core.shard.turn(&core.registration_turns, key.clone(), &served).await?;
    let mut attempt = Attempt::begin(&core.shard.ledger, served);
    let is_new = core.put_registration(&mut attempt, &key, &value).await?;
    let session = key.pdu_session_id.to_string();
    let written_unix_ms = core.shard.party.env.clock.stamp().unix_ms();
    let registration = Registration { value, request: served.request, written_unix_ms };
    let owner = owner("registration", &key.supi, &session, served.request);
    let committed = attempt.commit(owner, &registration).await?;
    let value = &registration.value;
    let location = nudm_uecm::smf_registration(&key.supi, key.pdu_session_id);
    let location = format!("{}{location}", core.shard.party.api_root);
    let reply = match is_new {
        true => Reply::created(location, value, &committed, core.actor.clone()),
        false => Reply::replaced(value, &committed, core.actor.clone()),
    };
    core.registrations.borrow_mut().push(key, committed.owner().clone(), registration);
    Ok(reply)
}

/// Read the registration of one session.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetRegistration {
    served: Served,
    key: RegistrationKey,
}

async fn get_registration(
    path: web::Path<(String, String)>,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let key = key(path)?;
    shards.ask(shards.here(), GetRegistration { served, key }).await
}

/// Reads it from the UDR.
pub(crate) async fn get(core: Rc<Core>, message: GetRegistration) -> Result<Reply, Failure> {
    let call = core.registration_call(&message.key);
    let answer = core.shard.client().ask(&message.served, call).await?;
    Ok(Reply::json(answer.body))
}

/// Read the registrations of a subscriber.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct GetRegistrations {
    served: Served,
    supi: Supi,
}

async fn get_registrations(
    supi: web::Path<String>,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let supi = variable("ueId", &supi)?;
    shards.ask(shards.here(), GetRegistrations { served, supi }).await
}

/// Reads them from the UDR; none at all is a 404.
pub(crate) async fn list(core: Rc<Core>, message: GetRegistrations) -> Result<Reply, Failure> {
    let call = core.registrations_call(&message.supi);
    let answer = core.shard.client().ask(&message.served, call).await?;
    let smf_registration_list: Vec<SmfRegistration> = answer.json().unwrap_or_default();
    if smf_registration_list.is_empty() {
        return Err(Failure::new(Cause::ContextNotFound, "no SMF is registered for this subscriber"));
    }
    Ok(Reply::ok(&nudm_uecm::SmfRegistrationInfo { smf_registration_list }))
}

/// An SMF deregisters.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Deregister {
    served: Served,
    key: RegistrationKey,
    smf_instance_id: Option<NfInstanceId>,
}

async fn delete_registration(
    path: web::Path<(String, String)>,
    request: HttpRequest,
    served: Served,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let key = key(path)?;
    let smf_instance_id = Query::parse(request.query_string())?.text("smf-instance-id")?;
    shards.ask(shards.of(key.supi.as_str()), Deregister { served, key, smf_instance_id }).await
}

/// Ends a registration. Late or not, it is carried out, but never on one that was written after the request was sent,
/// and, where the SMF names itself, never on another SMF's.
pub(crate) async fn deregister(core: Rc<Core>, message: Deregister) -> Result<Reply, Failure> {
    let Deregister { served, key, smf_instance_id } = message;
    let _turn = core.shard.turn(&core.registration_turns, key.clone(), &served).await?;
    let smf = core.registered_smf(&served, &key).await?;
    if let Some(named) = smf_instance_id.filter(|named| *named != smf) {
        if core.end_replaced_registrations(&key, named).await {
            core.unsubscribe_implicitly(&key.supi, named).await;
            return Ok(Reply::no_content());
        }
        let detail = format!("session {} is served by SMF {smf}", key.pdu_session_id);
        return Err(Failure::new(Cause::UnprocessableRequest, detail));
    }
    core.end_registration(&served, &key).await?;
    core.unsubscribe_implicitly(&key.supi, smf).await;
    Ok(Reply::no_content())
}

impl Core {
    async fn registered_smf(&self, served: &Served, key: &RegistrationKey) -> Result<NfInstanceId, Failure> {
        let now = self.shard.party.env.clock.now();
        if let Some((_, registration)) = self.registrations.borrow().newest(key) {
            return match served.is_late_and_older_than(registration.written_unix_ms, now) {
                true => Err(Failure::TimedOut),
                false => Ok(registration.value.smf_instance_id),
            };
        }
        // What a request that was given up left in the UDR is as good as gone: its release is under way.
        let registration: Option<SmfRegistration> =
            match self.shard.ledger.beneath(&self.registration_slot(key)) {
                Some(beneath) => beneath.and_then(|value| serde_json::from_value(value).ok()),
                None => self.shard.client().ask(served, self.registration_call(key)).await?.json(),
            };
        let unusable = || Failure::new(Cause::ContextNotFound, "the UDR holds no usable registration");
        registration.map(|r| r.smf_instance_id).ok_or_else(unusable)
    }

    /// Ends those of an SMF that another one's is about to replace, and would come back if that one's answer cannot be handed
    /// over; whether there are any.
    async fn end_replaced_registrations(&self, key: &RegistrationKey, smf: NfInstanceId) -> bool {
        let is_its = |registration: &Registration| registration.value.smf_instance_id == smf;
        let owners = self.registrations.borrow_mut().remove_those(key, is_its);
        self.disown_all(&owners).await;
        !owners.is_empty()
    }

    async fn end_registration(&self, served: &Served, key: &RegistrationKey) -> Result<(), Failure> {
        let ended = self.registrations.borrow_mut().take(key);
        let owners = ended.into_iter().map(|(owner, _)| owner).collect();
        let (slot, call) = (self.registration_slot(key), self.delete_registration_call(key));
        self.end_in_slot(served, &slot, owners, call).await
    }

    /// With an SMF's last registration for a subscriber end those of its subscriptions that ask for it.
    async fn unsubscribe_implicitly(&self, supi: &Supi, smf: NfInstanceId) {
        let still_serves = {
            let first = RegistrationKey { supi: supi.clone(), pdu_session_id: PduSessionId(0) };
            let registrations = self.registrations.borrow();
            let of_supi = registrations.iter_from(&first).take_while(|(key, _, _)| key.supi == *supi);
            of_supi.into_iter().any(|(_, _, r)| r.value.smf_instance_id == smf)
        };
        if !still_serves {
            for key in self.implicit_subscriptions(supi, smf) {
                self.end_subscription(&key).await;
            }
        }
    }
}
