//! Errors as they travel on the SBI: `ProblemDetails` and the application error causes.

use serde::{Deserialize, Serialize};

/// Declares [`Cause`]: name on the wire, status, and when it is said.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $name:ident = $wire:literal, $status:literal;)+) => {
        /// An application error, its name on the wire and the status it goes with.
        ///
        /// TS 29.500 §5.2.7.2 table 5.2.7.2-1 (Rel-17), and the service causes of the operations that the mocks serve.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cause { $($(#[doc = $doc])+ $name,)+ }

        impl Cause {
            /// Every cause, in the order of the table.
            pub const ALL: &[Cause] = &[$(Cause::$name,)+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Cause::$name => $wire,)+ }
            }

            /// When it is said, for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Cause::$name => concat!($($doc),+),)+ }
            }

            /// The HTTP status that the standard ties to this cause.
            pub const fn status(self) -> u16 {
                match self { $(Cause::$name => $status,)+ }
            }
        }
    };
}

causes! {
    /// The API name or version in the URI is not supported.
    InvalidApi = "INVALID_API", 400;
    /// The request cannot be parsed.
    InvalidMsgFormat = "INVALID_MSG_FORMAT", 400;
    /// A query parameter is not supported.
    InvalidQueryParam = "INVALID_QUERY_PARAM", 400;
    /// A mandatory query parameter has a wrong value.
    MandatoryQueryParamIncorrect = "MANDATORY_QUERY_PARAM_INCORRECT", 400;
    /// An optional query parameter has a value that prevents processing.
    OptionalQueryParamIncorrect = "OPTIONAL_QUERY_PARAM_INCORRECT", 400;
    /// A mandatory query parameter is absent.
    MandatoryQueryParamMissing = "MANDATORY_QUERY_PARAM_MISSING", 400;
    /// A mandatory IE in body, URI or header has a wrong value.
    MandatoryIeIncorrect = "MANDATORY_IE_INCORRECT", 400;
    /// An optional IE in body or header has a value that prevents processing.
    OptionalIeIncorrect = "OPTIONAL_IE_INCORRECT", 400;
    /// A mandatory IE is absent.
    MandatoryIeMissing = "MANDATORY_IE_MISSING", 400;
    /// Another error of the client.
    UnspecifiedMsgFailure = "UNSPECIFIED_MSG_FAILURE", 400;
    /// The callback URI exists, the context that the notification names does not.
    ResourceContextNotFound = "RESOURCE_CONTEXT_NOT_FOUND", 400;
    /// A parameter of a delegated discovery is wrong, TS 29.500 §6.10.3 (Rel-17).
    InvalidDiscoveryParam = "INVALID_DISCOVERY_PARAM", 400;
    /// No producer was found for a delegated discovery, TS 29.500 §6.10.3 (Rel-17).
    NfDiscoveryFailure = "NF_DISCOVERY_FAILURE", 400;
    /// The request has passed this SCP before, TS 29.500 §6.10.10.3 (Rel-17).
    MsgLoopDetected = "MSG_LOOP_DETECTED", 400;
    /// The client credentials assertion cannot be verified.
    CcaVerificationFailure = "CCA_VERIFICATION_FAILURE", 403;
    /// The access token's subject is not that of the client credentials assertion.
    TokenCcaMismatch = "TOKEN_CCA_MISMATCH", 403;
    /// The modification is not allowed.
    ModificationNotAllowed = "MODIFICATION_NOT_ALLOWED", 403;
    /// The subscription to modify or delete is unknown.
    SubscriptionNotFound = "SUBSCRIPTION_NOT_FOUND", 404;
    /// The fixed part of the path after the first variable is unknown.
    ResourceUriStructureNotFound = "RESOURCE_URI_STRUCTURE_NOT_FOUND", 404;
    /// The `Content-Length` is wrong.
    IncorrectLength = "INCORRECT_LENGTH", 411;
    /// This client sends too much.
    NfCongestionRisk = "NF_CONGESTION_RISK", 429;
    /// This client sends too much to this service.
    NfServiceCongestionRisk = "NF_SERVICE_CONGESTION_RISK", 429;
    /// Resources are insufficient.
    InsufficientResources = "INSUFFICIENT_RESOURCES", 500;
    /// Unspecified failure of the NF.
    UnspecifiedNfFailure = "UNSPECIFIED_NF_FAILURE", 500;
    /// Generic error of the system.
    SystemFailure = "SYSTEM_FAILURE", 500;
    /// This NF is down: reselect another at once.
    NfFailover = "NF_FAILOVER", 500;
    /// This NF service is down: reselect another at once.
    NfServiceFailover = "NF_SERVICE_FAILOVER", 500;
    /// A server that this producer called while serving the request answered 5xx.
    InboundServerError = "INBOUND_SERVER_ERROR", 502;
    /// The request may pass no further SCP, TS 29.500 §6.10.10 (Rel-17).
    MaxScpHopsReached = "MAX_SCP_HOPS_REACHED", 502;
    /// The NF is overloaded.
    NfCongestion = "NF_CONGESTION", 503;
    /// The NF service is overloaded.
    NfServiceCongestion = "NF_SERVICE_CONGESTION", 503;
    /// Not served because the target NF cannot be reached.
    TargetNfNotReachable = "TARGET_NF_NOT_REACHABLE", 504;
    /// The NRF does not answer a delegated discovery, TS 29.500 §6.10.3 (Rel-17).
    NrfNotReachable = "NRF_NOT_REACHABLE", 504;
    /// The request has timed out at the HTTP client, TS 29.500 §6.11.2 (Rel-17).
    TimedOutRequest = "TIMED_OUT_REQUEST", 504;

    /// The subscriber is unknown, TS 29.503 §6.1.7.3 (Rel-17).
    UserNotFound = "USER_NOT_FOUND", 404;
    /// The requested data do not exist for this subscriber, TS 29.503 §6.1.7.3 (Rel-17).
    DataNotFound = "DATA_NOT_FOUND", 404;
    /// The context (SM context, registration) does not exist, TS 29.502 §6.1.7.3 and TS 29.503 §6.2.7.3 (Rel-17).
    ContextNotFound = "CONTEXT_NOT_FOUND", 404;
    /// The slot belongs to another NF instance, TS 29.503 §6.2.7.3 (Rel-17).
    UnprocessableRequest = "UNPROCESSABLE_REQUEST", 422;
    /// The AMF that asks is not the registered one, TS 29.503 §6.2.7.3 (Rel-17).
    InvalidGuami = "INVALID_GUAMI", 403;
    /// The DNN is not subscribed, TS 29.502 §6.1.7.3 (Rel-17).
    DnnDenied = "DNN_DENIED", 403;
    /// The S-NSSAI is not subscribed, TS 29.502 §6.1.7.3 (Rel-17).
    SnssaiDenied = "SNSSAI_DENIED", 403;
    /// A create that collides with an SM context of the same session is not the more recent one, TS 29.502 §5.2.3.3.1 (Rel-17).
    LateOverlappingRequest = "LATE_OVERLAPPING_REQUEST", 403;
    /// A V-SMF cannot reach the H-SMF, TS 29.502 §6.1.7.3 (Rel-17).
    PeerNotResponding = "PEER_NOT_RESPONDING", 504;
}

