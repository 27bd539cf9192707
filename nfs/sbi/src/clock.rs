//! The only module that asks for the time.
//!
//! Wall-clock time exists on the wire only. It is converted once, on receipt, to the monotonic clock
//! ([`crate::deadline::Deadline`]); from then on a step of the wall clock neither fires nor cancels anything.

use crate::header::SenderTimestamp;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use tokio::time::Instant;

/// Where time comes from: the machine, or a simulation.
pub trait TimeSource: Send + Sync {
    /// Microseconds since the Unix epoch.
    fn unix_us(&self) -> i64;
    /// Time since the process (or the simulation) started.
    fn elapsed(&self) -> Duration;
}

/// One NF's clock: a time source and this NF's own error against it.
#[derive(Clone)]
pub struct Clock {
    source: Arc<dyn TimeSource>,
    offset_us: Arc<AtomicI64>,
    seen: Arc<Seen>,
}

/// A change of the wall clock against the monotonic one that is larger counts as a step; what NTP does by and by is none.
const STEP_US: i64 = 500_000;

/// NTP changes the wall clock by and by by at most this share (500 ppm), RFC 5905 §11.3; twice that is granted.
const SLEW: i64 = 1_000;

/// Longer than this takes the reading of two clocks only if the thread was stopped between them: then it says nothing.
const READING_US: i64 = 10_000;

/// The wall clock less the monotonic one, when they were last looked at.
#[derive(Debug)]
struct Seen {
    difference_us: AtomicI64,
    elapsed_us: AtomicI64,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { difference_us: AtomicI64::new(i64::MIN), elapsed_us: AtomicI64::new(0) }
    }
}

impl Clock {
    /// A clock on `source`, without error.
    pub fn new(source: Arc<dyn TimeSource>) -> Self {
        Clock { source, offset_us: Arc::default(), seen: Arc::default() }
    }

    /// The machine's clock.
    pub fn system() -> Self {
        Clock::new(Arc::new(System { start: Instant::now() }))
    }

    /// The same source with an error of its own, at first none: NFs of one lab can disagree.
    pub fn independent(&self) -> Self {
        Clock::new(self.source.clone())
    }

    /// Monotonic time.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// Wall-clock time, in microseconds since the Unix epoch.
    pub fn unix_us(&self) -> i64 {
        self.source.unix_us() + self.offset_us.load(Relaxed)
    }

    /// Wall-clock time as it goes on the wire, cut to whole milliseconds.
    pub fn stamp(&self) -> SenderTimestamp {
        SenderTimestamp::from_unix_ms(self.unix_us().div_euclid(1000))
    }

    /// Time since the process started.
    pub fn elapsed(&self) -> Duration {
        self.source.elapsed()
    }

    /// By how much this NF's wall clock was stepped so far.
    pub fn offset_ms(&self) -> i64 {
        self.offset_us.load(Relaxed) / 1000
    }

    /// By how many milliseconds the wall clock was stepped since somebody looked last, if it was: set by hand or by NTP, or
    /// the host slept, for which the monotonic clock stands still. Told once, whoever asks first.
    pub fn step_since_last_look_ms(&self) -> Option<i64> {
        // First of all: whoever reads it later may see a step that another one has told already.
        let seen_us = self.seen.difference_us.load(Relaxed);
        let (before_us, wall_us, after_us) = (self.elapsed_us(), self.unix_us(), self.elapsed_us());
        if after_us - before_us > READING_US {
            return None;
        }
        let difference_us = wall_us - after_us;
        let idle_us = after_us.saturating_sub(self.seen.elapsed_us.load(Relaxed)).max(0);
        let is_first =
            self.seen.difference_us.compare_exchange(seen_us, difference_us, Relaxed, Relaxed).is_ok();
        if !is_first {
            return None;
        }
        self.seen.elapsed_us.store(after_us, Relaxed);
        let step_us = difference_us.checked_sub(seen_us)?;
        (seen_us != i64::MIN && step_us.abs() > STEP_US + idle_us / SLEW).then_some(step_us / 1_000)
    }

    fn elapsed_us(&self) -> i64 {
        i64::try_from(self.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    /// Steps this NF's wall clock; negative values set it back. Monotonic time is not touched.
    pub fn step_ms(&self, by_ms: i64) {
        self.offset_us.fetch_add(by_ms.saturating_mul(1000), Relaxed);
    }
}

/// Milliseconds since the Unix epoch of an RFC 3339 time; `None` if the text is none. `9999-12-31T23:59:59Z`, which
/// says never, is one; fractions may have any number of digits.
pub fn unix_ms_of_rfc3339(text: &str) -> Option<i64> {
    let text = with_nanoseconds_at_most(text);
    let pieces = jiff::fmt::temporal::Pieces::parse(&*text).ok()?;
    let offset = pieces.to_numeric_offset()?;
    let epoch = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
    let local = pieces.date().to_datetime(pieces.time()?).duration_since(epoch);
    i64::try_from(local.as_millis()).ok().map(|ms| ms - i64::from(offset.seconds()) * 1000)
}

/// RFC 3339 with milliseconds, of milliseconds since the Unix epoch.
pub fn rfc3339_of_unix_ms(unix_ms: i64) -> String {
    crate::event::utc(unix_ms.saturating_mul(1_000))
}

/// The text without the digits of a fraction that are finer than a nanosecond.
fn with_nanoseconds_at_most(text: &str) -> Cow<'_, str> {
    const NANOSECONDS: usize = 9;
    let Some((before, after)) = text.split_once('.') else { return text.into() };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    match digits > NANOSECONDS {
        true => format!("{before}.{}{}", &after[..NANOSECONDS], &after[digits..]).into(),
        false => text.into(),
    }
}

struct System {
    start: Instant,
}

impl TimeSource for System {
    fn unix_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_once_and_what_is_smaller_is_none() {
        let clock = Clock::system();
        assert_eq!(clock.step_since_last_look_ms(), None, "nobody has looked before");
        for by_ms in [7_200_000, -7_200_000, 600, -600] {
            clock.step_ms(by_ms);
            let told = clock.clone().step_since_last_look_ms().expect("a step");
            assert!((by_ms - 100..=by_ms + 100).contains(&told), "{by_ms}: {told}");
            assert_eq!(clock.step_since_last_look_ms(), None, "{by_ms}");
        }
        clock.step_ms(300);
        assert_eq!(clock.step_since_last_look_ms(), None);
        assert_eq!(clock.independent().step_since_last_look_ms(), None, "another NF's is another clock");
    }

    #[test]
    fn rfc_3339_is_read_to_the_end_of_time() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-30T01:25:02.388Z", Some(1_796_001_902_388)),
            ("2026-11-30T03:25:02.388123456789+02:00", Some(1_796_001_902_388)),
            ("9999-12-31T23:59:59Z", Some(253_402_300_799_000)),
            ("2026-11-30T01:25:02", None),
            ("2026-11-30", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(unix_ms_of_rfc3339(text), ms, "{text}");
        }
    }
}
