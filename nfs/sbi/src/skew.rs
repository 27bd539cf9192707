//! How far the clocks of peers are from an NF's own.
//!
//! TS 29.500 §6.11.2.1 (Rel-17) wants NTP-synchronised clocks; whether they are is measured in passing. Nothing reaches its
//! receiver before it was sent: a request whose Sender-Timestamp lies ahead of its arrival proves that its sender's clock
//! is ahead. An answer's `Date`, though of whole seconds, lies between the sending of the request and the arrival of the
//! answer, so it bounds the clock of who answers from both sides. A request that always arrives long after its stamp may
//! come from a clock that is behind, or over a slow path.

use crate::event::{Facts, Kind};
use crate::header::{Fraction, SenderTimestamp};
use crate::party::Party;
use http::HeaderValue;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Of how many peers an NF measures the clocks; beyond it, who was not heard for [`FORGOTTEN_AFTER`] makes room.
pub const MAX_CLOCKS: usize = 256;

/// How long a peer is remembered that is not heard of, if there is no room.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// A bound counts for one to two windows: clocks drift, and are set right.
pub const WINDOW: Duration = Duration::from_secs(10);

/// So far apart are clocks that are synchronised; `deadline.skew_tolerance_ms` comes on top.
pub const USUAL_SKEW_MS: i64 = 100;

/// A path that is slower than this all the time is rarer than a clock that is behind.
pub const USUAL_DELAY_MS: i64 = 1_000;

/// So many requests have to be late before their sender's clock is suspected.
const SUSPICIOUS: u32 = 3;

/// How much of a name is kept.
const MAX_NAME: usize = 80;

/// What bounds the offset of a peer's clock, in milliseconds; positive if it is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    const NONE: Bounds = Bounds { least: i64::MIN, most: i64::MAX };

    fn and(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.max(other.least), most: self.most.min(other.most) }
    }
}

/// What is made of the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing says that the clocks differ by more than they may.
    #[default]
    Agree,
    /// The peer's clock is ahead.
    Ahead,
    /// It is behind.
    Behind,
    /// It is behind, or the path from it is slow.
    PerhapsBehind,
}

impl Verdict {
    const ALL: [Verdict; 4] = [Verdict::Agree, Verdict::Ahead, Verdict::Behind, Verdict::PerhapsBehind];

    fn of(bounds: Bounds, samples: u32, allowed_ms: i64) -> Self {
        match bounds {
            Bounds { least, .. } if least > allowed_ms => Verdict::Ahead,
            Bounds { most, .. } if most < -allowed_ms => Verdict::Behind,
            Bounds { least, most: i64::MAX }
                if samples >= SUSPICIOUS && least < -allowed_ms - USUAL_DELAY_MS =>
            {
                Verdict::PerhapsBehind
            }
            _ => Verdict::Agree,
        }
    }
}

/// What was measured in one window.
struct Window {
    least: AtomicI64,
    most: AtomicI64,
    samples: AtomicU32,
}

impl Default for Window {
    fn default() -> Self {
        let window =
            Window { least: AtomicI64::default(), most: AtomicI64::default(), samples: AtomicU32::default() };
        window.set(Bounds::NONE, 0);
        window
    }
}

impl Window {
    fn set(&self, bounds: Bounds, samples: u32) {
        self.least.store(bounds.least, Relaxed);
        self.most.store(bounds.most, Relaxed);
        self.samples.store(samples, Relaxed);
    }

    fn note(&self, bounds: Bounds) {
        // Most samples change nothing: a load is cheaper than an exchange.
        if bounds.least > self.least.load(Relaxed) {
            self.least.fetch_max(bounds.least, Relaxed);
        }
        if bounds.most < self.most.load(Relaxed) {
            self.most.fetch_min(bounds.most, Relaxed);
        }
        self.samples.fetch_add(1, Relaxed);
    }

    fn bounds(&self) -> Bounds {
        Bounds { least: self.least.load(Relaxed), most: self.most.load(Relaxed) }
    }
}

/// The clock of one peer.
struct PeerClock {
    name: Arc<str>,
    /// When this window began, in milliseconds since the process started.
    began_ms: AtomicU64,
    now: Window,
    before: Window,
    told: AtomicU8,
    /// It has made room for others.
    is_forgotten: AtomicBool,
}

