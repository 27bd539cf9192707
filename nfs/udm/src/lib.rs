//! Mock UDM: subscriber data (`Nudm_SDM`, TS 29.503 §5.2 (Rel-17)) and registrations (`Nudm_UECM`, §5.3), kept in a UDR.
//!
//! What an SMF creates here, the UDM creates in the UDR (R7, R14, R16 of docs/release.md), and has to release there when
//! the SMF's time is over. Each procedure has a file of its own; [`udr`] is the consumer side towards the UDR.

mod context;
mod data_change;
mod modify_subscription;
mod sdm;
mod subscribe;
mod subscribed_data;
mod udm;
mod udr;
mod ue_context;
mod uecm;

pub use udm::{Config, LocalUdr, Udm};
