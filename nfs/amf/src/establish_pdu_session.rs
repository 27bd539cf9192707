//! Establishing a PDU session, the AMF's part: TS 23.502 §4.3.2.2.1 (Rel-17), steps 3 and 5.
//!
//! Creates: R9, the SM context at the SMF; released when the AMF gives up. A 201 that comes after the giving up is
//! released too.

use crate::amf::{Amf, Core};
use crate::session::{PduSession, SessionKey};
use crate::status_notification::status_path;
use actix::{Context, Handler, Message, ResponseFuture};
use api::common::{NfInstanceId, RefToBinaryData};
use api::nsmf_pdusession::{Cause, SM_CONTEXTS, Session, SmContextCreateData, SmContextReleaseData};
use bytes::Bytes;
use http::Method;
use sbi::client::{Answer, Call, TimingMode, Upstream};
use sbi::event::{Kind, TraceId};
use sbi::json;
use sbi::multipart::{self, Part};
use sbi::party::Served;
use sbi::release::{Attempt, Creation, Settle, SlotKey, Undo};
use std::rc::Rc;
use std::time::Duration;

/// Start a PDU session.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Outcome")]
pub struct EstablishPduSession {
    /// Which.
    pub session: Session,
    /// Scheme and authority of the SMF, if not the configured one.
    pub smf: Option<String>,
    /// How long the AMF waits, if not as long as configured.
    pub max_rsp_time: Option<Duration>,
    /// How the timing headers are written; anything but the default is wrong on purpose.
    pub timing: TimingMode,
}

/// How it ended. At a tie between answer and timer it is `GaveUp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The SMF answered 201 in time.
    Established {
        /// The SM context's URI.
        location: String,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
    /// The SMF answered with an error, or could not be reached.
    Refused {
        /// The status; none if there was no answer.
        status: Option<u16>,
        /// The cause, if the answer named one.
        cause: Option<String>,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
    /// The AMF's time ended, the SMF said that it had (504 `TIMED_OUT_REQUEST`), or it ended the exchange without a word.
    GaveUp {
        /// The answer that said so.
        answer: Option<u16>,
        /// The procedure, in the event stream.
        trace: TraceId,
    },
}

impl Outcome {
    /// As in reports: `established`, `refused`, `gave_up`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Established { .. } => "established",
            Outcome::Refused { .. } => "refused",
            Outcome::GaveUp { .. } => "gave_up",
        }
    }

    /// The procedure, in the event stream.
    pub fn trace(&self) -> TraceId {
        match self {
            Outcome::Established { trace, .. }
            | Outcome::Refused { trace, .. }
            | Outcome::GaveUp { trace, .. } => *trace,
        }
    }
}

impl Handler<EstablishPduSession> for Amf {
    type Result = ResponseFuture<Outcome>;

    fn handle(&mut self, message: EstablishPduSession, _: &mut Context<Self>) -> Self::Result {
        Box::pin(establish(self.0.clone(), message))
    }
}

async fn establish(core: Rc<Core>, message: EstablishPduSession) -> Outcome {
    let party = &core.shard.party;
    let served = Served { own_timer: message.max_rsp_time, ..Served::own(party) };
    let outcome = core.attempt(served, message).await;
    party.emit(Kind::SessionEnded, served.facts(party).detail(outcome.as_str()));
    outcome
}

impl Core {
    async fn attempt(&self, served: Served, message: EstablishPduSession) -> Outcome {
        let trace = served.trace;
        let key =
            SessionKey { supi: message.session.supi.clone(), pdu_session_id: message.session.pdu_session_id };
        let Ok(_turn) = self.shard.turn(&self.turns, key.clone(), &served).await else {
            return Outcome::GaveUp { answer: None, trace };
        };
        let mut attempt = Attempt::begin(&self.shard.ledger, served);
        let notified_as = self.shard.party.env.entropy.uuid().to_string();
        let answer = match attempt.create(self.sm_context(&key, &notified_as, message)).await {
            Ok(answer) => answer,
            Err(upstream) => return ended(upstream, trace),
        };
        let owner = format!("pdu-session {} {} {}", served.request, key.pdu_session_id, key.supi);
        match attempt.commit(owner.clone()).await {
            Ok(_committed) => self.established(key, PduSession { owner, notified_as }, &answer, trace),
            Err(_) => Outcome::GaveUp { answer: Some(answer.status.as_u16()), trace },
        }
    }

