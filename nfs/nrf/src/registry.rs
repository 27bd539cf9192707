//! What an NRF knows: NF instances, and who wants to hear of them.

use crate::search::Search;
use crate::users::Users;
use api::common::{NfInstanceId, PlmnId};
use api::nnrf_nfm::{HiddenFrom, MAX_SERVICES, NfEvent, NfProfile, NfStatus, NrfSubscription};
use sbi::clock::Instant;
use sbi::event::RequestId;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many NF instances may be registered.
pub const MAX_INSTANCES: usize = 4_096;

/// How many subscriptions there may be.
pub const MAX_SUBSCRIPTIONS: usize = 8_192;

/// The longest interval of heart-beats that an NF gets if it wishes for it, in seconds.
const MAX_HEART_BEAT_S: u64 = 3_600;

/// After how many missed intervals an instance is suspended, and after how many it is gone (our choice).
const SUSPENDED_AFTER: u32 = 2;
const GONE_AFTER: u32 = 5;

/// How heart-beats are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartBeats {
    /// The interval, unless the NF wishes for another one; whole seconds.
    pub interval_s: u64,
}

impl Default for HeartBeats {
    fn default() -> Self {
        HeartBeats { interval_s: 10 }
    }
}

/// A registered NF instance.
struct Instance {
    profile: NfProfile,
    /// Whom it serves, of the profile.
    users: Users,
    /// Whether it has announced its services as a map.
    has_map: bool,
    heard: Instant,
    registered: Instant,
    by: RequestId,
    /// What stood there before, until the answer to its registration was handed over.
    before: Option<Box<Instance>>,
}

impl Instance {
    fn interval(&self) -> Duration {
        Duration::from_secs(self.profile.heart_beat_timer.unwrap_or(MAX_HEART_BEAT_S))
    }
}

/// The wish to hear of NF instances.
struct Subscription {
    value: NrfSubscription,
    ends_unix_ms: i64,
}

/// What has happened to an NF instance, for those who want to hear of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What.
    pub event: NfEvent,
    /// The instance as it is now, or was last.
    pub profile: NfProfile,
}

/// What a registration has come to.
#[derive(Debug)]
pub struct Registered {
    /// Whether the instance was not there before.
    pub is_new: bool,
    /// The profile as it stands.
    pub profile: NfProfile,
    /// The address that it had within this interval of heart-beats, if it is another one: two processes may share an id.
    pub moved_from: Option<String>,
    /// What is to be told.
    pub change: Change,
}

/// What an NRF knows.
pub struct Registry {
    /// The NRF itself: it is found as others are.
    own: NfInstanceId,
    /// The networks that instances are of which do not say.
    plmns: Vec<PlmnId>,
    heart_beats: HeartBeats,
    instances: BTreeMap<NfInstanceId, Instance>,
    subscriptions: BTreeMap<String, Subscription>,
}

impl Registry {
    /// One that knows the NRF itself alone.
    pub fn new(mut own: NfProfile, plmns: Vec<PlmnId>, heart_beats: HeartBeats, now: Instant) -> Self {
        let id = own.nf_instance_id;
        own.plmn_list = Some(plmns.clone());
        own.heart_beat_timer = Some(heart_beats.interval_s);
        let (profile, by) = (own, RequestId(0));
        let users = Users::of(&profile);
        let own = Instance { profile, users, has_map: false, heard: now, registered: now, by, before: None };
        let instances = BTreeMap::from([(id, own)]);
        Registry { own: id, plmns, heart_beats, instances, subscriptions: BTreeMap::new() }
    }

    fn expect_not_own(&self, id: NfInstanceId) -> Result<(), Failure> {
        match id == self.own {
            true => Err(Failure::new(Cause::ModificationNotAllowed, "this NRF speaks for itself")),
            false => Ok(()),
        }
    }

