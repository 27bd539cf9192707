//! The registration of the AMF for 3GPP access, TS 29.505 §5.2.8 (Rel-17).
//!
//! There is no DELETE: a PATCH that sets `purgeFlag` ends it. What was purged is still read, as the last that was known.

use super::change::Change;
use super::{Operation, Server};
use crate::repository::Place;
use api::common::Supi;
use api::decode::decode_kept;
use api::nudm_uecm::Amf3GppAccessRegistration;
use api::patch::json_patch;
use sbi::json;
use sbi::server::{Failure, Reply};

const PLACE: Place = Place::AmfRegistration;

/// GET, PUT and PATCH.
pub(super) fn serve(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    match operation.method.as_str() {
        "PUT" => put(server, operation, supi),
        "PATCH" => patch(server, operation, supi),
        _ => Ok(Reply::ok(&server.repository.value(supi, PLACE)?)),
    }
}

fn put(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let registration: Amf3GppAccessRegistration = decode_kept(&operation.body)?;
    let written = server.written(operation);
    let put = server.repository.put(supi, PLACE, json::to_value(&registration), written)?;
    let reply = server.answer_to_put(operation, put, &registration);
    Ok(server.told(reply, &Change::Put(supi.clone(), PLACE, written.by)))
}

/// A PATCH that purges is a release: late or not it is carried out, but never on a registration that was written after
/// it was sent, and it is not taken back. Any other is a write.
fn patch(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let there = server.repository.value(supi, PLACE)?;
    let patched = json_patch(&there, &operation.body)?;
    let registration: Amf3GppAccessRegistration = decode_kept(&json::to_bytes(&patched))?;
    let purges = registration.is_purged();
    let now = server.env.clock.now();
    let is_late = operation.served.is_some_and(|s| s.deadline.is_some_and(|deadline| deadline.expired(now)));
    if (is_late && !purges) || server.is_overtaken(operation, supi, PLACE) {
        return Err(Failure::TimedOut);
    }
    let written = server.written(operation);
    server.repository.put(supi, PLACE, patched, written)?;
    match purges {
        true => Ok(Reply::no_content()),
        false => Ok(server.told(Reply::no_content(), &Change::Put(supi.clone(), PLACE, written.by))),
    }
}
