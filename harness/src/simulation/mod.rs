//! The world under simulation: NFs as hosts with simulated time and network, everything random from one seed.
//!
//! [`Network`] is TCP between them, [`Weather`] how it behaves, and a stage runs them on one thread, in one runtime whose
//! clock stands still while anything can be done and jumps to the next timer when nothing can: quiet time costs nothing.
//!
//! A seed means a [`Plan`], which is data. [`play`] plays it and holds what happened to the laws; a plan that breaks one
//! can be [`shrunk`]; a [`Campaign`] is many seeds on all processors.

mod audit;
mod campaign;
mod dice;
mod medium;
mod network;
pub mod panics;
mod plan;
mod play;
mod shrink;
mod stage;
mod trouble;
mod ue;
mod weather;

pub use audit::{Finding, Law, broken_by, context_dnn, registered_dnn};
pub use campaign::{Campaign, Failed, Tally};
pub use dice::Dice;
pub use medium::Medium;
pub use network::Network;
pub use plan::{DNNS, Does, Establish, Keep, MAX_SKEW_MS, MAX_UES, Part, Plan, SESSION_IDS, Stimulus, What};
pub use play::{Extra, Played, play, quick, quick_lab};
pub use shrink::{MAX_PLAYS, shrunk};
pub use stage::Stuck;
pub(crate) use stage::{Host, Stage, runtime};
pub use trouble::{Fault, Kind, Trouble};
pub use ue::Established;
pub use weather::Weather;
pub(crate) use weather::World;
