//! Who wants to be notified of changes, and what it has not been told yet.

use super::provisioned::Changed;
use super::{Repository, Written};
use api::common::{ChangeItem, NotifyItem, Supi};
use api::nudr_dr::{DataChangeNotify, DataSet, Resource, SubscriptionDataSubscriptions};
use sbi::event::RequestId;
use sbi::problem::Cause;
use sbi::server::{Failure, Held};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// How many wishes to be notified a UDR keeps.
pub const MAX_SUBS_TO_NOTIFY: usize = 32_768;

/// How many notifications may wait or be under way; a change is not told to further consumers.
pub const MAX_UNTOLD: usize = 4_096;

/// A notification for a consumer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notification {
    /// Where to.
    pub(crate) callback: String,
    /// Until when it is wanted, wall-clock ms since the Unix epoch.
    pub(crate) until_unix_ms: Option<i64>,
    /// What it tells.
    pub(crate) body: DataChangeNotify,
}

/// A wish to be notified.
pub(super) struct Wish {
    pub(super) value: SubscriptionDataSubscriptions,
    pub(super) until_unix_ms: Option<i64>,
    pub(super) written: Written,
    /// What it was before it was last modified.
    pub(super) before: Option<Box<Wish>>,
}

/// The wishes by id, and the notifications on their way to whoever sends them.
pub(super) struct ToNotify {
    wishes: Mutex<BTreeMap<String, Wish>>,
    untold: AtomicUsize,
    outbox: mpsc::UnboundedSender<Notification>,
    /// Until somebody begins to send.
    inbox: Mutex<Option<mpsc::UnboundedReceiver<Notification>>>,
}

impl Default for ToNotify {
    fn default() -> Self {
        let (outbox, inbox) = mpsc::unbounded_channel();
        ToNotify {
            wishes: Mutex::default(),
            untold: AtomicUsize::new(0),
            outbox,
            inbox: Mutex::new(Some(inbox)),
        }
    }
}

impl ToNotify {
    pub(super) fn wishes(&self) -> MutexGuard<'_, BTreeMap<String, Wish>> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies those who monitor one of the sets.
    pub(super) fn changed(&self, supi: &Supi, changed: &[Changed]) {
        if changed.is_empty() {
            return;
        }
        for wish in self.wishes().values() {
            let monitored = wish.value.monitored_resource_uris.iter();
            let items: Vec<_> = monitored.filter_map(|uri| item(supi, uri, changed)).collect();
            if !items.is_empty() {
                self.queue(wish, supi, items);
            }
        }
    }

    fn queue(&self, wish: &Wish, supi: &Supi, notify_items: Vec<NotifyItem>) {
        let body = DataChangeNotify {
            original_callback_reference: wish.value.original_callback_reference.iter().cloned().collect(),
            ue_id: Some(supi.to_string()),
            notify_items,
            ..DataChangeNotify::default()
        };
        let callback = wish.value.callback_reference.clone();
        let notification = Notification { callback, until_unix_ms: wish.until_unix_ms, body };
        let has_room =
            self.untold.fetch_update(SeqCst, SeqCst, |n| (n < MAX_UNTOLD).then_some(n + 1)).is_ok();
        if has_room && self.outbox.send(notification).is_err() {
            self.untold.fetch_sub(1, SeqCst);
        }
    }

    /// Forgets all wishes: which there were.
    pub(super) fn forget(&self) -> Vec<String> {
        std::mem::take(&mut *self.wishes()).into_keys().collect()
    }

    pub(super) fn held(&self, root: &str) -> Vec<Held> {
        let held = |(id, wish): (&String, &Wish)| Held {
            kind: "subs-to-notify",
            uri: format!("{root}{}", Resource::SubToNotify { id: id.clone() }.path()),
            request: Some(wish.written.by),
        };
        self.wishes().iter().map(held).collect()
    }
}

/// What a monitored URI says of the changes.
fn item(supi: &Supi, uri: &str, changed: &[Changed]) -> Option<NotifyItem> {
    let monitored = |set: DataSet| match Resource::monitored(uri) {
        Some(Resource::ProvisionedSet { supi: of, set: wanted, .. }) => {
            (of == *supi && wanted == set).then(String::new)
        }
        Some(Resource::Provisioned { supi: of, .. }) => {
            (of == *supi).then(|| format!("/{}", set.attribute()))
        }
        _ => None,
    };
    let change = |c: &Changed| {
        monitored(c.set).map(|path| ChangeItem::between(&path, c.before.clone(), c.now.clone()))
    };
    let changes: Vec<_> = changed.iter().filter_map(change).collect();
    (!changes.is_empty()).then(|| NotifyItem { resource_id: uri.to_owned(), changes })
}

