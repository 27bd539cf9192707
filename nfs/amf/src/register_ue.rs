//! Registering a UE, the AMF's part towards the UDM: TS 23.502 §4.2.2.2.2 (Rel-17), step 14.
//!
//! 1. registers itself for the UE (R4),
//! 2. reads what the UE may do,
//! 3. subscribes to changes of that.
//!
//! When it gives up, 3 is released and the registration purged, which cannot hit another AMF's: it names its own GUAMI. A
//! registration of its own that stood there before is put back, unless another AMF is known to have taken over.

use crate::amf::{Amf, Core};
use crate::outcome::{Outcome, ended};
use crate::restore::Context as Kept;
use crate::ue::{DEREG_NOTIFY, Registering, SDM_NOTIFY, Ue, callback_path};
use actix::{Context, Handler, Message, ResponseFuture};
use api::common::{AmfId, Guami, NfInstanceId, Rest, Supi};
use api::nudm_sdm::{self, SdmSubscription};
use api::nudm_uecm::Amf3GppAccessRegistration;
use http::Method;
use sbi::client::{Call, TimingMode, Upstream};
use sbi::event::Kind;
use sbi::json;
use sbi::nrf::in_body;
use sbi::party::Served;
use sbi::release::{Attempt, Creation, Settle, SlotKey, Undo};
use serde_json::json;
use std::rc::Rc;
use std::time::Duration;

const MERGE_PATCH: &str = "application/merge-patch+json";

/// Register a UE.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Outcome")]
pub struct RegisterUe {
    /// The subscriber.
    pub supi: Supi,
    /// How long the AMF waits for each answer, if not as long as configured.
    pub max_rsp_time: Option<Duration>,
    /// How the timing headers are written; anything but the default is wrong on purpose.
    pub timing: TimingMode,
}

impl Handler<RegisterUe> for Amf {
    type Result = ResponseFuture<Outcome>;

    fn handle(&mut self, message: RegisterUe, _: &mut Context<Self>) -> Self::Result {
        let core = self.0.clone();
        Box::pin(async move { register(core, message).await })
    }
}

async fn register(core: Rc<Core>, message: RegisterUe) -> Outcome {
    let party = &core.shard.party;
    let served = Served { own_timer: message.max_rsp_time, ..Served::own(party) };
    let outcome = match core.shard.turn(&core.ue_turns, message.supi.clone(), &served).await {
        Ok(_turn) => core.attempt_registration(served, &message).await,
        Err(_) => Outcome::GaveUp { answer: None, trace: served.trace },
    };
    party.emit(Kind::RegistrationEnded, served.facts(party).detail(outcome.as_str()));
    outcome
}

impl Core {
    async fn attempt_registration(&self, served: Served, message: &RegisterUe) -> Outcome {
        let notified_as = self.shard.party.env.entropy.uuid().to_string();
        let registering = Registering { notified_as: notified_as.clone(), is_taken_over: false };
        self.registering.borrow_mut().insert(message.supi.clone(), registering);
        let outcome = self.register_ue(served, message, notified_as).await;
        self.registering.borrow_mut().remove(&message.supi);
        outcome.unwrap_or_else(|upstream| ended(upstream, served.trace))
    }

