//! The data, in memory; shared by all workers, each step one change of one subscriber.

mod kept;
mod place;
mod provisioned;
mod sdm_subscriptions;
mod to_notify;

pub use place::{Place, Put};
pub(crate) use to_notify::Notification;

use crate::profile::Profile;
use api::common::Supi;
use api::nudr_dr::Resource;
use dashmap::DashMap;
use sbi::event::RequestId;
use sbi::journal::Journal;
use sbi::problem::Cause;
use sbi::server::{Failure, Held};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use to_notify::ToNotify;

/// One subscriber: what is provisioned, and what consumers wrote.
#[derive(Default)]
struct Subscriber {
    profile: Profile,
    places: BTreeMap<Place, Stored>,
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

/// Writes a value; what stood there before, which it gives, is kept until the next write.
fn write<K: Ord>(there: &mut BTreeMap<K, Stored>, key: K, value: Value, written: Written) -> Option<Value> {
    let before = there.remove(&key).map(|before| Box::new(Stored { before: None, ..before }));
    let stood = before.as_ref().map(|before| before.value.clone());
    there.insert(key, Stored { value, written, before });
    stood
}

/// Takes back what `by` wrote, if it is still the newest.
fn take_back<K: Ord>(there: &mut BTreeMap<K, Stored>, key: K, by: RequestId) {
    if there.get(&key).is_some_and(|stored| stored.written.by == by)
        && let Some(before) = there.remove(&key).and_then(|undone| undone.before)
    {
        there.insert(key, *before);
    }
}

/// Who wrote a value, and when.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The request.
    pub by: RequestId,
    /// Wall-clock ms since the Unix epoch.
    pub at_unix_ms: i64,
}

/// The data of all subscribers.
#[derive(Default)]
pub struct Repository {
    subscribers: DashMap<Supi, Subscriber>,
    to_notify: ToNotify,
    journal: OnceLock<Journal>,
}

type SubscriberMut<'a> = dashmap::mapref::one::RefMut<'a, Supi, Subscriber>;

impl Repository {
    fn with<T>(&self, supi: &Supi, look: impl FnOnce(&Subscriber) -> T) -> Result<T, Failure> {
        self.subscribers.get(supi).map(|s| look(&s)).ok_or_else(|| unknown(supi))
    }

    fn with_mut(&self, supi: &Supi) -> Result<SubscriberMut<'_>, Failure> {
        self.subscribers.get_mut(supi).ok_or_else(|| unknown(supi))
    }

    /// Forgets everything that consumers wrote, but for sequence numbers: UEs have seen those.
    pub fn forget(&self) {
        let mut gone = Vec::new();
        for mut subscriber in self.subscribers.iter_mut() {
            let written = subscriber.written(subscriber.key());
            if !written.is_empty() {
                gone.push((subscriber.key().clone(), written));
            }
            subscriber.places.clear();
            subscriber.subscriptions.clear();
        }
        gone.into_iter().for_each(|(supi, resources)| self.keep_all(&supi, resources));
        let wishes = self.to_notify.forget();
        self.keep_wishes(wishes.iter().map(String::as_str));
    }

    /// Everything that consumers wrote and have not ended, sorted, with the paths below `root`.
    pub fn held(&self, root: &str) -> Vec<Held> {
        let of_subscribers = self.subscribers.iter().flat_map(|s| held_of(root, s.key(), s.value()));
        let mut held: Vec<_> = of_subscribers.chain(self.to_notify.held(root)).collect();
        held.sort();
        held
    }
}

fn held_of(root: &str, supi: &Supi, subscriber: &Subscriber) -> Vec<Held> {
    let held = |kind, resource: Resource, written: Written| Held {
        kind,
        uri: format!("{root}{}", resource.path()),
        request: Some(written.by),
    };
    let places = subscriber.places.iter().filter(|(place, stored)| !place.is_ended(&stored.value));
    let places = places.map(|(place, stored)| held(place.kind(), place.resource(supi), stored.written));
    let subscriptions = subscriber.subscriptions.iter().map(|(id, s)| {
        let resource = Resource::SdmSubscription { supi: supi.clone(), id: id.clone() };
        held("sdm-subscription", resource, s.written)
    });
    places.chain(subscriptions).collect()
}

fn unknown(supi: &Supi) -> Failure {
    Failure::new(Cause::UserNotFound, format!("{supi} is not provisioned"))
}
