//! Establishing a PDU session, the AMF's part: TS 23.502 §4.3.2.2.1 (Rel-17), steps 3 and 5.
//!
//! Creates: R9, the SM context at the SMF; released when the AMF gives up. A 201 that comes after the giving up is
//! released too.

use crate::amf::{Amf, Core};
use crate::outcome::{Outcome, ended};
use crate::restore::Context as Kept;
use crate::session::{Establishing, PduSession, SessionKey};
use crate::status_notification::status_path;
use actix::{Context, Handler, Message, ResponseFuture};
use api::common::{Ncgi, NfInstanceId, NrLocation, RefToBinaryData, Tai};
use api::nas::{self, NAS};
use api::nsmf_pdusession::{Cause, SM_CONTEXTS, Session, SmContextCreateData, SmContextReleaseData};
use http::Method;
use sbi::client::{Call, TimingMode};
use sbi::event::{Kind, TraceId};
use sbi::header::{ORIGINATION_TIMESTAMP, OriginationTimestamp};
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

impl Handler<EstablishPduSession> for Amf {
    type Result = ResponseFuture<Outcome>;

    fn handle(&mut self, message: EstablishPduSession, _: &mut Context<Self>) -> Self::Result {
        Box::pin(establish(self.0.clone(), message))
    }
}

async fn establish(core: Rc<Core>, message: EstablishPduSession) -> Outcome {
    let party = &core.shard.party;
    let served = Served { own_timer: message.max_rsp_time, ..Served::own(party) };
    let outcome = core.attempt(served, party.env.clock.stamp().into(), message).await;
    party.emit(Kind::SessionEnded, served.facts(party).detail(outcome.as_str()));
    outcome
}

impl Core {
    async fn attempt(
        &self,
        served: Served,
        began: OriginationTimestamp,
        message: EstablishPduSession,
    ) -> Outcome {
        let trace = served.trace;
        let key =
            SessionKey { supi: message.session.supi.clone(), pdu_session_id: message.session.pdu_session_id };
        let Ok(_turn) = self.shard.turn(&self.turns, key.clone(), &served).await else {
            return Outcome::GaveUp { answer: None, trace };
        };
        let notified_as = self.shard.party.env.entropy.uuid().to_string();
        let establishing = Establishing { notified_as, gnb_is_ready: false, is_released: false };
        self.establishing.borrow_mut().insert(key.clone(), establishing);
        let originated = self.after_what_is_there(&key, began);
        let outcome = self.create_sm_context(served, &key, originated, message).await;
        let established = self.establishing.borrow_mut().remove(&key);
        let gnb_is_ready = established.is_some_and(|establishing| establishing.gnb_is_ready);
        if let (true, Outcome::Established { location, .. }) = (gnb_is_ready, &outcome) {
            self.tell_resources_set_up(location.clone(), outcome.trace());
        }
        outcome
    }

    async fn create_sm_context(
        &self,
        served: Served,
        key: &SessionKey,
        originated: OriginationTimestamp,
        message: EstablishPduSession,
    ) -> Outcome {
        let trace = served.trace;
        let mut attempt = Attempt::begin(&self.shard.ledger, served);
        let notified_as =
            self.establishing.borrow().get(key).map(|establishing| establishing.notified_as.clone());
        let notified_as = notified_as.unwrap_or_default();
        let creation = self.sm_context(key, &notified_as, originated, message);
        let answer = match attempt.create(creation).await {
            Ok(answer) => answer,
            Err(upstream) => return ended(upstream, trace),
        };
        let owner = format!("pdu-session {} {} {}", served.request, key.pdu_session_id, key.supi);
        let location = self.shard.ledger.location_made_by(&attempt).unwrap_or_default();
        let session = PduSession { owner: owner.clone(), location, originated, notified_as };
        let context = Kept::Session(key.clone(), session.clone());
        match attempt.commit(owner.clone(), &context).await {
            // The SMF has ended it while that was written.
            Ok(_)
                if self
                    .establishing
                    .borrow()
                    .get(key)
                    .is_some_and(|establishing| establishing.is_released) =>
            {
                self.shard.ledger.ended(&owner);
                Outcome::Refused { status: None, cause: None, trace }
            }
            Ok(_committed) => self.established(key.clone(), session, trace),
            Err(_) => Outcome::GaveUp { answer: Some(answer.status.as_u16()), trace },
        }
    }

