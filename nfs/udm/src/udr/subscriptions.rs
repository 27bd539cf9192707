//! What a subscription at the UDM makes in the UDR: the same subscription (R7), and the wish to be notified (R16).

use super::is_empty;
use crate::context::{Subscription, SubscriptionKey};
use crate::udm::Core;
use api::common::Uri;
use api::nudm_sdm::{SdmSubscription, SubscribedData};
use api::nudr_dr::{self, DataSet, SubscriptionDataSubscriptions};
use http::{Method, StatusCode};
use sbi::client::{Answer, Call, Upstream};
use sbi::json;
use sbi::nrf::in_body;
use sbi::release::{Attempt, Creation, Settle, Undo};
use sbi::server::Failure;

impl Core {
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
            undo: Undo::delete_location().into(),
            before: None,
            settle: Some(Settle::Read {
                collection,
                id_attribute: "subscriptionId".into(),
                proposed_id: id,
                like: json::to_value(&stored),
            }),
            slot: None,
        };
        if_kept(attempt.create(creation).await)
    }

    /// Asks to be notified of changes of what a subscription monitors (R16), if the UDR keeps any of it. The callback's
    /// name is this create's own, so that asking again with `uniqueSubscription` finds it and no other; not every UDR
    /// knows that attribute. A UDR that notifies nobody is respected.
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
            undo: Undo::delete_location().into(),
            before: None,
            settle: Some(Settle::RepeatAtOurs(Box::new(post(&unique)))),
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
        monitored
            .map(|set| in_body(&self.at_udr(&nudr_dr::data_set(&key.supi, plmn, set))).to_owned())
            .collect()
    }
}

/// The outcome of a create that a UDR need not know.
fn if_kept(created: Result<Answer, Upstream>) -> Result<(), Failure> {
    match created {
        Err(Upstream::Refused(answer)) if keeps_none(&answer) => Ok(()),
        other => other.map(|_| ()).map_err(Failure::from),
    }
}

fn keeps_none(answer: &Answer) -> bool {
    is_empty(answer) || matches!(answer.status, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
