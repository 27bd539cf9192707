//! What the mock AMF can be told to do.

use super::Operator;
use actix_web::{HttpRequest, web};
use amf::{Amf, DeregisterUe, EstablishPduSession, Outcome, RegisterUe, ReleasePduSession, Released};
use api::common::{Dnn, PduSessionId, Snssai, Supi};
use api::decode::{Ie, decode};
use api::nsmf_pdusession::Session;
use api::path::variable;
use api::query::Query;
use bytes::Bytes;
use sbi::client::TimingMode;
use sbi::event::{Event, Kind, TraceId};
use sbi::party::NfType;
use sbi::problem::ProblemDetails;
use sbi::server::{Failure, Reply, Shards};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The routes.
pub(super) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/mock5g/v1/amf/pdu-sessions").post(establish))
        .service(web::resource("/mock5g/v1/amf/pdu-sessions/{supi}/{pduSessionId}").delete(release))
        .service(web::resource("/mock5g/v1/amf/registrations").post(register))
        .service(web::resource("/mock5g/v1/amf/registrations/{supi}").delete(deregister));
}

/// A PDU session to start.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stimulus {
    supi: Supi,
    pdu_session_id: PduSessionId,
    dnn: Option<Dnn>,
    s_nssai: Option<Snssai>,
    /// The SMF of this process that shall have it; else the AMF's own.
    smf: Option<String>,
    max_rsp_time_ms: Option<u64>,
    #[serde(default)]
    sender_timestamp_offset_ms: i64,
    #[serde(default)]
    omit_deadline: bool,
}

impl Ie for Stimulus {
    const MANDATORY: &'static [&'static str] = &["supi", "pduSessionId"];
}

impl Stimulus {
    fn message(self, operator: &Operator) -> Result<EstablishPduSession, Failure> {
        let smf = self.smf.map(|name| smf_named(&name, operator)).transpose()?;
        let session = Session {
            supi: self.supi,
            pdu_session_id: self.pdu_session_id,
            dnn: self.dnn.unwrap_or_else(|| crate::subscribers::dnn(crate::subscribers::DEFAULT_DNN)),
            s_nssai: self.s_nssai.unwrap_or(Snssai::sst(1)),
        };
        let timing = timing(self.omit_deadline, self.sender_timestamp_offset_ms);
        let max_rsp_time = self.max_rsp_time_ms.map(Duration::from_millis);
        Ok(EstablishPduSession { session, smf, max_rsp_time, timing })
    }
}

fn smf_named(name: &str, operator: &Operator) -> Result<String, Failure> {
    let smf = operator.process.nf(name).filter(|nf| nf.party.nf_type == NfType::Smf);
    let unknown = || ProblemDetails::plain(404, format!("there is no SMF {name:.32} in this process"));
    Ok(smf.ok_or_else(unknown)?.party.api_root.to_string())
}

fn timing(omit_deadline: bool, sender_timestamp_offset_ms: i64) -> TimingMode {
    match (omit_deadline, sender_timestamp_offset_ms) {
        (true, _) => TimingMode::Omitted,
        (false, 0) => TimingMode::True,
        (false, by_ms) => TimingMode::Skewed(by_ms),
    }
}

/// A UE to register.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RegistrationStimulus {
    supi: Supi,
    max_rsp_time_ms: Option<u64>,
    #[serde(default)]
    sender_timestamp_offset_ms: i64,
    #[serde(default)]
    omit_deadline: bool,
}

impl Ie for RegistrationStimulus {
    const MANDATORY: &'static [&'static str] = &["supi"];
}

/// How a procedure ended, and the answers that the AMF saw.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    trace: TraceId,
    answers: Vec<Seen>,
    /// Why there is no answer, where none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    late_answer: Option<Seen>,
}

