//! What the timing headers of a request say together.

use http::{HeaderMap, HeaderName};

use super::{Fraction, MAX_RSP_TIME, MaxRspTime, Parsed, SENDER_TIMESTAMP, SenderTimestamp};
use crate::problem::{Cause, InvalidParam, ProblemDetails};

/// The names as the standard spells them, for people.
const STAMP: &str = "3gpp-Sbi-Sender-Timestamp";
const MAX: &str = "3gpp-Sbi-Max-Rsp-Time";

/// What a request says about the time its client waits.
///
/// TS 29.500 §6.11.2.2 (Rel-17): only both headers together make a deadline. The text does not say what to do
/// about headers that break their grammar. Our choice: tell them apart, serve the request as if it had no
/// deadline, and answer 400 only where the operator wants it ([`Malformed::problem`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Neither header.
    Absent,
    /// Only the timestamp. Legal, it serves to measure the delay.
    StampOnly(Parsed),
    /// Both.
    Pair(Pair),
    /// A header that breaks its grammar, is repeated, or lacks its partner.
    Malformed(Malformed),
}

impl Timing {
    /// Reads both headers; a timestamp without a fraction passes, see [`SenderTimestamp::parse`].
    pub fn read(headers: &HeaderMap) -> Self {
        Self::try_read(headers, |_| Ok(())).unwrap_or_else(Timing::Malformed)
    }

    /// Reads both headers to the letter of the grammar: a timestamp without a fraction is malformed.
    pub fn read_strict(headers: &HeaderMap) -> Self {
        let strict = |fraction| match fraction {
            Fraction::Milliseconds => Ok(()),
            Fraction::Missing => Err(Malformed::new(STAMP, "expected milliseconds, found none")),
        };
        Self::try_read(headers, strict).unwrap_or_else(Timing::Malformed)
    }

    /// The pair, if there is one.
    pub fn pair(&self) -> Option<Pair> {
        if let Timing::Pair(pair) = self { Some(*pair) } else { None }
    }

    fn try_read(
        headers: &HeaderMap,
        check: fn(Fraction) -> Result<(), Malformed>,
    ) -> Result<Self, Malformed> {
        let [stamp, max] = find(headers)?;
        let stamp = stamp
            .map(SenderTimestamp::parse)
            .transpose()
            .map_err(|e| Malformed::new(STAMP, e.to_string()))?;
        let max = max.map(MaxRspTime::parse).transpose().map_err(|e| Malformed::new(MAX, e.to_string()))?;
        if let Some(Parsed { fraction, .. }) = stamp {
            check(fraction)?;
        }
        match (stamp, max) {
            (Some(Parsed { stamp, fraction }), Some(max)) => Ok(Timing::Pair(Pair { stamp, max, fraction })),
            (Some(stamp), None) => Ok(Timing::StampOnly(stamp)),
            (None, Some(_)) => Err(Malformed::new(MAX, format!("expected {STAMP} beside it, found none"))),
            (None, None) => Ok(Timing::Absent),
        }
    }
}

/// The values of both headers, neither of which may be repeated.
///
/// One pass over the few headers of a request takes a third of the time of two lookups by such long names.
fn find(headers: &HeaderMap) -> Result<[Option<&[u8]>; 2], Malformed> {
    static WANTED: [(HeaderName, &str); 2] = [(SENDER_TIMESTAMP, STAMP), (MAX_RSP_TIME, MAX)];
    let mut values = [None; 2];
    for (name, value) in headers {
        for ((wanted, canonical), slot) in WANTED.iter().zip(&mut values) {
            if name == wanted && slot.replace(value.as_bytes()).is_some() {
                return Err(Malformed::new(canonical, "expected one value, found several"));
            }
        }
    }
    Ok(values)
}

/// Both timing headers: the client stops waiting `max` after `stamp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// When the request was originated.
    pub stamp: SenderTimestamp,
    /// How long its client waits.
    pub max: MaxRspTime,
    /// Whether `stamp` came with milliseconds.
    pub fraction: Fraction,
}

impl Pair {
    /// The pair for a request of ours.
    pub fn new(stamp: SenderTimestamp, max: MaxRspTime) -> Self {
        Pair { stamp, max, fraction: Fraction::Milliseconds }
    }

    /// The first moment at which the client waits no longer, in milliseconds since the Unix epoch.
    ///
    /// A proxy that writes its own stamp must keep this sum, TS 29.500 §6.11.2.2 (Rel-17).
    pub fn expires_at_unix_ms(self) -> i64 {
        self.stamp.unix_ms() + i64::from(self.max.ms())
    }

    /// The pair of a proxy that forwards the request at `now` and says so: the client stops waiting at the same moment, to the
    /// millisecond. TS 29.500 §6.11.2.2 (Rel-17).
    pub fn restamped(self, now: SenderTimestamp) -> Restamped {
        match u64::try_from(self.expires_at_unix_ms().saturating_sub(now.unix_ms())) {
            Err(_) | Ok(0) => Restamped::Over,
            Ok(left) => MaxRspTime::from_ms(left)
                .map_or(Restamped::TooLong, |max| Restamped::Pair(Pair::new(now, max))),
        }
    }

    /// Puts both headers in `headers` in place of what is there.
    pub fn write(self, headers: &mut HeaderMap) {
        headers.insert(SENDER_TIMESTAMP, self.stamp.to_header_value());
        headers.insert(MAX_RSP_TIME, self.max.to_header_value());
    }
}

