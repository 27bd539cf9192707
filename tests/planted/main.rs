//! The proof that the proof works: faults that are planted in the release logic one at a time are caught. The list of them,
//! and what each is caught by, is in docs/simulation.md.
#![allow(clippy::unwrap_used)]

use mock5g::simulation::{Extra, Plan, play};
use sbi::planted::Fault;
use std::fmt::Write;
use std::sync::Mutex;

/// How many seeds are played before a fault counts as not caught.
const SEEDS: u64 = 3_000;

const TICK_MS: u64 = 5;

/// How a fault was caught.
#[derive(Debug)]
struct Caught {
    fault: Fault,
    /// The first seed that fails with it, and what it finds.
    by: Option<(u64, String)>,
}

fn catch(fault: Fault) -> Caught {
    fault.plant();
    let by = (0..SEEDS).find_map(|seed| {
        let played = play(&Plan::of_seed(seed, TICK_MS), Extra::default());
        let mut laws: Vec<_> = played.findings.iter().map(|finding| finding.law.as_str()).collect();
        laws.sort();
        laws.dedup();
        (!laws.is_empty()).then(|| (seed, laws.join(", ")))
    });
    Fault::weed();
    Caught { fault, by }
}

#[test]
fn every_planted_fault_is_caught() {
    let only = std::env::var("MOCK5G_PLANTED").ok();
    let wanted = |fault: &&Fault| only.as_ref().is_none_or(|only| format!("{fault:?}") == *only);
    let faults = Mutex::new(Fault::ALL.iter().filter(wanted));
    let caught = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(fault) = faults.lock().unwrap().next() else { return };
                    let one = catch(*fault);
                    eprintln!("{one:?}");
                    caught.lock().unwrap().push(one);
                }
            });
        }
    });
    let mut caught = caught.into_inner().unwrap();
    caught.sort_by_key(|caught| Fault::ALL.iter().position(|fault| *fault == caught.fault));
    let mut table = String::new();
    for Caught { fault, by } in &caught {
        let by = by.as_ref().map_or("NOTHING".into(), |(seed, laws)| format!("seed {seed}: {laws}"));
        writeln!(table, "| `{fault:?}` |{} | {by} |", fault.meaning()).unwrap();
    }
    println!("{table}");
    let missed: Vec<_> =
        caught.iter().filter(|caught| caught.by.is_none()).map(|caught| caught.fault).collect();
    assert_eq!(missed, [], "these are not caught by {SEEDS} seeds");
}

/// Without one, the same seeds find nothing: what catches the faults is the faults.
#[test]
fn what_catches_them_finds_nothing_where_none_is_planted() {
    for seed in 0..SEEDS / 10 {
        let played = play(&Plan::of_seed(seed, TICK_MS), Extra::default());
        assert!(played.findings.is_empty(), "seed {seed}: {:?}", played.findings);
    }
}

#[test]
fn each_is_in_the_table() {
    let table = include_str!("../../docs/simulation.md");
    for fault in Fault::ALL {
        assert!(table.contains(&format!("| `{fault:?}` |")), "docs/simulation.md does not list {fault:?}");
    }
    assert!(Fault::ALL.len() >= 40);
}