impl Repository {
    /// Adds a wish to be notified under `fresh`, or finds the one alike if it asks for that: its id, and the wish.
    pub fn add_to_notify(
        &self,
        wish: SubscriptionDataSubscriptions,
        until_unix_ms: Option<i64>,
        fresh: String,
        written: Written,
    ) -> Result<(String, SubscriptionDataSubscriptions, bool), Failure> {
        let (mut wishes, mut gone) = (self.to_notify.wishes(), Vec::new());
        if wish.unique_subscription == Some(true)
            && let Some((id, there)) = wishes.iter().find(|(_, there)| is_alike(&there.value, &wish))
        {
            return Ok((id.clone(), there.value.clone(), false));
        }
        if wishes.len() >= MAX_SUBS_TO_NOTIFY {
            let expired = |there: &Wish| there.until_unix_ms.is_some_and(|until| until <= written.at_unix_ms);
            gone.extend(wishes.extract_if(.., |_, there| expired(there)).map(|(id, _)| id));
        }
        if wishes.len() >= MAX_SUBS_TO_NOTIFY {
            drop(wishes);
            self.keep_wishes(gone.iter().map(String::as_str));
            let detail = format!("there are {MAX_SUBS_TO_NOTIFY} subscriptions already");
            return Err(Failure::new(Cause::InsufficientResources, detail));
        }
        let value = SubscriptionDataSubscriptions { subscription_id: Some(fresh.clone()), ..wish };
        let wish = Wish { value: value.clone(), until_unix_ms, written, before: None };
        wishes.insert(fresh.clone(), wish);
        drop(wishes);
        self.keep_wishes(gone.iter().chain([&fresh]).map(String::as_str));
        Ok((fresh, value, true))
    }

    /// Changes a wish, and until when it is wanted, in one step; its id stays.
    pub fn modify_to_notify(
        &self,
        id: &str,
        written: Written,
        change: impl FnOnce(
            &SubscriptionDataSubscriptions,
        ) -> Result<(SubscriptionDataSubscriptions, Option<i64>), Failure>,
    ) -> Result<(), Failure> {
        let mut wishes = self.to_notify.wishes();
        let there = wishes.get(id).ok_or_else(|| no_wish(id))?;
        let (wish, until_unix_ms) = change(&there.value)?;
        let before = wishes.remove(id).map(|before| Box::new(Wish { before: None, ..before }));
        let value = SubscriptionDataSubscriptions { subscription_id: Some(id.to_owned()), ..wish };
        wishes.insert(id.to_owned(), Wish { value, until_unix_ms, written, before });
        drop(wishes);
        self.keep_wishes([id]);
        Ok(())
    }

    /// Takes back the write of a wish, if it is still the newest.
    pub fn undo_to_notify(&self, id: &str, by: RequestId) {
        let mut wishes = self.to_notify.wishes();
        let Some(wish) = wishes.remove(id) else { return };
        let stays = if wish.written.by == by { wish.before.map(|before| *before) } else { Some(wish) };
        if let Some(wish) = stays {
            wishes.insert(id.to_owned(), wish);
        }
        drop(wishes);
        self.keep_wishes([id]);
    }

    /// One wish.
    pub fn to_notify(&self, id: &str) -> Result<SubscriptionDataSubscriptions, Failure> {
        self.to_notify.wishes().get(id).map(|wish| wish.value.clone()).ok_or_else(|| no_wish(id))
    }

    /// Removes a wish.
    pub fn delete_to_notify(&self, id: &str) -> Result<(), Failure> {
        let removed = self.to_notify.wishes().remove(id);
        self.keep_wishes([id]);
        removed.map(|_| ()).ok_or_else(|| no_wish(id))
    }

