//! `Nudr_DataRepository`: the subscription data that a UDM keeps in a UDR, TS 29.505 §5 (Rel-17).
//!
//! ```text
//! GET              /nudr-dr/v2/subscription-data/{ueId}/{servingPlmnId}/provisioned-data/sm-data
//! GET              /nudr-dr/v2/subscription-data/{ueId}/context-data/smf-registrations
//! GET PUT DELETE   /nudr-dr/v2/subscription-data/{ueId}/context-data/smf-registrations/{pduSessionId}
//! GET POST         /nudr-dr/v2/subscription-data/{ueId}/context-data/sdm-subscriptions
//! GET PUT DELETE   /nudr-dr/v2/subscription-data/{ueId}/context-data/sdm-subscriptions/{subsId}
//! ```
//!
//! Bodies are those of [`nudm_sdm`](crate::nudm_sdm) and [`nudm_uecm`](crate::nudm_uecm). Rel-17 says `v2`; cores that
//! say `v1` are in use, and the resources are the same, so both are read and `v2` is sent. Not done: PATCH, other data.

use crate::common::{PduSessionId, PlmnId, Supi};
use crate::path::variable;
use crate::percent::{decoded, encoded};
use sbi::problem::{Cause, ProblemDetails};

const SUBSCRIPTION_DATA: &str = "/nudr-dr/v2/subscription-data";

/// The session management data of `supi` in the serving network `plmn`.
pub fn sm_data(supi: &Supi, plmn: &PlmnId) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/{plmn}/provisioned-data/sm-data", encoded(supi.as_str()))
}

/// The registrations of the SMFs that serve `supi`.
pub fn smf_registrations(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/context-data/smf-registrations", encoded(supi.as_str()))
}

/// The registration of the SMF that serves one session of `supi`.
pub fn smf_registration(supi: &Supi, pdu_session_id: PduSessionId) -> String {
    format!("{}/{pdu_session_id}", smf_registrations(supi))
}

/// The subscriptions to changes of the data of `supi`.
pub fn sdm_subscriptions(supi: &Supi) -> String {
    format!("{SUBSCRIPTION_DATA}/{}/context-data/sdm-subscriptions", encoded(supi.as_str()))
}

