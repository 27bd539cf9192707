//! The UEs of a plan: what each does, one thing after the other, and what the AMF knows of it in the end.

use super::plan::{Does, Establish, Stimulus};
use crate::lab::{Lab, PduSession};
use crate::subscribers::supi;
use amf::{Outcome, RegisterUe};
use http::Method;
use sbi::client::{Call, TimingMode};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::sleep;

/// A session that the AMF knows to be established.
#[derive(Clone, Debug)]
pub struct Established {
    /// The subscriber's number.
    pub ue: u64,
    /// The session's id.
    pub id: u8,
    /// Its SM context.
    pub location: String,
    /// Its data network.
    pub dnn: &'static str,
}

/// What the tasks of one UE share: how often its deregistrations have begun and ended.
pub(super) type Deregistrations = Rc<Cell<u64>>;

/// A session that was established, and the deregistrations that had begun and ended when that was begun.
pub(super) struct Known {
    session: Established,
    begun: u64,
    deregistrations: Deregistrations,
}

impl Known {
    /// The session, if no deregistration may have ended it.
    pub(super) fn still(self) -> Option<Established> {
        let none_ran = self.begun.is_multiple_of(2) && self.begun == self.deregistrations.get();
        none_ran.then_some(self.session)
    }
}

/// The part of a UE's life that runs one step after the other: one of its sessions, or itself.
pub(super) struct Life {
    pub(super) lab: Rc<Lab>,
    pub(super) stimuli: Vec<Stimulus>,
    pub(super) deregistrations: Deregistrations,
}

impl Life {
    /// What is known of its session in the end, if anything is.
    pub(super) async fn live(self) -> Option<Known> {
        let mut known = None;
        for Stimulus { ue, session, after_ms, does } in &self.stimuli {
            sleep(Duration::from_millis(*after_ms)).await;
            let id = session.unwrap_or_default();
            match does {
                // It is modified, or not; it stays what it is.
                Does::Modify => modify(&self.lab, known.as_ref()).await,
                does => known = self.carry_out(*ue, id, does).await,
            }
        }
        known
    }

    async fn carry_out(&self, ue: u64, id: u8, does: &Does) -> Option<Known> {
        let session = PduSession::of(ue).id(id);
        match does {
            Does::Establish(how) => return self.establish(ue, id, how).await,
            Does::EstablishTwice(one, other) => {
                tokio::join!(self.establish(ue, id, one), self.establish(ue, id, other));
            }
            Does::EstablishAndRelease(how) => {
                tokio::join!(self.establish(ue, id, how), self.lab.try_release(&session));
            }
            Does::Release => drop(self.lab.try_release(&session).await),
            Does::Register(within_ms) => drop(self.register(ue, *within_ms).await),
            Does::RegisterTwice(one, other) => {
                tokio::join!(self.register(ue, *one), self.register(ue, *other));
            }
            Does::Deregister => {
                self.deregistrations.set(self.deregistrations.get() + 1);
                self.lab.try_deregister(&supi(ue)).await;
                self.deregistrations.set(self.deregistrations.get() + 1);
            }
            Does::Modify => {}
        }
        None
    }

    async fn establish(&self, ue: u64, id: u8, how: &Establish) -> Option<Known> {
        let begun = self.deregistrations.get();
        let session = PduSession::of(ue).id(id).dnn(how.dnn).at(how.smf).max_rsp_time_ms(how.max_rsp_time_ms);
        let Outcome::Established { location, .. } = self.lab.try_establish(session).await? else {
            return None;
        };
        let session = Established { ue, id, location, dnn: how.dnn };
        Some(Known { session, begun, deregistrations: self.deregistrations.clone() })
    }

    async fn register(&self, ue: u64, within_ms: u64) -> Option<Outcome> {
        let max_rsp_time = Some(Duration::from_millis(within_ms));
        self.lab.try_register(RegisterUe { supi: supi(ue), max_rsp_time, timing: TimingMode::True }).await
    }
}

/// Takes the user plane of a session down, as its AMF would.
async fn modify(lab: &Lab, known: Option<&Known>) {
    let Some(Known { session, .. }) = known else { return };
    let wanted = json!({"upCnxState": "DEACTIVATED"});
    let call = Call::new(Method::POST, format!("{}/modify", session.location)).with_json(&wanted);
    let _ = lab.client().send(call).await;
}
