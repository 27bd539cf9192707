//! The wall clock as it travels: `3gpp-Sbi-Sender-Timestamp`, and `Date`, the same without a fraction.
//!
//! Written by hand because every request is read and checked.

use std::{fmt, ops::RangeInclusive};

use http::HeaderValue;

use super::{found, trim_ows};

const DAYS: [[u8; 3]; 7] = [*b"Sun", *b"Mon", *b"Tue", *b"Wed", *b"Thu", *b"Fri", *b"Sat"];
const MONTHS: [[u8; 3]; 12] = [
    *b"Jan", *b"Feb", *b"Mar", *b"Apr", *b"May", *b"Jun", *b"Jul", *b"Aug", *b"Sep", *b"Oct", *b"Nov",
    *b"Dec",
];
const DAY_MS: i64 = 86_400_000;
/// `Sat, 01 Jan 0000 00:00:00.000 GMT` and `Fri, 31 Dec 9999 23:59:59.999 GMT`.
const EXPRESSIBLE_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// When a message was originated: the sender's wall clock, in milliseconds since the Unix epoch.
///
/// TS 29.500 §5.2.3.3.2 (Rel-17). The year has four digits on the wire, so every value lies in 0000 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SenderTimestamp(i64);

impl SenderTimestamp {
    /// Bytes on the wire.
    pub const LEN: usize = 33;

    /// The instant `unix_ms` milliseconds after the Unix epoch. One before the year 0000 becomes the first
    /// millisecond of that year, one after the year 9999 the last millisecond of that one.
    pub fn from_unix_ms(unix_ms: i64) -> Self {
        SenderTimestamp(unix_ms.clamp(*EXPRESSIBLE_MS.start(), *EXPRESSIBLE_MS.end()))
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> i64 {
        self.0
    }

    /// As on the wire: `Mon, 30 Nov 2026 01:11:24.399 GMT`. Always three digits of milliseconds.
    pub fn encode(self) -> [u8; Self::LEN] {
        let mut out = *b"ddd, 00 mmm 0000 00:00:00.000 GMT";
        out[..25].copy_from_slice(&self.to_the_second());
        put(&mut out[26..29], self.0.rem_euclid(1000));
        out
    }

    /// As a header value.
    pub fn to_header_value(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.encode()).expect("a timestamp is visible ASCII")
    }

    /// Reads a header value.
    ///
    /// ```text
    /// value    = OWS day-name "," SP 2DIGIT SP month SP 4DIGIT SP time [ "." 3DIGIT ] SP "GMT" OWS
    /// day-name = "Mon" / "Tue" / "Wed" / "Thu" / "Fri" / "Sat" / "Sun"    ; any case, "GMT" too
    /// month    = %s"Jan" / %s"Feb" / ... / %s"Dec"                        ; this case only
    /// time     = 2DIGIT ":" 2DIGIT ":" 2DIGIT                             ; 00:00:00 to 23:59:60
    /// ```
    ///
    /// Our choices: a missing fraction counts as `.999`, which gives the sender the benefit of the doubt
    /// ([`Parsed::fraction`] tells); seconds are required although the grammar makes them optional; date and
    /// time must exist, but the day-name need not be that of the date; second 60 is the first second of the
    /// next minute. Not done: comments, folding, other zones, the obsolete dates of RFC 9110 §5.6.7.
    ///
    /// # Errors
    /// What was expected where the value leaves the grammar, and the rest of the value.
    pub fn parse(value: &[u8]) -> Result<Parsed, TimestampError> {
        read(value, |name| DAYS.iter().any(|day| day.eq_ignore_ascii_case(name)))
    }

