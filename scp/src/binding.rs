//! `3gpp-Sbi-Routing-Binding`: who else may serve a resource, TS 29.500 §6.12 (Rel-17).
//!
//! A producer says with `3gpp-Sbi-Binding` who knows what it has made; that passes untouched. A consumer says it back with its
//! later requests. The SCP heeds it where it has to choose: if no target is named, or the one that is cannot be reached.

use http::{HeaderMap, HeaderName};
use sbi::nrf::Query;

const ROUTING_BINDING: HeaderName = HeaderName::from_static("3gpp-sbi-routing-binding");

/// The search for those who may serve a request for `path`; nothing if there is no binding that can be read.
pub(crate) fn search_by_binding(headers: &HeaderMap, path: &str) -> Option<Query> {
    let text = headers.get(ROUTING_BINDING)?.to_str().ok()?;
    let said = |name: &str| {
        let mut parts = text.split(';').filter_map(|part| part.trim().split_once('='));
        parts
            .find(|(key, _)| key.trim().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().trim_matches('"'))
    };
    let service = said("servname").or_else(|| path.trim_start_matches('/').split('/').next())?;
    let instance = || said("nfinst").map(|id| ("target-nf-instance-id", id));
    let set = || said("nfset").map(|id| ("target-nf-set-id", id));
    let service_set = || said("nfserviceset").map(|id| ("target-nf-service-set-id", id));
    let bound = match said("bl")? {
        "nf-instance" | "nfservice-instance" => instance(),
        "nf-set" => set().or_else(instance),
        "nfservice-set" => service_set().or_else(set).or_else(instance),
        _ => None,
    }?;
    let nf_type = nf_type_of(service)?;
    let parameters =
        [("target-nf-type", &*nf_type), ("requester-nf-type", "SCP"), ("service-names", service), bound];
    Some(Query::new(parameters, service))
}

/// `nudm-sdm` is a service of a UDM: TS 23.501 §7.2 (Rel-17) names them so.
fn nf_type_of(service: &str) -> Option<String> {
    let nf_type = service.strip_prefix('n')?.split('-').next().filter(|nf_type| !nf_type.is_empty())?;
    Some(nf_type.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn search(binding: &'static str) -> Option<Query> {
        let mut headers = HeaderMap::new();
        headers.insert(ROUTING_BINDING, HeaderValue::from_static(binding));
        search_by_binding(&headers, "/nsmf-pdusession/v1/sm-contexts/7/release")
    }

    fn query(bound: (&str, &str), nf_type: &str, service: &str) -> Option<Query> {
        let parameters =
            [("target-nf-type", nf_type), ("requester-nf-type", "SCP"), ("service-names", service), bound];
        Some(Query::new(parameters, service))
    }

    #[test]
    fn each_level_says_whom_to_look_for() {
        let smf = |bound| query(bound, "SMF", "nsmf-pdusession");
        for (binding, expected) in [
            ("bl=nf-instance; nfinst=7; nfset=s", smf(("target-nf-instance-id", "7"))),
            ("bl=nf-set; nfset=set1.smfset", smf(("target-nf-set-id", "set1.smfset"))),
            ("bl=nf-set; nfinst=7", smf(("target-nf-instance-id", "7"))),
            ("bl=nfservice-set; nfserviceset=x; nfinst=7", smf(("target-nf-service-set-id", "x"))),
            ("bl=nf-set; nfset=s; servname=nudm-sdm", query(("target-nf-set-id", "s"), "UDM", "nudm-sdm")),
        ] {
            assert_eq!(search(binding), expected, "{binding}");
        }
    }

    #[test]
    fn what_cannot_be_read_binds_nobody() {
        for binding in ["", "bl=nf-set", "nfset=s", "bl=planet; nfset=s", "bl=nf-set; nfset=s; servname=x"] {
            assert_eq!(search(binding), None, "{binding}");
        }
    }
}
