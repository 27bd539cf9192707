//! What stands at fixed URIs of the UDR: the registrations of an AMF (R5) and of SMFs (R14).

use super::is_empty;
use crate::context::RegistrationKey;
use crate::udm::Core;
use api::common::Supi;
use api::nudm_uecm::{Amf3GppAccessRegistration, SmfRegistration};
use http::Method;
use sbi::client::{Answer, Call, Upstream};
use sbi::json;
use sbi::party::Served;
use sbi::release::{Attempt, Creation, OwnerKey, SlotKey, Undo};
use sbi::server::Failure;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Core {
    /// Where requests for one registration meet.
    pub(crate) fn registration_slot(&self, key: &RegistrationKey) -> SlotKey {
        SlotKey::Uri(self.registration_call(key).uri.into())
    }

    /// DELETE of a registration that this UDM did not write itself.
    pub(crate) fn delete_registration_call(&self, key: &RegistrationKey) -> Call {
        Call::new(Method::DELETE, self.registration_call(key).uri)
    }

    /// Writes a registration (R14). The slot is read first: a PUT's status does not tell created from replaced.
    /// Whether there was none before.
    pub(crate) async fn put_registration(
        &self,
        attempt: &mut Attempt,
        key: &RegistrationKey,
        value: &SmfRegistration,
    ) -> Result<bool, Failure> {
        let read = self.registration_call(key);
        let uri = read.uri.clone();
        let slot = self.registration_slot(key);
        let taken = attempt.take(&slot).await?;
        let before: Option<SmfRegistration> = before(attempt.read(read).await)?;
        let is_new = before.is_none();
        let creation = Creation {
            kind: "smf-registration",
            call: Call::new(Method::PUT, &uri).with_json(value),
            undo: Undo::delete_there("").into(),
            before: before.as_ref().map(json::to_value),
            settle: None,
            slot: Some(slot),
        };
        attempt.create_in(taken, creation).await?;
        Ok(is_new)
    }

    /// Where requests for the registration of the AMF meet.
    pub(crate) fn amf_slot(&self, supi: &Supi) -> SlotKey {
        SlotKey::Uri(self.amf_registration_call(supi).uri.into())
    }

    /// The purge of a registration that this UDM did not write itself.
    pub(crate) fn purge_call(&self, supi: &Supi) -> Call {
        let call = Call::new(Method::PATCH, self.amf_registration_call(supi).uri);
        call.with_body(json::JSON_PATCH, json::to_bytes(&purge()))
    }

    /// Writes the registration of an AMF (R5), in its slot as [`Core::put_registration`] does. What was there before.
    pub(crate) async fn put_amf_registration(
        &self,
        attempt: &mut Attempt,
        supi: &Supi,
        value: &Amf3GppAccessRegistration,
    ) -> Result<Option<Amf3GppAccessRegistration>, Failure> {
        let read = self.amf_registration_call(supi);
        let uri = read.uri.clone();
        let slot = self.amf_slot(supi);
        let taken = attempt.take(&slot).await?;
        let before: Option<Amf3GppAccessRegistration> = before(attempt.read(read).await)?;
        let creation = Creation {
            kind: "amf-3gpp-access",
            call: Call::new(Method::PUT, &uri).with_json(value),
            // There is no DELETE.
            undo: Undo::patch_there(json::JSON_PATCH, purge()).into(),
            before: before.as_ref().map(json::to_value),
            settle: None,
            slot: Some(slot),
        };
        attempt.create_in(taken, creation).await?;
        Ok(before)
    }

    /// Ends what stands in a slot: what this UDM wrote through the ledger, else by `call`. What a request that was given
    /// up has left there is being released, and what was there before it shall not come back.
    pub(crate) async fn end_in_slot(
        &self,
        served: &Served,
        slot: &SlotKey,
        owners: Vec<OwnerKey>,
        call: Call,
    ) -> Result<(), Failure> {
        let ledger = &self.shard.ledger;
        owners.iter().for_each(|owner| ledger.end_context(owner));
        for owner in owners.iter().rev() {
            ledger.delivered(owner);
            ledger.let_go(owner).await;
        }
        if !owners.is_empty() {
            return Ok(());
        }
        if ledger.beneath(slot).is_some() {
            ledger.forget_beneath(slot);
            // A restart may not put it back.
            ledger.all_on_record().await;
            return Ok(());
        }
        match self.shard.client().ask(served, call).await {
            Err(Upstream::Refused(answer)) if is_empty(&answer) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }
}

/// What a slot holds, from the answer to reading it: 404, or a body that is no registration, means nothing.
fn before<T: DeserializeOwned>(read: Result<Answer, Upstream>) -> Result<Option<T>, Failure> {
    match read {
        Ok(answer) => Ok(answer.json()),
        Err(Upstream::Refused(answer)) if is_empty(&answer) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// The JSON Patch that ends the registration of an AMF.
fn purge() -> Value {
    json!([{"op": "add", "path": "/purgeFlag", "value": true}])
}
