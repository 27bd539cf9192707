//! The world under simulation: NFs as hosts with simulated time and network, everything random from one seed.
//!
//! [`Network`] is TCP between them, [`Weather`] how it behaves, and a stage runs them on one thread, in one runtime whose
//! clock stands still while anything can be done and jumps to the next timer when nothing can: quiet time costs nothing.

mod network;
mod stage;
mod weather;

pub use network::Network;
pub use stage::Stuck;
pub(crate) use stage::{Host, Stage, runtime};
pub use weather::Weather;
pub(crate) use weather::World;
