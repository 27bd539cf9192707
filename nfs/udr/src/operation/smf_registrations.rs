//! The registration of the SMF of one PDU session, TS 29.505 §5.2.15 (Rel-17).

use super::change::Change;
use super::{Operation, Server};
use crate::repository::Place;
use api::common::{PduSessionId, Supi};
use api::decode::decode_kept;
use api::nudm_uecm::SmfRegistration;
use sbi::json;
use sbi::server::{Failure, Reply};

/// GET, PUT and DELETE.
pub(super) fn serve(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    id: PduSessionId,
) -> Result<Reply, Failure> {
    let place = Place::SmfRegistration(id);
    match operation.method.as_str() {
        "PUT" => put(server, operation, supi, id),
        // A late DELETE is carried out, but never on a registration that was written after it was sent.
        "DELETE" if server.is_overtaken(operation, supi, place) => Err(Failure::TimedOut),
        "DELETE" => {
            server.repository.delete(supi, place)?;
            Ok(Reply::no_content())
        }
        _ => Ok(Reply::ok(&server.repository.value(supi, place)?)),
    }
}

fn put(server: &Server<'_>, operation: &Operation, supi: &Supi, id: PduSessionId) -> Result<Reply, Failure> {
    let registration: SmfRegistration = decode_kept(&operation.body)?;
    registration.expect_session(id)?;
    let place = Place::SmfRegistration(id);
    let written = server.written(operation);
    let put = server.repository.put(supi, place, json::to_value(&registration), written)?;
    let reply = server.answer_to_put(operation, put, &registration);
    Ok(server.told(reply, &Change::Put(supi.clone(), place, written.by)))
}
