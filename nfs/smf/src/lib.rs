//! Mock SMF: SM contexts, `Nsmf_PDUSession` (TS 29.502 (Rel-17)).
//!
//! For each SM context the SMF creates an SDM subscription (R6) and a registration (R13) at the UDM, and releases them
//! when its client's time is over. One file per procedure; [`udm`] is the consumer side towards the UDM.

mod after_answer;
mod collision;
mod context;
mod create_sm_context;
mod endpoint;
mod message;
mod modify_sm_context;
mod release_sm_context;
mod retrieve_sm_context;
mod smf;
mod udm;

pub use collision::Collisions;
pub use smf::{Answer, Config, Smf};
