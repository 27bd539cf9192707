//! Creating an SM context: `Nsmf_PDUSession_CreateSMContext`, TS 29.502 §5.2.2.2 (Rel-17).
//!
//! A create that collides with a context of the same session is refused unless it is more recent ([`crate::collision`]).
//! Else the SMF
//!
//! 1. reads the subscriber's session data at the UDM,
//! 2. subscribes to their changes (R6),
//! 3. registers itself for the session (R13), unless it answers early (`smf.answer`): then [`crate::after_answer`] does,
//! 4. answers 201.
//!
//! When the AMF's time is over, 3 and 2 are released, in this order. A context that the session has already lives on
//! until the new one's 201 was handed over: if it never is, the UDM gets the old registration back.

use crate::collision::Claim;
use crate::context::{Held, SessionKey};
use crate::message::CreateSmContext;
use crate::smf::{Answer, Core};
use api::nsmf_pdusession::{SmContextCreatedData, UpCnxState};
use sbi::release::Attempt;
use sbi::server::{Failure, Reply};
use std::rc::Rc;

/// Carries out the procedure.
pub(crate) async fn create(core: Rc<Core>, message: CreateSmContext) -> Result<Reply, Failure> {
    let CreateSmContext { served, data, session, request, originated } = message;
    let originated = core.read_originated(&served, originated)?;
    let key = SessionKey::of(&session);
    let _turn = core.shard.turn(&core.turns, key.clone(), &served).await?;
    let claim = Claim { originated, amf: &data.serving_nf_id, status_uri: &data.sm_context_status_uri };
    core.expect_more_recent(&served, &key, &claim)?;

    let mut attempt = Attempt::begin(&core.shard.ledger, served);
    let allowed = core.read_sm_data(&attempt, &session, &data.serving_network).await?;
    core.subscribe(&mut attempt, &session).await?;
    let is_registered = core.config.answer == Answer::AfterUpstream;
    if is_registered {
        core.register(&mut attempt, &session).await?;
    }

    let created = SmContextCreatedData {
        pdu_session_id: Some(session.pdu_session_id),
        s_nssai: Some(session.s_nssai),
        ..SmContextCreatedData::default()
    };
    let held = Held {
        allowed,
        amf: data.serving_nf_id,
        status_uri: data.sm_context_status_uri,
        is_registered,
        session,
        establishment: request,
        user_plane: UpCnxState::DEACTIVATED,
        originated,
        ending: None,
        is_ending: false,
        request: served.request,
    };
    let committed = attempt.commit(core.new_reference(), &held).await?;
    let reference = committed.owner().clone();
    core.contexts.borrow_mut().add(key, reference.clone(), held);
    Ok(Reply::created(core.uri_of(&reference), &created, &committed, core.actor.clone()))
}
