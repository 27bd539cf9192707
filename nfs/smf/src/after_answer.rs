//! What follows the 201: TS 23.502 §4.3.2.2.1 (Rel-17), from step 10 on.
//!
//! 1. registers itself for the session (R13), if it has answered early,
//! 2. hands the AMF the accept for the UE and the resources for its gNB, if there is an AMF.
//!
//! It starts only once the 201 was written: an AMF that does not know the SM context yet cannot take a message for it.
//! The deadline of the creation is over then; `smf.procedure_timer_ms` governs. A failure releases everything, tells the
//! UE with a reject, and the AMF with RELEASED.

use crate::context::Held;
use crate::smf::Core;
use api::common::RefToBinaryData;
use api::namf_comm::{
    N1MessageContainer, N1N2MessageTransferReqData, N2InfoContainer, N2InfoContent, N2SmInfoType,
    N2SmInformation, n1_n2_messages,
};
use api::nas::{self, Granted, NAS};
use api::ngap::{self, NGAP, Tunnel};
use api::nsmf_pdusession::{Cause, Session};
use bytes::Bytes;
use http::Method;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::json;
use sbi::multipart::{self, Part};
use sbi::party::Served;
use sbi::release::{Attempt, OwnerKey};
use sbi::server::Failure;
use std::rc::Rc;

const N1: &str = "n1-sm";
const N2: &str = "n2-sm";

/// The mock has no user plane: a UE's address, and where its gNB may send.
const UE_NETWORK: [u8; 2] = [10, 45];
const UPF: [u8; 4] = [127, 0, 0, 7];

/// Carries out the procedure for the context `reference`, if it is still there.
pub(crate) async fn go_on(core: Rc<Core>, reference: OwnerKey) {
    let served = Served { own_timer: Some(core.config.procedure_timer), ..Served::own(&core.shard.party) };
    let trace = core.shard.ledger.trace_of(&reference).unwrap_or(served.trace);
    let served = Served { trace, ..served };
    let Some(key) = core.contexts.borrow().session_of(&reference) else { return };
    let turn = core.shard.turn(&core.turns, key.clone(), &served).await;
    if core.contexts.borrow_mut().get_mut(&reference).is_none() {
        return;
    }
    let established = match &turn {
        Ok(_turn) => core.establish(&served, &reference).await,
        Err(no_turn) => Err(no_turn.clone()),
    };
    if let Err(failure) = established {
        let facts = served.facts(&core.shard.party).detail(format!("{key:?}: {failure}"));
        core.shard.party.emit(Kind::ProcedureFailed, facts);
        if let Some((held, reject)) = core.put_ending_on_record(&reference).await {
            drop(turn);
            core.end_and_tell(&reference, held, reject).await;
        }
    }
}

impl Core {
    async fn establish(&self, served: &Served, reference: &str) -> Result<(), Failure> {
        self.register_late(served, reference).await?;
        let Some(amf) = self.held(reference, |held| self.amf_of(held)).flatten() else {
            let facts = served.facts(&self.shard.party);
            self.shard
                .party
                .emit(Kind::StepSkipped, facts.detail("no AMF was given: UE and gNB are told nothing"));
            return Ok(());
        };
        let Some(call) = self.transfer(&amf, reference) else { return Ok(()) };
        self.shard.client().ask(served, call).await.map(|_| ()).map_err(Failure::from)
    }

    /// R13, where the answer came before it.
    async fn register_late(&self, served: &Served, reference: &str) -> Result<(), Failure> {
        let unregistered = self.held(reference, |held| (!held.is_registered).then(|| held.session.clone()));
        let Some(Some(session)) = unregistered else { return Ok(()) };
        let mut attempt = Attempt::begin(&self.shard.ledger, *served);
        self.register(&mut attempt, &session).await?;
        let Some(held) = self.held(reference, |held| Held { is_registered: true, ..held.clone() }) else {
            return Ok(()); // The attempt gives up: its context has ended meanwhile.
        };
        attempt.commit(reference, &held).await?;
        self.held(reference, |held| held.is_registered = true);
        // It may have been modified while that was written.
        self.keep(reference);
        self.shard.ledger.delivered(reference);
        Ok(())
    }

    fn held<T>(&self, reference: &str, look: impl FnOnce(&mut Held) -> T) -> Option<T> {
        self.contexts.borrow_mut().get_mut(reference).map(look)
    }

