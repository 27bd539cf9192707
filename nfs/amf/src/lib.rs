//! Mock AMF: the consumer of `Nsmf_PDUSession` (TS 29.502 (Rel-17)), `Nudm_SDM` and `Nudm_UECM` (TS 29.503 (Rel-17)).
//!
//! It starts PDU sessions with both timing headers, and releases what it made when it gives up or gets a 504. UE and gNB
//! are part of it: they take what an SMF sends them, and the gNB sets up what it is asked to.

mod amf;
mod deregister_ue;
mod establish_pdu_session;
mod modify_sm_context;
mod n1n2_message_transfer;
mod outcome;
mod register_ue;
mod release_pdu_session;
mod restore;
mod session;
mod status_notification;
mod ue;

pub use amf::{Amf, Config};
pub use deregister_ue::DeregisterUe;
pub use establish_pdu_session::EstablishPduSession;
pub use outcome::Outcome;
pub use register_ue::RegisterUe;
pub use release_pdu_session::{ReleasePduSession, Released};
