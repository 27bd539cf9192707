//! The consumer side towards the UDR: `Nudr_DataRepository`, TS 29.505 (Rel-17).

use crate::context::{RegistrationKey, SubscriptionKey};
use crate::udm::Core;
use api::common::{PlmnId, Supi};
use api::nudm_sdm::SdmSubscription;
use api::nudm_uecm::SmfRegistration;
use api::nudr_dr::{self, DataSet};
use http::{Method, StatusCode};
use sbi::client::{Answer, Call, Upstream};
use sbi::json;
use sbi::problem::Cause;
use sbi::release::{Attempt, Creation, Settle, SlotKey, Undo};
use sbi::server::Failure;
use serde_json::Value;

impl Core {
    fn at_udr(&self, path: &str) -> String {
        format!("{}{path}", self.config.udr)
    }

    /// GET of the session data, with the filters of the consumer's query.
    pub(crate) fn sm_data_call(&self, supi: &Supi, plmn: &PlmnId, filters: &str) -> Call {
        Call::get(self.at_udr(&format!("{}{filters}", nudr_dr::data_set(supi, plmn, DataSet::Sm))))
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
        let before = before(attempt.read(read).await)?;
        let is_new = before.is_none();
        let creation = Creation {
            kind: "smf-registration",
            call: Call::new(Method::PUT, &uri).with_json(value),
            undo: Undo::delete(uri),
            before,
            settle: Settle::KnownUri,
            slot: Some(slot),
        };
        attempt.create_in(taken, creation).await?;
        Ok(is_new)
    }

    /// Stores a subscription (R7). A UDR that does not keep subscriptions is respected: this one then lives in the
    /// UDM alone.
    pub(crate) async fn post_subscription(
        &self,
        attempt: &mut Attempt,
        key: &SubscriptionKey,
        value: &SdmSubscription,
    ) -> Result<(), Failure> {
        let collection = self.at_udr(&nudr_dr::sdm_subscriptions(&key.supi));
        let stored = SdmSubscription { subscription_id: Some(key.id.clone()), ..value.clone() };
        let creation = Creation {
            kind: "sdm-subscription",
            call: Call::new(Method::POST, &collection).with_json(&stored),
            undo: Undo::delete_location(),
            before: None,
            settle: Settle::Read {
                collection,
                id_attribute: "subscriptionId",
                proposed_id: key.id.clone(),
                like: json::to_value(&stored),
            },
            slot: None,
        };
        match attempt.create(creation).await {
            Err(Upstream::Refused(answer)) if keeps_none(&answer) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }
}

/// What a slot holds, from the answer to reading it: 404, or a body that is no registration, means nothing.
fn before(read: Result<Answer, Upstream>) -> Result<Option<Value>, Failure> {
    match read {
        Ok(answer) => Ok(answer.json::<SmfRegistration>().map(|r| json::to_value(&r))),
        Err(Upstream::Refused(answer)) if is_empty(&answer) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// 404, but not because the subscriber is unknown.
pub(crate) fn is_empty(answer: &Answer) -> bool {
    answer.status == StatusCode::NOT_FOUND && !answer.problem().is(Cause::UserNotFound)
}

fn keeps_none(answer: &Answer) -> bool {
    is_empty(answer) || matches!(answer.status, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
