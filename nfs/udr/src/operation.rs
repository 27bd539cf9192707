//! The operations of `Nudr_DataRepository` on the repository, one file per kind of resource.

mod amf_registration;
mod authentication;
mod change;
mod policy;
mod provisioned;
mod sdm_subscriptions;
mod smf_registrations;
mod to_notify;

pub(crate) use change::undo;

use crate::notifier;
use crate::repository::{Place, Put, Repository, Written};
use crate::udr::FirstPut;
use api::common::Supi;
use api::nudr_dr::Resource;
use bytes::Bytes;
use change::Change;
use sbi::client::{Call, Client, InProcess};
use sbi::env::Env;
use sbi::party::Served;
use sbi::problem::ProblemDetails;
use sbi::server::{Delivery, Failure, Handover, Reply};
use serde::Serialize;
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
    /// How the first PUT at a place is answered.
    pub first_put: FirstPut,
    /// Whom to tell.
    pub actor: Option<actix::Recipient<Handover>>,
}

/// Carries out an operation.
pub fn serve(server: &Server<'_>, operation: &Operation) -> Result<Reply, Failure> {
    let resource = Resource::parse(&operation.path)?;
    let method = operation.method.as_str();
    if !resource.methods().contains(&method) {
        let detail = format!("expected {} here, but found {method}", resource.methods().join(", "));
        return Err(ProblemDetails::plain(405, detail).into());
    }
    match &resource {
        Resource::Provisioned { supi, .. } => provisioned::sets(server, operation, supi),
        Resource::ProvisionedSet { supi, set, .. } => provisioned::set(server, operation, supi, *set),
        Resource::AuthenticationSubscription { supi } => {
            authentication::subscription(server, operation, supi)
        }
        Resource::AuthenticationStatus { supi } => authentication::status(server, operation, supi),
        Resource::AmfRegistration { supi } => amf_registration::serve(server, operation, supi),
        Resource::SmfRegistrations { supi } => Ok(Reply::ok(&server.repository.smf_registrations(supi)?)),
        Resource::SmfRegistration { supi, pdu_session_id } => {
            smf_registrations::serve(server, operation, supi, *pdu_session_id)
        }
        Resource::SdmSubscriptions { supi } => sdm_subscriptions::collection(server, operation, supi),
        Resource::SdmSubscription { supi, id } => sdm_subscriptions::one(server, operation, supi, id),
        Resource::SubsToNotify => to_notify::add(server, operation),
        Resource::SubToNotify { id } => to_notify::one(server, operation, id),
        Resource::AmPolicyData { supi } => policy::am_data(server, supi),
        Resource::SmPolicyData { supi } => policy::sm_data(server, operation, supi),
    }
}

impl Server<'_> {
    fn written(&self, operation: &Operation) -> Written {
        let by = operation.served.map_or_else(|| self.env.events.next_request(), |served| served.request);
        Written { by, at_unix_ms: self.env.clock.stamp().unix_ms() }
    }

    /// The URI of a resource below the one that was asked.
    fn below(&self, operation: &Operation, id: &str) -> String {
        format!("{}{}/{}", self.root, operation.path, api::percent::encoded(id))
    }

    /// The answer to a PUT at a place of its own.
    fn answer_to_put(&self, operation: &Operation, put: Put, value: &impl Serialize) -> Reply {
        match (put, self.first_put) {
            (Put::Created, FirstPut::Created) => {
                Reply::created_here(format!("{}{}", self.root, operation.path), value)
            }
            _ => Reply::no_content(),
        }
    }

    fn told(&self, reply: Reply, change: &Change) -> Reply {
        match &self.actor {
            Some(actor) => reply.delivered_by(Delivery::local(change.name(), actor.clone())),
            None => reply,
        }
    }

    /// Whether a release is late, and the place was written after it was sent: then it is another's.
    fn is_overtaken(&self, operation: &Operation, supi: &Supi, place: Place) -> bool {
        let now = self.env.clock.now();
        let written = self.repository.written(supi, place);
        let overtaken =
            |served: Served| written.is_some_and(|w| served.is_late_and_older_than(w.at_unix_ms, now));
        operation.served.is_some_and(overtaken)
    }
}

/// The repository as a producer inside the process of its consumer: the same operations without HTTP. Notifications
/// leave through the consumer's `client`.
pub fn in_process(repository: Arc<Repository>, env: Env, root: String, client: &Rc<Client>) -> InProcess {
    tokio::task::spawn_local(notifier::run(repository.clone(), client.clone()));
    Rc::new(move |call: &Call| {
        let (path, query) = call.path().split_once('?').unwrap_or((call.path(), ""));
        let operation = Operation {
            method: call.method.to_string(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: call.body.clone(),
            served: None,
        };
        let server = Server {
            repository: &repository,
            env: &env,
            root: &root,
            first_put: FirstPut::default(),
            actor: None,
        };
        serve(&server, &operation).map_or_else(Failure::into_answer, Reply::into_answer)
    })
}