    /// Registers an instance, or replaces its profile as a whole: `Nnrf_NFManagement_NFRegister`, TS 29.510 §5.2.2.2.
    pub fn register(
        &mut self,
        mut profile: NfProfile,
        by: RequestId,
        now: Instant,
    ) -> Result<Registered, Failure> {
        expect_usable(&profile)?;
        let id = profile.nf_instance_id;
        self.expect_not_own(id)?;
        let before = self.instances.get(&id);
        if before.is_some_and(|before| before.profile.nf_type != profile.nf_type) {
            let detail = format!("NF instance {id} is registered with another type");
            return Err(Failure::new(Cause::ModificationNotAllowed, detail));
        }
        if before.is_none() && self.instances.len() >= MAX_INSTANCES {
            return Err(Failure::new(Cause::InsufficientResources, "too many NF instances are registered"));
        }
        let wished = profile.heart_beat_timer.filter(|wished| (1..=MAX_HEART_BEAT_S).contains(wished));
        profile.heart_beat_timer = Some(wished.unwrap_or(self.heart_beats.interval_s));
        let moved_from = before
            .filter(|before| now < before.registered.max(before.heard) + before.interval())
            .map(|before| address(&before.profile))
            .filter(|before| *before != address(&profile));
        let is_new = before.is_none();
        let instance = Instance {
            has_map: profile.nf_service_list.is_some(),
            users: Users::of(&profile),
            profile: profile.clone(),
            heard: now,
            registered: now,
            by,
            before: None,
        };
        let before = self.instances.insert(id, instance);
        if let Some(there) = self.instances.get_mut(&id) {
            there.before = before.map(|before| Box::new(Instance { before: None, ..before }));
        }
        let event = if is_new { NfEvent::NF_REGISTERED } else { NfEvent::NF_PROFILE_CHANGED };
        Ok(Registered { is_new, moved_from, change: Change { event, profile: profile.clone() }, profile })
    }

    /// The answer to the registration by request `by` was handed over.
    pub fn keep(&mut self, id: NfInstanceId, by: RequestId) {
        if let Some(instance) = self.instances.get_mut(&id).filter(|instance| instance.by == by) {
            instance.before = None;
        }
    }

    /// It was not: what stood there before stands there again.
    pub fn undo(&mut self, id: NfInstanceId, by: RequestId) -> Option<Change> {
        let instance = self.instances.remove_entry(&id)?.1;
        if instance.by != by {
            self.instances.insert(id, instance);
            return None;
        }
        match instance.before {
            None => Some(Change { event: NfEvent::NF_DEREGISTERED, profile: instance.profile }),
            Some(before) => {
                let profile = before.profile.clone();
                self.instances.insert(id, *before);
                Some(Change { event: NfEvent::NF_PROFILE_CHANGED, profile })
            }
        }
    }

    /// Changes a profile, which is a heart-beat too: `Nnrf_NFManagement_NFUpdate`, TS 29.510 §5.2.2.3. `change` makes the
    /// new profile of the old one. What is to be told, if it says anything else than that all is as it was.
    pub fn update(
        &mut self,
        id: NfInstanceId,
        now: Instant,
        change: impl FnOnce(&NfProfile) -> Result<NfProfile, ProblemDetails>,
    ) -> Result<Option<Change>, Failure> {
        self.expect_not_own(id)?;
        let instance = self.instances.get_mut(&id).ok_or_else(|| unknown(id))?;
        let mut profile = change(&instance.profile)?;
        if profile.nf_instance_id != id || profile.nf_type != instance.profile.nf_type {
            let detail = "neither the id nor the type of an NF instance changes";
            return Err(Failure::new(Cause::ModificationNotAllowed, detail));
        }
        profile.heart_beat_timer = instance.profile.heart_beat_timer;
        expect_usable(&profile)?;
        instance.heard = now;
        let is_changed = says_more_than_load(&profile, &instance.profile);
        instance.has_map = profile.nf_service_list.is_some();
        if is_changed {
            instance.users = Users::of(&profile);
        }
        instance.profile = profile.clone();
        Ok(is_changed.then_some(Change { event: NfEvent::NF_PROFILE_CHANGED, profile }))
    }

    /// Forgets an instance: `Nnrf_NFManagement_NFDeregister`, TS 29.510 §5.2.2.4.
    pub fn deregister(&mut self, id: NfInstanceId) -> Result<Change, Failure> {
        self.expect_not_own(id)?;
        let instance = self.instances.remove(&id).ok_or_else(|| unknown(id))?;
        Ok(Change { event: NfEvent::NF_DEREGISTERED, profile: instance.profile })
    }

