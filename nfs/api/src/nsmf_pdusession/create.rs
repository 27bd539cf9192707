//! What an AMF sends to create an SM context, and what it gets.

use crate::common::{
    AccessType, Dnn, Guami, NfInstanceId, NrLocation, PduSessionId, PlmnId, RefToBinaryData, Rest, Snssai,
    Supi, Uri,
};
use crate::decode::{Ie, missing};
use crate::text::enumeration;
use sbi::problem::ProblemDetails;
use serde::{Deserialize, Serialize};

enumeration! {
    /// Whether the PDU session is new, TS 29.502 §6.1.6.3.5 (Rel-17).
    RequestType {
        /// A new session.
        INITIAL_REQUEST = "INITIAL_REQUEST";
        /// A session that comes over from the other access or from EPS.
        EXISTING_PDU_SESSION = "EXISTING_PDU_SESSION";
        /// A new session for an emergency.
        INITIAL_EMERGENCY_REQUEST = "INITIAL_EMERGENCY_REQUEST";
        /// An emergency session that comes over.
        EXISTING_EMERGENCY_PDU_SESSION = "EXISTING_EMERGENCY_PDU_SESSION";
    }
}

/// The request for a new SM context, TS 29.502 §6.1.6.2.2 (Rel-17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreateData {
    /// The subscriber; conditional in the standard, see [`session`](Self::session).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supi: Option<Supi>,
    /// Which of the UE's sessions; conditional in the standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdu_session_id: Option<PduSessionId>,
    /// The data network; conditional in the standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnn: Option<Dnn>,
    /// The slice, as the serving network names it; conditional in the standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_nssai: Option<Snssai>,
    /// The AMF.
    pub serving_nf_id: NfInstanceId,
    /// The network of the AMF.
    pub serving_network: PlmnId,
    /// Whether the session is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_type: Option<RequestType>,
    /// The part of the message with the UE's own request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// Over which access the UE comes.
    pub an_type: AccessType,
    /// Where the AMF wants to hear what becomes of the context.
    pub sm_context_status_uri: Uri,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextCreateData {
    const MANDATORY: &'static [&'static str] =
        &["servingNfId", "servingNetwork", "anType", "smContextStatusUri"];
}

/// Which PDU session a request is about: the four attributes without which no session can be set up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Session {
    /// The subscriber.
    pub supi: Supi,
    /// Which of the UE's sessions.
    pub pdu_session_id: PduSessionId,
    /// The data network.
    pub dnn: Dnn,
    /// The slice.
    pub s_nssai: Snssai,
}

impl SmContextCreateData {
    /// The request of an AMF for a new session over 3GPP access.
    pub fn new(
        session: Session,
        serving_nf_id: NfInstanceId,
        serving_network: PlmnId,
        status_uri: Uri,
    ) -> Self {
        SmContextCreateData {
            supi: Some(session.supi),
            pdu_session_id: Some(session.pdu_session_id),
            dnn: Some(session.dnn),
            s_nssai: Some(session.s_nssai),
            serving_nf_id,
            serving_network,
            request_type: Some(RequestType::INITIAL_REQUEST),
            n1_sm_msg: None,
            an_type: AccessType::ACCESS_3GPP,
            sm_context_status_uri: status_uri,
            rest: Rest::new(),
        }
    }

    /// The same, of a UE that this AMF serves in a cell of NR. The standard makes these attributes conditional; real SMFs
    /// refuse a session without them.
    #[must_use]
    pub fn over_nr(mut self, guami: &Guami, cell: &NrLocation) -> Self {
        let attributes = serde_json::json!({
            "guami": guami, "ratType": "NR", "ueLocation": {"nrLocation": cell},
        });
        if let serde_json::Value::Object(attributes) = attributes {
            self.rest.extend(attributes);
        }
        self
    }

    /// The session that is asked for.
    ///
    /// The standard makes the four attributes conditional (an emergency session has perhaps no SUPI, a transfer names
    /// an old context instead). We serve neither, so for us they are mandatory.
    pub fn session(&self) -> Result<Session, ProblemDetails> {
        if let (Some(supi), Some(pdu_session_id), Some(dnn), Some(s_nssai)) =
            (&self.supi, self.pdu_session_id, &self.dnn, self.s_nssai)
        {
            return Ok(Session { supi: supi.clone(), pdu_session_id, dnn: dnn.clone(), s_nssai });
        }
        let present = [
            ("/supi", self.supi.is_some()),
            ("/pduSessionId", self.pdu_session_id.is_some()),
            ("/dnn", self.dnn.is_some()),
            ("/sNssai", self.s_nssai.is_some()),
        ];
        Err(missing(present.iter().filter(|(_, there)| !there).map(|(at, _)| (*at).to_owned()).collect()))
    }
}

/// The answer that an SM context was created, TS 29.502 §6.1.6.2.3 (Rel-17). `{}` is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreatedData {
    /// Which of the UE's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdu_session_id: Option<PduSessionId>,
    /// The slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_nssai: Option<Snssai>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextCreatedData {
    const MANDATORY: &'static [&'static str] = &[];
}

/// The answer that no SM context was created, TS 29.502 §6.1.6.2.35 (Rel-17).
///
/// It travels as `application/json`: the problem is inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreateError {
    /// Why.
    pub error: ProblemDetails,
    /// The part of the message with the answer to the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Rest,
}

impl Ie for SmContextCreateError {
    const MANDATORY: &'static [&'static str] = &["error"];
}