    /// Where to reach the AMF that created the context.
    fn amf_of(&self, held: &Held) -> Option<String> {
        let told = || self.config.amf.as_deref().map(|root| sbi::nrf::at_instance(root, held.amf.0));
        self.config.amfs.get(&held.amf).cloned().or_else(told)
    }

    /// The accept for the UE and the resources for its gNB; none if the UE has asked for nothing.
    fn transfer(&self, amf: &str, reference: &str) -> Option<Call> {
        let entropy = &self.shard.party.env.entropy;
        let (host, teid) = (entropy.u64().to_be_bytes(), entropy.u64().to_be_bytes());
        self.held(reference, |held| {
            let session = &held.session;
            let granted = Granted {
                pdu_session_type: &held.allowed.pdu_session_type,
                ambr: &held.allowed.session_ambr,
                address: [UE_NETWORK[0], UE_NETWORK[1], host[0], host[1].max(2)],
                s_nssai: session.s_nssai,
                dnn: &session.dnn,
            };
            let accept = nas::establishment_accept(held.establishment?, &granted);
            let teid = u32::from_be_bytes([teid[0], teid[1], teid[2], teid[3]]);
            let tunnel = Tunnel { address: UPF, teid };
            let resources = ngap::setup_request(granted.ambr, tunnel, granted.pdu_session_type);
            Some(self.message(amf, session, accept, Some(resources)))
        })
        .flatten()
    }

    fn message(&self, amf: &str, session: &Session, n1: Bytes, n2: Option<Bytes>) -> Call {
        let data = N1N2MessageTransferReqData {
            n1_message_container: Some(N1MessageContainer {
                n1_message_class: "SM".into(),
                n1_message_content: RefToBinaryData { content_id: N1.into() },
                rest: Default::default(),
            }),
            n2_info_container: n2.as_ref().map(|_| resources_of(session)),
            pdu_session_id: Some(session.pdu_session_id),
            ..N1N2MessageTransferReqData::default()
        };
        let part = |content_type: &str, content_id: Option<&str>, body: Bytes| Part {
            content_type: content_type.into(),
            content_id: content_id.map(str::to_owned),
            body,
        };
        let mut parts = vec![part("application/json", None, json::to_bytes(&data)), part(NAS, Some(N1), n1)];
        parts.extend(n2.map(|n2| part(NGAP, Some(N2), n2)));
        let (content_type, body) = multipart::write_fresh(&parts, self.shard.party.env.entropy.u64());
        Call::new(Method::POST, format!("{amf}{}", n1_n2_messages(&session.supi)))
            .with_body(content_type, body)
    }

    /// Puts on record that a context ends, and only then is it gone: what is still to do is newest first, what was made at the
    /// UDM, then UE and AMF are told.
    async fn put_ending_on_record(&self, reference: &str) -> Option<(Held, Option<Call>)> {
        let ending = Some(Cause::from("REL_DUE_TO_UNSPECIFIED_REASON".to_owned()));
        let held =
            self.held(reference, |held| Held { ending, ..held.clone() }).filter(|held| !held.is_ending)?;
        self.contexts.borrow_mut().mark_ending(reference);
        self.shard.ledger.keep_ending(reference, held.request, &held);
        self.shard.ledger.kept_on_record(reference).await;
        // It may have ended otherwise meanwhile.
        self.contexts.borrow_mut().remove(reference)?;
        let reject = match (self.amf_of(&held), held.establishment) {
            (Some(amf), Some(request)) => {
                Some(self.message(&amf, &held.session, nas::establishment_reject(request), None))
            }
            _ => None,
        };
        Some((held, reject))
    }
}

/// With its slice, without which some AMFs fail.
fn resources_of(session: &Session) -> N2InfoContainer {
    let slice = json::to_value(&session.s_nssai);
    N2InfoContainer {
        n2_information_class: "SM".into(),
        sm_info: Some(N2SmInformation {
            pdu_session_id: session.pdu_session_id,
            n2_info_content: Some(N2InfoContent {
                ngap_ie_type: Some(N2SmInfoType::PDU_RES_SETUP_REQ),
                ngap_data: RefToBinaryData { content_id: N2.into() },
                rest: Default::default(),
            }),
            rest: [("sNssai".to_owned(), slice)].into_iter().collect(),
        }),
        rest: Default::default(),
    }
}