    /// The session's older SM context is released, if it is of another SMF: at the same one it has been replaced.
    fn established(&self, key: SessionKey, session: PduSession, trace: TraceId) -> Outcome {
        let location = session.location.clone();
        let replaced = self.sessions.borrow_mut().insert(key, session);
        if let Some(replaced) = replaced {
            let ledger = self.shard.ledger.clone();
            actix::spawn(async move { ledger.disown(&replaced.owner).await });
        }
        Outcome::Established { location, trace }
    }

    /// Reads the SM context that the session has already, if it is of the same SMF.
    fn read_older(&self, key: &SessionKey, sm_contexts: &str) -> Option<Call> {
        let sessions = self.sessions.borrow();
        let location = self.shard.ledger.location(&sessions.get(key)?.owner, sm_contexts)?;
        Some(Call::new(Method::POST, format!("{location}/retrieve")).with_json(&serde_json::json!({})))
    }

    /// When a procedure began that did so at `began` by the clock, TS 29.502 §5.2.3.3.1 (Rel-17). A session's own older
    /// procedure began before it, whatever a clock says that was set back meanwhile (our choice).
    fn after_what_is_there(&self, key: &SessionKey, began: OriginationTimestamp) -> OriginationTimestamp {
        let sessions = self.sessions.borrow();
        let after = |session: &PduSession| {
            OriginationTimestamp::from_unix_ms(session.originated.unix_ms().saturating_add(1))
        };
        sessions.get(key).map_or(began, |older| began.max(after(older)))
    }

    /// The creation of an SM context, with a PDU session establishment request inside. Repeated, it says the same, also
    /// of when its procedure began.
    fn sm_context(
        &self,
        key: &SessionKey,
        notified_as: &str,
        originated: OriginationTimestamp,
        message: EstablishPduSession,
    ) -> Creation {
        let party = &self.shard.party;
        let smf = message.smf.as_ref().unwrap_or(&self.config.smf).clone();
        let status_uri = format!("{}{}", party.api_root, status_path(key, notified_as));
        let instance_id = NfInstanceId(party.instance_id);
        let plmn = || self.config.plmn.clone();
        let data = SmContextCreateData::new(message.session, instance_id, plmn(), status_uri);
        let cell = NrLocation {
            tai: Tai { plmn_id: plmn(), tac: TRACKING_AREA.into() },
            ncgi: Ncgi { plmn_id: plmn(), nr_cell_id: CELL.into() },
        };
        let data = SmContextCreateData {
            n1_sm_msg: Some(RefToBinaryData { content_id: N1_CONTENT_ID.into() }),
            ..data.over_nr(&self.guami(), &cell)
        };
        let json = json::to_bytes(&data);
        let parts = [
            Part { content_type: "application/json".into(), content_id: None, body: json },
            Part {
                content_type: NAS.into(),
                content_id: Some(N1_CONTENT_ID.into()),
                body: nas::establishment_request(key.pdu_session_id, PROCEDURE_TRANSACTION),
            },
        ];
        let (content_type, body) = multipart::write_fresh(&parts, party.env.entropy.u64());
        let mut call = Call::new(Method::POST, format!("{smf}{SM_CONTEXTS}")).with_body(content_type, body);
        call.headers.insert(ORIGINATION_TIMESTAMP, originated.to_header_value());
        call.timing = message.timing;
        let released = SmContextReleaseData::from(Cause::from("REL_DUE_TO_UNSPECIFIED_REASON".to_owned()));
        Creation {
            kind: "sm-context",
            undo: Undo::post_location("/release", json::to_value(&released)).into(),
            before: None,
            settle: Some(Settle::Repeat {
                older: self.read_older(key, &call.uri).map(Box::new),
                call: Box::new(Call { timing: TimingMode::True, ..call.clone() }),
            }),
            slot: Some(SlotKey::Subject(format!("sm-context {} {}", key.pdu_session_id, key.supi).into())),
            call,
        }
    }
}

const N1_CONTENT_ID: &str = "n1-sm";

/// Where the mock's UE is.
const TRACKING_AREA: &str = "000001";
const CELL: &str = "000000010";

/// The mock's UE runs one procedure at a time.
const PROCEDURE_TRANSACTION: u8 = 1;
