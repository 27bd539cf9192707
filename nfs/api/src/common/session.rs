//! Which PDU session, and of which kind.

use crate::bounds::integer;
use crate::text::{enumeration, text};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

/// Which of the sessions of a UE, 0 to 255, TS 29.571 §5.4.2 (Rel-17).
///
/// A UE uses 1 to 15 (TS 24.007 §11.2.3.1b); the core also has 64 to 95 of its own. All of 0 to 255 are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PduSessionId(#[serde(deserialize_with = "integer::<0, 255, _>")] pub u8);

impl fmt::Display for PduSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The form of a path segment: `5`.
impl FromStr for PduSessionId {
    type Err = super::Malformed;

    fn from_str(text: &str) -> Result<Self, super::Malformed> {
        let number = text.parse().ok().filter(|_| super::digits(text, 1..=3));
        number.map(PduSessionId).ok_or_else(|| super::Malformed::new("a number from 0 to 255", text))
    }
}

text! {
    /// The name of a data network, TS 29.571 §5.3.2 (Rel-17).
    ///
    /// Built like a DNS name (TS 23.003 §9A (Rel-17)), so compared without regard to case; printed as it came. `*` is
    /// the wildcard of subscription data. Not done: splitting off an operator identifier
    /// (`internet.mnc001.mcc001.gprs`).
    #[derive(Debug)]
    Dnn: "the name of a data network", |s| !s.is_empty() && !s.chars().any(char::is_control)
}

impl Dnn {
    /// Whether both name the same data network; the same as `==`.
    pub fn matches(&self, other: &Dnn) -> bool {
        self == other
    }

    /// Whether this is the wildcard of subscription data, which stands for every DNN without an entry of its own.
    pub fn is_wildcard(&self) -> bool {
        self.as_str() == "*"
    }

    /// The name in the form in which all that name the same data network agree.
    pub fn canonical(&self) -> String {
        self.as_str().to_ascii_lowercase()
    }

    fn folded(&self) -> impl Iterator<Item = u8> {
        self.as_str().bytes().map(|b| b.to_ascii_lowercase())
    }
}

impl PartialEq for Dnn {
    fn eq(&self, other: &Dnn) -> bool {
        self.as_str().eq_ignore_ascii_case(other.as_str())
    }
}

impl Eq for Dnn {}

impl Hash for Dnn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().for_each(|b| state.write_u8(b));
        state.write_u8(0xff);
    }
}

impl Ord for Dnn {
    fn cmp(&self, other: &Dnn) -> Ordering {
        self.folded().cmp(other.folded())
    }
}

impl PartialOrd for Dnn {
    fn partial_cmp(&self, other: &Dnn) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

enumeration! {
    /// Over which kind of access the UE comes, TS 29.571 §5.4.3 (Rel-17).
    AccessType {
        /// 3GPP access.
        ACCESS_3GPP = "3GPP_ACCESS";
        /// Non-3GPP access.
        NON_3GPP_ACCESS = "NON_3GPP_ACCESS";
    }
}

enumeration! {
    /// What a PDU session carries, TS 29.571 §5.4.3 (Rel-17).
    PduSessionType {
        /// IPv4.
        IPV4 = "IPV4";
        /// IPv6.
        IPV6 = "IPV6";
        /// IPv4 and IPv6.
        IPV4V6 = "IPV4V6";
        /// Anything.
        UNSTRUCTURED = "UNSTRUCTURED";
        /// Ethernet frames.
        ETHERNET = "ETHERNET";
    }
}

enumeration! {
    /// How a session goes on when the UE moves, TS 29.571 §5.4.3 (Rel-17).
    SscMode {
        /// The address stays.
        SSC_MODE_1 = "SSC_MODE_1";
        /// Released, then established anew.
        SSC_MODE_2 = "SSC_MODE_2";
        /// The new one is established before the old one is released.
        SSC_MODE_3 = "SSC_MODE_3";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    #[test]
    fn a_session_id_is_a_number_from_0_to_255() {
        for (json, id) in [("0", 0), ("5", 5), ("255", 255)] {
            assert_eq!(serde_json::from_str::<PduSessionId>(json).expect("in range"), PduSessionId(id));
            assert_eq!(json.parse(), Ok(PduSessionId(id)));
        }
        for json in ["256", "300", "-1", "\"5\"", "5.5", "null"] {
            let error = serde_json::from_str::<PduSessionId>(json).expect_err(json).to_string();
            assert!(error.contains("expected an integer from 0 to 255"), "{error}");
        }
        for segment in ["", "+5", "0005", "256", "a"] {
            assert!(segment.parse::<PduSessionId>().is_err(), "{segment}");
        }
    }

    #[test]
    fn data_networks_match_in_any_case_and_keep_theirs() {
        let (one, other): (Dnn, Dnn) = ("Internet".parse().expect("DNN"), "internet".parse().expect("DNN"));
        assert!(one.matches(&other));
        assert!(HashSet::from([one.clone()]).contains(&other));
        assert!(BTreeSet::from([one.clone()]).contains(&other));
        assert_eq!(one.to_string(), "Internet");
        assert!(!one.matches(&"ims".parse().expect("DNN")));
        assert!("".parse::<Dnn>().is_err());
    }

    #[test]
    fn an_unknown_access_type_survives() {
        let json = "\"6G_ACCESS\"";
        let odd: AccessType = serde_json::from_str(json).expect("extensible");
        assert_eq!(serde_json::to_string(&odd).expect("JSON"), json);
    }
}
