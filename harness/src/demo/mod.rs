//! Built-in scenarios over real HTTP/2, told as a ladder, a ledger and a verdict.

mod ladder;
mod report;
mod scenario;

pub use report::{Format, play};
pub use scenario::{SCENARIOS, Scenario, find};