impl From<ProblemDetails> for SmContextCreateError {
    fn from(error: ProblemDetails) -> Self {
        SmContextCreateError { error, n1_sm_msg: None, rest: Rest::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{
        decode,
        tests::{assert_complete, refused},
    };
    use sbi::problem::Cause;
    use serde_json::{Value, json};

    fn body() -> Value {
        json!({
            "supi": "imsi-001010000000001", "pduSessionId": 5, "dnn": "internet",
            "sNssai": {"sst": 1, "sd": "0000a1"},
            "servingNfId": "11111111-1111-4111-8111-111111111111",
            "servingNetwork": {"mcc": "001", "mnc": "01"},
            "anType": "3GPP_ACCESS", "requestType": "INITIAL_REQUEST",
            "smContextStatusUri": "http://127.0.0.1:7001/namf-callback/v1/imsi-001010000000001/sm-context-status/5"
        })
    }

    fn with(name: &str, value: Value) -> String {
        let mut body = body();
        body[name] = value;
        body.to_string()
    }

    #[test]
    fn unknown_attributes_and_unknown_values_survive_a_round_trip() {
        let mut full = body();
        full["anType"] = json!("6G_ACCESS");
        full["requestType"] = json!("NEW");
        full["n1SmMsg"] = json!({"contentId": "5gnas-sm"});
        full["guami"] = json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"});
        full["ueLocation"] = json!({"nrLocation": {"ageOfLocationInformation": 0, "vendor": [1.5, null]}});
        full["hNwPubKeyId"] = json!(255);
        assert_complete::<SmContextCreateData>(&full);
    }

    #[test]
    fn a_hole_or_a_wrong_value_is_named() {
        let mandatory = "MANDATORY_IE_INCORRECT";
        let optional = "OPTIONAL_IE_INCORRECT";
        for (name, value, cause, pointer) in [
            ("servingNetwork", json!("00101"), mandatory, "/servingNetwork"),
            ("servingNetwork", json!({"mcc": "001", "mnc": 1}), mandatory, "/servingNetwork/mnc"),
            ("servingNfId", json!("amf1"), mandatory, "/servingNfId"),
            ("anType", json!(1), mandatory, "/anType"),
            ("pduSessionId", json!("5"), optional, "/pduSessionId"),
            ("pduSessionId", json!(300), optional, "/pduSessionId"),
            ("supi", json!("imsi-1"), optional, "/supi"),
            ("dnn", json!(""), optional, "/dnn"),
            ("sNssai", json!({"sst": 1, "sd": ""}), optional, "/sNssai/sd"),
            ("sNssai", json!({"sst": 1, "sd": "10"}), optional, "/sNssai/sd"),
            ("sNssai", json!({"sst": 256}), optional, "/sNssai/sst"),
        ] {
            let expected = (cause.to_owned(), vec![pointer.to_owned()]);
            assert_eq!(refused::<SmContextCreateData>(&with(name, value)), expected);
        }
        let (cause, absent) = refused::<SmContextCreateData>("{}");
        assert_eq!(cause, "MANDATORY_IE_MISSING");
        assert_eq!(absent, ["/servingNfId", "/servingNetwork", "/anType", "/smContextStatusUri"]);
    }

    #[test]
    fn a_slice_without_sd_stays_without() {
        let data: SmContextCreateData = decode(with("sNssai", json!({"sst": 1})).as_bytes()).expect("valid");
        assert_eq!(serde_json::to_value(&data).expect("JSON")["sNssai"], json!({"sst": 1}));
    }

    #[test]
    fn a_session_needs_subscriber_id_data_network_and_slice() {
        let data: SmContextCreateData = decode(body().to_string().as_bytes()).expect("valid");
        let session = data.session().expect("complete");
        assert_eq!((session.supi.as_str(), session.pdu_session_id.0), ("imsi-001010000000001", 5));

        let mut hole = body();
        for name in ["supi", "sNssai"] {
            hole.as_object_mut().expect("an object").remove(name);
        }
        let data: SmContextCreateData = decode(hole.to_string().as_bytes()).expect("valid by the schema");
        let problem = data.session().expect_err("incomplete");
        assert!(problem.is(Cause::MandatoryIeMissing));
        let params: Vec<_> = problem.invalid_params.iter().map(|p| p.param.as_str()).collect();
        assert_eq!(params, ["/supi", "/sNssai"]);
    }

    #[test]
    fn what_an_amf_builds_is_what_an_smf_reads() {
        let read: SmContextCreateData = decode(body().to_string().as_bytes()).expect("valid");
        let session = read.session().expect("complete");
        let uri = read.sm_context_status_uri.clone();
        let built = SmContextCreateData::new(session, read.serving_nf_id, read.serving_network.clone(), uri);
        assert_eq!(built, read);
    }

    #[test]
    fn the_problem_of_a_refused_creation_is_wrapped() {
        let error = SmContextCreateError::from(ProblemDetails::new(Cause::TimedOutRequest, "late"));
        let json = serde_json::to_value(&error).expect("JSON");
        assert_eq!(json["error"]["cause"], "TIMED_OUT_REQUEST");
        assert_complete::<SmContextCreateError>(&json);
    }

    #[test]
    fn an_empty_object_is_an_answer() {
        assert_eq!(decode::<SmContextCreatedData>(b"{}").expect("valid"), SmContextCreatedData::default());
        assert_eq!(serde_json::to_string(&SmContextCreatedData::default()).expect("JSON"), "{}");
    }
}
