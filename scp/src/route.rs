//! Where a request goes: to the target that it names (model C), or to a producer that the NRF finds for it (model D).

use crate::binding::search_by_binding;
use http::{HeaderMap, HeaderName};
use sbi::header::{
    DISCOVERY_PREFIX, LATE_ANSWER, TARGET_API_ROOT, agent_type, read_api_root, read_discovery,
};
use sbi::nrf::Query;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};

/// How the standard spells it, for people.
const TARGET: &str = "3gpp-Sbi-Target-apiRoot";

/// How many discovery headers are looked at (our choice).
const MAX_PARAMETERS: usize = 64;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To this apiRoot; if it cannot be reached, to one of those that the request is bound to.
    Target(String, Option<Query>),
    /// To one of the producers that this search finds.
    Delegated(Query),
}

impl Route {
    /// What the headers of a request for `path` say. A target goes before a search: it was chosen already.
    pub(crate) fn of(headers: &HeaderMap, path: &str) -> Result<Self, ProblemDetails> {
        let mut targets = headers.get_all(TARGET_API_ROOT).iter();
        match (targets.next(), targets.next()) {
            (Some(target), None) => {
                let root = read_api_root(target).map_err(|why| wrong(TARGET, why))?;
                Ok(Route::Target(root, search_by_binding(headers, path)))
            }
            (Some(_), Some(_)) => Err(wrong(TARGET, "expected one value, found several".into())),
            (None, _) => Route::by_search(headers, path),
        }
    }

    fn by_search(headers: &HeaderMap, path: &str) -> Result<Self, ProblemDetails> {
        let unusable = |(name, why): (String, String)| {
            let param = InvalidParam::header(&name, why.clone());
            ProblemDetails::new(Cause::InvalidDiscoveryParam, format!("{name}: {why}")).with_param(param)
        };
        let mut parameters = read_discovery(headers).map_err(unusable)?;
        name_requester(&mut parameters, headers);
        parameters.iter_mut().for_each(take_bare_id);
        if parameters.len() > MAX_PARAMETERS {
            let why = format!("expected at most {MAX_PARAMETERS} of them");
            return Err(unusable((format!("{DISCOVERY_PREFIX}..."), why)));
        }
        let said = |wanted: &str| {
            parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        if let Some(bound) = search_by_binding(headers, path) {
            return Ok(Route::Delegated(bound));
        }
        if said("target-nf-type").is_none_or(str::is_empty) {
            let expected =
                format!("expected {TARGET}, or 3gpp-Sbi-Discovery-target-nf-type and what goes with it");
            let param = InvalidParam::header(TARGET, expected.clone());
            return Err(ProblemDetails::new(Cause::MandatoryIeMissing, expected).with_param(param));
        }
        // Of several services the first is that of this request, TS 29.500 §6.10.3.2 (Rel-17).
        let named = said("service-names").map(|names| names.trim_start_matches(['[', '"']));
        let first = named
            .and_then(|names| names.split([',', '"', ']']).next())
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let of_path = || path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let service = first.unwrap_or_else(of_path);
        let parameters = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Ok(Route::Delegated(Query::new(parameters, service)))
    }
}

/// Who asks stands in `User-Agent` too, TS 29.500 §5.2.2.2 (Rel-17); there are NFs that say it nowhere else.
fn name_requester(parameters: &mut Vec<(String, String)>, headers: &HeaderMap) {
    const REQUESTER: &str = "requester-nf-type";
    if parameters.iter().any(|(name, _)| name == REQUESTER) {
        return;
    }
    let agent = agent_type(headers).map(|agent| (REQUESTER.to_owned(), agent.to_ascii_uppercase()));
    parameters.extend(agent);
    parameters.sort();
}

/// There are NFs that say the 3gpp-Sbi-Producer-Id that they were told (`nfinst=ID; ...`) where an id alone is meant.
fn take_bare_id((name, value): &mut (String, String)) {
    if name != "target-nf-instance-id" {
        return;
    }
    if let Some(id) = value.strip_prefix("nfinst=") {
        *value = id.split(';').next().unwrap_or_default().trim().to_owned();
    }
}

fn wrong(header: &str, why: String) -> ProblemDetails {
    let param = InvalidParam::header(header, why.clone());
    ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("{header}: {why}")).with_param(param)
}

