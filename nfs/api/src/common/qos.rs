//! How much and how well.

use crate::bounds::{integer, optional_integer};
use crate::text::{enumeration, text};
use serde::{Deserialize, Serialize};

text! {
    /// A bit rate, TS 29.571 §5.5.2 (Rel-17): `<number> bps|Kbps|Mbps|Gbps|Tbps`.
    #[derive(Debug, PartialEq, Eq)]
    BitRate: "a number, a space and bps, Kbps, Mbps, Gbps or Tbps", is_bit_rate
}

fn is_bit_rate(text: &str) -> bool {
    let number = |s: &str| super::digits(s, 1..=s.len().max(1));
    let Some((amount, "bps" | "Kbps" | "Mbps" | "Gbps" | "Tbps")) = text.split_once(' ') else {
        return false;
    };
    match amount.split_once('.') {
        None => number(amount),
        Some((whole, fraction)) => number(whole) && number(fraction),
    }
}

impl BitRate {
    /// So many megabits a second.
    pub fn mbps(amount: u32) -> BitRate {
        BitRate(format!("{amount} Mbps").into())
    }

    /// In bits per second, rounded down; 0 if the text is no rate.
    pub fn bps(&self) -> u64 {
        const UNITS: [(&str, f64); 5] =
            [("bps", 1.0), ("Kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9), ("Tbps", 1e12)];
        let Some((amount, unit)) = self.as_str().split_once(' ') else { return 0 };
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map_or(0.0, |(_, factor)| *factor);
        (amount.parse::<f64>().unwrap_or(0.0) * factor) as u64
    }
}

/// The aggregate maximum bit rates of a session, TS 29.571 §5.5.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object with `uplink` and `downlink`")]
pub struct Ambr {
    /// From the UE.
    pub uplink: BitRate,
    /// To the UE.
    pub downlink: BitRate,
}

enumeration! {
    /// Whether a flow may take resources away from others, TS 29.571 §5.5.3 (Rel-17).
    PreemptionCapability {
        /// It may not.
        NOT_PREEMPT = "NOT_PREEMPT";
        /// It may.
        MAY_PREEMPT = "MAY_PREEMPT";
    }
}

enumeration! {
    /// Whether resources may be taken away from a flow, TS 29.571 §5.5.3 (Rel-17).
    PreemptionVulnerability {
        /// They may not.
        NOT_PREEMPTABLE = "NOT_PREEMPTABLE";
        /// They may.
        PREEMPTABLE = "PREEMPTABLE";
    }
}

/// Who comes first when resources are short, TS 29.571 §5.5.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with `priorityLevel`, `preemptCap` and `preemptVuln`"
)]
pub struct Arp {
    /// 1 to 15, 1 comes first.
    #[serde(deserialize_with = "integer::<1, 15, _>")]
    pub priority_level: u8,
    /// Whether it may take from others.
    pub preempt_cap: PreemptionCapability,
    /// Whether others may take from it.
    pub preempt_vuln: PreemptionVulnerability,
}

/// The QoS that a session starts with, TS 29.571 §5.4.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `5qi` and `arp`")]
pub struct SubscribedDefaultQos {
    /// 5G QoS identifier, 0 to 255.
    #[serde(rename = "5qi", deserialize_with = "integer::<0, 255, _>")]
    pub five_qi: u8,
    /// Allocation and retention priority.
    pub arp: Arp,
    /// Priority of the 5QI where it is not the standard one, 1 to 127.
    #[serde(
        default,
        deserialize_with = "optional_integer::<1, 127, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub priority_level: Option<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_rate_is_a_number_and_a_unit() {
        for right in ["1000000 Kbps", "1 Gbps", "0.5 Tbps", "10 bps"] {
            assert_eq!(right.parse::<BitRate>().expect("a bit rate").as_str(), right);
        }
        for wrong in ["", "1Gbps", "1 gbps", "1  Gbps", "-1 bps", ".5 bps", "1. bps", " bps", "1 Gbps "] {
            assert!(wrong.parse::<BitRate>().is_err(), "{wrong}");
        }
        assert_eq!(BitRate::mbps(1000).as_str().parse(), Ok(BitRate::mbps(1000)));
    }

    #[test]
    fn default_qos_survives_a_round_trip() {
        let json = r#"{"5qi":9,"arp":{"priorityLevel":8,"preemptCap":"NEW","preemptVuln":"PREEMPTABLE"}}"#;
        let qos: SubscribedDefaultQos = serde_json::from_str(json).expect("QoS");
        assert_eq!(serde_json::to_string(&qos).expect("JSON"), json);
    }
}
