//! The consumer side towards the UDR: `Nudr_DataRepository`, TS 29.505 (Rel-17).

use crate::context::{RegistrationKey, Subscription, SubscriptionKey};
use crate::udm::Core;
use api::common::{PlmnId, Supi, Uri};
use api::nudm_sdm::{SdmSubscription, SubscribedData};
use api::nudm_uecm::{Amf3GppAccessRegistration, SmfRegistration};
use api::nudr_dr::{self, DataSet, SubscriptionDataSubscriptions};
use api::query::text_param;
use http::{Method, StatusCode};
use sbi::client::{Answer, Call, Upstream};
use sbi::json;
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::release::{Attempt, Creation, OwnerKey, Settle, SlotKey, Undo};
use sbi::server::Failure;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Core {
    fn at_udr(&self, path: &str) -> String {
        format!("{}{path}", self.config.udr)
    }

    /// GET of a data set, with the filters of the consumer's query.
    pub(crate) fn data_set_call(&self, supi: &Supi, plmn: &PlmnId, set: DataSet, filters: &str) -> Call {
        Call::get(self.at_udr(&format!("{}{filters}", nudr_dr::data_set(supi, plmn, set))))
    }

    /// GET of several data sets.
    pub(crate) fn data_sets_call(&self, supi: &Supi, plmn: &PlmnId, sets: &[DataSet]) -> Call {
        let names: Vec<_> = sets.iter().map(|set| set.name()).collect();
        let names = text_param("dataset-names", &names.join(","));
        Call::get(self.at_udr(&format!("{}?{names}", nudr_dr::provisioned_data(supi, plmn))))
    }

    /// GET of one registration.
    pub(crate) fn registration_call(&self, key: &RegistrationKey) -> Call {
        Call::get(self.at_udr(&nudr_dr::smf_registration(&key.supi, key.pdu_session_id)))
    }

    /// GET of all registrations of a subscriber.
    pub(crate) fn registrations_call(&self, supi: &Supi) -> Call {
        Call::get(self.at_udr(&nudr_dr::smf_registrations(supi)))
    }

    /// Where requests for one registration meet.
    pub(crate) fn registration_slot(&self, key: &RegistrationKey) -> SlotKey {
        SlotKey::Uri(self.registration_call(key).uri)
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
            undo: Undo::delete(uri),
            before: before.as_ref().map(json::to_value),
            settle: Settle::KnownUri,
            slot: Some(slot),
        };
        attempt.create_in(taken, creation).await?;
        Ok(is_new)
    }

    /// GET of the registration of the AMF.
    pub(crate) fn amf_registration_call(&self, supi: &Supi) -> Call {
        Call::get(self.at_udr(&nudr_dr::amf_registration(supi)))
    }

    /// Where requests for the registration of the AMF meet.
    pub(crate) fn amf_slot(&self, supi: &Supi) -> SlotKey {
        SlotKey::Uri(self.amf_registration_call(supi).uri)
    }

    /// The purge of a registration that this UDM did not write itself.
    pub(crate) fn purge_call(&self, supi: &Supi) -> Call {
        let call = Call::new(Method::PATCH, self.amf_registration_call(supi).uri);
        call.with_body(JSON_PATCH, json::to_bytes(&purge()))
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
            undo: Undo::patch(uri, JSON_PATCH, purge()),
            before: before.as_ref().map(json::to_value),
            settle: Settle::KnownUri,
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
        for owner in owners.iter().rev() {
            ledger.delivered(owner);
            ledger.disown(owner).await;
        }
        if !owners.is_empty() {
            return Ok(());
        }
        if ledger.beneath(slot).is_some() {
            ledger.forget_beneath(slot);
            return Ok(());
        }
        match self.shard.client().ask(served, call).await {
            Err(Upstream::Refused(answer)) if is_empty(&answer) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }

    /// Stores a subscription (R7). A UDR that does not keep subscriptions is respected: this one then lives in the
    /// UDM alone.
    pub(crate) async fn post_subscription(
        &self,
        attempt: &mut Attempt,
        key: &SubscriptionKey,
        subscription: &Subscription,
    ) -> Result<(), Failure> {
        let collection = self.at_udr(&nudr_dr::sdm_subscriptions(&key.supi));
        let id = subscription.stored_as.clone();
        let stored = SdmSubscription { subscription_id: Some(id.clone()), ..subscription.value.clone() };
        let creation = Creation {
            kind: "sdm-subscription",
            call: Call::new(Method::POST, &collection).with_json(&stored),
            undo: Undo::delete_location(),
            before: None,
            settle: Settle::Read {
                collection,
                id_attribute: "subscriptionId",
                proposed_id: id,
                like: json::to_value(&stored),
            },
            slot: None,
        };
        if_kept(attempt.create(creation).await)
    }

    /// Asks to be notified of changes of what a subscription monitors (R16), if the UDR keeps any of it. The callback's
    /// name is this create's own, so that asking again with `uniqueSubscription` finds it and no other. A UDR that
    /// notifies nobody is respected.
    pub(crate) async fn post_to_notify(
        &self,
        attempt: &mut Attempt,
        key: &SubscriptionKey,
        subscription: &Subscription,
    ) -> Result<(), Failure> {
        let monitored = self.monitored_at_udr(key, &subscription.value);
        if monitored.is_empty() {
            return Ok(());
        }
        let callback = self.data_change_callback(key, &subscription.stored_as);
        let wish = SubscriptionDataSubscriptions::new(key.supi.as_str(), callback, monitored);
        let unique = SubscriptionDataSubscriptions { unique_subscription: Some(true), ..wish.clone() };
        let post = |body| Call::new(Method::POST, self.at_udr(&nudr_dr::subs_to_notify())).with_json(body);
        let creation = Creation {
            kind: "subs-to-notify",
            call: post(&wish),
            undo: Undo::delete_location(),
            before: None,
            settle: Settle::Repeat { call: Box::new(post(&unique)), older: None },
            slot: None,
        };
        if_kept(attempt.create(creation).await)
    }

    /// Where the UDR keeps what a subscription monitors.
    fn monitored_at_udr(&self, key: &SubscriptionKey, value: &SdmSubscription) -> Vec<Uri> {
        let plmn = value.plmn_id.as_ref().unwrap_or(&self.config.home_plmn);
        let monitored = |uri: &Uri| SubscribedData::monitored(uri).filter(|(supi, _)| *supi == key.supi);
        let sets: Vec<_> =
            value.monitored_resource_uris.iter().filter_map(monitored).map(|(_, data)| data.set()).collect();
        let monitored = DataSet::ALL.into_iter().filter(|set| sets.contains(set));
        monitored.map(|set| self.at_udr(&nudr_dr::data_set(&key.supi, plmn, set))).collect()
    }
}

/// The outcome of a create that a UDR need not know.
fn if_kept(created: Result<Answer, Upstream>) -> Result<(), Failure> {
    match created {
        Err(Upstream::Refused(answer)) if keeps_none(&answer) => Ok(()),
        other => other.map(|_| ()).map_err(Failure::from),
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

const JSON_PATCH: &str = "application/json-patch+json";

/// The JSON Patch that ends the registration of an AMF.
fn purge() -> Value {
    json!([{"op": "add", "path": "/purgeFlag", "value": true}])
}

/// 404, but not because the subscriber is unknown.
fn is_empty(answer: &Answer) -> bool {
    answer.status == StatusCode::NOT_FOUND && !answer.problem().is(Cause::UserNotFound)
}

fn keeps_none(answer: &Answer) -> bool {
    is_empty(answer) || matches!(answer.status, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
