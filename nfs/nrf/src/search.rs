//! What a consumer looks for, TS 29.510 §6.2.3.2.3.1 (Rel-17), and which profiles that is.
//!
//! Every parameter of Rel-17 is taken; honoured are types, service names, slices, DNN, SUPI, GUAMI, tracking area, networks,
//! instance and set, required features and the limit. A profile that says nothing about one of these serves all.

use api::common::{Dnn, Guami, NfInstanceId, PlmnId, Snssai, Supi, Tai};
use api::nnrf_nfm::{ExtSnssai, NfProfile, NfService, NfStatus, Range};
use api::query::Query;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How much is found if the consumer does not say, TS 29.510 §6.2.3.2.3.1 (Rel-17), and at most, in kilobytes.
const USUAL_PAYLOAD_KB: usize = 124;
const MAX_PAYLOAD_KB: usize = 2_000;

/// How many ranges of a profile are looked at.
const MAX_RANGES: usize = 64;

/// How many values a list in a query may have (our choice).
const MAX_LISTED: usize = 64;

/// The longest pattern of an identity that is looked at, and how large it may become: a longer one matches nothing.
const MAX_PATTERN_BYTES: usize = 256;
const MAX_PATTERN_SIZE: usize = 64 * 1024;

/// What a consumer looks for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Of which type the instances are.
    pub target_nf_type: String,
    /// Of which type the consumer is.
    pub requester_nf_type: String,
    /// Which one it is.
    pub requester: Option<NfInstanceId>,
    /// At most so many.
    pub limit: Option<usize>,
    /// At most so many bytes of profiles.
    pub max_payload_bytes: usize,
    service_names: Vec<String>,
    target_instance: Option<NfInstanceId>,
    target_set: Option<String>,
    target_plmns: Option<Vec<PlmnId>>,
    requester_plmns: Option<Vec<PlmnId>>,
    snssais: Option<Vec<Snssai>>,
    dnn: Option<Dnn>,
    supi: Option<Supi>,
    guami: Option<Guami>,
    tai: Option<Tai>,
    required_features: Vec<String>,
}

impl Search {
    /// What a query asks for.
    pub fn parse(raw: &str) -> Result<Search, ProblemDetails> {
        let query = Query::parse(raw)?;
        let mandatory = |name: &str| {
            let value = query.single(name)?.filter(|value| !value.is_empty());
            value.map(str::to_owned).ok_or_else(|| {
                let detail = format!("query parameter {name} is missing");
                let param = InvalidParam::query(name, "expected the type of an NF, e.g. UDM");
                ProblemDetails::new(Cause::MandatoryQueryParamMissing, detail).with_param(param)
            })
        };
        Ok(Search {
            target_nf_type: mandatory("target-nf-type")?,
            requester_nf_type: mandatory("requester-nf-type")?,
            requester: query.text("requester-nf-instance-id")?,
            limit: query.text("limit")?,
            max_payload_bytes: query
                .text("max-payload-size")?
                .unwrap_or(USUAL_PAYLOAD_KB)
                .min(MAX_PAYLOAD_KB)
                * 1_000,
            service_names: listed(&query, "service-names")?,
            target_instance: query.text("target-nf-instance-id")?,
            target_set: query.single("target-nf-set-id")?.map(str::to_owned),
            target_plmns: query.json("target-plmn-list")?,
            requester_plmns: query.json("requester-plmn-list")?,
            snssais: query.json("snssais")?,
            dnn: query.text("dnn")?,
            supi: query.text("supi")?,
            guami: query.json("guami")?,
            tai: query.json("tai")?,
            required_features: listed(&query, "required-features")?,
        })
    }

    /// Whether it is looked for, by an NRF of these networks.
    pub fn finds(&self, profile: &NfProfile, own: &[PlmnId]) -> bool {
        self.finds_instance(profile)
            && self.finds_network(profile, own)
            && self.finds_user(profile)
            && (!self.looks_for_services() || profile.services().any(|service| self.wants(service)))
    }

