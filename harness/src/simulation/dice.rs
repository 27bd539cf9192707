//! Random numbers, by the seed alone.

use sbi::env::Entropy;

/// Dice that fall the same each time.
#[derive(Clone)]
pub struct Dice(Entropy);

impl Dice {
    /// The dice of a seed.
    pub fn of_seed(seed: u64) -> Self {
        Dice(Entropy::from_seed(seed))
    }

    /// The same, for whoever takes random bits.
    pub(super) fn entropy(&self) -> Entropy {
        self.0.clone()
    }

    /// A number from `least` to `most`.
    pub fn between(&self, least: u64, most: u64) -> u64 {
        least + self.0.up_to(most - least)
    }

    /// True once in `n` times.
    pub fn one_in(&self, n: u64) -> bool {
        self.between(1, n) == 1
    }

    /// One of them.
    pub fn of<'a, T>(&self, all: &'a [T]) -> &'a T {
        let last = u64::try_from(all.len()).unwrap_or(u64::MAX).saturating_sub(1);
        &all[usize::try_from(self.between(0, last)).unwrap_or(0)]
    }

    /// Dice for somebody else, whose throws do not disturb these.
    #[must_use]
    pub fn another(&self) -> Dice {
        Dice::of_seed(self.0.u64())
    }
}
