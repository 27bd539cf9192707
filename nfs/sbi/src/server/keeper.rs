//! What a shard owes, for those outside of it: a small actor beside the NF's own.

use crate::release::{Ledger, Resource};
use actix::{Actor, Context, Handler, Message, MessageResult, ResponseFuture};

/// Tells of one shard's ledger.
pub struct Keeper(pub(super) Ledger);

impl Actor for Keeper {
    type Context = Context<Self>;
}

/// Everything that the shard created upstream, oldest first.
#[derive(Message)]
#[rtype(result = "Vec<Resource>")]
pub struct Created;

/// How many of them are neither settled nor committed.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct Open;

/// Release what is committed too: the NF stops, and its memory goes with it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ReleaseAll;

impl Handler<Created> for Keeper {
    type Result = MessageResult<Created>;

    fn handle(&mut self, _: Created, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.resources())
    }
}

impl Handler<Open> for Keeper {
    type Result = MessageResult<Open>;

    fn handle(&mut self, _: Open, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.open())
    }
}

impl Handler<ReleaseAll> for Keeper {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: ReleaseAll, _: &mut Context<Self>) -> Self::Result {
        let ledger = self.0.clone();
        Box::pin(async move { ledger.disown_all().await })
    }
}
