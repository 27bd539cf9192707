//! Labs of mock NFs: built, steered and judged here, for demo, tests and simulation alike.
//!
//! This is the only crate that knows every NF. A [`lab::Lab`] is one isolated world, on free ports of the loopback or
//! under simulated time and network; the code of the NFs is the same in both.

pub mod api_root;
pub mod cli;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod fault_spec;
pub mod lab;
pub mod operator;
#[cfg(feature = "openapi")]
pub mod oracle;
pub mod process;
pub mod registry;
pub mod schemas;
pub mod simulation;
pub mod subscribers;
pub mod verdict;
