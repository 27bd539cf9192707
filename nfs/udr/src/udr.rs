//! The UDR's actor and its app.

use crate::notifier;
use crate::operation::{Operation, Server, serve, undo};
use crate::repository::Repository;
use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult, ResponseFuture, WrapFuture};
use actix_web::{HttpRequest, guard, web};
use bytes::Bytes;
use sbi::journal::{Batch, Journal};
use sbi::party::{NfType, Served};
use sbi::problem::Cause;
use sbi::server::{Failure, Forget, Handover, Held, Holding, Holdings, Nf, Reply, Shard, Shards};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a UDR needs: the data, shared by its workers.
#[derive(Clone)]
pub struct Config {
    /// The data.
    pub repository: Arc<Repository>,
    /// How the first PUT at a place is answered.
    pub first_put: FirstPut,
}

/// How a UDR answers the first PUT of a registration; `udr.first_put`. TS 29.505 §5.2.8 and §5.2.15 (Rel-17) allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstPut {
    /// 201, with the resource.
    #[default]
    Created,
    /// 204, as every other PUT: a widely used core's UDR does so, and its UDM cannot read a 201.
    NoContent,
}

/// The UDR on one worker. It keeps no contexts: each request is one step on the shared data.
pub struct Udr {
    shard: Shard,
    repository: Arc<Repository>,
    first_put: FirstPut,
}

impl Actor for Udr {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        let notifier = notifier::run(self.repository.clone(), self.shard.client().clone());
        context.spawn(notifier.into_actor(self));
    }
}

impl Nf for Udr {
    type Config = Config;

    const TYPE: NfType = NfType::Udr;

    const APIS: &'static [&'static str] = &["/nudr-dr/v2", "/nudr-dr/v1"];

    fn new(shard: Shard, config: Config, _: &mut Context<Self>) -> Self {
        Udr { shard, repository: config.repository, first_put: config.first_put }
    }

    fn routes(app: &mut web::ServiceConfig) {
        // No pattern: it would be matched against the whole of every path.
        let resources =
            web::scope("/nudr-dr").guard(guard::fn_guard(|ctx| names_resource(ctx.head().uri.path())));
        app.service(resources.default_service(web::to(operate)));
    }
}

/// Whether something follows the version.
fn names_resource(path: &str) -> bool {
    let below = path.strip_prefix("/nudr-dr/").and_then(|below| below.split_once('/'));
    below.is_some_and(|(version, _)| !version.is_empty())
}

/// A request for the actor.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
struct Operate(Operation);

async fn operate(
    request: HttpRequest,
    body: Bytes,
    served: Served,
    shards: web::Data<Shards<Udr>>,
) -> Result<Reply, Failure> {
    let operation = Operation {
        method: request.method().to_string(),
        path: request.path().to_owned(),
        query: request.query_string().to_owned(),
        body,
        served: Some(served),
    };
    shards.ask(shards.here(), Operate(operation)).await
}

impl Handler<Operate> for Udr {
    type Result = ResponseFuture<Result<Reply, Failure>>;

    /// As a task of its own: one that panics does not take the actor with it.
    fn handle(&mut self, Operate(operation): Operate, context: &mut Context<Self>) -> Self::Result {
        let (party, repository, first_put) =
            (self.shard.party.clone(), self.repository.clone(), self.first_put);
        let actor = Some(context.address().recipient());
        Box::pin(async move {
            let server =
                Server { repository: &repository, env: &party.env, root: &party.api_root, first_put, actor };
            let journal = party.journal.as_ref().filter(|_| operation.method != "GET");
            if let Some(trouble) = journal.filter(|_| operation.method != "DELETE").and_then(Journal::trouble)
            {
                return Err(Failure::new(Cause::InsufficientResources, trouble.to_string()));
            }
            let reply = serve(&server, &operation);
            match journal {
                Some(journal) => on_record(journal).await.and(reply),
                None => reply,
            }
        })
    }
}

/// What was changed is on record before its answer leaves. If it cannot be, the answer says so, and what was created is taken
/// back like anything whose success could not be handed over. (What was deleted stays so.)
async fn on_record(journal: &Journal) -> Result<(), Failure> {
    let written = journal.write(Batch::new(), None).await;
    written.map_err(|error| Failure::new(Cause::InsufficientResources, error.to_string()))
}

impl Handler<Handover> for Udr {
    type Result = ();

    fn handle(&mut self, handover: Handover, _: &mut Context<Self>) {
        if !handover.delivered {
            undo(&self.repository, &handover.owner);
        }
    }
}

impl Handler<Forget> for Udr {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        self.repository.forget();
    }
}

impl Handler<Holdings> for Udr {
    type Result = MessageResult<Holdings>;

    /// The data are shared: the first shard tells of them for all.
    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        let first = self.shard.index == 0;
        let held: Vec<Held> =
            if first { self.repository.held(&self.shard.party.api_root) } else { Vec::new() };
        let running = if first { self.repository.untold() } else { 0 };
        MessageResult(Holding { held, running })
    }
}
