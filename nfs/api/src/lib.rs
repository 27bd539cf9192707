//! The 3GPP data types of the services, one module per service. No I/O.
//!
//! What several services share (TS 29.571) is in [`common`]. Bodies come in through [`decode`] and query strings
//! through [`query`]: both answer what is wrong as a `ProblemDetails` that names the attribute or parameter.
//!
//! Types hold what the mocks look at. What else a body has at the top of a message stays in its `rest` and is
//! written out again; an unknown value of an extensible enumeration stays what it is.

pub mod common;
pub mod decode;
pub mod namf_comm;
pub mod nas;
pub mod ngap;
pub mod nnrf_nfm;
pub mod nsmf_pdusession;
pub mod nudm_sdm;
pub mod nudm_uecm;
pub mod nudr_dr;
pub mod query;
pub mod related;

mod bounds;
pub mod patch;
pub mod path;
pub mod percent;
mod text;
