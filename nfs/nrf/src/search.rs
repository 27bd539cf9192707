//! What a consumer looks for, TS 29.510 §6.2.3.2.3.1 (Rel-17), and which profiles that is.
//!
//! Every parameter of Rel-17 is taken; honoured are types, service names, slices, DNN, SUPI, GUAMI, tracking area, networks,
//! instance and set, required features and the limit. A profile that says nothing about one of these serves all.

use crate::users::Users;
use api::common::{Dnn, Guami, NfInstanceId, PlmnId, Snssai, Supi, Tai};
use api::nnrf_nfm::{ExtSnssai, NfProfile, NfService, NfStatus};
use api::query::Query;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};

/// How much is found if the consumer does not say, TS 29.510 §6.2.3.2.3.1 (Rel-17), and at most, in kilobytes.
const USUAL_PAYLOAD_KB: usize = 124;
const MAX_PAYLOAD_KB: usize = 2_000;

/// How many values a list in a query may have (our choice).
const MAX_LISTED: usize = 64;

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

    /// Whether it is looked for, by an NRF of these networks; `users` is whom it serves.
    pub fn finds(&self, profile: &NfProfile, users: &Users, own: &[PlmnId]) -> bool {
        self.finds_instance(profile)
            && self.finds_network(profile, own)
            && self.finds_user(users)
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

    fn finds_user(&self, users: &Users) -> bool {
        self.dnn.as_ref().is_none_or(|dnn| users.have_dnn(dnn))
            && self.supi.as_ref().is_none_or(|supi| users.have_supi(supi))
            && self.guami.as_ref().is_none_or(|guami| users.have_guami(guami))
            && self.tai.as_ref().is_none_or(|tai| users.have_tai(tai))
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
