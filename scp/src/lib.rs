//! A mock SCP: models C and D of indirect communication, TS 29.500 §6.10 (Rel-17), with the deadlines that requests carry,
//! TS 29.500 §6.11.2.2 (Rel-17).
//!
//! [`route`] says where a request goes and [`path`] what it passes on its way, without I/O; [`forwarder`] passes it on. It owns
//! nothing: what a late answer left behind is its client's or its producer's to release, and told by an event.

mod answer;
mod forwarder;
mod path;
mod route;
mod scp;

pub use scp::{Config, Scp};
