//! Reading an SM context: `Nsmf_PDUSession_RetrieveSMContext`, TS 29.502 §5.2.2.5 (Rel-17).

use crate::endpoint::not_found;
use crate::message::RetrieveSmContext;
use crate::smf::Core;
use crate::udm::Allowed;
use api::common::NfInstanceId;
use api::nsmf_pdusession::{SmContext, SmContextRetrievedData};
use sbi::server::{Failure, Reply};

/// Answers with the context as it stands.
pub(crate) fn retrieve(core: &Core, message: &RetrieveSmContext) -> Result<Reply, Failure> {
    let contexts = core.contexts.borrow();
    let key = contexts.session_of(&message.reference).ok_or_else(|| not_found(&message.reference))?;
    let newest = contexts.newest(&key).filter(|(reference, _)| **reference == *message.reference);
    let (_, held) = newest.ok_or_else(|| not_found(&message.reference))?;
    let smf = NfInstanceId(core.shard.party.instance_id);
    let Allowed { pdu_session_type, session_ambr } = Allowed::clone(&held.allowed);
    let context = SmContext::new(&held.session, pdu_session_type, session_ambr);
    let context = SmContext { smf_instance_id: Some(smf), ..context };
    Ok(Reply::ok(&SmContextRetrievedData::from(context)))
}
