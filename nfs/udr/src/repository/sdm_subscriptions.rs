//! The SDM subscriptions that a UDM keeps here.

use super::{Repository, Written, take_back, write};
use api::common::Supi;
use api::nudm_sdm::SdmSubscription;
use sbi::event::RequestId;
use sbi::json;
use sbi::problem::Cause;
use sbi::server::Failure;
use serde_json::Value;

/// How many SDM subscriptions one subscriber may have.
pub const MAX_SUBSCRIPTIONS: usize = 256;

/// How long the id may be that a consumer proposes for its subscription, in bytes.
pub const MAX_ID_BYTES: usize = 128;

impl Repository {
    /// Adds an SDM subscription under the id that it proposes, if that can be had, else under `fresh`.
    pub fn add_subscription(
        &self,
        supi: &Supi,
        mut subscription: SdmSubscription,
        fresh: String,
        written: Written,
    ) -> Result<(String, SdmSubscription), Failure> {
        let mut subscriber = self.with_mut(supi)?;
        let there = &mut subscriber.subscriptions;
        if there.len() >= MAX_SUBSCRIPTIONS {
            let detail = format!("{supi} has {MAX_SUBSCRIPTIONS} SDM subscriptions already");
            return Err(Failure::new(Cause::InsufficientResources, detail));
        }
        let free = |id: &String| (1..=MAX_ID_BYTES).contains(&id.len()) && !there.contains_key(id);
        let id = subscription.subscription_id.take().filter(free).unwrap_or(fresh);
        subscription.subscription_id = Some(id.clone());
        write(there, id.clone(), json::to_value(&subscription), written);
        drop(subscriber);
        self.keep_subscription(supi, &id);
        Ok((id, subscription))
    }

    /// Writes an SDM subscription that is there again.
    pub fn replace_subscription(
        &self,
        supi: &Supi,
        id: &str,
        value: Value,
        written: Written,
    ) -> Result<(), Failure> {
        let mut subscriber = self.with_mut(supi)?;
        if !subscriber.subscriptions.contains_key(id) {
            return Err(no_subscription(id));
        }
        write(&mut subscriber.subscriptions, id.to_owned(), value, written);
        drop(subscriber);
        self.keep_subscription(supi, id);
        Ok(())
    }

    /// Takes back the write of an SDM subscription, if it is still the newest.
    pub fn undo_subscription(&self, supi: &Supi, id: &str, by: RequestId) {
        if let Ok(mut subscriber) = self.with_mut(supi) {
            take_back(&mut subscriber.subscriptions, id.to_owned(), by);
        }
        self.keep_subscription(supi, id);
    }

    /// One SDM subscription.
    pub fn subscription(&self, supi: &Supi, id: &str) -> Result<Value, Failure> {
        let value = self.with(supi, |s| s.subscriptions.get(id).map(|s| s.value.clone()))?;
        value.ok_or_else(|| no_subscription(id))
    }

    /// All SDM subscriptions of a subscriber.
    pub fn subscriptions(&self, supi: &Supi) -> Result<Vec<Value>, Failure> {
        self.with(supi, |s| s.subscriptions.values().map(|s| s.value.clone()).collect())
    }

    /// Removes an SDM subscription.
    pub fn delete_subscription(&self, supi: &Supi, id: &str) -> Result<(), Failure> {
        let removed = self.with_mut(supi)?.subscriptions.remove(id);
        self.keep_subscription(supi, id);
        removed.map(|_| ()).ok_or_else(|| no_subscription(id))
    }
}

fn no_subscription(id: &str) -> Failure {
    Failure::new(Cause::SubscriptionNotFound, format!("there is no SDM subscription {id:.64}"))
}
