//! The operations of `Nudr_DataRepository` on the repository.

use crate::repository::{Put, Repository, Written};
use api::common::{Dnn, PduSessionId, Snssai, Supi};
use api::decode::decode_kept;
use api::nudm_sdm::SdmSubscription;
use api::nudm_uecm::SmfRegistration;
use api::nudr_dr::Resource;
use api::percent::{decoded, encoded};
use api::query::Query;
use bytes::Bytes;
use sbi::client::{Call, InProcess};
use sbi::env::Env;
use sbi::event::RequestId;
use sbi::json;
use sbi::party::Served;
use sbi::problem::ProblemDetails;
use sbi::server::{Delivery, Failure, Handover, Reply};
use std::rc::Rc;
use std::sync::Arc;

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The method.
    pub method: String,
    /// Path, without the query.
    pub path: String,
    /// Query, without its question mark.
    pub query: String,
    /// Body.
    pub body: Bytes,
    /// What is known of the request; absent for an in-process consumer.
    pub served: Option<Served>,
}

/// Who serves an operation: where created resources are, and whom to tell whether an answer was handed over.
pub struct Server<'a> {
    /// The data.
    pub repository: &'a Repository,
    /// The world.
    pub env: &'a Env,
    /// Scheme and authority of `Location`s.
    pub root: &'a str,
    /// Whom to tell.
    pub actor: Option<actix::Recipient<Handover>>,
}

/// Carries out an operation.
pub fn serve(server: &Server<'_>, operation: &Operation) -> Result<Reply, Failure> {
    let resource = Resource::parse(&operation.path)?;
    let repository = server.repository;
    match (operation.method.as_str(), &resource) {
        ("GET", Resource::SmData { supi, .. }) => sm_data(repository, supi, &operation.query),
        ("GET", Resource::SmfRegistrations { supi }) => Ok(Reply::ok(&repository.registrations(supi)?)),
        ("GET", Resource::SmfRegistration { supi, pdu_session_id }) => {
            Ok(Reply::ok(&repository.registration(supi, *pdu_session_id)?))
        }
        ("PUT", Resource::SmfRegistration { supi, pdu_session_id }) => {
            put_registration(server, operation, supi, *pdu_session_id)
        }
        ("DELETE", Resource::SmfRegistration { supi, pdu_session_id }) => {
            delete_registration(server, operation, supi, *pdu_session_id)
        }
        ("GET", Resource::SdmSubscriptions { supi }) => Ok(Reply::ok(&repository.subscriptions(supi)?)),
        ("POST", Resource::SdmSubscriptions { supi }) => post_subscription(server, operation, supi),
        ("GET", Resource::SdmSubscription { supi, id }) => Ok(Reply::ok(&repository.subscription(supi, id)?)),
        ("PUT", Resource::SdmSubscription { supi, id }) => put_subscription(server, operation, supi, id),
        ("DELETE", Resource::SdmSubscription { supi, id }) => {
            repository.delete_subscription(supi, id)?;
            Ok(Reply::no_content())
        }
        (method, resource) => Err(not_allowed(method, resource)),
    }
}

fn not_allowed(method: &str, resource: &Resource) -> Failure {
    let detail = format!("expected {} here, but found {method}", resource.methods().join(", "));
    ProblemDetails::plain(405, detail).into()
}

fn sm_data(repository: &Repository, supi: &Supi, query: &str) -> Result<Reply, Failure> {
    let query = Query::parse(query)?;
    let slice: Option<Snssai> = query.json("single-nssai")?;
    let dnn: Option<Dnn> = query.text("dnn")?;
    Ok(Reply::ok(&repository.sm_data(supi, slice.as_ref(), dnn.as_ref())?))
}

fn put_registration(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    id: PduSessionId,
) -> Result<Reply, Failure> {
    let registration: SmfRegistration = decode_kept(&operation.body)?;
    registration.expect_session(id)?;
    let value = json::to_value(&registration);
    let written = server.written(operation);
    let put = server.repository.put_registration(supi, id, value, written)?;
    let reply = match put {
        Put::Created => Reply::created_here(format!("{}{}", server.root, operation.path), &registration),
        Put::Replaced => Reply::no_content(),
    };
    Ok(server.told(reply, Change::Registration(supi.clone(), id, written.by)))
}

