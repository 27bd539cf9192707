//! Reading an SM context: `Nsmf_PDUSession_RetrieveSMContext`, TS 29.502 §5.2.2.5 (Rel-17).

use crate::endpoint::not_found;
use crate::message::RetrieveSmContext;
use crate::smf::Core;
use crate::udm::Allowed;
use api::common::NfInstanceId;
use api::nsmf_pdusession::{SmContext, SmContextRetrievedData};
use sbi::problem::Cause;
use sbi::server::{Failure, Reply};
use std::rc::Rc;

/// Answers with the context as it stands, once no procedure of its session is under way: an AMF asks whether a create of which
/// it heard nothing has replaced it, or still may.
pub(crate) async fn retrieve(core: Rc<Core>, message: RetrieveSmContext) -> Result<Reply, Failure> {
    let unknown = || not_found(&message.reference);
    let key = core.contexts.borrow().session_of(&message.reference).ok_or_else(unknown)?;
    let _turn = core.shard.turn(&core.turns, key.clone(), &message.served).await?;
    let contexts = core.contexts.borrow();
    let (newest, held) = contexts.newest(&key).ok_or_else(unknown)?;
    if **newest != *message.reference {
        let is_there =
            contexts.by_session.of(&key).any(|(r, held)| **r == *message.reference && !held.is_ending);
        // Until the newer one's 201 was handed over, or could not be, nobody knows which of them stays.
        let undecided = || Failure::new(Cause::NfCongestion, "a newer SM context is about to replace it");
        return Err(if is_there { undecided() } else { unknown() });
    }
    let smf = NfInstanceId(core.shard.party.instance_id);
    let Allowed { pdu_session_type, session_ambr } = Allowed::clone(&held.allowed);
    let context = SmContext::new(&held.session, pdu_session_type, session_ambr);
    let context = SmContext { smf_instance_id: Some(smf), ..context };
    Ok(Reply::ok(&SmContextRetrievedData::from(context)))
}
