//! What consumers wrote, in the journal: each resource under its own path, as it stands. Sequence numbers too, since UEs
//! have seen them.

use super::to_notify::Wish;
use super::{Place, Repository, Stored, Subscriber, Written};
use api::common::Supi;
use api::nudr_dr::{Resource, SubscriptionDataSubscriptions};
use bytes::Bytes;
use sbi::event::RequestId;
use sbi::journal::{Batch, Journal, Key};
use sbi::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// A resource on record.
#[derive(Serialize, Deserialize)]
struct Record<T> {
    value: T,
    by: u64,
    at_unix_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    until_unix_ms: Option<i64>,
}

impl<T> Record<T> {
    fn written(&self) -> Written {
        Written { by: RequestId(self.by), at_unix_ms: self.at_unix_ms }
    }
}

fn record<T: Serialize>(value: &T, written: Written, until_unix_ms: Option<i64>) -> Bytes {
    json::to_bytes(&Record { value, by: written.by.0, at_unix_ms: written.at_unix_ms, until_unix_ms })
}

impl Repository {
    /// From now on what consumers write goes into this journal too.
    pub fn keep_in(&self, journal: Journal) {
        // There is one journal: a second one would be the same.
        let _ = self.journal.set(journal);
    }

    /// Takes back what the journal has, before anybody writes. The newest request that wrote any of it, and of which
    /// subscribers there is something that are not provisioned (any more): it stays on record alone.
    pub fn restore(&self, items: &[(String, Bytes)]) -> Result<(RequestId, BTreeSet<Supi>), String> {
        let (mut newest, mut unknown) = (RequestId(0), BTreeSet::new());
        for (path, bytes) in items {
            let taken = self.take_back(path, bytes, &mut unknown);
            newest = newest.max(taken.map_err(|error| format!("the record {path:.120}: {error}"))?);
        }
        Ok((newest, unknown))
    }

    fn take_back(&self, path: &str, bytes: &[u8], unknown: &mut BTreeSet<Supi>) -> Result<RequestId, String> {
        let resource = Resource::parse(path).map_err(|_| "there is no such resource".to_owned())?;
        if let Resource::SubToNotify { id } = resource {
            let record: Record<SubscriptionDataSubscriptions> = read(bytes)?;
            let (written, until_unix_ms) = (record.written(), record.until_unix_ms);
            let wish = Wish { value: record.value, until_unix_ms, written, before: None };
            self.to_notify.wishes().insert(id, wish);
            return Ok(written.by);
        }
        let record: Record<Value> = read(bytes)?;
        let written = record.written();
        let supi = supi_of(&resource).ok_or("it is of no subscriber")?;
        match self.with_mut(supi) {
            Ok(mut subscriber) => {
                subscriber.take_back(&resource, Stored { value: record.value, written, before: None })?;
            }
            Err(_) => drop(unknown.insert(supi.clone())),
        }
        Ok(written.by)
    }

    /// Puts a resource of a subscriber on record as it stands, or that it is gone.
    pub(super) fn keep(&self, supi: &Supi, resource: &Resource) {
        let Some(journal) = self.journal.get() else { return };
        // Whoever changes it next waits, so that the records come in the order of the changes.
        let subscriber = self.subscribers.get(supi);
        let record = subscriber.as_ref().and_then(|subscriber| subscriber.record(resource));
        journal.post_end(Batch::from([(Key::Item(resource.path()), record)]));
    }

    /// The same of a place.
    pub(super) fn keep_place(&self, supi: &Supi, place: Place) {
        self.keep(supi, &place.resource(supi));
    }

    /// The same of an SDM subscription.
    pub(super) fn keep_subscription(&self, supi: &Supi, id: &str) {
        self.keep(supi, &Resource::SdmSubscription { supi: supi.clone(), id: id.to_owned() });
    }

    /// The same of wishes to be notified.
    pub(super) fn keep_wishes<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let Some(journal) = self.journal.get() else { return };
        let wishes = self.to_notify.wishes();
        let batch = ids.into_iter().map(|id| {
            let wish = wishes.get(id).map(|wish| record(&wish.value, wish.written, wish.until_unix_ms));
            (Key::Item(Resource::SubToNotify { id: id.to_owned() }.path()), wish)
        });
        journal.post_end(batch.collect());
    }

    /// The same of all that was written for a subscriber.
    pub(super) fn keep_all(&self, supi: &Supi, resources: Vec<Resource>) {
        resources.iter().for_each(|resource| self.keep(supi, resource));
    }
}

impl Subscriber {
    fn record(&self, resource: &Resource) -> Option<Bytes> {
        if let Resource::AuthenticationSubscription { .. } = resource {
            let number = self.profile.authentication.sequence_number.as_ref()?;
            return Some(record(number, Written { by: RequestId(0), at_unix_ms: 0 }, None));
        }
        let stored = match (Place::of(resource), resource) {
            (Some(place), _) => self.places.get(&place),
            (None, Resource::SdmSubscription { id, .. }) => self.subscriptions.get(id),
            _ => None,
        };
        stored.map(|stored| record(&stored.value, stored.written, None))
    }

    fn take_back(&mut self, resource: &Resource, stored: Stored) -> Result<(), String> {
        match (Place::of(resource), resource) {
            (Some(place), _) => drop(self.places.insert(place, stored)),
            (None, Resource::SdmSubscription { id, .. }) => {
                drop(self.subscriptions.insert(id.clone(), stored));
            }
            (None, Resource::AuthenticationSubscription { .. }) => {
                let number = serde_json::from_value(stored.value).map_err(|error| error.to_string())?;
                self.profile.authentication.sequence_number = Some(number);
            }
            _ => return Err("consumers write no such resource".into()),
        }
        Ok(())
    }

    /// Everything that consumers have written.
    pub(super) fn written(&self, supi: &Supi) -> Vec<Resource> {
        let places = self.places.keys().map(|place| place.resource(supi));
        let subscription = |id: &String| Resource::SdmSubscription { supi: supi.clone(), id: id.clone() };
        places.chain(self.subscriptions.keys().map(subscription)).collect()
    }
}

fn read<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<Record<T>, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

fn supi_of(resource: &Resource) -> Option<&Supi> {
    match resource {
        Resource::AmfRegistration { supi }
        | Resource::SmfRegistration { supi, .. }
        | Resource::AuthenticationStatus { supi }
        | Resource::AuthenticationSubscription { supi }
        | Resource::SdmSubscription { supi, .. } => Some(supi),
        _ => None,
    }
}