/// Whether a header only says where the request goes: it ends at the last SCP, TS 29.500 §6.10.2 (Rel-17).
pub(crate) fn is_routing(name: &HeaderName) -> bool {
    *name == TARGET_API_ROOT || *name == LATE_ANSWER || name.as_str().starts_with(DISCOVERY_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(said: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn route(said: &[(&'static str, &'static str)]) -> Result<Route, ProblemDetails> {
        Route::of(&headers(said), "/nudm-sdm/v2/imsi-1")
    }

    #[test]
    fn a_target_goes_before_a_search() {
        let target = ("3gpp-sbi-target-apiroot", "http://udm:80/lab/");
        let search = ("3gpp-sbi-discovery-target-nf-type", "UDM");
        assert_eq!(route(&[target, search]), Ok(Route::Target("http://udm:80/lab".into(), None)));
        let delegated = Route::Delegated(Query::new([("target-nf-type", "UDM")], "nudm-sdm"));
        assert_eq!(route(&[search]), Ok(delegated), "the service is that of the path");
    }

    #[test]
    fn who_asks_is_said_by_the_user_agent_too() {
        let search = ("3gpp-sbi-discovery-target-nf-type", "UDM");
        let query = |requester| {
            let parameters = [("requester-nf-type", requester), ("target-nf-type", "UDM")];
            Ok(Route::Delegated(Query::new(parameters, "nudm-sdm")))
        };
        assert_eq!(route(&[search, ("user-agent", "AMF-7 amf.lab")]), query("AMF"));
        let said = ("3gpp-sbi-discovery-requester-nf-type", "SMF");
        assert_eq!(route(&[said, search, ("user-agent", "AMF")]), query("SMF"));
    }

    #[test]
    fn a_producer_id_is_taken_for_the_id_in_it() {
        let search = ("3gpp-sbi-discovery-target-nf-type", "UDM");
        let named = |id| ("3gpp-sbi-discovery-target-nf-instance-id", id);
        let plain = route(&[search, named("7")]);
        assert!(plain.is_ok());
        assert_eq!(route(&[search, named("nfinst=7; nfset=x")]), plain);
    }

    #[test]
    fn the_first_service_is_that_of_the_request() {
        for names in ["nudm-uecm,nudm-sdm", "[\"nudm-uecm\",\"nudm-sdm\"]", "nudm-uecm"] {
            let said =
                [("3gpp-sbi-discovery-service-names", names), ("3gpp-sbi-discovery-target-nf-type", "UDM")];
            let query = Query::new([("service-names", names), ("target-nf-type", "UDM")], "nudm-uecm");
            assert_eq!(route(&said), Ok(Route::Delegated(query)), "{names}");
        }
    }

    #[test]
    fn what_does_not_lead_anywhere_says_why() {
        let cause = |said: &[(&'static str, &'static str)]| route(said).expect_err("a refusal").cause;
        let named = |cause: Cause| Some(cause.as_str().to_owned());
        assert_eq!(cause(&[]), named(Cause::MandatoryIeMissing));
        assert_eq!(
            cause(&[("3gpp-sbi-discovery-service-names", "nudm-sdm")]),
            named(Cause::MandatoryIeMissing)
        );
        assert_eq!(cause(&[("3gpp-sbi-target-apiroot", "udm")]), named(Cause::MandatoryIeIncorrect));
        let twice = [("3gpp-sbi-target-apiroot", "http://a"), ("3gpp-sbi-target-apiroot", "http://b")];
        assert_eq!(cause(&twice), named(Cause::MandatoryIeIncorrect));
    }
}