    fn finds_instance(&self, profile: &NfProfile) -> bool {
        let has_set = |set: &String| profile.nf_set_id_list.iter().flatten().any(|of| of == set);
        profile.nf_status == NfStatus::REGISTERED
            && profile.nf_type == self.target_nf_type
            && profile.allows(&self.requester_nf_type)
            && self.target_instance.is_none_or(|id| id == profile.nf_instance_id)
            && self.target_set.as_ref().is_none_or(has_set)
    }

    fn finds_network(&self, profile: &NfProfile, own: &[PlmnId]) -> bool {
        let plmns = profile.plmn_list.as_deref().unwrap_or(own);
        let targets = self.target_plmns.as_ref();
        let requesters = self.requester_plmns.as_deref().unwrap_or(own);
        let has_slice = |served: &Vec<ExtSnssai>| {
            let wanted = self.snssais.iter().flatten();
            served.iter().any(|served| wanted.clone().any(|snssai| served.has(snssai)))
        };
        targets.is_none_or(|targets| targets.iter().any(|plmn| plmns.contains(plmn)))
            && allows(profile.allowed_plmns.as_ref(), |allowed| requesters.contains(allowed))
            && (self.snssais.is_none() || profile.s_nssais.as_ref().is_none_or(has_slice))
    }

    /// What is said of it is said in `smfInfo`, `udmInfo` and the like.
    fn finds_user(&self, profile: &NfProfile) -> bool {
        let infos = || profile.rest.iter().filter_map(|(name, info)| name.ends_with("Info").then_some(info));
        let by_dnn = |dnn: &Dnn| infos().all(|info| serves_dnn(info, dnn));
        let by_supi = |supi: &Supi| infos().all(|info| serves_supi(info, supi));
        let by_guami = |guami: &Guami| infos().all(|info| serves_guami(info, guami));
        let by_tai = |tai: &Tai| infos().all(|info| serves_tai(info, tai));
        self.dnn.as_ref().is_none_or(by_dnn)
            && self.supi.as_ref().is_none_or(by_supi)
            && self.guami.as_ref().is_none_or(by_guami)
            && self.tai.as_ref().is_none_or(by_tai)
    }

    fn looks_for_services(&self) -> bool {
        !self.service_names.is_empty() || !self.required_features.is_empty()
    }

    /// Whether a service is one of those that are looked for.
    pub fn wants(&self, service: &NfService) -> bool {
        let at = self.service_names.iter().position(|name| *name == service.service_name);
        if !self.service_names.is_empty() && at.is_none() {
            return false;
        }
        // They stand in the order of the names.
        let required = self.required_features.get(at.unwrap_or(0));
        service.nf_service_status == NfStatus::REGISTERED
            && allows(service.allowed_nf_types.as_ref(), |allowed| *allowed == self.requester_nf_type)
            && required.is_none_or(|required| has_features(service.supported_features.as_deref(), required))
    }
}

/// The values of a list in the form `a,b,c`, or of a parameter that occurs several times.
fn listed(query: &Query, name: &str) -> Result<Vec<String>, ProblemDetails> {
    let values = query.all(name).flat_map(|value| value.split(',')).filter(|value| !value.is_empty());
    let values: Vec<String> = values.map(str::to_owned).collect();
    if values.len() > MAX_LISTED {
        let expected = format!("expected at most {MAX_LISTED} values");
        let problem = ProblemDetails::new(
            Cause::OptionalQueryParamIncorrect,
            format!("query parameter {name}: {expected}"),
        );
        return Err(problem.with_param(InvalidParam::query(name, expected)));
    }
    Ok(values)
}

fn allows<T>(allowed: Option<&Vec<T>>, is_allowed: impl Fn(&T) -> bool) -> bool {
    allowed.is_none_or(|allowed| allowed.iter().any(is_allowed))
}

