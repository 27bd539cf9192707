//! Credentials, and how the last authentication ended, TS 29.505 §5.2.6 and §5.2.7 (Rel-17).

use super::change::Change;
use super::{Operation, Server};
use crate::repository::Place;
use api::common::Supi;
use api::decode::decode_kept;
use api::nudr_dr::AuthEvent;
use sbi::json;
use sbi::server::{Failure, Reply};

/// Reads the credentials. Not done: changing the sequence number.
pub(super) fn subscription(server: &Server<'_>, supi: &Supi) -> Result<Reply, Failure> {
    Ok(Reply::ok(&server.repository.provisioned(supi, |profile| profile.authentication.clone())?))
}

/// GET, PUT and DELETE of the status. A PUT is answered 204 in any case.
pub(super) fn status(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let place = Place::AuthenticationStatus;
    match operation.method.as_str() {
        "PUT" => {
            let event: AuthEvent = decode_kept(&operation.body)?;
            let written = server.written(operation);
            server.repository.put(supi, place, json::to_value(&event), written)?;
            Ok(server.told(Reply::no_content(), &Change::Put(supi.clone(), place, written.by)))
        }
        "DELETE" if server.is_overtaken(operation, supi, place) => Err(Failure::TimedOut),
        "DELETE" => {
            server.repository.delete(supi, place)?;
            Ok(Reply::no_content())
        }
        _ => Ok(Reply::ok(&server.repository.value(supi, place)?)),
    }
}