    /// Suspends the instances that are no longer heard of, forgets those that have not been for longer, and the
    /// subscriptions that have ended: what is to be told of that.
    pub fn expire(&mut self, now: Instant, now_unix_ms: i64) -> Vec<Change> {
        self.subscriptions.retain(|_, subscription| subscription.ends_unix_ms > now_unix_ms);
        let mut changes = Vec::new();
        self.instances.retain(|id, instance| {
            if *id == self.own {
                return true;
            }
            let silent = now.saturating_duration_since(instance.heard);
            if silent >= instance.interval() * GONE_AFTER {
                let profile = instance.profile.clone();
                changes.push(Change { event: NfEvent::NF_DEREGISTERED, profile });
                return false;
            }
            let is_registered = instance.profile.nf_status == NfStatus::REGISTERED;
            if is_registered && silent >= instance.interval() * SUSPENDED_AFTER {
                instance.profile.nf_status = NfStatus::SUSPENDED;
                let profile = instance.profile.clone();
                changes.push(Change { event: NfEvent::NF_PROFILE_CHANGED, profile });
            }
            true
        });
        changes
    }

    /// The profile of an instance: `Nnrf_NFManagement_NFProfileRetrieval`, TS 29.510 §5.2.2.9.
    pub fn profile(&self, id: NfInstanceId) -> Result<&NfProfile, Failure> {
        self.instances.get(&id).map(|instance| &instance.profile).ok_or_else(|| unknown(id))
    }

    /// The ids of all instances, or of those of one type.
    pub fn ids(&self, nf_type: Option<&str>) -> impl Iterator<Item = NfInstanceId> {
        let of_type =
            move |instance: &&Instance| nf_type.is_none_or(|wanted| instance.profile.nf_type == wanted);
        self.instances.values().filter(of_type).map(|instance| instance.profile.nf_instance_id)
    }

    /// The profiles that a consumer looks for, best first: `Nnrf_NFDiscovery`, TS 29.510 §5.3.2.2. Their services are a map
    /// for whoever has announced its own so (our choice: it can read them).
    pub fn find(&self, search: &Search) -> Vec<NfProfile> {
        let found = |instance: &&Instance| search.finds(&instance.profile, &instance.users, &self.plmns);
        let mut found: Vec<_> =
            self.instances.values().filter(found).map(|instance| &instance.profile).collect();
        found.sort_by_key(|profile| (profile.priority.unwrap_or(u16::MAX), profile.nf_instance_id));
        let has_map =
            search.requester.and_then(|id| self.instances.get(&id)).map(|requester| requester.has_map);
        let mut room = search.max_payload_bytes;
        let mut fits = |profile: &NfProfile| {
            let bytes = sbi::json::to_bytes(profile).len();
            room = room.saturating_sub(bytes);
            room > 0
        };
        let found = found.into_iter().take(search.limit.unwrap_or(usize::MAX));
        let shown = found.map(|profile| {
            let profile = profile.clone().hidden_from(HiddenFrom::Consumers);
            let profile = profile.with_services(|service| search.wants(service));
            match has_map {
                Some(has_map) => profile.with_service_map(has_map),
                None => profile,
            }
        });
        shown.take_while(|profile| fits(profile)).collect()
    }