/// An answer.
#[derive(Serialize)]
struct Seen {
    method: String,
    uri: String,
    status: u16,
    /// Of a refusal: its cause and detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

async fn establish(
    request: HttpRequest,
    body: Bytes,
    operator: web::Data<Operator>,
) -> Result<Reply, Failure> {
    let (name, amf) = named_amf(&request, &operator)?;
    let stimulus: Stimulus = decode(&body)?;
    let at = session_path(&stimulus.supi, stimulus.pdu_session_id);
    let message = stimulus.message(&operator)?;
    let outcome = amf.of(message.session.supi.as_str()).send(message).await.map_err(|_| stopping())?;
    Ok(told(&operator, &name, &outcome, format!("{at}?nf={name}")))
}

/// Answers once the procedure has ended; what was made is at `at`.
fn told(operator: &Operator, name: &str, outcome: &Outcome, at: String) -> Reply {
    let events = operator.process.env.events.of_nf(Some(name), 0, usize::MAX);
    let reply = Reply::ok(&ended(outcome, &events));
    match outcome {
        Outcome::Established { .. } => Reply { location: Some(at), ..reply },
        Outcome::Refused { .. } | Outcome::GaveUp { .. } => reply,
    }
}

async fn register(
    request: HttpRequest,
    body: Bytes,
    operator: web::Data<Operator>,
) -> Result<Reply, Failure> {
    let (name, amf) = named_amf(&request, &operator)?;
    let stimulus: RegistrationStimulus = decode(&body)?;
    let at = format!("/mock5g/v1/amf/registrations/{}", api::percent::encoded(stimulus.supi.as_str()));
    let message = RegisterUe {
        max_rsp_time: stimulus.max_rsp_time_ms.map(Duration::from_millis),
        timing: timing(stimulus.omit_deadline, stimulus.sender_timestamp_offset_ms),
        supi: stimulus.supi,
    };
    let outcome = amf.of(message.supi.as_str()).send(message).await.map_err(|_| stopping())?;
    Ok(told(&operator, &name, &outcome, format!("{at}?nf={name}")))
}

/// 204 once its releases were answered or are being tried again; its sessions are released too.
async fn deregister(
    supi: web::Path<String>,
    request: HttpRequest,
    operator: web::Data<Operator>,
) -> Result<Reply, Failure> {
    let (_, amf) = named_amf(&request, &operator)?;
    let supi: Supi = variable("supi", &supi)?;
    match amf.of(supi.as_str()).send(DeregisterUe { supi: supi.clone() }).await.map_err(|_| stopping())? {
        Released::Asked => Ok(Reply::no_content()),
        Released::Unknown => Err(ProblemDetails::plain(404, format!("{supi} is not registered")).into()),
        Released::Busy => Err(busy()),
    }
}

fn ended(outcome: &Outcome, events: &[Event]) -> Ended {
    let trace = outcome.trace();
    let seen = |kind: Kind| {
        let about = events.iter().filter(move |e| e.trace == trace && e.event == kind);
        about.filter_map(|e| {
            let (method, uri, status) = (e.method.clone()?, e.uri.clone()?, e.status?);
            Some(Seen { method, uri, status, reason: e.detail.clone() })
        })
    };
    let location = match outcome {
        Outcome::Established { location, .. } => Some(location.clone()),
        Outcome::Refused { .. } | Outcome::GaveUp { .. } => None,
    };
    let answers = seen(Kind::UpstreamAnswered).collect();
    let failed = events.iter().rfind(|e| e.trace == trace && e.event == Kind::UpstreamFailed);
    let reason = failed.and_then(|e| e.detail.clone()).filter(|_| location.is_none());
    Ended {
        outcome: outcome.as_str(),
        location,
        trace,
        answers,
        reason,
        late_answer: seen(Kind::ResponseLate).next_back(),
    }
}

/// 204 once its release was answered or is being tried again.
async fn release(
    path: web::Path<(String, String)>,
    request: HttpRequest,
    operator: web::Data<Operator>,
) -> Result<Reply, Failure> {
    let (_, amf) = named_amf(&request, &operator)?;
    let (supi, id) = path.into_inner();
    let (supi, pdu_session_id): (Supi, _) = (variable("supi", &supi)?, variable("pduSessionId", &id)?);
    let message = ReleasePduSession { supi: supi.clone(), pdu_session_id };
    match amf.of(supi.as_str()).send(message).await.map_err(|_| stopping())? {
        Released::Asked => Ok(Reply::no_content()),
        Released::Unknown => {
            Err(ProblemDetails::plain(404, format!("{supi} has no established session {id}")).into())
        }
        Released::Busy => Err(busy()),
    }
}

fn session_path(supi: &Supi, id: PduSessionId) -> String {
    format!("/mock5g/v1/amf/pdu-sessions/{}/{id}", api::percent::encoded(supi.as_str()))
}

/// The AMF that the query names, else the first one.
fn named_amf(request: &HttpRequest, operator: &Operator) -> Result<(String, Shards<Amf>), Failure> {
    let query = Query::parse(request.query_string())?.only(&["nf"])?;
    let name = query.single("nf")?;
    let amfs =
        operator.process.nfs.iter().filter_map(|nf| Some((nf.party.name.to_string(), nf.amf.clone()?)));
    let mut amfs: Vec<_> = amfs.collect();
    match amfs.iter().position(|(amf, _)| name.is_none_or(|name| amf == name)) {
        Some(at) => Ok(amfs.swap_remove(at)),
        None => {
            let names: Vec<_> = amfs.into_iter().map(|(amf, _)| amf).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(ProblemDetails::plain(404, format!("there is no such AMF in this process; there is {there}"))
                .into())
        }
    }
}

fn busy() -> Failure {
    ProblemDetails::plain(503, "another procedure for it is under way; try again").into()
}

fn stopping() -> Failure {
    ProblemDetails::plain(503, "the AMF is stopping").into()
}