/// What a proxy that re-stamps a pair comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restamped {
    /// This pair.
    Pair(Pair),
    /// The client waits no longer.
    Over,
    /// What is left cannot be said in five digits, since the client's clock is ahead: the pair stays as it is (our choice).
    TooLong,
}

/// A timing header that says nothing usable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("header {header}: {reason}")]
pub struct Malformed {
    /// Its name as the standard spells it; one of them if both are malformed.
    pub header: &'static str,
    /// What was expected and what was found.
    pub reason: String,
}

impl Malformed {
    pub(super) fn new(header: &'static str, reason: impl Into<String>) -> Self {
        Malformed { header, reason: reason.into() }
    }

    /// The answer of a server that is told to be strict: 400.
    ///
    /// TS 29.500 §5.2.7.2 (Rel-17) has `OPTIONAL_IE_INCORRECT` for a value in an optional header that
    /// prevents processing. Our choice over `INVALID_MSG_FORMAT`, because it comes with the header's name.
    pub fn problem(&self) -> ProblemDetails {
        ProblemDetails::new(Cause::OptionalIeIncorrect, self.to_string())
            .with_param(InvalidParam::header(self.header, self.reason.clone()))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NOON: &str = "Mon, 30 Nov 2026 12:00:00.123 GMT";
    const NOON_MS: i64 = 1_796_040_000_123;

    fn headers(stamps: &[&'static str], maxes: &[&'static str]) -> HeaderMap {
        let of = |name: HeaderName, values: &[&'static str]| -> Vec<_> {
            values.iter().map(|v| (name.clone(), HeaderValue::from_static(v))).collect()
        };
        let mut headers = HeaderMap::new();
        for (name, value) in [of(SENDER_TIMESTAMP, stamps), of(MAX_RSP_TIME, maxes)].concat() {
            headers.append(name, value);
        }
        headers
    }

    fn offender(timing: Timing) -> Option<&'static str> {
        if let Timing::Malformed(malformed) = timing { Some(malformed.header) } else { None }
    }

    #[test]
    fn both_headers_make_a_pair_and_one_moment() {
        let pair = Timing::read(&headers(&[NOON], &["10000"])).pair().expect("a pair");
        assert_eq!(pair.stamp.unix_ms(), NOON_MS);
        assert_eq!(pair.expires_at_unix_ms(), NOON_MS + 10_000);
        assert_eq!(pair.fraction, Fraction::Milliseconds);
    }

    #[test]
    fn what_is_written_replaces_and_reads_back() {
        let mut map = headers(&["old", "older"], &["7"]);
        let pair = Pair::new(SenderTimestamp::from_unix_ms(NOON_MS), MaxRspTime::MAX);
        pair.write(&mut map);
        assert_eq!(Timing::read_strict(&map), Timing::Pair(pair));
        assert_eq!(map[SENDER_TIMESTAMP], NOON);
        assert_eq!(map[MAX_RSP_TIME], "99999");
    }

    #[test]
    fn a_lone_stamp_is_legal_and_a_lone_limit_is_not() {
        assert_eq!(Timing::read(&headers(&[], &[])), Timing::Absent);
        assert!(matches!(Timing::read(&headers(&[NOON], &[])), Timing::StampOnly(_)));
        assert_eq!(offender(Timing::read(&headers(&[], &["500"]))), Some(MAX));
        assert_eq!(offender(Timing::read(&headers(&["now"], &[]))), Some(STAMP));
    }

    #[test]
    fn a_repeated_header_is_malformed() {
        assert_eq!(offender(Timing::read(&headers(&[NOON, NOON], &["500"]))), Some(STAMP));
        assert_eq!(offender(Timing::read(&headers(&[NOON], &["500", "500"]))), Some(MAX));
        assert_eq!(offender(Timing::read(&headers(&[NOON], &["500, 500"]))), Some(MAX));
    }

    #[test]
    fn odd_limits_never_make_a_deadline() {
        for odd in ["100000", "10s", "-1", "1.5", "18446744073709551616", ""] {
            assert_eq!(offender(Timing::read(&headers(&[NOON], &[odd]))), Some(MAX), "{odd}");
        }
    }

    #[test]
    fn a_missing_fraction_passes_unless_strict() {
        for maxes in [&["400"][..], &[]] {
            let map = headers(&["Mon, 30 Nov 2026 12:00:00 GMT"], maxes);
            assert_eq!(offender(Timing::read(&map)), None);
            assert_eq!(offender(Timing::read_strict(&map)), Some(STAMP));
        }
        let pair = Timing::read(&headers(&["Mon, 30 Nov 2026 12:00:00 GMT"], &["1"])).pair().expect("a pair");
        assert_eq!((pair.fraction, pair.expires_at_unix_ms()), (Fraction::Missing, 1_796_040_001_000));
    }

    #[test]
    fn the_strict_answer_names_the_header() {
        let Timing::Malformed(malformed) = Timing::read(&headers(&[NOON], &["10s"])) else {
            panic!("malformed")
        };
        let problem = malformed.problem();
        assert!(problem.is(Cause::OptionalIeIncorrect) && problem.status == Some(400));
        assert_eq!(problem.invalid_params[0].param, "header 3gpp-Sbi-Max-Rsp-Time");
        let detail = "header 3gpp-Sbi-Max-Rsp-Time: expected 1 to 5 digits (milliseconds), found `10s`";
        assert_eq!(problem.detail.as_deref(), Some(detail));
    }
}
