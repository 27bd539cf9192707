//! The same seed gives the same run, to the byte: in one process, and in another.

use mock5g::simulation::{Extra, Plan};
use std::process::{Command, Stdio};

/// Where a process that was started for it writes the log of its seed.
const LOG_TO: &str = "MOCK5G_LOG_TO";

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

#[test]
fn two_runs_of_a_seed_are_the_same() {
    for seed in SEEDS {
        let (one, other) = (log(seed), log(seed));
        assert_same(&one, &other);
    }
}

#[test]
fn another_seed_is_another_run() {
    assert_ne!(log(1), log(2));
}

#[test]
fn two_processes_play_a_seed_alike() {
    let path = format!("{}/another-process-{}.log", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let played = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "determinism::writes_the_log_that_another_process_asks_for"])
        .env(LOG_TO, &path)
        .stdout(Stdio::null())
        .status();
    assert!(played.unwrap().success());
    let other = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_same(&all_logs(), &other);
}

#[test]
fn writes_the_log_that_another_process_asks_for() {
    if let Ok(path) = std::env::var(LOG_TO) {
        std::fs::write(path, all_logs()).unwrap();
    }
}

fn log(seed: u64) -> String {
    mock5g::simulation::play(&Plan::of_seed(seed, 5), Extra::default()).log()
}

fn all_logs() -> String {
    SEEDS.map(log).concat()
}

/// Names the first line that differs.
fn assert_same(one: &str, other: &str) {
    assert!(one.lines().count() > 20, "a run has many events");
    for (n, (one, other)) in one.lines().zip(other.lines()).enumerate() {
        assert_eq!(one, other, "line {n}");
    }
    assert_eq!(one.len(), other.len());
}
