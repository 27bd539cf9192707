//! Modifying an SM context: `Nsmf_PDUSession_UpdateSMContext`, TS 29.502 §5.2.2.3 (Rel-17).
//!
//! What the access network has set up makes the user plane active; the AMF may take it down, and ask for it again. The
//! turn of the context is not taken: the AMF may say so while the SMF still waits for its answer to the transfer.

use crate::endpoint::not_found;
use crate::message::ModifySmContext;
use crate::smf::Core;
use api::namf_comm::N2SmInfoType;
use api::nsmf_pdusession::{SmContextUpdatedData, UpCnxState};
use sbi::server::{Failure, Reply};

/// Carries out the procedure.
pub(crate) fn modify(core: &Core, message: &ModifySmContext) -> Result<Reply, Failure> {
    let reply = change(core, message)?;
    core.keep(&message.reference);
    Ok(reply)
}

fn change(core: &Core, message: &ModifySmContext) -> Result<Reply, Failure> {
    let mut contexts = core.contexts.borrow_mut();
    let held = contexts.get_mut(&message.reference).ok_or_else(|| not_found(&message.reference))?;
    let data = &message.data;
    if data.n2_sm_info_type == Some(N2SmInfoType::PDU_RES_SETUP_RSP) {
        held.user_plane = UpCnxState::ACTIVATED;
    }
    let Some(wanted) = &data.up_cnx_state else { return Ok(Reply::no_content()) };
    // There is no access network to set it up with: what is asked for is there at once.
    let reached = if *wanted == UpCnxState::ACTIVATING { UpCnxState::ACTIVATED } else { wanted.clone() };
    held.user_plane = reached.clone();
    Ok(Reply::ok(&SmContextUpdatedData { up_cnx_state: Some(reached), ..SmContextUpdatedData::default() }))
}
