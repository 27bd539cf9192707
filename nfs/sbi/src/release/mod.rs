//! Releasing what a timed-out request had created, so that nothing is left hanging.
//!
//! TS 29.500 §6.11.2.2 (Rel-17): a server that finds a request to have timed out at its client should release the
//! resources that it had created further upstream. The standard leaves open how; docs/release.md says what we chose.
//!
//! A procedure creates through an [`Attempt`] only, which writes its intent into the [`Ledger`] first. What is owed
//! for one create is an [`Obligation`], a pure state machine; the ledger feeds it facts and does what it asks for.

mod attempt;
mod book;
mod creates;
mod insist;
mod ledger;
mod obligation;
mod place;
mod record;
mod run;
mod slot;
mod table;
mod undo;

pub use attempt::{Attempt, Committed, Creation};
pub use book::FoundContext;
pub use creates::{Made, made_by};
pub use ledger::{Ledger, MAX_RELEASES_AT_ONCE, MAX_UNSETTLED};
pub use obligation::{Fact, Obligation, State, Step};
pub use slot::{Slot, SlotKey};
pub use table::{AttemptId, MAX_SETTLED, ObligationId, OwnerKey, Resource};
pub use undo::{Refusal, Settle, Target, Undo};
