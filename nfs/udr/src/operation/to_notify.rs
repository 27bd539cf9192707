//! Wishes to be notified of changes, TS 29.505 §5.2.19 (Rel-17). Changes of what consumers write are not told.

use super::change::Change;
use super::{Operation, Server};
use api::decode::decode_kept;
use api::nudr_dr::SubscriptionDataSubscriptions;
use api::patch::json_patch;
use sbi::json;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply};

/// POST. With `uniqueSubscription`, the one that the same consumer made for the same resources is answered again.
pub(super) fn add(server: &Server<'_>, operation: &Operation) -> Result<Reply, Failure> {
    let wish: SubscriptionDataSubscriptions = decode_kept(&operation.body)?;
    let until_unix_ms = wish.expiry.as_deref().map(expiry).transpose()?;
    let fresh = server.env.entropy.uuid().to_string();
    let written = server.written(operation);
    let (id, wish, is_new) = server.repository.add_to_notify(wish, until_unix_ms, fresh, written)?;
    let reply = Reply::created_here(server.below(operation, &id), &wish);
    Ok(if is_new { server.told(reply, &Change::ToNotify(id, written.by)) } else { reply })
}

/// PATCH.
fn modify(server: &Server<'_>, operation: &Operation, id: &str) -> Result<Reply, Failure> {
    let written = server.written(operation);
    server.repository.modify_to_notify(id, written, |there| {
        let patched = json_patch(&json::to_value(there), &operation.body)?;
        let wish: SubscriptionDataSubscriptions = decode_kept(&json::to_bytes(&patched))?;
        let until_unix_ms = wish.expiry.as_deref().map(expiry).transpose()?;
        Ok((wish, until_unix_ms))
    })?;
    Ok(server.told(Reply::no_content(), &Change::ToNotify(id.to_owned(), written.by)))
}

fn expiry(text: &str) -> Result<i64, Failure> {
    sbi::clock::unix_ms_of_rfc3339(text).ok_or_else(|| {
        let param = InvalidParam::body("/expiry", "expected RFC 3339, as 2026-11-30T01:25:02Z");
        ProblemDetails::new(Cause::OptionalIeIncorrect, "expiry is no date-time").with_param(param).into()
    })
}

/// GET, PATCH and DELETE of one.
pub(super) fn one(server: &Server<'_>, operation: &Operation, id: &str) -> Result<Reply, Failure> {
    match operation.method.as_str() {
        "PATCH" => modify(server, operation, id),
        "DELETE" => {
            server.repository.delete_to_notify(id)?;
            Ok(Reply::no_content())
        }
        _ => Ok(Reply::ok(&server.repository.to_notify(id)?)),
    }
}
