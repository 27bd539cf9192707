//! `release_late` (our choice, not the standard's): what was made too late for its client is released.
//!
//! An SCP owns nothing, so it may release only what nobody else writes to meanwhile. A resource with a URI of its own is its
//! client's or nobody's. At a fixed URI another write may have come, and a UDM answers a repeated subscription with the one that is
//! there: such requests are counted, by the one actor that keeps their URI, and what one of them made is released only if no other
//! was under way meanwhile, since nobody knows in which order they were carried out. What passes another SCP, or none, is not seen.

use crate::scp::Scp;
use actix::{Addr, Handler, Message, ResponseFuture};
use sbi::clock::Instant;
use sbi::party::Served;
use sbi::release::{Made, SlotKey};
use std::sync::Arc;

/// A write leaves to where others may write: whether no release is under way there.
#[derive(Message)]
#[rtype(result = "bool")]
pub(crate) struct Begins {
    pub(crate) uri: Arc<str>,
    pub(crate) until: Instant,
}

/// It has ended, whatever came of it.
#[derive(Message)]
#[rtype(result = "()")]
struct Ends(Arc<str>);

/// A write to where others may write that has not ended.
pub(crate) struct Writing {
    uri: Arc<str>,
    keeper: Addr<Scp>,
}

/// The writes under way at one URI.
#[derive(Default)]
pub(crate) struct Writes {
    running: usize,
    /// Since the first of them began there was never more than one.
    are_alone: bool,
}

impl Writing {
    /// It leaves once no release is under way there; not at all if one is for too long.
    pub(crate) async fn begin(
        keeper: Addr<Scp>,
        uri: Arc<str>,
        until: Instant,
    ) -> Result<Self, &'static str> {
        let begun = keeper.send(Begins { uri: uri.clone(), until }).await;
        let is_free = begun.map_err(|_| "this SCP is stopping")?;
        let writing = Writing { uri, keeper };
        if is_free { Ok(writing) } else { Err("what came too late for its client is being released there") }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.keeper.do_send(Ends(self.uri.clone()));
    }
}

/// What a request that was passed on has made.
pub(crate) struct Creation {
    pub(crate) made: Made,
    pub(crate) served: Served,
    pub(crate) target: String,
    pub(crate) location: Option<String>,
    pub(crate) writing: Option<Writing>,
}

/// Its client did not get the answer.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Unwanted(pub(crate) Creation);

/// Its client may still get the answer, which goes by this name.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct OnItsWay(pub(crate) Arc<str>, pub(crate) Creation);

impl Scp {
    /// Releases it, unless another may have written there meanwhile.
    pub(crate) fn release(&mut self, creation: Creation) {
        let is_alone =
            |writing: &Writing| self.writes.get(&writing.uri).is_some_and(|writes| writes.are_alone);
        if creation.writing.as_ref().is_none_or(is_alone) {
            let Creation { made, served, target, location, .. } = &creation;
            self.shard.ledger.release_unwanted(made.clone(), *served, target, location.as_deref());
        }
    }
}

impl Handler<Begins> for Scp {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, begins: Begins, _: &mut Self::Context) -> Self::Result {
        let writes = self.writes.entry(begins.uri.clone()).or_default();
        writes.running += 1;
        writes.are_alone = writes.running == 1;
        let ledger = self.shard.ledger.clone();
        Box::pin(async move { ledger.yield_slot(SlotKey::Uri(begins.uri), begins.until).await })
    }
}

impl Handler<Ends> for Scp {
    type Result = ();

    fn handle(&mut self, ends: Ends, _: &mut Self::Context) {
        let Some(writes) = self.writes.get_mut(&ends.0) else { return };
        writes.running -= 1;
        if writes.running == 0 {
            self.writes.remove(&ends.0);
        }
    }
}

impl Handler<Unwanted> for Scp {
    type Result = ();

    fn handle(&mut self, unwanted: Unwanted, _: &mut Self::Context) {
        self.release(unwanted.0);
    }
}

impl Handler<OnItsWay> for Scp {
    type Result = ();

    fn handle(&mut self, on_its_way: OnItsWay, _: &mut Self::Context) {
        self.on_their_way.insert(on_its_way.0, on_its_way.1);
    }
}