/// A late DELETE is carried out, but never on a registration that was written after it was sent: that is another's.
fn delete_registration(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    id: PduSessionId,
) -> Result<Reply, Failure> {
    if let (Some(served), Some(written)) =
        (&operation.served, server.repository.registration_written(supi, id))
        && served.is_late_and_older_than(written.at_unix_ms, server.env.clock.now())
    {
        return Err(Failure::TimedOut);
    }
    server.repository.delete_registration(supi, id)?;
    Ok(Reply::no_content())
}

/// The id that the consumer proposes in `subscriptionId` is kept if it is free and not too long (our choice): so a UDM
/// that lost the answer can tell its own subscription from others alike.
fn post_subscription(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let subscription: SdmSubscription = decode_kept(&operation.body)?;
    let (fresh, written) = (server.env.entropy.uuid().to_string(), server.written(operation));
    let (id, subscription) = server.repository.add_subscription(supi, subscription, fresh, written)?;
    let reply =
        Reply::created_here(format!("{}{}/{}", server.root, operation.path, encoded(&id)), &subscription);
    Ok(server.told(reply, Change::Subscription(supi.clone(), id, written.by)))
}

fn put_subscription(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    id: &str,
) -> Result<Reply, Failure> {
    let subscription: SdmSubscription = decode_kept(&operation.body)?;
    let value = json::to_value(&SdmSubscription { subscription_id: Some(id.to_owned()), ..subscription });
    let written = server.written(operation);
    server.repository.replace_subscription(supi, id, value, written)?;
    Ok(server.told(Reply::no_content(), Change::Subscription(supi.clone(), id.to_owned(), written.by)))
}

/// Something that a consumer changed, as it is named while the answer is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Registration(Supi, PduSessionId, RequestId),
    Subscription(Supi, String, RequestId),
}

impl Change {
    fn name(&self) -> String {
        match self {
            Change::Registration(supi, id, by) => format!("registration {id} {} {supi}", by.0),
            Change::Subscription(supi, id, by) => format!("subscription {} {} {supi}", encoded(id), by.0),
        }
    }

    /// The change that `name` names. The SUPI comes last since it may hold spaces.
    fn parse(name: &str) -> Option<Change> {
        let mut words = name.splitn(4, ' ');
        let (kind, id, by, supi) = (words.next()?, words.next()?, words.next()?, words.next()?.parse().ok()?);
        let by = RequestId(by.parse().ok()?);
        match kind {
            "registration" => Some(Change::Registration(supi, id.parse().ok()?, by)),
            _ => Some(Change::Subscription(supi, decoded(id).ok()?, by)),
        }
    }
}

/// Takes back a change whose answer could not be handed over.
pub(crate) fn undo(repository: &Repository, change: &str) {
    match Change::parse(change) {
        Some(Change::Registration(supi, id, by)) => repository.undo_registration(&supi, id, by),
        Some(Change::Subscription(supi, id, by)) => repository.undo_subscription(&supi, &id, by),
        None => {}
    }
}

impl Server<'_> {
    fn written(&self, operation: &Operation) -> Written {
        let by = operation.served.map_or_else(|| self.env.events.next_request(), |served| served.request);
        Written { by, at_unix_ms: self.env.clock.stamp().unix_ms() }
    }

    fn told(&self, reply: Reply, change: Change) -> Reply {
        match &self.actor {
            Some(actor) => reply.delivered_by(Delivery::local(change.name(), actor.clone())),
            None => reply,
        }
    }
}

/// The repository as a producer inside the process of its consumer: the same operations without HTTP.
pub fn in_process(repository: Arc<Repository>, env: Env, root: String) -> InProcess {
    Rc::new(move |call: &Call| {
        let (path, query) = call.path().split_once('?').unwrap_or((call.path(), ""));
        let operation = Operation {
            method: call.method.to_string(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: call.body.clone(),
            served: None,
        };
        let server = Server { repository: &repository, env: &env, root: &root, actor: None };
        serve(&server, &operation).map_or_else(Failure::into_answer, Reply::into_answer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_named_without_loss() {
        let supi = |text: &str| text.parse::<Supi>().expect("a SUPI");
        for change in [
            Change::Registration(supi("imsi-001010000000001"), PduSessionId(5), RequestId(7)),
            Change::Subscription(supi("nai-a b@example.org"), "two words / 100 %".into(), RequestId(8)),
        ] {
            assert_eq!(Change::parse(&change.name()), Some(change));
        }
    }
}