    /// Reads the twin of this header that TS 29.502 §6.1.2.3.2 (Rel-17) defines: as [`parse`](Self::parse), but with the
    /// case of the day-name, and never without milliseconds.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_exact(value: &[u8]) -> Result<Self, TimestampError> {
        let Parsed { stamp, fraction } = read(value, |name| DAYS.contains(name))?;
        match fraction {
            Fraction::Milliseconds => Ok(stamp),
            Fraction::Missing => {
                Err(TimestampError { expected: "`.` and three digits", found: found(trim_ows(value)) })
            }
        }
    }

    /// `Mon, 30 Nov 2026 01:11:24`: what both forms begin with.
    fn to_the_second(self) -> [u8; 25] {
        let days = self.0.div_euclid(DAY_MS);
        let seconds = self.0.rem_euclid(DAY_MS) / 1000;
        let (year, month, day) = date_of(days);
        let mut out = *b"ddd, 00 mmm 0000 00:00:00";
        out[..3].copy_from_slice(&DAYS[(days + 4).rem_euclid(7) as usize]);
        put(&mut out[5..7], day);
        out[8..11].copy_from_slice(&MONTHS[month as usize - 1]);
        put(&mut out[12..16], year);
        put(&mut out[17..19], seconds / 3600);
        put(&mut out[20..22], seconds / 60 % 60);
        put(&mut out[23..25], seconds % 60);
        out
    }
}

/// The grammar of [`SenderTimestamp::parse`]; `is_day` knows the day-names.
fn read(value: &[u8], is_day: impl Fn(&[u8; 3]) -> bool) -> Read<Parsed> {
    let mut input = Input(trim_ows(value));
    input.take("a day-name", |name| is_day(name).then_some(()))?;
    input.literal("`,` and one space", b", ")?;
    let days = input.date()?;
    input.literal("a space", b" ")?;
    let seconds = input.time()?;
    let (ms, fraction) = input.fraction()?;
    input.take("` GMT`", |zone: &[u8; 4]| zone.eq_ignore_ascii_case(b" GMT").then_some(()))?;
    input.end()?;
    Ok(Parsed { stamp: SenderTimestamp::from_unix_ms(days * DAY_MS + seconds * 1000 + ms), fraction })
}

impl fmt::Display for SenderTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.encode().escape_ascii().fmt(f)
    }
}

/// The value of a `Date` header (IMF-fixdate, RFC 9110 §5.6.7) for `unix_ms`, clamped as
/// [`SenderTimestamp::from_unix_ms`] does and cut to the second.
pub fn http_date(unix_ms: i64) -> [u8; 29] {
    let mut out = *b"ddd, 00 mmm 0000 00:00:00 GMT";
    out[..25].copy_from_slice(&SenderTimestamp::from_unix_ms(unix_ms).to_the_second());
    out
}

/// What [`SenderTimestamp::parse`] read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The instant.
    pub stamp: SenderTimestamp,
    /// Whether the sender said the milliseconds.
    pub fraction: Fraction,
}

/// Whether a timestamp said its milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fraction {
    /// Three digits, as the grammar wants.
    Milliseconds,
    /// None, so the timestamp counts as `.999`.
    Missing,
}

/// A value that is not a [`SenderTimestamp`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct TimestampError {
    expected: &'static str,
    found: String,
}

type Read<T> = Result<T, TimestampError>;

/// The part of a value that is not read yet.
#[derive(Clone, Copy)]
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    /// Days since the epoch, from `30 Nov 2026`.
    fn date(&mut self) -> Read<i64> {
        let start = *self;
        let day = self.number::<2>("a day of two digits", 1..=31)?;
        self.literal("a space", b" ")?;
        let month = self.take("a month (Jan to Dec)", |name| MONTHS.iter().position(|m| m == name))?;
        let month = month as i64 + 1;
        self.literal("a space", b" ")?;
        let year = self.number::<4>("a year of four digits", 0..=9999)?;
        if day > days_in(year, month) {
            Err(start.error("a day that this month has"))
        } else {
            Ok(days_until(year, month, day))
        }
    }

    /// Seconds since midnight, from `01:11:24`.
    fn time(&mut self) -> Read<i64> {
        let hours = self.number::<2>("an hour (00 to 23)", 0..=23)?;
        self.literal("`:`", b":")?;
        let minutes = self.number::<2>("a minute (00 to 59)", 0..=59)?;
        self.literal("`:` and seconds", b":")?;
        let seconds = self.number::<2>("a second (00 to 60)", 0..=60)?;
        Ok(hours * 3600 + minutes * 60 + seconds)
    }

    /// Milliseconds, from `.399` or from nothing.
    fn fraction(&mut self) -> Read<(i64, Fraction)> {
        if !self.0.starts_with(b".") {
            return Ok((999, Fraction::Missing));
        }
        let ms = self.take("`.` and three digits", |[_, digits @ ..]: &[u8; 4]| number(digits))?;
        Ok((ms, Fraction::Milliseconds))
    }

    /// A number of `N` digits.
    fn number<const N: usize>(&mut self, expected: &'static str, range: RangeInclusive<i64>) -> Read<i64> {
        self.take(expected, |digits: &[u8; N]| number(digits).filter(|n| range.contains(n)))
    }

    fn literal<const N: usize>(&mut self, expected: &'static str, literal: &[u8; N]) -> Read<()> {
        self.take(expected, |bytes| (bytes == literal).then_some(()))
    }

    /// The next `N` bytes as `read` understands them.
    fn take<const N: usize, T>(
        &mut self,
        expected: &'static str,
        read: impl FnOnce(&[u8; N]) -> Option<T>,
    ) -> Read<T> {
        let read = self.0.split_first_chunk().and_then(|(head, rest)| Some((read(head)?, rest)));
        let (value, rest) = read.ok_or_else(|| self.error(expected))?;
        self.0 = rest;
        Ok(value)
    }

    fn end(self) -> Read<()> {
        if self.0.is_empty() { Ok(()) } else { Err(self.error("the end")) }
    }

    #[cold]
    fn error(self, expected: &'static str) -> TimestampError {
        TimestampError { expected, found: found(self.0) }
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i64::from(digit - b'0')))
}

