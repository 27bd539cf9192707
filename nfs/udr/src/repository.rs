//! The subscription data, in memory; shared by all workers, each step one change of one subscriber.

use api::common::{Dnn, PduSessionId, Snssai, Supi};
use api::nudm_sdm::{self, SdmSubscription, SessionManagementSubscriptionData};
use api::nudr_dr::Resource;
use dashmap::DashMap;
use sbi::event::RequestId;
use sbi::json;
use sbi::problem::Cause;
use sbi::server::{Failure, Held};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many SDM subscriptions one subscriber may have.
pub const MAX_SUBSCRIPTIONS: usize = 256;

/// How long the id may be that a consumer proposes for its subscription, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// One subscriber: what is provisioned, and what consumers wrote.
#[derive(Default)]
struct Subscriber {
    sm_data: Vec<SessionManagementSubscriptionData>,
    registrations: BTreeMap<PduSessionId, Stored>,
    subscriptions: BTreeMap<String, Stored>,
}

/// A value that a consumer wrote.
#[derive(Clone)]
struct Stored {
    value: Value,
    written: Written,
    /// What stood there before, for a write whose answer could not be handed over.
    before: Option<Box<Stored>>,
}

/// Who wrote a value, and when.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The request.
    pub by: RequestId,
    /// Wall-clock ms since the Unix epoch.
    pub at_unix_ms: i64,
}

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The resource is new.
    Created,
    /// It replaced what stood there.
    Replaced,
}

/// The subscription data of all subscribers.
#[derive(Default)]
pub struct Repository {
    subscribers: DashMap<Supi, Subscriber>,
}

type SubscriberMut<'a> = dashmap::mapref::one::RefMut<'a, Supi, Subscriber>;

impl Repository {
    /// Provisions a subscriber, replacing what was provisioned; what consumers wrote stays.
    pub fn provision(&self, supi: Supi, sm_data: Vec<SessionManagementSubscriptionData>) {
        self.subscribers.entry(supi).or_default().sm_data = sm_data;
    }

    fn with<T>(&self, supi: &Supi, look: impl FnOnce(&Subscriber) -> T) -> Result<T, Failure> {
        self.subscribers.get(supi).map(|s| look(&s)).ok_or_else(|| unknown(supi))
    }

