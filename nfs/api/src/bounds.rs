//! Checks of single attributes that serde does not know: the range of an integer, a list that may not be empty, null.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// An integer from `MIN` to `MAX`.
struct Int<const MIN: u8, const MAX: u8>(u8);

impl<'de, const MIN: u8, const MAX: u8> Deserialize<'de> for Int<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Range::<MIN, MAX>).map(Int)
    }
}

struct Range<const MIN: u8, const MAX: u8>;

impl<const MIN: u8, const MAX: u8> Visitor<'_> for Range<MIN, MAX> {
    type Value = u8;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {MIN} to {MAX}")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u8, E> {
        match u8::try_from(value) {
            Ok(value) if (MIN..=MAX).contains(&value) => Ok(value),
            _ => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
        }
    }
}

/// For `deserialize_with`: an integer from `MIN` to `MAX`.
pub(crate) fn integer<'de, const MIN: u8, const MAX: u8, D>(deserializer: D) -> Result<u8, D::Error>
where
    D: Deserializer<'de>,
{
    Int::<MIN, MAX>::deserialize(deserializer).map(|int| int.0)
}

/// For `deserialize_with` beside `default`: an integer from `MIN` to `MAX`, or none.
pub(crate) fn optional_integer<'de, const MIN: u8, const MAX: u8, D>(d: D) -> Result<Option<u8>, D::Error>
where
    D: Deserializer<'de>,
{
    Option::<Int<MIN, MAX>>::deserialize(d).map(|int| int.map(|int| int.0))
}

/// For `deserialize_with`: a list of at least one item.
pub(crate) fn non_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Vec::deserialize(deserializer)?;
    if list.is_empty() { Err(D::Error::invalid_length(0, &"at least one item")) } else { Ok(list) }
}

/// For `deserialize_with` beside `default`: any value that is there, null too, which is not the same as none.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)]
    struct Sample {
        #[serde(deserialize_with = "integer::<1, 15, _>")]
        level: u8,
        #[serde(default, deserialize_with = "optional_integer::<0, 63, _>")]
        qfi: Option<u8>,
        #[serde(deserialize_with = "non_empty")]
        list: Vec<u8>,
    }

    fn error(json: &str) -> String {
        serde_json::from_str::<Sample>(json).expect_err("refused").to_string()
    }

    #[test]
    fn bounds_belong_to_the_range() {
        for json in [r#"{"level":1,"qfi":0,"list":[1]}"#, r#"{"level":15,"qfi":63,"list":[1]}"#] {
            serde_json::from_str::<Sample>(json).expect("inside");
        }
        assert!(error(r#"{"level":0,"list":[1]}"#).contains("expected an integer from 1 to 15"));
        assert!(error(r#"{"level":1,"qfi":64,"list":[1]}"#).contains("expected an integer from 0 to 63"));
    }

    #[test]
    fn a_number_is_neither_negative_nor_a_string_nor_a_fraction() {
        for level in ["-1", "\"5\"", "1.5", "true", "99999999999999999999"] {
            let json = format!(r#"{{"level":{level},"list":[1]}}"#);
            assert!(error(&json).contains("expected an integer from 1 to 15"), "{level}");
        }
    }

    #[test]
    fn an_empty_list_is_refused_where_one_item_is_needed() {
        assert!(error(r#"{"level":1,"list":[]}"#).contains("expected at least one item"));
    }
}