impl PeerClock {
    fn new(name: Arc<str>, now_ms: u64) -> Self {
        PeerClock {
            name,
            began_ms: now_ms.into(),
            now: Window::default(),
            before: Window::default(),
            told: AtomicU8::default(),
            is_forgotten: AtomicBool::default(),
        }
    }

    /// Takes a sample in; what has changed by it, if that is to be told.
    fn note(&self, sample: Bounds, now_ms: u64, allowed_ms: i64) -> Option<Verdict> {
        self.now.note(sample);
        let proves = sample.least > allowed_ms || sample.most < -allowed_ms;
        let began_ms = self.began_ms.load(Relaxed);
        let is_over = now_ms.saturating_sub(began_ms) >= WINDOW.as_millis() as u64;
        if !proves && !is_over {
            return None;
        }
        let verdict = Verdict::of(self.bounds(), self.samples(), allowed_ms);
        if is_over && self.began_ms.compare_exchange(began_ms, now_ms, Relaxed, Relaxed).is_ok() {
            self.before.set(self.now.bounds(), self.now.samples.load(Relaxed));
            self.now.set(Bounds::NONE, 0);
        }
        let told = self.told.swap(verdict as u8, Relaxed);
        (told != verdict as u8).then_some(verdict)
    }

    fn bounds(&self) -> Bounds {
        self.now.bounds().and(self.before.bounds())
    }

    fn samples(&self) -> u32 {
        self.now.samples.load(Relaxed).saturating_add(self.before.samples.load(Relaxed))
    }

    fn reset(&self) {
        self.now.set(Bounds::NONE, 0);
        self.before.set(Bounds::NONE, 0);
        self.told.store(Verdict::Agree as u8, Relaxed);
    }
}

/// What is known of a peer's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Who: the name of an NF of this process, else how it signs, else its address.
    pub peer: String,
    /// What is made of it.
    pub verdict: Verdict,
    /// Its clock is at least so far ahead; negative if it may be behind by as much.
    pub offset_at_least_ms: Option<i64>,
    /// Its clock is at most so far ahead; negative if it is behind. Only answers say so.
    pub offset_at_most_ms: Option<i64>,
    /// By how many messages of the last one or two windows.
    pub samples: u32,
}

impl Measured {
    fn of(clock: &PeerClock) -> Self {
        let Bounds { least, most } = clock.bounds();
        Measured {
            peer: clock.name.to_string(),
            verdict: Verdict::ALL
                .into_iter()
                .find(|v| *v as u8 == clock.told.load(Relaxed))
                .unwrap_or_default(),
            offset_at_least_ms: (least != i64::MIN).then_some(least),
            offset_at_most_ms: (most != i64::MAX).then_some(most),
            samples: clock.samples(),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.offset_at_least_ms.unwrap_or(0), self.offset_at_most_ms.unwrap_or(0));
        match self.verdict {
            Verdict::Agree => write!(f, "its clock agrees with this NF's"),
            Verdict::Ahead => write!(f, "its clock is at least {least} ms ahead of this NF's"),
            Verdict::Behind => write!(f, "its clock is at least {} ms behind this NF's", -most),
            Verdict::PerhapsBehind => write!(
                f,
                "its requests arrive at least {} ms after their stamps: its clock is behind this NF's, or the path is slow",
                -least
            ),
        }
    }
}

/// The clocks of an NF's peers, for all its workers.
#[derive(Clone, Default)]
pub struct Skews(Arc<Mutex<BTreeMap<Arc<str>, Arc<PeerClock>>>>);

impl Skews {
    /// Everything that is known.
    pub fn measured(&self) -> Vec<Measured> {
        self.clocks().values().map(|clock| Measured::of(clock)).collect()
    }

    /// This NF's own clock was stepped: what was measured by it counts no more.
    pub(crate) fn forget(&self) {
        self.clocks().values().for_each(|clock| clock.reset());
    }

