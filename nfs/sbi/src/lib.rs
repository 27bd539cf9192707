//! What every party on the SBI shares.
//!
//! A request says until when its client waits (TS 29.500 §6.11.2 (Rel-17)). This crate reads and writes that
//! statement ([`header`]), serves requests under it ([`server`]), calls upstream within it ([`client`]) and releases
//! what a timed-out request had created ([`release`]). It knows HTTP, never the bodies of a service.

pub mod client;
pub mod clock;
pub mod contexts;
mod corked;
pub mod deadline;
pub mod directory;
pub mod env;
pub mod event;
pub mod fault;
mod goaway;
pub mod header;
pub mod journal;
pub mod json;
mod local;
pub mod multipart;
pub mod net;
pub mod nrf;
pub mod party;
pub mod planted;
pub mod policy;
pub mod problem;
pub mod release;
pub mod schema;
pub mod server;
pub mod skew;
pub mod traffic;
pub mod turns;