impl Cause {
    /// The cause with this name on the wire.
    pub fn named(name: &str) -> Option<Cause> {
        Cause::ALL.iter().copied().find(|cause| cause.as_str().eq_ignore_ascii_case(name))
    }

    /// Where the standard defines it: what its meaning names, else the table of all causes.
    pub fn clause(self) -> &'static str {
        let meaning = self.meaning();
        let named = meaning.find("TS ").map(|at| meaning[at..].trim_end_matches('.'));
        named.unwrap_or("TS 29.500 §5.2.7.2 (Rel-17)")
    }
}

/// A parameter that is wrong: a JSON Pointer, `header <name>`, `query <name>` or `{variable}`.
///
/// TS 29.571 §5.2.4.2 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidParam {
    /// Which parameter.
    pub param: String,
    /// What is wrong with it, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl InvalidParam {
    /// The attribute at `pointer` (a JSON Pointer) of the body.
    pub fn body(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        InvalidParam { param: pointer.into(), reason: Some(reason.into()) }
    }

    /// The header `name`.
    pub fn header(name: &str, reason: impl Into<String>) -> Self {
        InvalidParam { param: format!("header {name}"), reason: Some(reason.into()) }
    }

    /// The query parameter `name`.
    pub fn query(name: &str, reason: impl Into<String>) -> Self {
        InvalidParam { param: format!("query {name}"), reason: Some(reason.into()) }
    }

    /// The path variable `name`, given without braces.
    pub fn path(name: &str, reason: impl Into<String>) -> Self {
        InvalidParam { param: format!("{{{name}}}"), reason: Some(reason.into()) }
    }
}

