//! Behaviour under simulated time and network: the real NFs, by a seed.
#![allow(clippy::unwrap_used)]

mod amf_registrations;
mod clock;
mod combination;
mod crash_at;
mod crashes;
mod determinism;
mod handover;
mod network;
mod scps;
mod seeds;
mod slots;
mod sweep;
mod world;
