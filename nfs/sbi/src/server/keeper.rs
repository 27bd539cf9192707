//! What a shard owes, for those outside of it: a small actor beside the NF's own.

use super::nf::Forget;
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
pub struct Resources;

/// How many of them are neither settled nor committed.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct Unsettled;

/// How many slots are taken and creates in flight.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct Busy;

/// Create and commit nothing more, and release what is committed: the NF stops, and its memory goes with it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Close;

impl Handler<Resources> for Keeper {
    type Result = MessageResult<Resources>;

    fn handle(&mut self, _: Resources, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.resources())
    }
}

impl Handler<Unsettled> for Keeper {
    type Result = MessageResult<Unsettled>;

    fn handle(&mut self, _: Unsettled, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.unsettled())
    }
}

impl Handler<Busy> for Keeper {
    type Result = MessageResult<Busy>;

    fn handle(&mut self, _: Busy, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.busy())
    }
}

/// Release what is committed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ReleaseAll;

impl Handler<ReleaseAll> for Keeper {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: ReleaseAll, _: &mut Context<Self>) -> Self::Result {
        let ledger = self.0.clone();
        Box::pin(async move { ledger.disown_all().await })
    }
}

impl Handler<Forget> for Keeper {
    type Result = ();

    /// Only what is settled can be forgotten.
    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        self.0.forget_settled();
    }
}

impl Handler<Close> for Keeper {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Close, _: &mut Context<Self>) -> Self::Result {
        let ledger = self.0.clone();
        Box::pin(async move { ledger.close().await })
    }
}