    fn clock(&self, name: Arc<str>, now_ms: u64) -> Option<Arc<PeerClock>> {
        let mut clocks = self.clocks();
        if let Some(clock) = clocks.get(&name) {
            return Some(clock.clone());
        }
        if clocks.len() >= MAX_CLOCKS {
            let is_old = |clock: &PeerClock| {
                now_ms.saturating_sub(clock.began_ms.load(Relaxed)) >= FORGOTTEN_AFTER.as_millis() as u64
            };
            clocks.retain(|_, clock| {
                let forgotten = is_old(clock);
                clock.is_forgotten.fetch_or(forgotten, Relaxed);
                !forgotten
            });
        }
        if clocks.len() >= MAX_CLOCKS {
            return None;
        }
        let clock = Arc::new(PeerClock::new(name.clone(), now_ms));
        clocks.insert(name, clock.clone());
        Some(clock)
    }

    fn clocks(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<PeerClock>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's way to the clocks of its peers, by how they sign.
#[derive(Default)]
pub(crate) struct Ears(RefCell<BTreeMap<HeaderValue, Arc<PeerClock>>>);

impl Ears {
    /// A request that `signature` sent at `stamp` has arrived at `unix_ms`.
    pub(crate) fn heard_request(
        &self,
        party: &Party,
        signature: &HeaderValue,
        stamp: SenderTimestamp,
        unix_ms: i64,
    ) {
        let least = stamp.unix_ms().saturating_sub(unix_ms);
        self.heard(party, signature, Bounds { least, most: i64::MAX });
    }

    /// An answer of `signature` of this `date` has arrived, `took` after its request was sent.
    pub(crate) fn heard_answer(
        &self,
        party: &Party,
        signature: &HeaderValue,
        date: &HeaderValue,
        took: Duration,
    ) {
        const SECOND_MS: i64 = 1_000;
        let Ok(parsed) = SenderTimestamp::parse(date.as_bytes()) else { return };
        if parsed.fraction != Fraction::Missing {
            return;
        }
        // Read as the last millisecond of its second.
        let first_ms = parsed.stamp.unix_ms() - (SECOND_MS - 1);
        let received_ms = party.env.clock.unix_us().div_euclid(1_000);
        let sent_ms = received_ms.saturating_sub(i64::try_from(took.as_millis()).unwrap_or(i64::MAX));
        let least = first_ms.saturating_sub(received_ms.saturating_add(1));
        let most = (first_ms + SECOND_MS).saturating_sub(sent_ms.saturating_sub(1));
        self.heard(party, signature, Bounds { least, most });
    }

    fn heard(&self, party: &Party, signature: &HeaderValue, sample: Bounds) {
        let now_ms = u64::try_from(party.env.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(clock) = self.clock(party, signature, now_ms) else { return };
        let tolerance = i64::try_from(party.policy.deadline.skew_tolerance_ms).unwrap_or(i64::MAX);
        let Some(verdict) = clock.note(sample, now_ms, tolerance.saturating_add(USUAL_SKEW_MS)) else {
            return;
        };
        let what = Measured { verdict, ..Measured::of(&clock) }.to_string();
        if verdict != Verdict::Agree {
            tracing::warn!(nf = %party.name, peer = &*clock.name, "{}: {what}", Kind::SkewMeasured.as_str());
        }
        party.emit(
            Kind::SkewMeasured,
            Facts { peer: Some(clock.name.clone()), ..Facts::default() }.detail(what),
        );
    }

    fn clock(&self, party: &Party, signature: &HeaderValue, now_ms: u64) -> Option<Arc<PeerClock>> {
        let mut known = self.0.borrow_mut();
        if let Some(clock) = known.get(signature).filter(|clock| !clock.is_forgotten.load(Relaxed)) {
            return Some(clock.clone());
        }
        let said = String::from_utf8_lossy(signature.as_bytes());
        let name = party.env.directory.signed(&said);
        let name = name.unwrap_or_else(|| said.chars().take(MAX_NAME).collect::<String>().into());
        let clock = party.env.skews.clock(name, now_ms)?;
        if known.len() >= MAX_CLOCKS {
            known.clear();
        }
        known.insert(signature.clone(), clock.clone());
        Some(clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALLOWED: i64 = USUAL_SKEW_MS;
    const LONG: u64 = 10_000;

    fn request(least: i64) -> Bounds {
        Bounds { least, most: i64::MAX }
    }

    #[test]
    fn a_stamp_from_the_future_proves_at_once_that_a_clock_is_ahead_and_is_told_once() {
        let clock = PeerClock::new("amf".into(), 0);
        assert_eq!(clock.note(request(ALLOWED), 1, ALLOWED), None, "as far as it may be");
        assert_eq!(clock.note(request(ALLOWED + 1), 2, ALLOWED), Some(Verdict::Ahead));
        assert_eq!(clock.note(request(5_000), 3, ALLOWED), None);
        assert_eq!(clock.note(request(-3), 4, ALLOWED), None, "a slow request proves nothing");
        assert_eq!(Measured::of(&clock).to_string(), "its clock is at least 5000 ms ahead of this NF's");
    }

    #[test]
    fn a_clock_that_was_set_right_is_told_after_two_windows() {
        let clock = PeerClock::new("amf".into(), 0);
        clock.note(request(5_000), 1, ALLOWED);
        assert_eq!(clock.note(request(-2), LONG, ALLOWED), None, "the older window still counts");
        assert_eq!(clock.note(request(-2), 2 * LONG, ALLOWED), None);
        assert_eq!(clock.note(request(-2), 3 * LONG, ALLOWED), Some(Verdict::Agree));
    }

    #[test]
    fn requests_that_are_always_late_are_suspicious_and_one_in_time_clears_them() {
        let clock = PeerClock::new("amf".into(), 0);
        let late = -ALLOWED - USUAL_DELAY_MS - 1;
        assert_eq!(clock.note(request(late), 1, ALLOWED), None);
        assert_eq!(clock.note(request(late), 2, ALLOWED), None);
        assert_eq!(clock.note(request(late), LONG, ALLOWED), Some(Verdict::PerhapsBehind));
        clock.note(request(-5), LONG + 1, ALLOWED);
        assert_eq!(clock.note(request(late), 2 * LONG, ALLOWED), Some(Verdict::Agree));
    }

    #[test]
    fn an_answer_bounds_a_clock_from_both_sides() {
        let clock = PeerClock::new("udm".into(), 0);
        assert_eq!(clock.note(Bounds { least: -900, most: 150 }, 1, ALLOWED), None);
        let behind = Bounds { least: -2_900, most: -1_850 };
        assert_eq!(clock.note(behind, 2, ALLOWED), Some(Verdict::Behind));
        assert_eq!(Measured::of(&clock).to_string(), "its clock is at least 1850 ms behind this NF's");
        let slow = PeerClock::new("udm".into(), 0);
        for at_ms in [1, 2, 3, LONG] {
            let late = Bounds { least: -9_000, most: 500 };
            assert_eq!(slow.note(late, at_ms, ALLOWED), None, "slow, not behind");
        }
    }

    #[test]
    fn the_table_is_bounded_and_whoever_is_silent_makes_room() {
        let skews = Skews::default();
        let name = |n: usize| -> Arc<str> { format!("amf-{n}").into() };
        let first = skews.clock(name(0), 0).expect("room");
        (1..MAX_CLOCKS).for_each(|n| assert!(skews.clock(name(n), 1).is_some()));
        assert!(skews.clock(name(MAX_CLOCKS), 1).is_none());
        assert!(skews.clock(name(7), 1).is_some(), "who is known stays");
        let later = FORGOTTEN_AFTER.as_millis() as u64 + 1;
        first.note(request(0), later, ALLOWED);
        assert!(skews.clock(name(MAX_CLOCKS), later).is_some());
        assert_eq!((skews.measured().len(), first.is_forgotten.load(Relaxed)), (2, false));
    }

    proptest! {
        /// Whatever the delays, a clock is never said to be further off than it is.
        #[test]
        fn bounds_hold(offset in -100_000..100_000_i64, delays in prop::collection::vec((0..500_i64, 0..500_i64), 1..50)) {
            let clock = PeerClock::new("x".into(), 0);
            let mut ours = 1_796_000_000_000_i64;
            for (there, back) in delays {
                let theirs = ours + there + offset;
                let date = theirs.div_euclid(1_000) * 1_000;
                let answer = Bounds { least: date - (ours + there + back + 1), most: date + 1_000 - (ours - 1) };
                clock.note(answer, 1, ALLOWED);
                clock.note(request(ours + offset - (ours + there)), 1, ALLOWED);
                ours += 317;
            }
            let Bounds { least, most } = clock.bounds();
            prop_assert!(least <= offset && offset <= most, "{least} {offset} {most}");
        }
    }
}
