//! What a path of a UDR names.

use super::DataSet;
use crate::common::{PduSessionId, PlmnId, Supi};
use crate::path::variable;
use crate::percent::decoded;
use sbi::problem::{Cause, ProblemDetails};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// What is provisioned for a subscriber in a serving network.
    Provisioned {
        /// The subscriber.
        supi: Supi,
        /// The serving network.
        plmn: PlmnId,
    },
    /// One set of it.
    ProvisionedSet {
        /// The subscriber.
        supi: Supi,
        /// The serving network.
        plmn: PlmnId,
        /// Which set.
        set: DataSet,
    },
    /// The credentials of a subscriber.
    AuthenticationSubscription {
        /// The subscriber.
        supi: Supi,
    },
    /// How its last authentication ended.
    AuthenticationStatus {
        /// The subscriber.
        supi: Supi,
    },
    /// The registration of the AMF that serves a subscriber over 3GPP access.
    AmfRegistration {
        /// The subscriber.
        supi: Supi,
    },
    /// The registrations of the SMFs that serve a subscriber.
    SmfRegistrations {
        /// The subscriber.
        supi: Supi,
    },
    /// The registration of the SMF that serves one session.
    SmfRegistration {
        /// The subscriber.
        supi: Supi,
        /// The session.
        pdu_session_id: PduSessionId,
    },
    /// The subscriptions to changes of a subscriber's data.
    SdmSubscriptions {
        /// The subscriber.
        supi: Supi,
    },
    /// One of them.
    SdmSubscription {
        /// The subscriber.
        supi: Supi,
        /// Which one.
        id: String,
    },
    /// The wishes to be notified of changes in the UDR.
    SubsToNotify,
    /// One of them.
    SubToNotify {
        /// Which one.
        id: String,
    },
    /// The access and mobility policy data of a subscriber.
    AmPolicyData {
        /// The subscriber.
        supi: Supi,
    },
    /// The session management policy data of a subscriber.
    SmPolicyData {
        /// The subscriber.
        supi: Supi,
    },
}