/// The body of an error answer, `application/problem+json`.
///
/// TS 29.571 §5.2.4.1 (Rel-17). `status` always equals the HTTP status of the answers that we send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDetails {
    /// The reason phrase of the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What happened, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The application error. A foreign NF may send one that [`Cause`] does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Which parameters are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_params: Vec<InvalidParam>,
    /// How far an SCP of ours came with a request that it has no answer to (our choice; an attribute of our own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on: Option<Progress>,
}

/// How far an SCP came with a request that it has no answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// Nobody got it: there is nothing to look for.
    No,
    /// Its producer got it, and has ended the exchange.
    Ended,
    /// Its producer got it, and may still be at it.
    Pending,
}

/// The media type of [`ProblemDetails`].
pub const PROBLEM_JSON: &str = "application/problem+json";

impl ProblemDetails {
    /// A problem with an application error cause.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        ProblemDetails { cause: Some(cause.as_str().into()), ..Self::plain(cause.status(), detail) }
    }

    /// A problem with a status for which the standard lists no cause (405, 413, 415 ...).
    pub fn plain(status: u16, detail: impl Into<String>) -> Self {
        ProblemDetails {
            title: http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason()).map(Into::into),
            status: Some(status),
            detail: Some(detail.into()),
            cause: None,
            invalid_params: Vec::new(),
            passed_on: None,
        }
    }

    /// The same, naming one wrong parameter more.
    #[must_use]
    pub fn with_param(mut self, param: InvalidParam) -> Self {
        self.invalid_params.push(param);
        self
    }

    /// The same, of a request that was passed on so far.
    #[must_use]
    pub fn passed_on(self, progress: Progress) -> Self {
        ProblemDetails { passed_on: Some(progress), ..self }
    }

    /// The HTTP status to answer with; a problem that names none or an impossible one is a 500.
    pub fn http_status(&self) -> http::StatusCode {
        let error = |s: &http::StatusCode| s.is_client_error() || s.is_server_error();
        self.status
            .and_then(|s| http::StatusCode::from_u16(s).ok())
            .filter(error)
            .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Whether this is the application error `cause`.
    pub fn is(&self, cause: Cause) -> bool {
        self.cause.as_deref() == Some(cause.as_str())
    }

    /// What it says, for a person: its cause or title, and its detail.
    pub fn told(&self) -> Option<String> {
        match (self.cause.as_ref().or(self.title.as_ref()), &self.detail) {
            (Some(name), Some(detail)) => Some(format!("{name}: {detail}")),
            (name, detail) => name.or(detail.as_ref()).cloned(),
        }
    }

    /// As JSON.
    pub fn to_bytes(&self) -> bytes::Bytes {
        crate::json::to_bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_one_name_and_an_error_status() {
        let names: std::collections::BTreeSet<_> = Cause::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        for cause in Cause::ALL {
            assert!((400..600).contains(&cause.status()), "{cause:?}");
            assert!(ProblemDetails::new(*cause, "").is(*cause));
            assert_eq!(Cause::named(cause.as_str()), Some(*cause));
            assert!(!cause.meaning().is_empty() && cause.clause().starts_with("TS 29."), "{cause:?}");
        }
    }

    #[test]
    fn a_problem_prints_as_the_standard_shows_it() {
        let problem = ProblemDetails::new(Cause::MandatoryIeMissing, "no servingNetwork")
            .with_param(InvalidParam::body("/servingNetwork", "missing"));
        let json: serde_json::Value = serde_json::from_slice(&problem.to_bytes()).expect("JSON");
        let expected = serde_json::json!({
            "title": "Bad Request", "status": 400, "cause": "MANDATORY_IE_MISSING", "detail": "no servingNetwork",
            "invalidParams": [{"param": "/servingNetwork", "reason": "missing"}]
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn a_foreign_problem_may_hold_anything() {
        let odd: ProblemDetails =
            serde_json::from_str(r#"{"cause":"X","status":200,"nrfId":"n"}"#).expect("tolerant");
        assert_eq!(odd.http_status(), 500);
    }
}
