//! Behaviour under simulated time and network.
#![allow(clippy::unwrap_used)]

mod smoke;
