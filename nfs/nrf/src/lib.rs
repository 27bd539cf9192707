//! A mock NRF: NF instances register here and are found, TS 29.510 (Rel-17).
//!
//! [`Registry`] is what it knows, and decides without I/O; the actor of the first worker has it. Nothing of it is kept
//! over a restart: NFs register anew when their heart-beat is answered with 404. What it keeps for others ends by itself,
//! instances without heart-beats and subscriptions at their end, so that none of it can be left hanging.

mod discovery;
mod management;
mod notifier;
mod nrf;
mod registry;
mod search;
mod users;

#[cfg(test)]
mod tests;

pub use nrf::{Config, Nrf};
pub use registry::{HeartBeats, Registry};
pub use search::Search;