impl Resource {
    /// The resource that `path` names; a query is not looked at.
    ///
    /// TS 29.500 §5.2.7.2 (Rel-17): another API or version is `INVALID_API`, an unknown fixed part is
    /// `RESOURCE_URI_STRUCTURE_NOT_FOUND`, a variable that cannot be is `MANDATORY_IE_INCORRECT` by its name in braces.
    pub fn parse(path: &str) -> Result<Resource, ProblemDetails> {
        let path = path.split('?').next().unwrap_or_default();
        let segments = path.split('/').map(decoded).collect::<Result<Vec<_>, _>>();
        let segments = segments
            .map_err(|reason| ProblemDetails::new(Cause::InvalidMsgFormat, format!("path: {reason}")))?;
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["", "nudr-dr", "v1" | "v2", "subscription-data", resource @ ..] => Self::subscription(resource),
            ["", "nudr-dr", "v1" | "v2", "policy-data", "ues", resource @ ..] => Self::policy(resource),
            ["", "nudr-dr", "v1" | "v2", ..] => Err(unknown_structure()),
            _ => Err(ProblemDetails::new(
                Cause::InvalidApi,
                "expected a path that begins with /nudr-dr/v2 or /nudr-dr/v1",
            )),
        }
    }

    /// The resource that a monitored URI names: absolute, or relative to the API's root.
    pub fn monitored(uri: &str) -> Option<Resource> {
        match uri.find("/nudr-dr/") {
            Some(at) => Resource::parse(&uri[at..]).ok(),
            None => Resource::parse(&format!("/nudr-dr/v2/{}", uri.trim_start_matches('/'))).ok(),
        }
    }

    fn subscription(segments: &[&str]) -> Result<Resource, ProblemDetails> {
        match *segments {
            ["subs-to-notify"] => Ok(Resource::SubsToNotify),
            ["subs-to-notify", id] if !id.is_empty() => Ok(Resource::SubToNotify { id: id.to_owned() }),
            [ue, "context-data", ref resource @ ..] => Self::context(ue, resource),
            [ue, "authentication-data", resource] => Self::authentication(ue, resource),
            [ue, plmn, "provisioned-data"] => {
                Ok(Resource::Provisioned { supi: supi(ue)?, plmn: variable("servingPlmnId", plmn)? })
            }
            [ue, plmn, "provisioned-data", set] => {
                let set = DataSet::of_segment(set).ok_or_else(unknown_structure)?;
                let (supi, plmn) = (supi(ue)?, variable("servingPlmnId", plmn)?);
                Ok(Resource::ProvisionedSet { supi, plmn, set })
            }
            _ => Err(unknown_structure()),
        }
    }

    fn authentication(ue: &str, resource: &str) -> Result<Resource, ProblemDetails> {
        match resource {
            "authentication-subscription" => Ok(Resource::AuthenticationSubscription { supi: supi(ue)? }),
            "authentication-status" => Ok(Resource::AuthenticationStatus { supi: supi(ue)? }),
            _ => Err(unknown_structure()),
        }
    }

    fn context(ue: &str, segments: &[&str]) -> Result<Resource, ProblemDetails> {
        match *segments {
            ["amf-3gpp-access"] => Ok(Resource::AmfRegistration { supi: supi(ue)? }),
            ["smf-registrations"] => Ok(Resource::SmfRegistrations { supi: supi(ue)? }),
            ["smf-registrations", id] if !id.is_empty() => {
                let (supi, pdu_session_id) = (supi(ue)?, variable("pduSessionId", id)?);
                Ok(Resource::SmfRegistration { supi, pdu_session_id })
            }
            ["sdm-subscriptions"] => Ok(Resource::SdmSubscriptions { supi: supi(ue)? }),
            ["sdm-subscriptions", id] if !id.is_empty() => {
                Ok(Resource::SdmSubscription { supi: supi(ue)?, id: id.to_owned() })
            }
            _ => Err(unknown_structure()),
        }
    }

    fn policy(segments: &[&str]) -> Result<Resource, ProblemDetails> {
        match *segments {
            [ue, "am-data"] => Ok(Resource::AmPolicyData { supi: supi(ue)? }),
            [ue, "sm-data"] => Ok(Resource::SmPolicyData { supi: supi(ue)? }),
            _ => Err(unknown_structure()),
        }
    }

    /// The path that names the resource, in `v2`.
    pub fn path(&self) -> String {
        match self {
            Resource::Provisioned { supi, plmn } => super::provisioned_data(supi, plmn),
            Resource::ProvisionedSet { supi, plmn, set } => super::data_set(supi, plmn, *set),
            Resource::AuthenticationSubscription { supi } => super::authentication_subscription(supi),
            Resource::AuthenticationStatus { supi } => super::authentication_status(supi),
            Resource::AmfRegistration { supi } => super::amf_registration(supi),
            Resource::SmfRegistrations { supi } => super::smf_registrations(supi),
            Resource::SmfRegistration { supi, pdu_session_id } => {
                super::smf_registration(supi, *pdu_session_id)
            }
            Resource::SdmSubscriptions { supi } => super::sdm_subscriptions(supi),
            Resource::SdmSubscription { supi, id } => super::sdm_subscription(supi, id),
            Resource::SubsToNotify => super::subs_to_notify(),
            Resource::SubToNotify { id } => super::sub_to_notify(id),
            Resource::AmPolicyData { supi } => super::am_policy_data(supi),
            Resource::SmPolicyData { supi } => super::sm_policy_data(supi),
        }
    }

    /// The methods that it has here; another one is a 405 that lists these.
    pub fn methods(&self) -> &'static [&'static str] {
        match self {
            Resource::Provisioned { .. }
            | Resource::ProvisionedSet { .. }
            | Resource::SmfRegistrations { .. }
            | Resource::AmPolicyData { .. }
            | Resource::SmPolicyData { .. } => &["GET"],
            Resource::AuthenticationSubscription { .. } => &["GET", "PATCH"],
            Resource::SdmSubscriptions { .. } => &["GET", "POST"],
            Resource::SubsToNotify => &["POST"],
            Resource::SubToNotify { .. } => &["GET", "PATCH", "DELETE"],
            Resource::AmfRegistration { .. } => &["GET", "PUT", "PATCH"],
            Resource::AuthenticationStatus { .. }
            | Resource::SmfRegistration { .. }
            | Resource::SdmSubscription { .. } => &["GET", "PUT", "DELETE"],
        }
    }
}

