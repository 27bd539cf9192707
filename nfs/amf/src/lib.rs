//! Mock AMF: the consumer of `Nsmf_PDUSession` (TS 29.502 (Rel-17)).
//!
//! It starts PDU sessions with both timing headers, and releases what it made when it gives up or gets a 504.

mod amf;
mod establish_pdu_session;
mod release_pdu_session;
mod session;
mod status_notification;

pub use amf::{Amf, Config};
pub use establish_pdu_session::{EstablishPduSession, Outcome};
pub use release_pdu_session::{ReleasePduSession, Released};
