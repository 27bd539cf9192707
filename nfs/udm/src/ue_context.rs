//! Which SMFs serve a subscriber's sessions: `Nudm_SDM_Get` of UE context, TS 29.503 §5.2.2.2.8 (Rel-17).

use crate::context::RegistrationKey;
use crate::sdm::GetUeContext;
use crate::udm::Core;
use api::common::{PduSessionId, Supi};
use api::nudm_sdm::UeContextInSmfData;
use sbi::server::Reply;

/// Answers from the registrations at this UDM; none is an answer too.
pub(crate) fn get(core: &Core, message: &GetUeContext) -> Reply {
    Reply::ok(&core.ue_context(&message.supi))
}

impl Core {
    pub(crate) fn ue_context(&self, supi: &Supi) -> UeContextInSmfData {
        let first = RegistrationKey { supi: supi.clone(), pdu_session_id: PduSessionId(0) };
        let registrations = self.registrations.borrow();
        let of_supi = registrations.iter_from(&first).take_while(|(key, _, _)| key.supi == *supi);
        of_supi.map(|(_, _, registration)| &registration.value).collect()
    }
}
