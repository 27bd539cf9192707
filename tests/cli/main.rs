//! The binary `mock5g` as its users meet it: command line, processes, signals, and Debian's HTTP tools.
//!
//! This target belongs to the package `mock5g` (see `harness/Cargo.toml`), although its files are here: only for the
//! integration tests of the package that owns a binary does cargo build the binary first and say where it is.
#![allow(clippy::unwrap_used)]

mod abandoned_streams;
mod bad_journals;
mod cancelled_requests;
mod crashes;
mod demo;
mod doctor;
mod foreign_tools;
mod four_nfs;
mod help_and_usage;
mod intermediaries;
mod lab;
mod nf_start;
mod nf_stop;
mod operator_plane;
#[cfg(feature = "openapi")]
mod schema_true;
mod sim;
mod steering;
mod support;