fn supi(segment: &str) -> Result<Supi, ProblemDetails> {
    variable("ueId", segment)
}

fn unknown_structure() -> ProblemDetails {
    ProblemDetails::new(Cause::ResourceUriStructureNotFound, "no resource has a path of this form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nudr_dr::{
        amf_registration, authentication_status, data_set, sdm_subscription, sm_policy_data,
        smf_registration, sub_to_notify,
    };

    const UE: &str = "/nudr-dr/v2/subscription-data/imsi-001010000000001";

    fn supi() -> Supi {
        "imsi-001010000000001".parse().expect("SUPI")
    }

    fn resources(supi: &Supi) -> Vec<(Resource, &'static str)> {
        let (plmn, id) = (PlmnId::new("001", "01").expect("a network"), "a/b 1".to_owned());
        let supi = || supi.clone();
        let set = |set| (Resource::ProvisionedSet { supi: supi(), plmn: plmn.clone(), set }, "GET");
        let session = Resource::SmfRegistration { supi: supi(), pdu_session_id: PduSessionId(5) };
        vec![
            (Resource::Provisioned { supi: supi(), plmn: plmn.clone() }, "GET"),
            set(DataSet::Am),
            set(DataSet::SmfSelection),
            set(DataSet::Sm),
            (Resource::AuthenticationSubscription { supi: supi() }, "GET PATCH"),
            (Resource::AuthenticationStatus { supi: supi() }, "GET PUT DELETE"),
            (Resource::AmfRegistration { supi: supi() }, "GET PUT PATCH"),
            (Resource::SmfRegistrations { supi: supi() }, "GET"),
            (session, "GET PUT DELETE"),
            (Resource::SdmSubscriptions { supi: supi() }, "GET POST"),
            (Resource::SdmSubscription { supi: supi(), id: id.clone() }, "GET PUT DELETE"),
            (Resource::SubsToNotify, "POST"),
            (Resource::SubToNotify { id }, "GET PATCH DELETE"),
            (Resource::AmPolicyData { supi: supi() }, "GET"),
            (Resource::SmPolicyData { supi: supi() }, "GET"),
        ]
    }

    fn refused(path: &str) -> (String, Option<u16>, Option<String>) {
        let problem = Resource::parse(path).expect_err(path);
        let param = problem.invalid_params.first().map(|p| p.param.clone());
        (problem.cause.unwrap_or_default(), problem.status, param)
    }

    #[test]
    fn every_path_that_is_built_reads_back_in_both_versions() {
        for supi in [supi(), "nai-a/b?c@example.org".parse().expect("SUPI")] {
            for (resource, methods) in resources(&supi) {
                let path = resource.path();
                assert_eq!(Resource::parse(&path).expect(&path), resource);
                assert_eq!(Resource::parse(&path.replace("/v2/", "/v1/")).expect(&path), resource);
                assert_eq!(resource.methods().join(" "), methods);
                assert_eq!(Resource::monitored(&format!("http://udr:7720/site{path}")), Some(resource));
            }
        }
    }

    #[test]
    fn the_paths_are_those_of_the_standard() {
        let plmn = PlmnId::new("001", "01").expect("a network");
        for (path, expected) in [
            (data_set(&supi(), &plmn, DataSet::Sm), "00101/provisioned-data/sm-data"),
            (
                data_set(&supi(), &plmn, DataSet::SmfSelection),
                "00101/provisioned-data/smf-selection-subscription-data",
            ),
            (authentication_status(&supi()), "authentication-data/authentication-status"),
            (amf_registration(&supi()), "context-data/amf-3gpp-access"),
            (smf_registration(&supi(), PduSessionId(5)), "context-data/smf-registrations/5"),
            (sdm_subscription(&supi(), "1"), "context-data/sdm-subscriptions/1"),
        ] {
            assert_eq!(path, format!("{UE}/{expected}"));
        }
        assert_eq!(sub_to_notify("1"), "/nudr-dr/v2/subscription-data/subs-to-notify/1");
        assert_eq!(sm_policy_data(&supi()), "/nudr-dr/v2/policy-data/ues/imsi-001010000000001/sm-data");
    }

    #[test]
    fn another_api_or_version_is_named_as_such() {
        for path in
            ["", "/", "/nudr-dr", "/nudr-dr/v3/subscription-data", "/nudm-sdm/v2/x/sm-data", "nudr-dr/v2/x"]
        {
            assert_eq!(refused(path), ("INVALID_API".into(), Some(400), None), "{path}");
        }
    }

    #[test]
    fn an_unknown_structure_is_not_found() {
        for rest in
            ["", "/", "/context-data", "/context-data/amf-non-3gpp-access", "/provisioned-data/sm-data"]
        {
            let expected = ("RESOURCE_URI_STRUCTURE_NOT_FOUND".into(), Some(404), None);
            assert_eq!(refused(&format!("{UE}{rest}")), expected, "{rest}");
        }
        for rest in [
            "sdm-subscriptions/",
            "sdm-subscriptions/1/hss-sdm-subscriptions",
            "smf-registrations/",
            "smf-registrations/5/",
            "amf-3gpp-access/1",
        ] {
            assert_eq!(
                refused(&format!("{UE}/context-data/{rest}")).0,
                "RESOURCE_URI_STRUCTURE_NOT_FOUND",
                "{rest}"
            );
        }
        for path in ["policy-data/ues/x/operator-data", "subscription-data/subs-to-notify/", "x"] {
            assert_eq!(refused(&format!("/nudr-dr/v2/{path}")).1, Some(404), "{path}");
        }
    }

    #[test]
    fn a_variable_that_cannot_be_is_named_in_braces() {
        for (path, param) in [
            ("/nudr-dr/v2/subscription-data/imsi-1/context-data/smf-registrations".to_owned(), "{ueId}"),
            ("/nudr-dr/v2/subscription-data//context-data/smf-registrations".to_owned(), "{ueId}"),
            ("/nudr-dr/v2/policy-data/ues/x/sm-data".to_owned(), "{ueId}"),
            (format!("{UE}/0010/provisioned-data/sm-data"), "{servingPlmnId}"),
            (format!("{UE}/0010/provisioned-data"), "{servingPlmnId}"),
            (format!("{UE}/context-data/smf-registrations/300"), "{pduSessionId}"),
        ] {
            assert_eq!(
                refused(&path),
                ("MANDATORY_IE_INCORRECT".into(), Some(400), Some(param.into())),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_monitored_may_be_named_absolutely_or_not() {
        let supi = supi();
        for uri in [
            format!("http://udr:7720/site{UE}/context-data/amf-3gpp-access"),
            format!("{UE}/context-data/amf-3gpp-access"),
            format!("subscription-data/{supi}/context-data/amf-3gpp-access"),
            format!("/subscription-data/{supi}/context-data/amf-3gpp-access"),
        ] {
            assert_eq!(
                Resource::monitored(&uri),
                Some(Resource::AmfRegistration { supi: supi.clone() }),
                "{uri}"
            );
        }
        assert_eq!(Resource::monitored("http://udr/other"), None);
    }

    #[test]
    fn escapes_are_decoded_and_a_query_is_ignored() {
        let path = "/nudr-dr/v2/subscription-data/imsi%2D001010000000001/context-data/smf-registrations?x=/y";
        assert_eq!(Resource::parse(path), Ok(Resource::SmfRegistrations { supi: supi() }));
        assert_eq!(
            refused("/nudr-dr/v2/subscription-data/%zz/context-data/smf-registrations").0,
            "INVALID_MSG_FORMAT"
        );
    }
}
