//! What an SMF sends to UE and gNB: `Namf_Communication_N1N2MessageTransfer`, TS 29.518 §5.2.2.3.1 (Rel-17).
//!
//! The mock's UE takes what it is given; its gNB sets up the resources and says so, once the SM context's URI is known.

use crate::amf::{Amf, Core};
use crate::session::SessionKey;
use actix::{Context, Handler, Message};
use actix_web::{HttpRequest, web};
use api::common::Supi;
use api::decode::decode;
use api::namf_comm::{
    N1N2MessageTransferCause, N1N2MessageTransferReqData, N1N2MessageTransferRspData, N2SmInfoType,
    UE_CONTEXTS,
};
use api::nas::Header;
use api::path::variable;
use api::related::Related;
use bytes::Bytes;
use sbi::event::Kind;
use sbi::party::Served;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply, Shards, content_type};

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let messages = format!("{UE_CONTEXTS}/{{ueContextId}}/n1-n2-messages");
    app.service(web::resource(messages).route(web::post().to(transfer)));
}

/// Messages for UE and gNB.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
struct Transfer {
    served: Served,
    key: SessionKey,
    /// What the UE gets.
    n1: Option<Header>,
    /// Whether the gNB shall set up resources.
    sets_up: bool,
}

async fn transfer(
    supi: web::Path<String>,
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Amf>>,
) -> Result<Reply, Failure> {
    let supi: Supi = variable("ueContextId", &supi)?;
    let body = Related::read(content_type(&request), body)?;
    let data: N1N2MessageTransferReqData = decode(&body.json)?;
    let sm_info = data.n2_info_container.as_ref().and_then(|n2| n2.sm_info.as_ref());
    let pdu_session_id = data.pdu_session_id.or(sm_info.map(|info| info.pdu_session_id));
    let pdu_session_id = pdu_session_id.ok_or_else(no_session_named)?;
    let sets_up = sm_info
        .and_then(|info| info.n2_info_content.as_ref())
        .is_some_and(|content| content.ngap_ie_type == Some(N2SmInfoType::PDU_RES_SETUP_REQ));
    let n1 = match &data.n1_message_container {
        Some(n1) => Some(n1_of(&n1.n1_message_content.content_id, &body)?),
        None => None,
    };
    let key = SessionKey { supi, pdu_session_id };
    shards.ask(shards.of(key.supi.as_str()), Transfer { served, key, n1, sets_up }).await
}

fn n1_of(content_id: &str, body: &Related) -> Result<Header, Failure> {
    body.part(content_id).and_then(|part| Header::read(&part.body)).ok_or_else(|| {
        let pointer = "/n1MessageContainer/n1MessageContent/contentId";
        let param = InvalidParam::body(pointer, "expected the Content-Id of a part with a 5GSM message");
        let problem = ProblemDetails::new(Cause::OptionalIeIncorrect, "the N1 message is not there");
        problem.with_param(param).into()
    })
}

fn no_session_named() -> Failure {
    let param = InvalidParam::body("/pduSessionId", "missing");
    let problem =
        ProblemDetails::new(Cause::MandatoryIeMissing, "the mock AMF takes messages of sessions only");
    problem.with_param(param).into()
}

impl Handler<Transfer> for Amf {
    type Result = Result<Reply, Failure>;

    fn handle(&mut self, message: Transfer, _: &mut Context<Self>) -> Self::Result {
        self.0.take_messages(&message)
    }
}

impl Core {
    fn take_messages(&self, message: &Transfer) -> Result<Reply, Failure> {
        let Transfer { served, key, n1, sets_up } = message;
        let sm_context = self.sessions.borrow().get(key).map(|session| session.location.clone());
        match (self.establishing.borrow_mut().get_mut(key), sm_context) {
            (Some(establishing), _) => establishing.gnb_is_ready |= sets_up,
            (None, Some(sm_context)) if *sets_up => self.tell_resources_set_up(sm_context, served.trace),
            (None, Some(_)) => {}
            (None, None) => {
                let detail = format!("session {} of {} is not known here", key.pdu_session_id, key.supi);
                return Err(Failure::new(Cause::ContextNotFound, detail));
            }
        }
        let said = match n1 {
            Some(n1) if n1.is_establishment_accept() => "accept",
            Some(n1) if n1.is_establishment_reject() => "reject",
            Some(_) => "another message",
            None => "nothing",
        };
        let what = format!("{said} for session {} of {}", key.pdu_session_id, key.supi);
        let party = &self.shard.party;
        party.emit(Kind::MessageTransferred, served.facts(party).detail(what));
        let cause = N1N2MessageTransferCause::N1_N2_TRANSFER_INITIATED;
        Ok(Reply::ok(&N1N2MessageTransferRspData { cause }))
    }
}
