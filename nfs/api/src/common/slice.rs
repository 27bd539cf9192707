//! Which network slice.

use super::{Malformed, hex_digits};
use crate::bounds::integer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{
    cmp::Ordering,
    fmt::{self, Write},
    hash::{Hash, Hasher},
    str::FromStr,
};

/// A slice differentiator: six hexadecimal digits. Printed in the case it came in, compared without regard to case.
#[derive(Clone, Copy)]
pub struct Sd([u8; 6]);

impl Sd {
    /// The value that stands for "no slice differentiator".
    pub const NONE: u32 = 0xff_ff_ff;

    /// The 24 bits.
    pub fn value(self) -> u32 {
        self.0.iter().fold(0, |value, digit| value << 4 | char::from(*digit).to_digit(16).unwrap_or_default())
    }
}

impl FromStr for Sd {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed::new("six hexadecimal digits", text);
        let digits = <[u8; 6]>::try_from(text.as_bytes()).map_err(|_| malformed())?;
        if hex_digits(text, 6) { Ok(Sd(digits)) } else { Err(malformed()) }
    }
}

impl fmt::Display for Sd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|digit| f.write_char(char::from(*digit)))
    }
}

impl fmt::Debug for Sd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sd({self})")
    }
}

impl PartialEq for Sd {
    fn eq(&self, other: &Sd) -> bool {
        self.value() == other.value()
    }
}

impl Eq for Sd {}

impl Serialize for Sd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A single network slice, TS 29.571 §5.4.4.2 (Rel-17).
///
/// An absent `sd` and the value `FFFFFF` name the same slice (TS 23.003 §28.4.2 (Rel-17)), so they are equal here, as
/// are upper and lower case; what is written out is what came in, and no `sd` is ever added.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(expecting = "an object with `sst` and perhaps `sd`")]
pub struct Snssai {
    /// Slice/service type, 0 to 255.
    #[serde(deserialize_with = "integer::<0, 255, _>")]
    pub sst: u8,
    /// Slice differentiator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<Sd>,
}

impl Snssai {
    /// The slice of this type without a differentiator.
    pub const fn sst(sst: u8) -> Snssai {
        Snssai { sst, sd: None }
    }

    /// Whether both name the same slice; the same as `==`.
    pub fn matches(&self, other: &Snssai) -> bool {
        self == other
    }

    /// What makes it the same slice as another, however each is written: SST, and SD or [`Sd::NONE`].
    pub fn identity(&self) -> (u8, u32) {
        (self.sst, self.sd.map_or(Sd::NONE, Sd::value))
    }
}

impl PartialEq for Snssai {
    fn eq(&self, other: &Snssai) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Snssai {}

impl Hash for Snssai {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl Ord for Snssai {
    fn cmp(&self, other: &Snssai) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl PartialOrd for Snssai {
    fn partial_cmp(&self, other: &Snssai) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The form of a map key: `1` or `1-0000a1`.
impl fmt::Display for Snssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sd {
            None => write!(f, "{}", self.sst),
            Some(sd) => write!(f, "{}-{sd}", self.sst),
        }
    }
}

impl FromStr for Snssai {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed =
            || Malformed::new("a number from 0 to 255, perhaps with `-` and six hexadecimal digits", text);
        let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
        if !super::digits(sst, 1..=3) {
            return Err(malformed());
        }
        let sd = sd.map(str::parse).transpose().map_err(|_| malformed())?;
        Ok(Snssai { sst: sst.parse().map_err(|_| malformed())?, sd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn slice(json: &str) -> Snssai {
        serde_json::from_str(json).expect("a slice")
    }

    #[test]
    fn an_absent_sd_equals_ffffff_and_is_not_invented() {
        let absent = slice(r#"{"sst":1}"#);
        for same in [r#"{"sst":1,"sd":"FFFFFF"}"#, r#"{"sst":1,"sd":"ffffff"}"#] {
            assert!(absent.matches(&slice(same)));
            assert!(HashSet::from([absent]).contains(&slice(same)));
            assert_eq!(serde_json::to_string(&slice(same)).expect("JSON"), same);
        }
        assert!(!absent.matches(&slice(r#"{"sst":1,"sd":"000000"}"#)));
        assert_eq!(serde_json::to_string(&absent).expect("JSON"), r#"{"sst":1}"#);
    }

    #[test]
    fn hex_digits_match_in_any_case_and_keep_theirs() {
        let upper = slice(r#"{"sst":1,"sd":"0000A1"}"#);
        assert!(upper.matches(&slice(r#"{"sst":1,"sd":"0000a1"}"#)));
        assert_eq!(upper.to_string(), "1-0000A1");
    }

    #[test]
    fn an_sd_that_is_not_six_hex_digits_is_refused() {
        for sd in ["", "10", "0000a", "0000a1a", "0000g1", "+00001", "ééé"] {
            let json = format!(r#"{{"sst":1,"sd":"{sd}"}}"#);
            let error = serde_json::from_str::<Snssai>(&json).expect_err(sd).to_string();
            assert!(error.contains("expected six hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn the_map_key_reads_back() {
        for key in ["1", "1-0000a1", "255-FFFFFF"] {
            assert_eq!(key.parse::<Snssai>().expect("a key").to_string(), key);
        }
        for wrong in ["", "256", "+1", "1-", "1-10", "1-0000a1-", r#"{"sst":1}"#] {
            assert!(wrong.parse::<Snssai>().is_err(), "{wrong}");
        }
    }
}
