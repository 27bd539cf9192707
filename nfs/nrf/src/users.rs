//! Whom an NF instance serves, as `smfInfo`, `udmInfo` and the like say: TS 29.510 §6.1.6.2 (Rel-17).
//!
//! Read once, when the instance registers or changes: a search looks at all instances. What cannot be read restricts nothing.

use api::common::{Dnn, Guami, PlmnId, Supi, Tai};
use api::nnrf_nfm::{NfProfile, Range};
use regex::bytes::{Regex, RegexBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ops::RangeInclusive;

/// How many ranges of an info are looked at.
const MAX_RANGES: usize = 64;

/// The longest pattern of an identity that is looked at, and how large it may become: a longer one matches nothing.
const MAX_PATTERN_BYTES: usize = 256;
const MAX_PATTERN_SIZE: usize = 16 * 1024;

/// How many patterns of an info are kept compiled; further ones are compiled for each search.
const MAX_COMPILED: usize = 4;

/// Whom an instance serves.
#[derive(Debug, Default)]
pub struct Users(Vec<Info>);

/// What one info says; nothing is all.
#[derive(Debug)]
struct Info {
    dnns: Option<Vec<String>>,
    /// Those of each slice.
    dnns_of_slices: Option<Vec<Option<Vec<String>>>>,
    supis: Option<Vec<Supis>>,
    guamis: Option<Vec<Guami>>,
    tais: Option<Vec<Tai>>,
    tai_ranges: Option<Vec<TaiRange>>,
}

/// SUPIs from one to another, by the digits of an `imsi-`, or of one form, which the whole identity has.
#[derive(Debug)]
enum Supis {
    Digits(RangeInclusive<u128>),
    Compiled { begin: String, form: Regex },
    Form(String),
    Nobody,
}

/// Tracking areas of a network.
#[derive(Debug)]
struct TaiRange {
    plmn_id: PlmnId,
    tacs: Vec<RangeInclusive<u32>>,
}

impl Users {
    /// Those of a profile.
    pub fn of(profile: &NfProfile) -> Self {
        let infos = profile.rest.iter().filter(|(name, _)| name.ends_with("Info"));
        Users(infos.map(|(_, info)| Info::of(info)).collect())
    }

    /// Whether a DNN is served.
    pub fn have_dnn(&self, dnn: &Dnn) -> bool {
        let is_in = |dnns: &Vec<String>| dnns.iter().any(|served| served == dnn.as_str() || served == "*");
        let is_of_slice =
            |slices: &Vec<Option<Vec<String>>>| slices.iter().any(|dnns| dnns.as_ref().is_none_or(is_in));
        self.0.iter().all(|info| {
            info.dnns.as_ref().is_none_or(is_in) && info.dnns_of_slices.as_ref().is_none_or(is_of_slice)
        })
    }

    /// Whether a subscriber is served.
    pub fn have_supi(&self, supi: &Supi) -> bool {
        let identity = supi.as_str();
        let digits = identity.rsplit('-').next().and_then(|digits| digits.parse().ok());
        let has = |supis: &Vec<Supis>| supis.iter().any(|supis| supis.have(identity, digits));
        self.0.iter().all(|info| info.supis.as_ref().is_none_or(has))
    }

    /// Whether an AMF's GUAMI is served.
    pub fn have_guami(&self, guami: &Guami) -> bool {
        self.0.iter().all(|info| info.guamis.as_ref().is_none_or(|guamis| guamis.contains(guami)))
    }

    /// Whether a tracking area is served.
    pub fn have_tai(&self, tai: &Tai) -> bool {
        let tac = hexadecimal(&tai.tac);
        let in_range = |range: &TaiRange| {
            range.plmn_id == tai.plmn_id
                && tac.is_some_and(|tac| range.tacs.iter().any(|tacs| tacs.contains(&tac)))
        };
        self.0.iter().all(|info| match (&info.tais, &info.tai_ranges) {
            (None, None) => true,
            (tais, ranges) => {
                tais.iter().flatten().any(|served| served == tai) || ranges.iter().flatten().any(in_range)
            }
        })
    }
}

impl Info {
    fn of(info: &Value) -> Self {
        let slices = info.get("sNssaiSmfInfoList").and_then(Value::as_array);
        let dnns = |slice: &Value| {
            let dnns = slice.get("dnnSmfInfoList").and_then(Value::as_array)?;
            Some(texts(dnns.iter().filter_map(|info| info.get("dnn"))))
        };
        let ranges: Option<Vec<Range>> = attribute(info, "supiRanges");
        Info {
            dnns: info.get("dnnList").and_then(Value::as_array).map(|dnns| texts(dnns.iter())),
            dnns_of_slices: slices.map(|slices| slices.iter().map(dnns).collect()),
            supis: ranges.map(|ranges| {
                let mut compiled = 0;
                ranges.into_iter().take(MAX_RANGES).map(|range| Supis::of(range, &mut compiled)).collect()
            }),
            guamis: attribute(info, "guamiList"),
            tais: attribute(info, "taiList"),
            tai_ranges: info
                .get("taiRangeList")
                .and_then(Value::as_array)
                .map(|ranges| ranges.iter().filter_map(TaiRange::of).collect()),
        }
    }
}

impl Supis {
    /// Those of a range, `compiled` patterns after the first.
    fn of(range: Range, compiled: &mut usize) -> Supis {
        if let (Some(start), Some(end)) = (&range.start, &range.end) {
            return match (start.parse(), end.parse()) {
                (Ok(start), Ok(end)) => Supis::Digits(start..=end),
                _ => Supis::Nobody,
            };
        }
        match range.pattern.filter(|pattern| pattern.len() <= MAX_PATTERN_BYTES) {
            None => Supis::Nobody,
            Some(pattern) if *compiled == MAX_COMPILED => Supis::Form(pattern),
            Some(pattern) => {
                *compiled += 1;
                let begin = beginning(&pattern).to_owned();
                compile(&pattern).map_or(Supis::Nobody, |form| Supis::Compiled { begin, form })
            }
        }
    }

    fn have(&self, identity: &str, digits: Option<u128>) -> bool {
        match self {
            Supis::Digits(range) => digits.is_some_and(|digits| range.contains(&digits)),
            Supis::Compiled { begin, form } => {
                identity.starts_with(begin.as_str()) && form.is_match(identity.as_bytes())
            }
            Supis::Form(pattern) => {
                compile(pattern).is_some_and(|pattern| pattern.is_match(identity.as_bytes()))
            }
            Supis::Nobody => false,
        }
    }
}

impl TaiRange {
    fn of(range: &Value) -> Option<Self> {
        let tacs: Vec<Value> = attribute(range, "tacRangeList").unwrap_or_default();
        let tacs = tacs.iter().filter_map(|tacs| {
            let end = |name: &str| tacs.get(name).and_then(Value::as_str).and_then(hexadecimal);
            Some(end("start")?..=end("end")?)
        });
        Some(TaiRange { plmn_id: attribute(range, "plmnId")?, tacs: tacs.collect() })
    }
}

/// With what begins whatever has this form: most identities are told apart by that, and sooner.
fn beginning(pattern: &str) -> &str {
    let Some(anchored) = pattern.strip_prefix('^').filter(|rest| !rest.contains('|')) else { return "" };
    let (letters, rest) = anchored
        .split_at(anchored.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(anchored.len()));
    // The last one may be repeated, or left out.
    match rest.starts_with(['?', '*', '+', '{']) {
        true => &letters[..letters.len().saturating_sub(1)],
        false => letters,
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).size_limit(MAX_PATTERN_SIZE).build().ok()
}

fn hexadecimal(tac: &str) -> Option<u32> {
    u32::from_str_radix(tac, 16).ok()
}

/// An attribute of an info, if it is there and what it should be.
fn attribute<T: DeserializeOwned>(info: &Value, name: &str) -> Option<T> {
    T::deserialize(info.get(name)?).ok()
}

fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<String> {
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_begins_with_what_is_certain() {
        for (pattern, begin) in [
            ("^imsi-00101[0-9]{10}$", "imsi-00101"),
            ("^imsi-001$", "imsi-001"),
            ("^imsi-0011?$", "imsi-001"),
            ("^imsi-0010*$", "imsi-001"),
            ("^imsi-0010{2}", "imsi-001"),
            ("^imsi-\\d+$", "imsi-"),
            ("^a|b", ""),
            ("imsi-001", ""),
            ("^(imsi|nai)-1", ""),
            ("(?i)^imsi", ""),
            ("^?", ""),
        ] {
            assert_eq!(beginning(pattern), begin, "{pattern}");
        }
    }

    #[test]
    fn forms_beyond_those_that_are_compiled_count_too() {
        let pattern = |n: usize| serde_json::json!({"pattern": format!("^imsi-00101000000000{n}$")});
        let ranges: Vec<_> = (0..MAX_COMPILED + 2).map(pattern).collect();
        let info = Info::of(&serde_json::json!({"supiRanges": ranges}));
        let users = Users(vec![info]);
        let has = |n: usize| users.have_supi(&format!("imsi-00101000000000{n}").parse().expect("a SUPI"));
        assert_eq!((has(0), has(MAX_COMPILED + 1), has(MAX_COMPILED + 2)), (true, true, false));
    }
}
