//! Telling an AMF that another one has taken its place: `Nudm_UECM_DeregistrationNotification`,
//! TS 29.503 §5.3.2.3 (Rel-17).
//!
//! It cannot be taken back, so it leaves only after the newer AMF's success was handed over.

use crate::context::Replaced;
use crate::udm::Core;
use api::common::{AccessType, Rest, Supi};
use api::nudm_uecm::{Amf3GppAccessRegistration, DeregistrationData, DeregistrationReason};
use http::Method;
use sbi::client::Call;
use std::rc::Rc;

/// An AMF that is no longer registered.
pub(crate) struct Deregistered {
    supi: Supi,
    older: Amf3GppAccessRegistration,
    reason: DeregistrationReason,
}

impl Core {
    /// The answer to the registration `owner` was handed over: those of other AMFs, here or in the UDR, have ended.
    pub(crate) fn keep_amf(&self, supi: &Supi, owner: &str) -> Replaced {
        let mut registrations = self.amf_registrations.borrow_mut();
        let replaced = registrations.replaced_by(supi, owner);
        let ledger = &self.shard.ledger;
        replaced.iter().for_each(|(older, _)| ledger.end_context(older));
        let Some(newer) = registrations.get_mut(supi, owner) else { return Replaced::default() };
        let older = newer.older.take();
        if older.is_some() {
            ledger.keep_context(owner, newer.request, newer);
        }
        let older = older.into_iter().chain(replaced.into_iter().map(|(_, older)| older.value));
        let (amf, reason) = (newer.value.amf_instance_id, reason(&newer.value));
        let others = older.filter(|older| older.amf_instance_id != amf);
        let deregistered = |older| Deregistered { supi: supi.clone(), older, reason: reason.clone() };
        Replaced { owners: Vec::new(), deregistered: others.map(deregistered).collect() }
    }

    /// Tells it. Nothing depends on the answer. Its subscriptions end with its registration, if they shall.
    pub(crate) async fn tell_deregistered(self: &Rc<Self>, deregistered: Deregistered) {
        let Deregistered { supi, older, reason } = deregistered;
        let data = DeregistrationData {
            dereg_reason: reason,
            access_type: Some(AccessType::ACCESS_3GPP),
            rest: Rest::new(),
        };
        let call = Call::new(Method::POST, older.dereg_callback_uri)
            .callback("Nudm_UECM_DeregistrationNotification")
            .with_json(&data);
        self.notify(call);
        for key in self.implicit_subscriptions(&supi, older.amf_instance_id) {
            self.end_subscription(&key).await;
        }
    }
}

/// Why the older AMF is no longer registered.
fn reason(newer: &Amf3GppAccessRegistration) -> DeregistrationReason {
    match newer.initial_registration_ind {
        Some(true) => DeregistrationReason::UE_INITIAL_REGISTRATION,
        _ => DeregistrationReason::UE_REGISTRATION_AREA_CHANGE,
    }
}
