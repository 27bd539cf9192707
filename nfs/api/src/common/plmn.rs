//! Which network, and which AMF in it.

use super::{Malformed, digits, hex_digits};
use crate::text::text;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::{fmt, str::FromStr};

text! {
    /// A mobile country code: three digits, TS 29.571 §5.4.2 (Rel-17).
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    Mcc: "three digits", |s| digits(s, 3..=3)
}

text! {
    /// A mobile network code: two or three digits, TS 29.571 §5.4.2 (Rel-17). `01` and `001` are different networks.
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    Mnc: "two or three digits", |s| digits(s, 2..=3)
}

text! {
    /// The network identifier of an SNPN: eleven hexadecimal digits, TS 29.571 §5.4.2 (Rel-17).
    /// Kept as it was given, compared in any case.
    #[derive(Debug)]
    Nid: "eleven hexadecimal digits", |s| hex_digits(s, 11)
}

impl Nid {
    fn folded(&self) -> String {
        self.as_str().to_ascii_lowercase()
    }
}

impl PartialEq for Nid {
    fn eq(&self, other: &Nid) -> bool {
        self.as_str().eq_ignore_ascii_case(other.as_str())
    }
}

impl Eq for Nid {}

impl Hash for Nid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl Ord for Nid {
    fn cmp(&self, other: &Nid) -> Ordering {
        self.folded().cmp(&other.folded())
    }
}

impl PartialOrd for Nid {
    fn partial_cmp(&self, other: &Nid) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

text! {
    /// An AMF identifier: six hexadecimal digits for region, set and pointer, TS 29.571 §5.3.2 (Rel-17).
    /// Kept as it was given, compared in any case.
    #[derive(Debug)]
    AmfId: "six hexadecimal digits", |s| hex_digits(s, 6)
}

impl PartialEq for AmfId {
    fn eq(&self, other: &AmfId) -> bool {
        self.as_str().eq_ignore_ascii_case(other.as_str())
    }
}

impl Eq for AmfId {}

/// A network, TS 29.571 §5.4.4.3 (Rel-17).
///
/// Serves `PlmnId` and `PlmnIdNid`: the latter is the same with a `nid` when the network is an SNPN.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(expecting = "an object with `mcc` and `mnc`")]
pub struct PlmnId {
    /// Mobile country code.
    pub mcc: Mcc,
    /// Mobile network code.
    pub mnc: Mnc,
    /// Network identifier of an SNPN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nid: Option<Nid>,
}

impl PlmnId {
    /// The public network with these codes.
    pub fn new(mcc: &str, mnc: &str) -> Result<PlmnId, Malformed> {
        Ok(PlmnId { mcc: mcc.parse()?, mnc: mnc.parse()?, nid: None })
    }

    /// The digits one after the other, `00101`.
    pub fn joined(&self) -> String {
        format!("{}{}", self.mcc, self.mnc)
    }
}

/// The form of a path segment, `VarPlmnId` of TS 29.505: `00101`, with `-<nid>` for an SNPN.
impl fmt::Display for PlmnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mcc, self.mnc)?;
        self.nid.iter().try_for_each(|nid| write!(f, "-{nid}"))
    }
}

impl FromStr for PlmnId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (joined, nid) = text.split_once('-').map_or((text, None), |(plmn, nid)| (plmn, Some(nid)));
        if !digits(joined, 5..=6) {
            return Err(Malformed::new("five or six digits", text));
        }
        let nid = nid.map(str::parse).transpose()?;
        Ok(PlmnId { nid, ..PlmnId::new(&joined[..3], &joined[3..])? })
    }
}

/// One AMF, worldwide, TS 29.571 §5.3.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `plmnId` and `amfId`")]
pub struct Guami {
    /// The network of the AMF.
    pub plmn_id: PlmnId,
    /// The AMF in it.
    pub amf_id: AmfId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_the_same_however_their_nid_is_written() {
        let snpn = |nid: &str| PlmnId {
            nid: Some(nid.parse().expect("a NID")),
            ..PlmnId::new("001", "01").expect("a network")
        };
        let (one, other) = (snpn("000007ed9d5"), snpn("000007ED9D5"));
        assert_eq!((&one, one.cmp(&other)), (&other, Ordering::Equal));
        assert_eq!(std::collections::HashSet::from([one, other]).len(), 1);
    }

    #[test]
    fn amf_ids_are_the_same_in_any_case() {
        let (one, other): (AmfId, AmfId) =
            ("cafe00".parse().expect("an id"), "CAFE00".parse().expect("an id"));
        assert_eq!(one, other);
        assert_eq!(other.as_str(), "CAFE00", "kept as it was given");
    }

    #[test]
    fn a_network_code_has_two_or_three_digits() {
        for (mnc, joined) in [("01", "00101"), ("001", "001001")] {
            let plmn = PlmnId::new("001", mnc).expect("a network");
            assert_eq!(plmn.joined(), joined);
            assert_eq!(joined.parse(), Ok(plmn));
        }
        for (mcc, mnc) in [("01", "01"), ("001", "1"), ("001", "0001"), ("abc", "01"), ("", "")] {
            assert!(PlmnId::new(mcc, mnc).is_err(), "{mcc} {mnc}");
        }
        for joined in ["0010", "0010101", "0010a", "00101-", "00101-12", "éé1"] {
            assert!(joined.parse::<PlmnId>().is_err(), "{joined}");
        }
    }

    #[test]
    fn digits_are_strings_on_the_wire() {
        let plmn: PlmnId = serde_json::from_str(r#"{"mcc":"001","mnc":"01"}"#).expect("a network");
        assert_eq!(serde_json::to_string(&plmn).expect("JSON"), r#"{"mcc":"001","mnc":"01"}"#);
        assert!(serde_json::from_str::<PlmnId>(r#"{"mcc":1,"mnc":1}"#).is_err());
    }

    #[test]
    fn the_nid_of_an_snpn_survives() {
        let json = r#"{"mcc":"001","mnc":"01","nid":"000007ed9d5"}"#;
        let snpn: PlmnId = serde_json::from_str(json).expect("an SNPN");
        assert_eq!(serde_json::to_string(&snpn).expect("JSON"), json);
        assert_eq!(snpn.to_string(), "00101-000007ed9d5");
        assert_eq!(snpn.to_string().parse(), Ok(snpn));
    }
}
