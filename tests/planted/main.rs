//! The proof that the proof works: faults that are planted in the release logic one at a time are caught. The list of them,
//! and what each is caught by, is in docs/simulation.md.
#![allow(clippy::unwrap_used)]

#[path = "../sim/combination.rs"]
mod combination;
#[path = "../sim/crash_at.rs"]
mod crash_at;
#[path = "../sim/world.rs"]
#[allow(dead_code)]
mod world;

use combination::{AMF_CREATE, Combination, SMF_REGISTER, SMF_SUBSCRIBE, UDM_REGISTER, UDM_SUBSCRIBE};
use mock5g::simulation::{Extra, Plan, panics, play};
use sbi::planted::Fault;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;

/// How many seeds are played before a fault counts as not caught.
const SEEDS: u64 = 3_000;

const TICK_MS: u64 = 5;

/// Those that only the test of the pure machine sees: for one, the ledger does not give the machine the facts that would
/// show it. `faults_planted_in_the_machine_are_caught` in nfs/sbi/src/release/obligation.rs catches them.
const MACHINE: &[Fault] = &[
    Fault::NothingIsProof,
    Fault::TryForEver,
    Fault::HangInSilence,
    Fault::ReleaseSuperseded,
    Fault::ReleaseTwice,
    Fault::InheritNothing,
];

/// How a fault was caught.
#[derive(Debug)]
struct Caught {
    fault: Fault,
    by: Option<String>,
}

fn catch(fault: Fault) -> Caught {
    fault.plant();
    let by = panics::quietly(|| by_seeds().or_else(by_crashes).or_else(by_sweep));
    Fault::weed();
    Caught { fault, by }
}

/// The first seed that fails, and what it finds.
fn by_seeds() -> Option<String> {
    (0..SEEDS).find_map(|seed| {
        let played = play(&Plan::of_seed(seed, TICK_MS), Extra::default());
        let laws: BTreeSet<_> = played.findings.iter().map(|finding| finding.law.as_str()).collect();
        let laws: Vec<_> = laws.into_iter().collect();
        (!laws.is_empty()).then(|| format!("seed {seed}: {}", laws.join(", ")))
    })
}

/// The first combination of the sweep that fails.
fn by_sweep() -> Option<String> {
    let calls = [&AMF_CREATE, &SMF_SUBSCRIBE, &SMF_REGISTER, &UDM_SUBSCRIBE, &UDM_REGISTER];
    let mut all = calls.into_iter().flat_map(|call| Combination::of(call));
    all.find(|combination| combination.fails()).map(|failed| format!("sweep: {}", failed.name()))
}

/// The first crash at a step of a UE's life after which something is left.
fn by_crashes() -> Option<String> {
    crash_at::all().find(|crash| crash.fails()).map(|failed| format!("crash: {}", failed.name()))
}

#[test]
fn every_planted_fault_is_caught() {
    let only = std::env::var("MOCK5G_PLANTED").ok();
    let wanted = |fault: &&Fault| {
        !MACHINE.contains(fault) && only.as_ref().is_none_or(|only| format!("{fault:?}") == *only)
    };
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
        let by = by.as_deref().unwrap_or("NOTHING");
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
