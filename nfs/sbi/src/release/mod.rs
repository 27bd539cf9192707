//! Releasing what a timed-out request had created, so that nothing is left hanging.
//!
//! TS 29.500 §6.11.2.2 (Rel-17): a server that finds a request to have timed out at its client should release the
//! resources that it had created further upstream. The standard leaves open how; docs/release.md says what we chose.
//!
//! A procedure creates through an [`Attempt`] only, which writes its intent into the [`Ledger`] first. What is owed
//! for one create is an [`Obligation`], a pure state machine; the ledger feeds it facts and does what it asks for.

mod attempt;
mod ledger;
mod obligation;
mod run;
mod slot;
mod undo;

pub use attempt::{Attempt, Committed, Creation};
pub use ledger::{
    AttemptId, Ledger, MAX_OPEN, MAX_RELEASES_AT_ONCE, MAX_SETTLED, ObligationId, OwnerKey, Resource,
};
pub use obligation::{Fact, Obligation, State, Step};
pub use slot::{Slot, SlotKey};
pub use undo::{Settle, Target, Undo};