    /// The notifications to send, for the first who asks.
    pub(crate) fn outbox(&self) -> Option<mpsc::UnboundedReceiver<Notification>> {
        self.to_notify.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A notification was sent, or is not wanted any more.
    pub(crate) fn told(&self) {
        self.to_notify.untold.fetch_sub(1, SeqCst);
    }

    /// How many notifications wait or are under way.
    pub fn untold(&self) -> usize {
        self.to_notify.untold.load(SeqCst)
    }
}

/// Whether two wishes are by the same consumer about the same resources.
fn is_alike(a: &SubscriptionDataSubscriptions, b: &SubscriptionDataSubscriptions) -> bool {
    a.ue_id == b.ue_id
        && a.callback_reference == b.callback_reference
        && a.monitored_resource_uris == b.monitored_resource_uris
}

fn no_wish(id: &str) -> Failure {
    Failure::new(Cause::SubscriptionNotFound, format!("there is no subscription {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use serde_json::json;

    const SUPI: &str = "imsi-001010000000001";

    fn supi() -> Supi {
        SUPI.parse().expect("SUPI")
    }

    fn written(at_unix_ms: i64) -> Written {
        Written { by: RequestId(1), at_unix_ms }
    }

    fn wish(uri: &str) -> SubscriptionDataSubscriptions {
        SubscriptionDataSubscriptions::new(SUPI, "http://127.0.0.1:9/changed".into(), vec![uri.into()])
    }

    fn add(repository: &Repository, uri: &str, id: &str) {
        repository.add_to_notify(wish(uri), None, id.into(), written(0)).expect("room");
    }

    fn provision(repository: &Repository, am: serde_json::Value) {
        repository.provision(&supi(), Profile { am, ..Profile::default() });
    }

    /// Where what is to be told was changed, one line for each notification.
    fn told(repository: &Repository) -> Vec<String> {
        let mut outbox = repository.outbox().expect("the first to ask");
        let told = std::iter::from_fn(|| outbox.try_recv().ok()).map(|notification| {
            let item = &notification.body.notify_items[0];
            format!("{} {} {}", item.resource_id, item.changes[0].op, item.changes[0].path)
        });
        told.collect()
    }

    #[test]
    fn only_who_monitors_what_has_changed_is_told() {
        let repository = Repository::default();
        provision(&repository, json!({"a": 1}));
        let data = format!("subscription-data/{SUPI}/00101/provisioned-data");
        for (n, uri) in [
            format!("{data}/am-data"),
            format!("{data}/sm-data"),
            data.replace(SUPI, "imsi-001010000000002") + "/am-data",
            data.clone(),
        ]
        .iter()
        .enumerate()
        {
            add(&repository, uri, &n.to_string());
        }
        provision(&repository, json!({"a": 1}));
        provision(&repository, json!({"a": 2}));
        assert_eq!(repository.untold(), 2);
        assert_eq!(
            told(&repository),
            [format!("{data}/am-data REPLACE "), format!("{data} REPLACE /amData")]
        );
    }

    #[test]
    fn what_waits_is_bounded() {
        let repository = Repository::default();
        add(&repository, &format!("subscription-data/{SUPI}/00101/provisioned-data/am-data"), "1");
        (0..MAX_UNTOLD + 10).for_each(|n| provision(&repository, json!({"a": n})));
        assert_eq!((repository.untold(), told(&repository).len()), (MAX_UNTOLD, MAX_UNTOLD));
    }

    #[test]
    fn a_unique_wish_exists_once() {
        let repository = Repository::default();
        let unique = SubscriptionDataSubscriptions { unique_subscription: Some(true), ..wish("/x") };
        let add = |wish: &SubscriptionDataSubscriptions, id: &str| {
            repository.add_to_notify(wish.clone(), None, id.into(), written(0)).expect("room")
        };
        assert_eq!(
            (add(&unique, "1").0, add(&unique, "2").0, add(&wish("/x"), "3").0),
            ("1".into(), "1".into(), "3".into())
        );
    }

    #[test]
    fn what_has_expired_makes_room_for_others() {
        let repository = Repository::default();
        let add = |id: usize, until: i64, now: i64| {
            repository.add_to_notify(wish("/x"), Some(until), id.to_string(), written(now)).is_ok()
        };
        assert!((0..MAX_SUBS_TO_NOTIFY).all(|id| add(id, if id == 0 { 5 } else { 9 }, 0)));
        assert!(!add(MAX_SUBS_TO_NOTIFY, 20, 4), "all of them are wanted");
        assert!(add(MAX_SUBS_TO_NOTIFY, 20, 5) && repository.to_notify("0").is_err());
    }
}