/// Whether every feature in `required` is in `supported`: hexadecimal digits, the last of which has features 1 to 4.
fn has_features(supported: Option<&str>, required: &str) -> bool {
    let supported = supported.unwrap_or_default();
    let digit = |c: char| c.to_digit(16);
    let mut supported = supported.chars().rev().map(|c| digit(c).unwrap_or(0));
    required.chars().rev().all(|c| {
        let (required, supported) = (digit(c).unwrap_or(u32::MAX), supported.next().unwrap_or(0));
        required & !supported == 0
    })
}

/// An attribute of an info, if it is there and what it should be: what cannot be read restricts nothing.
fn attribute<T: DeserializeOwned>(info: &Value, name: &str) -> Option<T> {
    serde_json::from_value(info.get(name)?.clone()).ok()
}

fn serves_dnn(info: &Value, dnn: &Dnn) -> bool {
    let is = |named: &Value| named.as_str().is_some_and(|named| named == dnn.as_str() || named == "*");
    let of_slice = |slice: &Value| {
        let dnns = slice.get("dnnSmfInfoList").and_then(Value::as_array);
        dnns.is_none_or(|dnns| dnns.iter().any(|info| info.get("dnn").is_some_and(is)))
    };
    let listed = info.get("dnnList").and_then(Value::as_array);
    let slices = info.get("sNssaiSmfInfoList").and_then(Value::as_array);
    listed.is_none_or(|dnns| dnns.iter().any(is)) && slices.is_none_or(|slices| slices.iter().any(of_slice))
}

fn serves_supi(info: &Value, supi: &Supi) -> bool {
    let ranges: Option<Vec<Range>> = attribute(info, "supiRanges");
    ranges.is_none_or(|ranges| ranges.iter().take(MAX_RANGES).any(|range| in_range(range, supi.as_str())))
}

/// A range is of the digits of an `imsi-`; a pattern is of the whole identity.
fn in_range(range: &Range, identity: &str) -> bool {
    if let (Some(start), Some(end)) = (&range.start, &range.end) {
        let digits = identity.rsplit('-').next().unwrap_or_default();
        let number = |digits: &str| digits.parse::<u128>().ok();
        return matches!((number(start), number(digits), number(end)), (Some(s), Some(n), Some(e)) if (s..=e).contains(&n));
    }
    let pattern = range.pattern.as_deref().filter(|pattern| pattern.len() <= MAX_PATTERN_BYTES);
    let build = |pattern: &str| {
        regex::bytes::RegexBuilder::new(pattern).unicode(false).size_limit(MAX_PATTERN_SIZE).build().ok()
    };
    let compiled = pattern.and_then(build);
    compiled.is_some_and(|pattern| pattern.is_match(identity.as_bytes()))
}

fn serves_guami(info: &Value, guami: &Guami) -> bool {
    let guamis: Option<Vec<Guami>> = attribute(info, "guamiList");
    guamis.is_none_or(|guamis| guamis.contains(guami))
}

fn serves_tai(info: &Value, tai: &Tai) -> bool {
    let tais: Option<Vec<Tai>> = attribute(info, "taiList");
    let ranges = info.get("taiRangeList").and_then(Value::as_array);
    if tais.is_none() && ranges.is_none() {
        return true;
    }
    let in_ranges = |range: &Value| {
        let of_network = attribute::<PlmnId>(range, "plmnId").is_some_and(|plmn| plmn == tai.plmn_id);
        let tacs: Vec<Value> = attribute(range, "tacRangeList").unwrap_or_default();
        let hex = |tac: &str| u32::from_str_radix(tac, 16).ok();
        let has = |range: &Value| {
            let end = |name: &str| range.get(name).and_then(Value::as_str).and_then(hex);
            matches!((end("start"), hex(&tai.tac), end("end")), (Some(s), Some(t), Some(e)) if (s..=e).contains(&t))
        };
        of_network && tacs.iter().any(has)
    };
    tais.is_some_and(|tais| tais.contains(tai)) || ranges.is_some_and(|ranges| ranges.iter().any(in_ranges))
}