/// Fills `out` with the last digits of `value`.
fn put(out: &mut [u8], mut value: i64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

// The calendar below counts in years that begin in March, so that a leap day is the last day of its year, and
// in cycles of 400 such years, which have 146 097 days each. Day 0 is 1970-01-01, 719 468 days into cycle 0.

fn days_until(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    cycle * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

/// Year, month and day: the inverse of [`days_until`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, fmt::strtime, tz::TimeZone};
    use proptest::prelude::*;

    use super::*;

    const FORMAT: &str = "%a, %d %b %Y %H:%M:%S%.3f GMT";

    fn parse(value: &str) -> Result<(i64, Fraction), String> {
        let parsed = SenderTimestamp::parse(value.as_bytes()).map_err(|e| e.to_string())?;
        Ok((parsed.stamp.unix_ms(), parsed.fraction))
    }

    #[test]
    fn the_standards_example_reads_and_writes() {
        let example = "Sun, 04 Aug 2019 08:49:37.845 GMT";
        assert_eq!(parse(example), Ok((1_564_908_577_845, Fraction::Milliseconds)));
        assert_eq!(SenderTimestamp::from_unix_ms(1_564_908_577_845).to_string(), example);
        assert_eq!(&http_date(1_564_908_577_845), b"Sun, 04 Aug 2019 08:49:37 GMT");
    }

    #[test]
    fn case_white_space_and_weekday_are_tolerated() {
        for value in ["sUN, 04 Aug 2019 08:49:37.845 gmt", " \tMon, 04 Aug 2019 08:49:37.845 GMT\t "] {
            assert_eq!(parse(value), Ok((1_564_908_577_845, Fraction::Milliseconds)), "{value}");
        }
    }

    #[test]
    fn a_missing_fraction_counts_as_999() {
        assert_eq!(parse("Sun, 04 Aug 2019 08:49:37 GMT"), Ok((1_564_908_577_999, Fraction::Missing)));
    }

    #[test]
    fn a_leap_second_is_legal() {
        let next_minute = parse("Sun, 01 Jan 2017 00:00:00.250 GMT");
        assert_eq!(parse("Sat, 31 Dec 2016 23:59:60.250 GMT"), next_minute);
        assert_eq!(parse("Fri, 31 Dec 9999 23:59:60.000 GMT"), parse("Fri, 31 Dec 9999 23:59:59.999 GMT"));
    }

    #[test]
    fn what_is_off_the_grammar_is_refused_and_named() {
        let cases = [
            ("", "a day-name, found nothing"),
            ("Son, 04 Aug 2019 08:49:37.845 GMT", "a day-name, found `Son, 04 Aug 2019 08:49:37.845 GMT`"),
            ("Sun,04 Aug 2019 08:49:37.845 GMT", "`,` and one space, found `,04 Aug 2019 08:49:37.845 GMT`"),
            ("Sun, 4 Aug 2019 08:49:37.845 GMT", "a day of two digits, found `4 Aug 2019 08:49:37.845 GMT`"),
            (
                "Sun, 00 Aug 2019 08:49:37.845 GMT",
                "a day of two digits, found `00 Aug 2019 08:49:37.845 GMT`",
            ),
            ("Sun, 04 aug 2019 08:49:37.845 GMT", "a month (Jan to Dec), found `aug 2019 08:49:37.845 GMT`"),
            (
                "Sat, 30 Feb 2019 08:49:37.845 GMT",
                "a day that this month has, found `30 Feb 2019 08:49:37.845 GMT`",
            ),
            (
                "Thu, 29 Feb 1900 08:49:37.845 GMT",
                "a day that this month has, found `29 Feb 1900 08:49:37.845 GMT`",
            ),
            ("Sun, 04 Aug 19 08:49:37.845 GMT", "a year of four digits, found `19 08:49:37.845 GMT`"),
            ("Sun, 04 Aug 2019 24:00:00.845 GMT", "an hour (00 to 23), found `24:00:00.845 GMT`"),
            ("Sun, 04 Aug 2019 08:60:00.845 GMT", "a minute (00 to 59), found `60:00.845 GMT`"),
            ("Sun, 04 Aug 2019 08:49.845 GMT", "`:` and seconds, found `.845 GMT`"),
            ("Sun, 04 Aug 2019 08:49:61.845 GMT", "a second (00 to 60), found `61.845 GMT`"),
            ("Sun, 04 Aug 2019 08:49:37.84 GMT", "`.` and three digits, found `.84 GMT`"),
            ("Sun, 04 Aug 2019 08:49:37.8451 GMT", "` GMT`, found `1 GMT`"),
            ("Sun, 04 Aug 2019 08:49:37.845 UTC", "` GMT`, found ` UTC`"),
            ("Sun, 04 Aug 2019 08:49:37.845 GMT, Sun", "the end, found `, Sun`"),
        ];
        for (value, error) in cases {
            assert_eq!(parse(value), Err(format!("expected {error}")), "{value}");
        }
    }

    #[test]
    fn instants_beyond_four_digit_years_are_clamped() {
        let text = |ms| SenderTimestamp::from_unix_ms(ms).to_string();
        assert_eq!(text(i64::MIN), "Sat, 01 Jan 0000 00:00:00.000 GMT");
        assert_eq!(text(i64::MAX), "Fri, 31 Dec 9999 23:59:59.999 GMT");
        for ms in [*EXPRESSIBLE_MS.start(), *EXPRESSIBLE_MS.end()] {
            assert_eq!(parse(&text(ms)), Ok((ms, Fraction::Milliseconds)));
        }
    }

    proptest! {
        // jiff ends one day before the year 9999 does.
        #[test]
        fn jiff_writes_and_reads_the_same(ms in *EXPRESSIBLE_MS.start()..*EXPRESSIBLE_MS.end() - 2 * DAY_MS) {
            let theirs = TimeZone::UTC.to_datetime(Timestamp::from_millisecond(ms).expect("in range"));
            let ours = SenderTimestamp::from_unix_ms(ms).to_string();
            prop_assert_eq!(&ours, &strtime::format(FORMAT, theirs).expect("formats"));
            let read = strtime::parse(FORMAT, &ours).and_then(|t| t.to_datetime()).expect("jiff reads ours");
            prop_assert_eq!(TimeZone::UTC.to_timestamp(read).expect("in range").as_millisecond(), ms);
            prop_assert_eq!(parse(&ours), Ok((ms, Fraction::Milliseconds)));
        }

        #[test]
        fn any_instant_has_four_digit_years(ms: i64) {
            let stamp = SenderTimestamp::from_unix_ms(ms);
            prop_assert_eq!(SenderTimestamp::parse(&stamp.encode()).map(|p| p.stamp), Ok(stamp));
        }

        #[test]
        fn any_bytes_give_an_answer(value: Vec<u8>, at in 0..SenderTimestamp::LEN, byte: u8) {
            let _ = SenderTimestamp::parse(&value);
            let mut near = SenderTimestamp::from_unix_ms(0).encode();
            near[at] = byte;
            let _ = SenderTimestamp::parse(&near);
            let _ = SenderTimestamp::parse(&near[..at]);
        }
    }
}
