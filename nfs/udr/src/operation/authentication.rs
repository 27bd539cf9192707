//! Credentials, and how the last authentication ended, TS 29.505 §5.2.6 and §5.2.7 (Rel-17).

use super::change::Change;
use super::{Operation, Server};
use crate::repository::Place;
use api::common::Supi;
use api::decode::decode_kept;
use api::nudr_dr::{AuthEvent, AuthenticationSubscription};
use api::patch::json_patch;
use sbi::json;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply};

/// How long a sequence number with all its attributes may be, as JSON, in bytes.
const MAX_SEQUENCE_NUMBER: usize = 4_096;

/// GET of the credentials, and PATCH of the sequence number in them. A PATCH stays even if its answer cannot be handed over
/// (our choice): a number that is left out harms nobody, one that is used twice is refused by the UE.
pub(super) fn subscription(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
) -> Result<Reply, Failure> {
    if operation.method == "PATCH" {
        server.repository.change_authentication(supi, |there| patched(there, &operation.body))?;
        return Ok(Reply::no_content());
    }
    Ok(Reply::ok(&server.repository.provisioned(supi, |profile| profile.authentication.clone())?))
}

fn patched(
    there: &AuthenticationSubscription,
    patch: &[u8],
) -> Result<AuthenticationSubscription, ProblemDetails> {
    let patched: AuthenticationSubscription =
        decode_kept(&json::to_bytes(&json_patch(&json::to_value(there), patch)?))?;
    let only_the_number =
        AuthenticationSubscription { sequence_number: there.sequence_number.clone(), ..patched.clone() };
    if only_the_number != *there {
        let detail = "expected paths below /sequenceNumber, but the patch changes something else too";
        return Err(ProblemDetails::new(Cause::ModificationNotAllowed, detail));
    }
    if json::to_bytes(&patched.sequence_number).len() > MAX_SEQUENCE_NUMBER {
        let detail = format!("the sequence number is over {MAX_SEQUENCE_NUMBER} bytes");
        return Err(ProblemDetails::new(Cause::ModificationNotAllowed, detail));
    }
    if patched.sequence_number.as_ref().is_some_and(|number| !is_sqn(&number.sqn)) {
        let (pointer, reason) = ("/sequenceNumber/sqn", "expected 12 hexadecimal digits");
        let problem = ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("{pointer}: {reason}"));
        return Err(problem.with_param(InvalidParam::body(pointer, reason)));
    }
    Ok(patched)
}

/// 48 bits, TS 29.505 §5.4.2.2a (Rel-17).
fn is_sqn(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// One step of the sequence number, whose last five bits are its index: TS 33.102 §C.1.1.1 and §C.3.2 (Rel-17).
const STEP: u64 = 32;

/// After a success the number that it used is not used again (our choice, as a widely used core's UDR does: its UDM leaves
/// it to the UDR).
fn advanced(there: &AuthenticationSubscription) -> AuthenticationSubscription {
    let mut advanced = there.clone();
    if let Some(number) = &mut advanced.sequence_number
        && let Ok(sqn) = u64::from_str_radix(&number.sqn, 16)
    {
        number.sqn = format!("{:012x}", sqn.wrapping_add(STEP) & 0xffff_ffff_ffff);
    }
    advanced
}

/// GET, PUT and DELETE of the status. A PUT is answered 204 in any case.
pub(super) fn status(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let place = Place::AuthenticationStatus;
    match operation.method.as_str() {
        "PUT" => {
            let event: AuthEvent = decode_kept(&operation.body)?;
            let written = server.written(operation);
            server.repository.put(supi, place, json::to_value(&event), written)?;
            if event.success {
                server.repository.change_authentication(supi, |there| Ok(advanced(there)))?;
            }
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
