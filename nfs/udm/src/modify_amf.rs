//! An AMF changes its registration, or purges the UE: `Nudm_UECM_Update` and `Deregistration`,
//! TS 29.503 §5.3.2.6 and §5.3.2.4 (Rel-17).
//!
//! A purge is a release, and carried out late too; any other change is a write, and creates R5 like a registration.

use crate::context::AmfRegistration;
use crate::udm::Core;
use crate::uecm_amf::ModifyAmf;
use api::common::{Guami, NfInstanceId, Supi};
use api::decode::decode_kept;
use api::nudm_uecm::{Amf3GppAccessRegistration, Amf3GppAccessRegistrationModification};
use api::patch::merge_patch;
use sbi::json;
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::server::{Failure, Reply};
use serde_json::Value;
use std::rc::Rc;

/// Carries out the procedure, for the AMF that is registered only.
pub(crate) async fn modify(core: Rc<Core>, message: ModifyAmf) -> Result<Reply, Failure> {
    let ModifyAmf { served, supi, modification } = message;
    let _turn = core.shard.turn(&core.amf_turns, supi.clone(), &served).await?;
    let registered = core.registered_amf(&served, &supi).await?;
    if registered.guami != modification.guami {
        if modification.purge_flag == Some(true) && core.end_replaced_amfs(&supi, &modification.guami).await {
            return Ok(Reply::no_content());
        }
        let amf = &registered.guami.amf_id;
        return Err(Failure::new(Cause::InvalidGuami, format!("AMF {amf} is registered")));
    }
    match modification.purge_flag {
        Some(true) => core.purge(&served, &supi, registered.amf_instance_id).await,
        _ => core.update(served, &supi, &registered, &modification).await,
    }
}

impl Core {
    async fn registered_amf(
        &self,
        served: &Served,
        supi: &Supi,
    ) -> Result<Amf3GppAccessRegistration, Failure> {
        let now = self.shard.party.env.clock.now();
        let written = self
            .amf_registrations
            .borrow()
            .newest(supi)
            .map(|(_, registration)| registration.written_unix_ms);
        if written.is_some_and(|written| served.is_late_and_older_than(written, now)) {
            return Err(Failure::TimedOut);
        }
        let registered = match self.known_amf(supi, &self.amf_slot(supi)) {
            Some(known) => known,
            None => self.shard.client().ask(served, self.amf_registration_call(supi)).await?.json(),
        };
        let registered = registered.filter(|registration| !registration.is_purged());
        registered.ok_or_else(|| Failure::new(Cause::ContextNotFound, "no AMF is registered"))
    }

    /// Ends those of an AMF that another one's is about to replace, and would come back if that one's answer cannot be handed
    /// over; whether there are any.
    async fn end_replaced_amfs(&self, supi: &Supi, guami: &Guami) -> bool {
        let is_its = |registration: &AmfRegistration| registration.value.guami == *guami;
        let amf = {
            let registrations = self.amf_registrations.borrow();
            registrations.of(supi).find(|(_, r)| is_its(r)).map(|(_, r)| r.value.amf_instance_id)
        };
        let Some(amf) = amf else { return false };
        let owners = self.amf_registrations.borrow_mut().remove_those(supi, is_its);
        self.disown_all(&owners).await;
        for key in self.implicit_subscriptions(supi, amf) {
            self.end_subscription(&key).await;
        }
        true
    }

    /// Ends the registration, and those of the AMF's subscriptions that shall end with it.
    async fn purge(&self, served: &Served, supi: &Supi, amf: NfInstanceId) -> Result<Reply, Failure> {
        let ended = self.amf_registrations.borrow_mut().take(supi);
        let owners = ended.into_iter().map(|(owner, _)| owner).collect();
        self.end_in_slot(served, &self.amf_slot(supi), owners, self.purge_call(supi)).await?;
        for key in self.implicit_subscriptions(supi, amf) {
            self.end_subscription(&key).await;
        }
        Ok(Reply::no_content())
    }

    /// Its path makes every such request a release, though this one is not: its client's deadline bounds it.
    async fn update(
        self: &Rc<Self>,
        served: Served,
        supi: &Supi,
        registered: &Amf3GppAccessRegistration,
        modification: &Amf3GppAccessRegistrationModification,
    ) -> Result<Reply, Failure> {
        let served = Served { only_releases: false, ..served };
        let mut updated = json::to_value(registered);
        let mut patch = json::to_value(modification);
        if let Value::Object(patch) = &mut patch {
            patch.remove("guami");
        }
        merge_patch(&mut updated, patch);
        let updated: Amf3GppAccessRegistration = decode_kept(&json::to_bytes(&updated))?;
        let (_, committed) = self.write_amf(served, supi, updated).await?;
        Ok(Reply::updated(&committed, self.actor.clone()))
    }
}
