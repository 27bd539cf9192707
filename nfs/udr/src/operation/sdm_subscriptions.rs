//! The SDM subscriptions that a UDM keeps here, TS 29.505 §5.2.17 (Rel-17).

use super::change::Change;
use super::{Operation, Server};
use api::common::Supi;
use api::decode::decode_kept;
use api::nudm_sdm::SdmSubscription;
use sbi::json;
use sbi::server::{Failure, Reply};

/// GET and POST of the collection.
pub(super) fn collection(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    match operation.method.as_str() {
        "POST" => add(server, operation, supi),
        _ => Ok(Reply::ok(&server.repository.subscriptions(supi)?)),
    }
}

/// GET, PUT and DELETE of one.
pub(super) fn one(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    id: &str,
) -> Result<Reply, Failure> {
    match operation.method.as_str() {
        "PUT" => replace(server, operation, supi, id),
        "DELETE" => {
            server.repository.delete_subscription(supi, id)?;
            Ok(Reply::no_content())
        }
        _ => Ok(Reply::ok(&server.repository.subscription(supi, id)?)),
    }
}

/// The id that the consumer proposes in `subscriptionId` is kept if it is free and not too long (our choice): so a UDM
/// that lost the answer can tell its own subscription from others alike.
fn add(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let subscription: SdmSubscription = decode_kept(&operation.body)?;
    let (fresh, written) = (server.env.entropy.uuid().to_string(), server.written(operation));
    let (id, subscription) = server.repository.add_subscription(supi, subscription, fresh, written)?;
    let reply = Reply::created_here(server.below(operation, &id), &subscription);
    Ok(server.told(reply, &Change::Subscription(supi.clone(), id, written.by)))
}

fn replace(server: &Server<'_>, operation: &Operation, supi: &Supi, id: &str) -> Result<Reply, Failure> {
    let subscription: SdmSubscription = decode_kept(&operation.body)?;
    let value = json::to_value(&SdmSubscription { subscription_id: Some(id.to_owned()), ..subscription });
    let written = server.written(operation);
    server.repository.replace_subscription(supi, id, value, written)?;
    let change = Change::Subscription(supi.clone(), id.to_owned(), written.by);
    Ok(server.told(Reply::no_content(), &change))
}