/// The subscription `id` to changes of the data of `supi`.
pub fn sdm_subscription(supi: &Supi, id: &str) -> String {
    format!("{}/{}", sdm_subscriptions(supi), encoded(id))
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The session management data of a subscriber in a serving network.
    SmData {
        /// The subscriber.
        supi: Supi,
        /// The serving network.
        plmn: PlmnId,
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
            ["", "nudr-dr", "v1" | "v2", resource @ ..] => Self::of(resource),
            _ => Err(ProblemDetails::new(
                Cause::InvalidApi,
                "expected a path that begins with /nudr-dr/v2 or /nudr-dr/v1",
            )),
        }
    }

    fn of(segments: &[&str]) -> Result<Resource, ProblemDetails> {
        let supi = |ue| variable::<Supi>("ueId", ue);
        match *segments {
            ["subscription-data", ue, plmn, "provisioned-data", "sm-data"] => {
                Ok(Resource::SmData { supi: supi(ue)?, plmn: variable("servingPlmnId", plmn)? })
            }
            ["subscription-data", ue, "context-data", "smf-registrations"] => {
                Ok(Resource::SmfRegistrations { supi: supi(ue)? })
            }
            ["subscription-data", ue, "context-data", "smf-registrations", id] if !id.is_empty() => {
                Ok(Resource::SmfRegistration {
                    supi: supi(ue)?,
                    pdu_session_id: variable("pduSessionId", id)?,
                })
            }
            ["subscription-data", ue, "context-data", "sdm-subscriptions"] => {
                Ok(Resource::SdmSubscriptions { supi: supi(ue)? })
            }
            ["subscription-data", ue, "context-data", "sdm-subscriptions", id] if !id.is_empty() => {
                Ok(Resource::SdmSubscription { supi: supi(ue)?, id: id.to_owned() })
            }
            _ => Err(ProblemDetails::new(
                Cause::ResourceUriStructureNotFound,
                "no resource has a path of this form",
            )),
        }
    }

    /// The path that names the resource, in `v2`.
    pub fn path(&self) -> String {
        match self {
            Resource::SmData { supi, plmn } => sm_data(supi, plmn),
            Resource::SmfRegistrations { supi } => smf_registrations(supi),
            Resource::SmfRegistration { supi, pdu_session_id } => smf_registration(supi, *pdu_session_id),
            Resource::SdmSubscriptions { supi } => sdm_subscriptions(supi),
            Resource::SdmSubscription { supi, id } => sdm_subscription(supi, id),
        }
    }

    /// The methods that it has here; another one is a 405 that lists these.
    pub fn methods(&self) -> &'static [&'static str] {
        match self {
            Resource::SmData { .. } | Resource::SmfRegistrations { .. } => &["GET"],
            Resource::SdmSubscriptions { .. } => &["GET", "POST"],
            Resource::SmfRegistration { .. } | Resource::SdmSubscription { .. } => &["GET", "PUT", "DELETE"],
        }
    }

    /// Whose data it is.
    pub fn supi(&self) -> &Supi {
        match self {
            Resource::SmData { supi, .. }
            | Resource::SmfRegistrations { supi }
            | Resource::SmfRegistration { supi, .. }
            | Resource::SdmSubscriptions { supi }
            | Resource::SdmSubscription { supi, .. } => supi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UE: &str = "/nudr-dr/v2/subscription-data/imsi-001010000000001";

    fn supi() -> Supi {
        "imsi-001010000000001".parse().expect("SUPI")
    }

    fn resources(supi: &Supi) -> [(Resource, &'static str); 5] {
        let (plmn, id) = (PlmnId::new("001", "01").expect("a network"), "a/b 1".to_owned());
        [
            (Resource::SmData { supi: supi.clone(), plmn }, "GET"),
            (Resource::SmfRegistrations { supi: supi.clone() }, "GET"),
            (
                Resource::SmfRegistration { supi: supi.clone(), pdu_session_id: PduSessionId(5) },
                "GET PUT DELETE",
            ),
            (Resource::SdmSubscriptions { supi: supi.clone() }, "GET POST"),
            (Resource::SdmSubscription { supi: supi.clone(), id }, "GET PUT DELETE"),
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
                assert_eq!(resource.supi(), &supi);
            }
        }
    }

    #[test]
    fn the_paths_are_those_of_the_standard() {
        let plmn = PlmnId::new("001", "01").expect("a network");
        assert_eq!(sm_data(&supi(), &plmn), format!("{UE}/00101/provisioned-data/sm-data"));
        assert_eq!(
            smf_registration(&supi(), PduSessionId(5)),
            format!("{UE}/context-data/smf-registrations/5")
        );
        assert_eq!(sdm_subscription(&supi(), "1"), format!("{UE}/context-data/sdm-subscriptions/1"));
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
        for rest in ["", "/", "/context-data", "/context-data/amf-3gpp-access", "/provisioned-data/sm-data"] {
            let expected = ("RESOURCE_URI_STRUCTURE_NOT_FOUND".into(), Some(404), None);
            assert_eq!(refused(&format!("{UE}{rest}")), expected, "{rest}");
        }
        for rest in [
            "sdm-subscriptions/",
            "sdm-subscriptions/1/hss-sdm-subscriptions",
            "smf-registrations/",
            "smf-registrations/5/",
        ] {
            assert_eq!(
                refused(&format!("{UE}/context-data/{rest}")).0,
                "RESOURCE_URI_STRUCTURE_NOT_FOUND",
                "{rest}"
            );
        }
        assert_eq!(refused("/nudr-dr/v2/policy-data/ues/x/sm-data").1, Some(404));
    }

    #[test]
    fn a_variable_that_cannot_be_is_named_in_braces() {
        for (path, param) in [
            ("/nudr-dr/v2/subscription-data/imsi-1/context-data/smf-registrations".to_owned(), "{ueId}"),
            ("/nudr-dr/v2/subscription-data//context-data/smf-registrations".to_owned(), "{ueId}"),
            (format!("{UE}/0010/provisioned-data/sm-data"), "{servingPlmnId}"),
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
    fn escapes_are_decoded_and_a_query_is_ignored() {
        let path = "/nudr-dr/v2/subscription-data/imsi%2D001010000000001/context-data/smf-registrations?x=/y";
        assert_eq!(Resource::parse(path), Ok(Resource::SmfRegistrations { supi: supi() }));
        assert_eq!(
            refused("/nudr-dr/v2/subscription-data/%zz/context-data/smf-registrations").0,
            "INVALID_MSG_FORMAT"
        );
    }
}
