//! What endpoints ask of the actor.

use actix::Message;
use api::nsmf_pdusession::{Session, SmContextCreateData};
use sbi::party::Served;
use sbi::server::{Failure, Reply};

/// Create an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct CreateSmContext {
    pub(crate) served: Served,
    pub(crate) data: SmContextCreateData,
    pub(crate) session: Session,
}

/// Read an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct RetrieveSmContext {
    pub(crate) reference: String,
}

/// Release an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct ReleaseSmContext {
    pub(crate) served: Served,
    pub(crate) reference: String,
}

/// A subscriber's data have changed.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct SdmNotify {
    pub(crate) callback: String,
}
