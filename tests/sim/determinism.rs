//! The same seed gives the same run, to the byte: in one process, and in another.

use crate::seeds;
use std::process::{Command, Stdio};

/// Where a process that was started for it writes the log of its seed.
const LOG_TO: &str = "MOCK5G_LOG_TO";

const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn two_runs_of_a_seed_are_the_same() {
    for seed in SEEDS {
        let (one, other) = (seeds::play(seed).log(), seeds::play(seed).log());
        assert_same(&one, &other);
    }
}

#[test]
fn another_seed_is_another_run() {
    assert_ne!(seeds::play(1).log(), seeds::play(2).log());
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

fn all_logs() -> String {
    SEEDS.iter().map(|seed| seeds::play(*seed).log()).collect()
}

/// Names the first line that differs.
fn assert_same(one: &str, other: &str) {
    assert!(one.lines().count() > 100, "a run has many events");
    for (n, (one, other)) in one.lines().zip(other.lines()).enumerate() {
        assert_eq!(one, other, "line {n}");
    }
    assert_eq!(one.len(), other.len());
}