    fn with_mut(&self, supi: &Supi) -> Result<SubscriberMut<'_>, Failure> {
        self.subscribers.get_mut(supi).ok_or_else(|| unknown(supi))
    }

    /// The session data, narrowed to what was asked for.
    pub fn sm_data(
        &self,
        supi: &Supi,
        slice: Option<&Snssai>,
        dnn: Option<&Dnn>,
    ) -> Result<Vec<SessionManagementSubscriptionData>, Failure> {
        let data = self.with(supi, |s| nudm_sdm::filter(&s.sm_data, slice, dnn))?;
        if data.is_empty() {
            let wanted = (slice.map(Snssai::to_string), dnn.map(Dnn::to_string));
            let (slice, dnn) = (wanted.0.unwrap_or("any".into()), wanted.1.unwrap_or("any".into()));
            let detail = format!("{supi} has no session data for slice {slice} and DNN {dnn}");
            Err(Failure::new(Cause::DataNotFound, detail))
        } else {
            Ok(data)
        }
    }

    /// The registration of a PDU session.
    pub fn registration(&self, supi: &Supi, id: PduSessionId) -> Result<Value, Failure> {
        let value = self.with(supi, |s| s.registrations.get(&id).map(|r| r.value.clone()))?;
        value.ok_or_else(|| {
            Failure::new(Cause::ContextNotFound, format!("no SMF is registered for session {id}"))
        })
    }

    /// All registrations of a subscriber.
    pub fn registrations(&self, supi: &Supi) -> Result<Vec<Value>, Failure> {
        self.with(supi, |s| s.registrations.values().map(|r| r.value.clone()).collect())
    }

    /// Writes a registration.
    pub fn put_registration(
        &self,
        supi: &Supi,
        id: PduSessionId,
        value: Value,
        written: Written,
    ) -> Result<Put, Failure> {
        Ok(write(&mut self.with_mut(supi)?.registrations, id, value, written))
    }

    /// Takes back the write of a registration, if it is still the newest.
    pub fn undo_registration(&self, supi: &Supi, id: PduSessionId, by: RequestId) {
        if let Ok(mut subscriber) = self.with_mut(supi) {
            take_back(&mut subscriber.registrations, id, by);
        }
    }

    /// Takes back the write of an SDM subscription, if it is still the newest.
    pub fn undo_subscription(&self, supi: &Supi, id: &str, by: RequestId) {
        if let Ok(mut subscriber) = self.with_mut(supi) {
            take_back(&mut subscriber.subscriptions, id.to_owned(), by);
        }
    }

    /// When a registration was written last.
    pub fn registration_written(&self, supi: &Supi, id: PduSessionId) -> Option<Written> {
        self.with(supi, |s| s.registrations.get(&id).map(|r| r.written)).ok().flatten()
    }

    /// Removes a registration.
    pub fn delete_registration(&self, supi: &Supi, id: PduSessionId) -> Result<(), Failure> {
        let removed = self.with_mut(supi)?.registrations.remove(&id);
        removed
            .map(|_| ())
            .ok_or_else(|| Failure::new(Cause::ContextNotFound, format!("session {id} has no registration")))
    }

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
        Ok(())
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
        self.with_mut(supi)?.subscriptions.remove(id).map(|_| ()).ok_or_else(|| no_subscription(id))
    }

    /// Forgets everything that consumers wrote.
    pub fn forget(&self) {
        for mut subscriber in self.subscribers.iter_mut() {
            subscriber.registrations.clear();
            subscriber.subscriptions.clear();
        }
    }

    /// Everything that consumers wrote, sorted, with the paths below `root`.
    pub fn held(&self, root: &str) -> Vec<Held> {
        let mut held: Vec<_> =
            self.subscribers.iter().flat_map(|s| held_of(root, s.key(), s.value())).collect();
        held.sort();
        held
    }
}

/// Writes a value; what stood there before is kept until the next write.
fn write<K: Ord>(there: &mut BTreeMap<K, Stored>, key: K, value: Value, written: Written) -> Put {
    let before = there.remove(&key).map(|before| Box::new(Stored { before: None, ..before }));
    let put = if before.is_some() { Put::Replaced } else { Put::Created };
    there.insert(key, Stored { value, written, before });
    put
}

/// Takes back what `by` wrote, if it is still the newest.
fn take_back<K: Ord>(there: &mut BTreeMap<K, Stored>, key: K, by: RequestId) {
    if there.get(&key).is_some_and(|stored| stored.written.by == by)
        && let Some(before) = there.remove(&key).and_then(|undone| undone.before)
    {
        there.insert(key, *before);
    }
}

fn held_of(root: &str, supi: &Supi, subscriber: &Subscriber) -> Vec<Held> {
    let held = |kind, resource: Resource, written: Written| Held {
        kind,
        uri: format!("{root}{}", resource.path()),
        request: Some(written.by),
    };
    let registrations = subscriber.registrations.iter().map(|(id, s)| {
        let resource = Resource::SmfRegistration { supi: supi.clone(), pdu_session_id: *id };
        held("smf-registration", resource, s.written)
    });
    let subscriptions = subscriber.subscriptions.iter().map(|(id, s)| {
        let resource = Resource::SdmSubscription { supi: supi.clone(), id: id.clone() };
        held("sdm-subscription", resource, s.written)
    });
    registrations.chain(subscriptions).collect()
}

fn unknown(supi: &Supi) -> Failure {
    Failure::new(Cause::UserNotFound, format!("{supi} is not provisioned"))
}

fn no_subscription(id: &str) -> Failure {
    Failure::new(Cause::SubscriptionNotFound, format!("there is no SDM subscription {id:.64}"))
}
