//! How long a client waits, as it travels in `3gpp-Sbi-Max-Rsp-Time`.

use std::fmt;

use http::HeaderValue;

use super::{found, trim_ows};

/// How long the client waits for the response, counted from its [`SenderTimestamp`](super::SenderTimestamp).
///
/// TS 29.500 §5.2.3.3.3 (Rel-17): 0 to 99 999 milliseconds. Zero is no wait at all, not an endless one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MaxRspTime(u32);

impl MaxRspTime {
    /// The longest wait that five digits can say.
    pub const MAX: MaxRspTime = MaxRspTime(99_999);

    /// A wait of `ms` milliseconds; `None` if five digits cannot say it.
    ///
    /// Leave both headers out then: a wait cut to [`MAX`](Self::MAX) would make servers give up too early.
    pub fn from_ms(ms: u64) -> Option<Self> {
        u32::try_from(ms).ok().map(MaxRspTime).filter(|wait| *wait <= Self::MAX)
    }

    /// In milliseconds, 0 to 99 999.
    pub fn ms(self) -> u32 {
        self.0
    }

    /// Reads a header value.
    ///
    /// ```text
    /// value = OWS 1*5DIGIT OWS       ; leading zeros are legal; no sign, unit or fraction
    /// ```
    ///
    /// # Errors
    /// Anything else; there is no value that stands for "for ever".
    pub fn parse(value: &[u8]) -> Result<Self, MaxRspTimeError> {
        let digits = trim_ows(value);
        if !(1..=5).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
            return Err(MaxRspTimeError { found: found(digits) });
        }
        Ok(MaxRspTime(digits.iter().fold(0, |ms, digit| ms * 10 + u32::from(digit - b'0'))))
    }

    /// As a header value, without leading zeros.
    pub fn to_header_value(self) -> HeaderValue {
        self.0.into()
    }
}

impl fmt::Display for MaxRspTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that is not a [`MaxRspTime`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected 1 to 5 digits (milliseconds), found {found}")]
pub struct MaxRspTimeError {
    found: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_to_five_digits_are_milliseconds() {
        let legal: [(&[u8], u32); 6] =
            [(b"0", 0), (b"00500", 500), (b" 500 ", 500), (b"\t7\t", 7), (b"00000", 0), (b"99999", 99_999)];
        for (value, ms) in legal {
            assert_eq!(MaxRspTime::parse(value).map(MaxRspTime::ms), Ok(ms), "{}", found(value));
        }
    }

    #[test]
    fn everything_else_is_refused_and_shown() {
        for value in
            ["", " ", "100000", "000500", "10s", "-1", "+1", "1.5", "1 0", "10, 10", "18446744073709551616"]
        {
            let error = MaxRspTime::parse(value.as_bytes()).expect_err(value).to_string();
            let expected =
                format!("expected 1 to 5 digits (milliseconds), found {}", found(value.trim().as_bytes()));
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_longer_wait_cannot_be_expressed() {
        assert_eq!(MaxRspTime::from_ms(99_999), Some(MaxRspTime::MAX));
        assert_eq!(MaxRspTime::from_ms(100_000), None);
        assert_eq!(MaxRspTime::from_ms(1 << 32), None);
        assert_eq!(MaxRspTime::MAX.ms(), 99_999);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(ms in 0..=99_999_u64) {
            let wait = MaxRspTime::from_ms(ms).expect("in range");
            prop_assert_eq!(MaxRspTime::parse(wait.to_header_value().as_bytes()), Ok(wait));
            prop_assert_eq!(wait.to_string(), ms.to_string());
        }

        #[test]
        fn any_bytes_give_an_answer(value: Vec<u8>) {
            let _ = MaxRspTime::parse(&value);
        }
    }
}
