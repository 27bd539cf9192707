//! Mock UDM: subscriber data (`Nudm_SDM`, TS 29.503 §5.2 (Rel-17)) and registrations (`Nudm_UECM`, §5.3), kept in a UDR.
//!
//! What an SMF or AMF creates here, the UDM creates in the UDR (R5, R7, R14, R16 of docs/release.md), and has to release
//! there when its client's time is over. Each procedure has a file of its own; [`udr`] is the consumer side towards the UDR.

mod context;
mod data_change;
mod dereg_notify;
mod modify_amf;
mod modify_subscription;
mod register_amf;
mod restore;
mod sdm;
mod subscribe;
mod subscribed_data;
mod udm;
mod udr;
mod ue_context;
mod uecm;
mod uecm_amf;

pub use udm::{Config, LocalUdr, Udm};
