//! A mock SCP: models C and D of indirect communication, TS 29.500 §6.10 (Rel-17), with the deadlines that requests carry,
//! TS 29.500 §6.11.2.2 (Rel-17).
//!
//! [`route`] says where a request goes and [`path`] what it passes on its way, without I/O; [`forwarder`] finds whom to ask,
//! [`exchange`] asks, [`answer`] is what is changed on the way back. It owns nothing: what a late answer left behind is its
//! client's or its producer's to release, and told by an event, unless [`late`] is switched on.

mod answer;
mod binding;
mod exchange;
mod forwarder;
mod late;
mod passing;
mod path;
mod route;
mod scp;
mod unanswered;

pub use scp::{Config, Scp};
