//! Percent-encoding of path segments and query values, RFC 3986 §2.1.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `text` for one segment of a path or one value of a query.
pub fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// The text that `encoded` stands for. Hex digits in either case; `+` is a plus sign.
pub fn decoded(encoded: &str) -> Result<String, &'static str> {
    let mut rest = encoded.as_bytes();
    while let Some(at) = rest.iter().position(|b| *b == b'%') {
        match &rest[at + 1..] {
            [a, b, tail @ ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest = tail,
            _ => return Err("expected two hexadecimal digits after `%`"),
        }
    }
    match percent_decode_str(encoded).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err("expected UTF-8 behind the percent-encoding"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for text in ["imsi-001010000000001", "nai-a/b?c#d%25@e", "{\"sst\": 1}", "a+b c", "ü", ""] {
            let there = encoded(text).to_string();
            assert!(!there.contains(['/', '?', '#', ' ', '+']), "{there}");
            assert_eq!(decoded(&there).as_deref(), Ok(text));
        }
    }

    #[test]
    fn hex_digits_come_in_either_case_and_plus_stays_plus() {
        assert_eq!(decoded("%7B%7b+").as_deref(), Ok("{{+"));
    }

    #[test]
    fn half_an_escape_and_foreign_bytes_are_refused() {
        for text in ["%", "%7", "a%zz", "%FF", "%%41"] {
            assert!(decoded(text).is_err(), "{text}");
        }
    }
}
