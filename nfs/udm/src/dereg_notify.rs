//! Telling an AMF that another one has taken its place: `Nudm_UECM_DeregistrationNotification`,
//! TS 29.503 §5.3.2.3 (Rel-17).
//!
//! It cannot be taken back, so it leaves only after the newer AMF's success was handed over.

use crate::context::{AmfRegistration, Replaced};
use crate::udm::Core;
use api::common::{AccessType, Rest, Supi};
use api::nudm_uecm::{Amf3GppAccessRegistration, DeregistrationData, DeregistrationReason};
use http::Method;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::party::Served;
use sbi::release::OwnerKey;
use std::rc::Rc;

/// An AMF that is no longer registered.
pub(crate) struct Deregistered {
    supi: Supi,
    older: Amf3GppAccessRegistration,
    reason: DeregistrationReason,
    on: On,
}

impl Deregistered {
    /// One that had been replaced before a crash, and those that it had replaced: who has not heard of it.
    pub(crate) fn before(supi: &Supi, owner: &OwnerKey, registration: &AmfRegistration) -> Vec<Self> {
        let Some(reason) = registration.replaced.clone() else { return Vec::new() };
        let whom = [registration.untold.as_ref(), registration.older.as_ref(), Some(&registration.value)];
        let told = whom.into_iter().flatten().map(|older| Deregistered {
            supi: supi.clone(),
            older: older.clone(),
            reason: reason.clone(),
            on: On::Older(owner.clone()),
        });
        told.collect()
    }
}

/// On whose record it is that an AMF has to be told.
enum On {
    /// On that of the registration that replaces it.
    Newer(OwnerKey),
    /// On its own, which ends then.
    Older(OwnerKey),
}

impl Core {
    /// The answer to the registration `owner` was handed over: those of other AMFs, here or in the UDR, have ended.
    pub(crate) fn keep_amf(&self, supi: &Supi, owner: &str) -> Replaced {
        let mut registrations = self.amf_registrations.borrow_mut();
        let replaced = registrations.replaced_by(supi, owner);
        let Some(newer) = registrations.get_mut(supi, owner) else { return Replaced::default() };
        let (amf, reason) = (newer.value.amf_instance_id, reason(&newer.value));
        newer.untold = newer.older.take().or(newer.untold.take());
        let in_udr = newer.untold.clone().map(|older| (On::Newer(owner.into()), older));
        for (older, registration) in &replaced {
            let registration = AmfRegistration { replaced: Some(reason.clone()), ..registration.clone() };
            self.shard.ledger.keep_context(older, registration.request, &registration);
        }
        let here = replaced.into_iter().map(|(older, registration)| (On::Older(older), registration.value));
        let (others, own): (Vec<_>, Vec<_>) =
            in_udr.into_iter().chain(here).partition(|(_, older)| older.amf_instance_id != amf);
        drop(registrations);
        own.iter().for_each(|(on, _)| self.has_been_told(supi, on));
        let deregistered =
            |(on, older)| Deregistered { supi: supi.clone(), older, reason: reason.clone(), on };
        Replaced { owners: Vec::new(), deregistered: others.into_iter().map(deregistered).collect() }
    }

    /// Nobody has to be told any more after a crash.
    fn has_been_told(&self, supi: &Supi, on: &On) {
        let ledger = &self.shard.ledger;
        match on {
            On::Older(owner) => ledger.end_context(owner),
            On::Newer(owner) => {
                if let Some(newer) = self.amf_registrations.borrow_mut().get_mut(supi, owner) {
                    newer.untold = None;
                    ledger.keep_context(owner, newer.request, newer);
                }
            }
        }
    }

    /// Its subscriptions end with its registration, if they shall; then it is told, until it hears.
    pub(crate) async fn tell_deregistered(self: &Rc<Self>, deregistered: Deregistered) {
        let Deregistered { supi, older, reason, on } = deregistered;
        let is_back =
            |(_, newest): &(_, AmfRegistration)| newest.value.amf_instance_id == older.amf_instance_id;
        if self.amf_registrations.borrow().newest(&supi).is_some_and(is_back) {
            return self.has_been_told(&supi, &on);
        }
        let data = DeregistrationData {
            dereg_reason: reason,
            access_type: Some(AccessType::ACCESS_3GPP),
            rest: Rest::new(),
        };
        let call = Call::new(Method::POST, older.dereg_callback_uri)
            .callback("Nudm_UECM_DeregistrationNotification")
            .with_json(&data);
        for key in self.implicit_subscriptions(&supi, older.amf_instance_id) {
            self.end_subscription(&key).await;
        }
        let core = self.clone();
        self.notify_with(async move {
            let (served, party) = (Served::own(&core.shard.party), &core.shard.party);
            let whom = call.uri.clone();
            if !core.shard.ledger.insist(&served, call).await {
                let facts = served.facts(party).detail(format!("{whom} never heard of the end"));
                party.emit(Kind::StepSkipped, facts);
            }
            core.has_been_told(&supi, &on);
        });
    }
}

/// Why the older AMF is no longer registered.
fn reason(newer: &Amf3GppAccessRegistration) -> DeregistrationReason {
    match newer.initial_registration_ind {
        Some(true) => DeregistrationReason::UE_INITIAL_REGISTRATION,
        _ => DeregistrationReason::UE_REGISTRATION_AREA_CHANGE,
    }
}
