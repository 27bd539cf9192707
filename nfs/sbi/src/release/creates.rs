//! What ends what a request makes, by its path alone: for whoever passes requests on without knowing their procedures.

use super::undo::Undo;
use http::{Method, StatusCode};
use serde_json::json;

/// What a create makes, and what ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What it is, as the ledger names it.
    pub kind: &'static str,
    /// What ends it.
    pub undo: Undo,
    /// Whether it is where the create was sent to: then a newer write replaces it.
    pub has_fixed_uri: bool,
    /// Whether a newer request to the same URI may have got, or become, the very same.
    pub may_be_anothers: bool,
}

/// What a request for `path` makes, if it is a create whose end needs nothing that stands in its body. What an NF registers at
/// an NRF, an AMF at a UDM, and what is charged is not among them.
pub fn made_by(method: &Method, path: &str) -> Option<Made> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let segments: Vec<_> = path.rsplit('/').collect();
    let last = *segments.first()?;
    let of = |api: &str| segments.contains(&api);
    let (kind, undo) = match *method {
        Method::POST if last == "sdm-subscriptions" && (of("nudm-sdm") || of("nudr-dr")) => {
            ("sdm-subscription", Undo::delete_location())
        }
        Method::POST if last == "subs-to-notify" && of("nudr-dr") => {
            ("data-change-subscription", Undo::delete_location())
        }
        Method::POST if last == "policies" && of("npcf-am-policy-control") => {
            ("am-policy", Undo::delete_location())
        }
        Method::POST if last == "sm-policies" && of("npcf-smpolicycontrol") => {
            ("sm-policy", Undo::post_location("/delete", json!({})))
        }
        Method::POST if last == "pcfBindings" && of("nbsf-management") => {
            ("pcf-binding", Undo::delete_location())
        }
        Method::POST if last == "sm-contexts" && of("nsmf-pdusession") => {
            ("sm-context", Undo::post_location("/release", json!({})))
        }
        Method::POST if last == "pdu-sessions" && of("nsmf-pdusession") => {
            ("pdu-session", Undo::post_location("/release", json!({})))
        }
        Method::PUT if segments.get(1) == Some(&"smf-registrations") => {
            ("smf-registration", Undo::delete_there(""))
        }
        _ => return None,
    };
    let has_fixed_uri = *method == Method::PUT;
    // A UDM answers a create that is repeated with the subscription that is there.
    let may_be_anothers = has_fixed_uri || kind == "sdm-subscription";
    Some(Made { kind, undo, has_fixed_uri, may_be_anothers })
}

impl Made {
    /// Whether an answer of this status says that it was made. A PUT that replaced something is not ended: what it replaced is
    /// not known here.
    pub fn was_made(&self, status: StatusCode) -> bool {
        status.is_success() && (!self.has_fixed_uri || status == StatusCode::CREATED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(method: Method, path: &str) -> Option<&'static str> {
        made_by(&method, path).map(|made| made.kind)
    }

    #[test]
    fn what_can_be_ended_without_its_body_is_known_by_its_path() {
        for (path, expected) in [
            ("/nudm-sdm/v2/imsi-1/sdm-subscriptions", "sdm-subscription"),
            ("/nudr-dr/v2/subscription-data/imsi-1/context-data/sdm-subscriptions", "sdm-subscription"),
            ("/site-a/nudr-dr/v1/subscription-data/subs-to-notify", "data-change-subscription"),
            ("/nudr-dr/v1/policy-data/subs-to-notify", "data-change-subscription"),
            ("/npcf-am-policy-control/v1/policies", "am-policy"),
            ("/npcf-smpolicycontrol/v1/sm-policies", "sm-policy"),
            ("/nbsf-management/v1/pcfBindings", "pcf-binding"),
            ("/nsmf-pdusession/v1/sm-contexts/", "sm-context"),
            ("/nsmf-pdusession/v1/pdu-sessions", "pdu-session"),
        ] {
            assert_eq!(kind(Method::POST, path), Some(expected), "{path}");
            assert_eq!(kind(Method::GET, path), None, "{path}");
        }
        let registration = "/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5";
        let at_udr = "/nudr-dr/v2/subscription-data/imsi-1/context-data/smf-registrations/5";
        for path in [registration, at_udr] {
            let made = made_by(&Method::PUT, path).expect("a create");
            assert!(made.was_made(StatusCode::CREATED) && !made.was_made(StatusCode::NO_CONTENT), "{path}");
        }
    }

    #[test]
    fn what_needs_a_body_or_makes_nothing_is_left_alone() {
        for (method, path) in [
            (Method::POST, "/nchf-convergedcharging/v3/chargingdata"),
            (Method::PUT, "/nudm-uecm/v1/imsi-1/registrations/amf-3gpp-access"),
            (Method::PUT, "/nnrf-nfm/v1/nf-instances/7"),
            (Method::POST, "/nnrf-nfm/v1/subscriptions"),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts/7/release"),
            (Method::POST, "/npcf-smpolicycontrol/v1/sm-policies/7/delete"),
            (Method::POST, "/other/v1/policies"),
            (Method::POST, "/"),
        ] {
            assert_eq!(kind(method.clone(), path), None, "{method} {path}");
        }
    }
}