    /// The session's older SM context is released, if it is of another SMF: at the same one it has been replaced.
    fn established(&self, key: SessionKey, session: PduSession, answer: &Answer, trace: TraceId) -> Outcome {
        let replaced = self.sessions.borrow_mut().insert(key, session);
        if let Some(replaced) = replaced {
            let ledger = self.shard.ledger.clone();
            actix::spawn(async move { ledger.disown(&replaced.owner).await });
        }
        Outcome::Established { location: answer.location().unwrap_or_default().to_owned(), trace }
    }

    /// Reads the SM context that the session has already, if it is of the same SMF.
    fn read_older(&self, key: &SessionKey, sm_contexts: &str) -> Option<Call> {
        let sessions = self.sessions.borrow();
        let location = self.shard.ledger.location(&sessions.get(key)?.owner, sm_contexts)?;
        Some(Call::new(Method::POST, format!("{location}/retrieve")).with_json(&serde_json::json!({})))
    }

    /// The creation of an SM context, with a PDU session establishment request inside.
    fn sm_context(&self, key: &SessionKey, notified_as: &str, message: EstablishPduSession) -> Creation {
        let party = &self.shard.party;
        let smf = message.smf.as_ref().unwrap_or(&self.config.smf).clone();
        let status_uri = format!("{}{}", party.api_root, status_path(key, notified_as));
        let instance_id = NfInstanceId(party.instance_id);
        let data = SmContextCreateData {
            n1_sm_msg: Some(RefToBinaryData { content_id: N1_CONTENT_ID.into() }),
            ..SmContextCreateData::new(message.session, instance_id, self.config.plmn.clone(), status_uri)
        };
        let json = json::to_bytes(&data);
        let parts = [
            Part { content_type: "application/json".into(), content_id: None, body: json },
            establishment_request(key),
        ];
        let (content_type, body) = multipart::write_fresh(&parts, party.env.entropy.u64());
        let call = Call {
            timing: message.timing,
            ..Call::new(Method::POST, format!("{smf}{SM_CONTEXTS}")).with_body(content_type, body)
        };
        let released = SmContextReleaseData::from(Cause::from("REL_DUE_TO_UNSPECIFIED_REASON".to_owned()));
        Creation {
            kind: "sm-context",
            undo: Undo::post_location("/release", json::to_value(&released)),
            before: None,
            settle: Settle::Repeat {
                older: self.read_older(key, &call.uri).map(Box::new),
                call: Box::new(Call { timing: TimingMode::True, ..call.clone() }),
            },
            slot: Some(SlotKey::Subject(format!("sm-context {} {}", key.pdu_session_id, key.supi))),
            call,
        }
    }
}

const N1_CONTENT_ID: &str = "n1-sm";

/// A PDU SESSION ESTABLISHMENT REQUEST with its mandatory part only, TS 24.501 §8.3.1 (Rel-17).
fn establishment_request(key: &SessionKey) -> Part {
    const SESSION_MANAGEMENT: u8 = 0x2e;
    const PROCEDURE_TRANSACTION: u8 = 1;
    const ESTABLISHMENT_REQUEST: u8 = 0xc1;
    const FULL_RATE: u8 = 0xff;
    let message = [
        SESSION_MANAGEMENT,
        key.pdu_session_id.0,
        PROCEDURE_TRANSACTION,
        ESTABLISHMENT_REQUEST,
        FULL_RATE,
        FULL_RATE,
    ];
    Part {
        content_type: "application/vnd.3gpp.5gnas".into(),
        content_id: Some(N1_CONTENT_ID.into()),
        body: Bytes::copy_from_slice(&message),
    }
}

fn ended(upstream: Upstream, trace: TraceId) -> Outcome {
    match upstream {
        Upstream::TimedOut | Upstream::Unanswered(_) => Outcome::GaveUp { answer: None, trace },
        Upstream::OwnTimer(answer) => Outcome::GaveUp { answer: answer.map(|a| a.status.as_u16()), trace },
        Upstream::NotReachable(_) | Upstream::Congested(_) => {
            Outcome::Refused { status: None, cause: None, trace }
        }
        Upstream::Refused(answer) => {
            Outcome::Refused { status: Some(answer.status.as_u16()), cause: answer.problem().cause, trace }
        }
    }
}
