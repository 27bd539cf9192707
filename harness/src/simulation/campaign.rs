//! Many seeds, on every processor one thread, until all are played or somebody stops it.

use super::audit::{Finding, Law};
use super::panics;
use super::plan::Plan;
use super::play::{Extra, Played, play};
use super::shrink::shrunk;
use crate::config::Indirect;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// How many seeds that fail are remembered, and made smaller; further ones are counted.
pub const MAX_FAILED: usize = 5;

/// Seeds to play.
pub struct Campaign {
    /// Which.
    pub seeds: Range<u64>,
    /// The grain of the network's time.
    pub tick_ms: u64,
    /// Whether all call through SCPs, and how.
    pub indirect: Option<Indirect>,
    /// What is looked at beside the laws.
    pub extra: Extra,
    /// Whether it shall end early.
    pub stop: AtomicBool,
    next: AtomicU64,
    tally: Mutex<Tally>,
}

/// What became of the seeds that were played.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many.
    pub seeds: u64,
    /// How many stimuli.
    pub procedures: u64,
    /// How often each law was broken.
    pub broken: BTreeMap<Law, u64>,
    /// How many seeds broke one.
    pub failing: u64,
    /// Those that are remembered, by their seeds.
    pub failed: BTreeMap<u64, Failed>,
}

/// A plan that breaks a law.
#[derive(Clone, Debug)]
pub struct Failed {
    /// It, made as small as it can be.
    pub plan: Plan,
    /// How many parts its seed means.
    pub whole: usize,
    /// What was found when all of it was played.
    pub findings: Vec<Finding>,
}

impl Campaign {
    /// These seeds.
    pub fn new(seeds: Range<u64>, tick_ms: u64, extra: Extra) -> Self {
        let next = AtomicU64::new(seeds.start);
        let (stop, tally) = (AtomicBool::new(false), Mutex::default());
        Campaign { seeds, tick_ms, indirect: None, extra, stop, next, tally }
    }

    /// The same, where all call through SCPs.
    #[must_use]
    pub fn through(self, indirect: Option<Indirect>) -> Self {
        Campaign { indirect, ..self }
    }

    /// Plays them on `threads` threads; one that fails is made smaller at once.
    pub fn run(&self, threads: usize) -> Tally {
        std::thread::scope(|scope| {
            (0..threads.max(1)).for_each(|_| drop(scope.spawn(|| panics::quietly(|| self.work()))));
        });
        self.tally()
    }

    /// What became of it so far.
    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn work(&self) {
        while !self.stop.load(Relaxed) {
            let seed = self.next.fetch_add(1, Relaxed);
            if seed >= self.seeds.end {
                return;
            }
            self.play(seed);
        }
    }

    fn play(&self, seed: u64) {
        let plan = Plan::through(seed, self.tick_ms, self.indirect);
        let played = play(&plan, self.extra);
        let smaller = self.count(&played).then(|| self.make_smaller(plan, played.findings));
        if let Some(failed) = smaller {
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).failed.insert(seed, failed);
        }
    }

    /// Whether it failed and is to be remembered.
    fn count(&self, played: &Played) -> bool {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.seeds += 1;
        tally.procedures += played.procedures;
        for finding in &played.findings {
            *tally.broken.entry(finding.law).or_default() += 1;
        }
        if played.findings.is_empty() {
            return false;
        }
        tally.failing += 1;
        tally.failing <= MAX_FAILED as u64
    }

    /// The plan that still breaks the same law, with what was found first.
    fn make_smaller(&self, plan: Plan, findings: Vec<Finding>) -> Failed {
        let law = findings.first().map(|finding| finding.law);
        let fails = |plan: &Plan| {
            !self.stop.load(Relaxed) && play(plan, self.extra).findings.iter().any(|f| Some(f.law) == law)
        };
        Failed { whole: plan.parts.len(), plan: shrunk(&plan, fails), findings }
    }
}
