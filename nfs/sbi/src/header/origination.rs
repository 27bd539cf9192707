//! When a procedure began, as it travels in `3gpp-Sbi-Origination-Timestamp`.

use std::fmt;

use http::HeaderValue;

use super::{Malformed, SenderTimestamp};
use serde::{Deserialize, Serialize};

/// The name as the standard spells it, for people.
const NAME: &str = "3gpp-Sbi-Origination-Timestamp";

/// When the NF that originated a procedure (for an SM context: the AMF) began it, by that NF's wall clock.
///
/// TS 29.502 §6.1.2.3.2 (Rel-17): it says which of two requests for one PDU session is the more recent, §5.2.3.3. It stays
/// the same however often and by whomever the request is sent on, and it makes no deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub struct OriginationTimestamp(SenderTimestamp);

impl OriginationTimestamp {
    /// The instant `unix_ms` milliseconds after the Unix epoch.
    pub fn from_unix_ms(unix_ms: i64) -> Self {
        OriginationTimestamp(SenderTimestamp::from_unix_ms(unix_ms))
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> i64 {
        self.0.unix_ms()
    }

    /// Reads what a request says in this header: nothing, or one value of the grammar of
    /// [`SenderTimestamp::parse_exact`].
    ///
    /// # Errors
    /// A value off the grammar, or several.
    pub fn read<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Option<Self>, Malformed> {
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(Malformed::new(NAME, "expected one value, found several"));
        }
        let stamp = SenderTimestamp::parse_exact(value).map_err(|e| Malformed::new(NAME, e.to_string()))?;
        Ok(Some(OriginationTimestamp(stamp)))
    }

    /// As a header value.
    pub fn to_header_value(self) -> HeaderValue {
        self.0.to_header_value()
    }
}

impl From<i64> for OriginationTimestamp {
    fn from(unix_ms: i64) -> Self {
        OriginationTimestamp::from_unix_ms(unix_ms)
    }
}

impl From<OriginationTimestamp> for i64 {
    fn from(stamp: OriginationTimestamp) -> i64 {
        stamp.unix_ms()
    }
}

impl From<SenderTimestamp> for OriginationTimestamp {
    fn from(stamp: SenderTimestamp) -> Self {
        OriginationTimestamp(stamp)
    }
}

impl fmt::Display for OriginationTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(values: &[&str]) -> Result<Option<i64>, String> {
        let read = OriginationTimestamp::read(values.iter().map(|value| value.as_bytes()));
        read.map(|stamp| stamp.map(OriginationTimestamp::unix_ms)).map_err(|e| e.to_string())
    }

    #[test]
    fn the_standards_example_reads_and_none_is_none() {
        let example = "Sun, 04 Aug 2019 08:49:37.845 GMT";
        assert_eq!(read(&[example]), Ok(Some(1_564_908_577_845)));
        assert_eq!(read(&[" Sun, 04 Aug 2019 08:49:37.845 gmt\t"]), Ok(Some(1_564_908_577_845)));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(OriginationTimestamp::from_unix_ms(1_564_908_577_845).to_string(), example);
    }

    #[test]
    fn it_is_stricter_than_its_twin_and_names_itself() {
        for (values, expected) in [
            (&["SUN, 04 Aug 2019 08:49:37.845 GMT"][..], "a day-name"),
            (&["Sun, 04 Aug 2019 08:49:37 GMT"], "`.` and three digits"),
            (&["Sun, 04 Aug 2019 08:49.845 GMT"], "`:` and seconds"),
            (&[""], "a day-name"),
            (&["Sun, 04 Aug 2019 08:49:37.845 GMT"; 2], "one value"),
        ] {
            let error = read(values).expect_err("malformed");
            assert!(error.starts_with(&format!("header {NAME}: expected {expected}")), "{values:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(ms in 0..=253_402_300_799_999_i64) {
            let text = OriginationTimestamp::from_unix_ms(ms).to_string();
            prop_assert_eq!(read(&[&text]), Ok(Some(ms)));
        }

        #[test]
        fn any_bytes_give_an_answer(value: Vec<u8>) {
            let _ = OriginationTimestamp::read(std::iter::once(&*value));
        }
    }
}