    /// Takes a subscription: `Nnrf_NFManagement_NFStatusSubscribe`, TS 29.510 §5.2.2.5.
    pub fn subscribe(&mut self, id: &str, value: NrfSubscription, ends_unix_ms: i64) -> Result<(), Failure> {
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(Failure::new(Cause::InsufficientResources, "too many subscriptions are kept"));
        }
        self.subscriptions.insert(id.to_owned(), Subscription { value, ends_unix_ms });
        Ok(())
    }

    /// Changes how long a subscription lasts: the subscription as it is then.
    pub fn prolong(
        &mut self,
        id: &str,
        change: impl FnOnce(&NrfSubscription) -> Result<(NrfSubscription, i64), ProblemDetails>,
    ) -> Result<&NrfSubscription, Failure> {
        let there = self.subscriptions.get_mut(id).ok_or_else(|| no_subscription(id))?;
        let (value, ends_unix_ms) = change(&there.value)?;
        *there = Subscription { value, ends_unix_ms };
        Ok(&there.value)
    }

    /// Ends a subscription: `Nnrf_NFManagement_NFStatusUnSubscribe`, TS 29.510 §5.2.2.7.
    pub fn unsubscribe(&mut self, id: &str) -> Result<(), Failure> {
        self.subscriptions.remove(id).map(drop).ok_or_else(|| no_subscription(id))
    }

    /// Who wants to hear of a change, and how the profile looks to each. Nobody hears of itself, nor of whom it may not call.
    pub fn listeners<'a>(&'a self, change: &'a Change) -> impl Iterator<Item = (&'a str, NfProfile)> {
        let concerned = move |value: &&NrfSubscription| {
            let itself = value.req_nf_instance_id == Some(change.profile.nf_instance_id);
            let event = value.req_notif_events.as_ref().is_none_or(|events| events.contains(&change.event));
            let meant = value.subscr_cond.as_ref().is_none_or(|cond| cond.means(&change.profile));
            let may_call = value.req_nf_type.as_ref().is_none_or(|asking| change.profile.allows(asking));
            !itself && event && meant && may_call
        };
        self.subscriptions.values().map(|subscription| &subscription.value).filter(concerned).map(
            move |value| {
                let profile = change.profile.clone().hidden_from(HiddenFrom::Subscribers);
                let listener = value.req_nf_instance_id.and_then(|id| self.instances.get(&id));
                let profile = match listener {
                    Some(listener) => profile.with_service_map(listener.has_map),
                    None => profile,
                };
                (value.nf_status_notification_uri.as_str(), profile)
            },
        )
    }

    /// Forgets everything but itself.
    pub fn forget(&mut self) {
        self.instances.retain(|id, _| *id == self.own);
        self.subscriptions.clear();
    }
}

/// Whether two profiles differ in more than how busy the instance is: that changes with each heart-beat, and is told to nobody
/// (our choice).
fn says_more_than_load(one: &NfProfile, other: &NfProfile) -> bool {
    let without_load = |profile: &NfProfile| {
        let mut profile = profile.clone();
        ["load", "loadTimeStamp"].iter().for_each(|name| drop(profile.rest.remove(*name)));
        profile
    };
    one != other && without_load(one) != without_load(other)
}

fn unknown(id: NfInstanceId) -> Failure {
    Failure::new(Cause::ContextNotFound, format!("NF instance {id} is not registered"))
}

fn no_subscription(id: &str) -> Failure {
    Failure::new(Cause::SubscriptionNotFound, format!("there is no subscription {id:.64}"))
}

fn address(profile: &NfProfile) -> String {
    let ips = profile.ipv4_addresses.iter().flatten().chain(profile.ipv6_addresses.iter().flatten());
    let ports = profile.services().flat_map(|service| service.ip_end_points.iter().flatten());
    let ports: BTreeSet<String> = ports.filter_map(|at| at.port).map(|port| format!("port {port}")).collect();
    let names = profile.fqdn.iter().map(String::as_str).chain(ips.map(String::as_str));
    names.chain(ports.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
}

/// Whether others could reach it, and nothing of it is too much.
fn expect_usable(profile: &NfProfile) -> Result<(), Failure> {
    let listed = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let is_somewhere =
        profile.fqdn.is_some() || listed(&profile.ipv4_addresses) || listed(&profile.ipv6_addresses);
    if !is_somewhere {
        let expected = "expected one of fqdn, ipv4Addresses and ipv6Addresses";
        let param = InvalidParam::body("/fqdn", expected);
        return Err(ProblemDetails::new(Cause::MandatoryIeMissing, expected).with_param(param).into());
    }
    if profile.services().count() > MAX_SERVICES {
        let expected = format!("expected at most {MAX_SERVICES} services");
        return Err(ProblemDetails::new(Cause::OptionalIeIncorrect, expected).into());
    }
    Ok(())
}
