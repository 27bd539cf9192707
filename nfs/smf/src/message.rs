//! What endpoints ask of the actor.

use actix::Message;
use api::nas::Header;
use api::nsmf_pdusession::{Session, SmContextCreateData, SmContextUpdateData};
use sbi::header::{Malformed, OriginationTimestamp};
use sbi::party::Served;
use sbi::server::{Failure, Reply};

/// Create an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct CreateSmContext {
    pub(crate) served: Served,
    pub(crate) data: SmContextCreateData,
    pub(crate) session: Session,
    /// What the UE asks for, if it was sent along.
    pub(crate) request: Option<Header>,
    /// When its procedure began, if the request says so.
    pub(crate) originated: Result<Option<OriginationTimestamp>, Malformed>,
}

/// Read an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct RetrieveSmContext {
    pub(crate) served: Served,
    pub(crate) reference: String,
}

/// Modify an SM context.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct ModifySmContext {
    pub(crate) reference: String,
    pub(crate) data: SmContextUpdateData,
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