    async fn register_ue(
        &self,
        served: Served,
        message: &RegisterUe,
        notified_as: String,
    ) -> Result<Outcome, Upstream> {
        let (supi, timing) = (&message.supi, message.timing);
        let mut attempt = Attempt::begin(&self.shard.ledger, served);
        attempt.create(self.registration(supi, &notified_as, timing)).await?;
        for data in ["am-data", "smf-select-data"] {
            let path = nudm_sdm::data_of(supi, data, &self.config.plmn);
            attempt.read(Call { timing, ..Call::get(self.at_udm(&path)) }).await?;
        }
        attempt.create(self.subscription(supi, &notified_as, timing)).await?;
        if self.registering.borrow().get(supi).is_some_and(|ue| ue.is_taken_over) {
            return Ok(Outcome::GaveUp { answer: None, trace: served.trace });
        }
        let owner = format!("ue {} {supi}", served.request);
        let ue = Ue { owner: owner.clone(), request: served.request, notified_as, taken_over: None };
        attempt.commit(owner.clone(), &Kept::Ue(supi.clone(), ue.clone())).await?;
        // Another AMF may have taken over while that was written.
        if self.registering.borrow().get(supi).is_some_and(|ue| ue.is_taken_over) {
            self.shard.ledger.disown(&owner).await;
            return Ok(Outcome::GaveUp { answer: None, trace: served.trace });
        }
        let older = self.ues.borrow_mut().insert(supi.clone(), ue);
        // The UE has its answer: what was registered before at the same place is superseded.
        self.shard.ledger.delivered(&owner);
        if let Some(older) = older {
            self.shard.ledger.disown(&older.owner).await;
        }
        Ok(Outcome::Established { location: self.registration_uri(supi), trace: served.trace })
    }

    /// Where what the UDM tells of a UE goes.
    fn callback(&self, supi: &Supi, what: &str, notified_as: &str) -> String {
        format!("{}{}", self.shard.party.api_root, callback_path(supi, what, notified_as))
    }

    /// How radio and UE know this AMF: each instance by an id of its own.
    pub(crate) fn guami(&self) -> Guami {
        let id = self.shard.party.instance_id.as_bytes();
        let amf_id = format!("{:02x}{:02x}{:02x}", id[0], id[1], id[2]);
        let amf_id: AmfId = amf_id.parse().expect("six hexadecimal digits");
        Guami { plmn_id: self.config.plmn.clone(), amf_id }
    }

    /// R4. There is no DELETE, and a registration of this AMF's own that stands there is written again.
    fn registration(&self, supi: &Supi, notified_as: &str, timing: TimingMode) -> Creation {
        let uri = self.registration_uri(supi);
        let registration = Amf3GppAccessRegistration {
            amf_instance_id: NfInstanceId(self.shard.party.instance_id),
            purge_flag: None,
            dereg_callback_uri: self.callback(supi, DEREG_NOTIFY, notified_as),
            initial_registration_ind: Some(true),
            guami: self.guami(),
            rat_type: "NR".into(),
            rest: Rest::new(),
        };
        let older = self.ues.borrow().get(supi).map(|ue| Amf3GppAccessRegistration {
            dereg_callback_uri: self.callback(supi, DEREG_NOTIFY, &ue.notified_as),
            ..registration.clone()
        });
        let purge = json!({"guami": self.guami(), "purgeFlag": true});
        Creation {
            kind: "amf-3gpp-access",
            call: Call { timing, ..Call::new(Method::PUT, &uri).with_json(&registration) },
            undo: Undo::patch_there(MERGE_PATCH, purge).done_if(403, Some("INVALID_GUAMI")).into(),
            before: older.as_ref().map(json::to_value),
            settle: None,
            slot: Some(SlotKey::Uri(uri.into())),
        }
    }

    fn subscription(&self, supi: &Supi, notified_as: &str, timing: TimingMode) -> Creation {
        let instance_id = NfInstanceId(self.shard.party.instance_id);
        let address = self.callback(supi, SDM_NOTIFY, notified_as);
        let monitored = in_body(&self.at_udm(&nudm_sdm::data(supi, "am-data"))).to_owned();
        let subscription = SdmSubscription::new(instance_id, address, monitored);
        let unique = SdmSubscription { unique_subscription: Some(true), ..subscription.clone() };
        let post =
            |body| Call::new(Method::POST, self.at_udm(&nudm_sdm::sdm_subscriptions(supi))).with_json(body);
        Creation {
            kind: "sdm-subscription",
            call: Call { timing, ..post(&subscription) },
            undo: Undo::delete_location().into(),
            before: None,
            settle: Some(Settle::Repeat { call: Box::new(post(&unique)), older: None }),
            slot: None,
        }
    }
}
