//! The reader of `multipart/related`, with whatever comes.
//!
//! `cargo +nightly fuzz run multipart --fuzz-dir tests/fuzz -- -max_total_time=600`
#![no_main]

#[path = "../multipart.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &[u8]| property::holds(input));
