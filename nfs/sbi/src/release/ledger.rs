//! The ledger: every create of one shard and what is owed for it. Its single writer.

use super::obligation::{Fact, Obligation, State, Step};
use super::slot::{Slot, SlotKey};
use super::undo::{Settle, Target, Undo};
use crate::client::{Answer, Call, Client, NoAnswer, TimingMode, resolve};
use crate::clock::Instant;
use crate::event::{Facts, Kind, RequestId};
use crate::party::Served;
use crate::turns::{NoTurn, Turns};
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use tokio::sync::{Semaphore, mpsc};

/// How many obligations a shard may have open. Beyond it nothing more is created.
pub const MAX_OPEN: usize = 100_000;

/// How many settled entries are kept for people to look at.
pub const MAX_SETTLED: usize = 10_000;

/// How many releases of one shard are under way at once.
pub const MAX_RELEASES_AT_ONCE: usize = 64;

/// Numbers obligations within their ledger, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObligationId(pub(super) u64);

/// Numbers attempts within their ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptId(pub(super) u64);

/// Names a context that owns created resources.
pub type OwnerKey = String;

/// One create, as it was decided on.
pub(super) struct Entry {
    pub(super) obligation: Obligation,
    pub(super) kind: &'static str,
    pub(super) undo: Undo,
    /// What the URI held before, until the newer value is known to have reached its consumer.
    pub(super) before: Option<Value>,
    pub(super) settle: Settle,
    pub(super) slot: Option<SlotKey>,
    /// The URI that the create was sent to.
    pub(super) target: String,
    /// The resource's URI, once it is known.
    pub(super) uri: Option<String>,
    pub(super) attempt: AttemptId,
    pub(super) owner: Option<OwnerKey>,
    pub(super) served: Served,
    pub(super) peer: String,
    /// Whether the timing headers are left out of its undo: its producer called a fresh one late.
    pub(super) untimed: bool,
    history: Vec<(f64, &'static str)>,
}

/// An entry of the ledger, for people and verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct Resource {
    /// Its name: NF, shard and number.
    pub id: String,
    /// What it is: `sdm-subscription`, `smf-registration`, `sm-context`.
    pub kind: &'static str,
    /// Who created it.
    pub by: String,
    /// Where.
    pub at: String,
    /// Its URI; the URI that the create was sent to while it has none.
    pub uri: String,
    /// The request for which it was created.
    pub request: RequestId,
    /// See [`State::as_str`].
    pub state: &'static str,
    /// Milliseconds since the process started, and the state entered then.
    pub history: Vec<(f64, &'static str)>,
}

/// The ledger of one shard. Cheap to clone; everything happens on the shard's thread.
#[derive(Clone)]
pub struct Ledger(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) client: Rc<Client>,
    pub(super) slots: Turns<SlotKey>,
    pub(super) at_once: Semaphore,
    shard: usize,
    table: RefCell<Table>,
    given_up: mpsc::UnboundedSender<AttemptId>,
}

#[derive(Default)]
struct Table {
    open: BTreeMap<ObligationId, Entry>,
    by_attempt: Index<AttemptId>,
    by_slot: Index<SlotKey>,
    by_owner: Index<OwnerKey>,
    settled: VecDeque<Resource>,
    obligations: u64,
    attempts: u64,
}

/// The open entries that share a key, oldest first.
struct Index<K: Ord>(BTreeMap<K, Vec<ObligationId>>);

impl<K: Ord> Default for Index<K> {
    fn default() -> Self {
        Index(BTreeMap::new())
    }
}

impl<K: Ord> Index<K> {
    fn add(&mut self, key: K, id: ObligationId) {
        self.0.entry(key).or_default().push(id);
    }

    fn remove(&mut self, key: &K, id: ObligationId) {
        let Some(ids) = self.0.get_mut(key) else { return };
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            self.0.remove(key);
        }
    }
}

impl Ledger {
    /// The ledger of shard number `shard`, and the task that serves attempts which gave up.
    pub fn start(client: Rc<Client>, shard: usize) -> Self {
        let (given_up, mut queue) = mpsc::unbounded_channel();
        let ledger = Ledger(Rc::new(Inner {
            client,
            slots: Turns::default(),
            at_once: Semaphore::new(MAX_RELEASES_AT_ONCE),
            shard,
            table: RefCell::default(),
            given_up,
        }));
        let served = Rc::downgrade(&ledger.0);
        tokio::task::spawn_local(async move {
            while let Some(attempt) = queue.recv().await {
                let Some(inner) = served.upgrade() else { return };
                let ledger = Ledger(inner);
                let made = ledger.made_by(attempt);
                tokio::task::spawn_local(
                    async move { ledger.release_newest_first(made, Fact::GaveUp).await },
                );
            }
        });
        ledger
    }

    /// The client through which this shard creates and releases.
    pub fn client(&self) -> &Rc<Client> {
        &self.0.client
    }

    /// Entries that are not settled, committed ones apart.
    pub fn open(&self) -> usize {
        self.0.table.borrow().open.values().filter(|e| e.obligation.state() != State::Owned).count()
    }

    /// Every entry, oldest first: what is settled as far as it is kept, then what is open.
    pub fn resources(&self) -> Vec<Resource> {
        let table = self.0.table.borrow();
        let open = table.open.iter().map(|(id, entry)| self.describe(*id, entry));
        table.settled.iter().cloned().chain(open).collect()
    }

    pub(super) fn next_attempt(&self) -> AttemptId {
        let mut table = self.0.table.borrow_mut();
        table.attempts += 1;
        AttemptId(table.attempts)
    }

    /// Takes a slot, waiting for the create or release that is under way there, at most until `until`.
    pub(super) async fn take(&self, slot: &SlotKey, until: Instant) -> Result<Slot, NoTurn> {
        self.0.slots.take(slot.clone(), until).await
    }

    /// Writes down what is about to be created. `None`: [`MAX_OPEN`] are open.
    pub(super) fn intend(&self, entry: NewEntry) -> Option<ObligationId> {
        let inherited = entry.slot.as_ref().and_then(|slot| self.inherit(slot));
        let mut table = self.0.table.borrow_mut();
        if table.open.len() >= MAX_OPEN {
            return None;
        }
        table.obligations += 1;
        let id = ObligationId(table.obligations);
        let mut entry = entry.into_entry(self.0.client.party().policy.release.tries);
        if let Some((older, before)) = inherited {
            entry.obligation.inherit(&older);
            entry.before = before;
        }
        entry.history.push((self.at_ms(), State::Intended.as_str()));
        table.by_attempt.add(entry.attempt, id);
        if let Some(slot) = &entry.slot {
            table.by_slot.add(slot.clone(), id);
        }
        table.open.insert(id, entry);
        Some(id)
    }

    /// What an older attempt left at a fixed URI and has not yet released: its release is cancelled, and what the URI
    /// held before it is now the newer attempt's to restore.
    fn inherit(&self, slot: &SlotKey) -> Option<(Obligation, Option<Value>)> {
        let SlotKey::Uri(_) = slot else { return None };
        let left = self.in_slot(slot, |e| e.obligation.state() == State::Releasing);
        let newest = left.into_iter().rfind(|id| !self.yield_to_newer(*id))?;
        let left = self.with(newest, |e| (e.obligation.clone(), e.before.clone()));
        self.note(newest, Fact::Superseded);
        left
    }

    /// Takes in a fact, and does what it asks for.
    pub(super) fn note(&self, id: ObligationId, fact: Fact) {
        if let Some(Step::Release) = self.apply(id, fact) {
            let ledger = self.clone();
            tokio::task::spawn_local(async move { ledger.release(id, || {}).await });
        }
    }

    /// Takes in a fact; the caller does what it asks for.
    pub(super) fn apply(&self, id: ObligationId, fact: Fact) -> Option<Step> {
        let mut table = self.0.table.borrow_mut();
        let entry = table.open.get_mut(&id)?;
        let before = entry.obligation.state();
        let step = entry.obligation.on(fact);
        let after = entry.obligation.state();
        if after == before {
            return step;
        }
        entry.history.push((self.at_ms(), after.as_str()));
        let facts = self.entry_facts(entry);
        if after.is_final() {
            self.settle_entry(&mut table, id);
        }
        drop(table);
        self.tell(before, after, fact, facts);
        step
    }

    fn settle_entry(&self, table: &mut Table, id: ObligationId) {
        let Some(entry) = table.open.remove(&id) else { return };
        table.by_attempt.remove(&entry.attempt, id);
        if let Some(slot) = &entry.slot {
            table.by_slot.remove(slot, id);
        }
        if let Some(owner) = &entry.owner {
            table.by_owner.remove(owner, id);
        }
        if table.settled.len() == MAX_SETTLED {
            table.settled.pop_front();
        }
        table.settled.push_back(self.describe(id, &entry));
    }

    fn tell(&self, before: State, after: State, fact: Fact, facts: Facts) {
        let kind = match (before, after) {
            (State::Intended | State::InFlight, State::Held | State::Releasing) if fact == Fact::Created => {
                Kind::ResourceCreated
            }
            (_, State::Owned) => Kind::ResourceCommitted,
            (_, State::Released) => Kind::ReleaseConfirmed,
            (_, State::Hanging) => Kind::ResourceHanging,
            (_, State::Void) if fact == Fact::Superseded => Kind::ResourceSuperseded,
            _ => return,
        };
        self.0.client.party().emit(kind, facts);
    }

    /// What the create's exchange came to, in time or late.
    pub(super) fn note_outcome(&self, id: ObligationId, outcome: &Result<Answer, NoAnswer>) {
        match outcome {
            Ok(answer) if answer.status.is_success() => {
                self.locate(id, answer);
                self.note(id, Fact::Created);
                self.supersede_subject(id);
            }
            // A gateway's word does not say what the producer did; at a fixed URI, looking costs nothing (our choice).
            Ok(answer) if matches!(answer.status.as_u16(), 502 | 504) && self.has_known_uri(id) => {
                self.note(id, Fact::LostForGood);
            }
            Ok(_) => self.note(id, Fact::Refused),
            Err(NoAnswer::NotSent(_)) => self.note(id, Fact::NotSent),
            Err(NoAnswer::Unknown { ended: true, .. }) => self.note(id, Fact::LostForGood),
            Err(NoAnswer::Unknown { ended: false, .. }) => self.note(id, Fact::LostForNow),
        }
    }

    fn has_known_uri(&self, id: ObligationId) -> bool {
        self.with(id, |e| matches!(e.settle, Settle::KnownUri)).unwrap_or(false)
    }

    fn locate(&self, id: ObligationId, answer: &Answer) {
        self.with_mut(id, |entry| {
            entry.uri = match (&entry.undo.target, &entry.settle, answer.location()) {
                (Target::Location(_), _, Some(location)) => Some(resolve(&entry.target, location)),
                (_, Settle::KnownUri, _) => Some(entry.target.clone()),
                _ => None,
            };
        });
    }

    /// A producer keeps one context per subject: a newer create that succeeded there has replaced whatever older ones
    /// had made.
    pub(super) fn supersede_subject(&self, newer: ObligationId) {
        let known = self.with(newer, |e| (e.slot.clone(), e.target.clone()));
        let Some((Some(slot @ SlotKey::Subject(_)), target)) = known else { return };
        let older = self.in_slot(&slot, |e| e.target == target);
        older.into_iter().filter(|id| *id < newer).for_each(|id| self.note(id, Fact::Superseded));
    }

    /// Gives the resources of an attempt their owner; what it did not get is given up.
    pub(super) fn commit(&self, attempt: AttemptId, owner: &OwnerKey) {
        for id in self.made_by(attempt) {
            self.own(id, owner);
            self.note(id, Fact::Committed);
            if self.with(id, |e| e.obligation.state()).is_some_and(|state| state != State::Owned) {
                self.note(id, Fact::GaveUp);
            }
        }
    }

    /// The success that gave `owner` its resources was handed to its client: what it replaced at the same URIs is
    /// superseded, and is not put back any more.
    pub fn delivered(&self, owner: &str) {
        for id in self.owned_by(owner) {
            self.with_mut(id, |e| e.before = None);
            if let Some(slot @ SlotKey::Uri(_)) = self.with(id, |e| e.slot.clone()).flatten() {
                self.supersede_owned(&slot, id);
            }
        }
    }

    fn supersede_owned(&self, slot: &SlotKey, newer: ObligationId) {
        let older = self.in_slot(slot, |e| e.obligation.state() == State::Owned);
        older.into_iter().filter(|id| *id < newer).for_each(|id| self.note(id, Fact::Superseded));
    }

    /// Releases what `owner` owns, newest first; waits until each release had its first answer, or `release.wait_ms`.
    pub async fn disown(&self, owner: &str) {
        self.release_newest_first(self.owned_by(owner), Fact::Disowned).await;
    }

    /// Releases everything that is owned.
    pub async fn disown_all(&self) {
        let owned = self.find(|e| e.obligation.state() == State::Owned);
        self.release_newest_first(owned, Fact::Disowned).await;
    }

    /// The producer has ended what `owner` owns, by its own word: there is nothing to release.
    pub fn ended(&self, owner: &str) {
        for id in self.owned_by(owner) {
            self.apply(id, Fact::EndedByProducer);
        }
    }

    /// A newer attempt of ours wrote to the same fixed URI: releasing the older one must not hit it. What the URI held
    /// before the older one is now the newer one's to restore, unless its consumer already has its answer. Whoever
    /// calls this holds the slot, so the newer one is no longer on its way.
    pub(super) fn yield_to_newer(&self, id: ObligationId) -> bool {
        let Some(slot @ SlotKey::Uri(_)) = self.with(id, |e| e.slot.clone()).flatten() else { return false };
        let newer = self.in_slot(&slot, |_| true).into_iter().find(|other| *other > id);
        let Some(newer) = newer else { return false };
        let before = self.with(id, |e| e.before.clone()).flatten();
        self.with_mut(newer, |e| e.before = e.before.take().and(before));
        self.note(id, Fact::Superseded);
        true
    }

    /// What a fixed URI holds again once all that was given up there is released: `None` inside if nothing, outside if
    /// nothing was given up.
    pub fn beneath(&self, slot: &SlotKey) -> Option<Option<Value>> {
        let oldest = *self.in_slot(slot, |e| e.obligation.state() != State::Owned).first()?;
        self.with(oldest, |e| e.before.clone())
    }

    /// It shall not be there again: whoever it belonged to has ended it meanwhile.
    pub fn forget_beneath(&self, slot: &SlotKey) {
        self.in_slot(slot, |_| true).into_iter().for_each(|id| self.with_mut(id, |e| e.before = None));
    }

    /// Whether anything is owned by `owner`.
    pub fn owns(&self, owner: &str) -> bool {
        !self.owned_by(owner).is_empty()
    }

    /// Where that is which `owner` owns and which was created by a request to `target`.
    pub fn location(&self, owner: &str, target: &str) -> Option<String> {
        let there = |e: &Entry| e.uri.clone().filter(|_| e.target == target);
        self.owned_by(owner).into_iter().find_map(|id| self.with(id, there).flatten())
    }

    fn owned_by(&self, owner: &str) -> Vec<ObligationId> {
        let table = self.0.table.borrow();
        let ids = table.by_owner.0.get(owner).cloned().unwrap_or_default();
        ids.into_iter().filter(|id| table.open[id].obligation.state() == State::Owned).collect()
    }

    fn in_slot(&self, slot: &SlotKey, wanted: impl Fn(&Entry) -> bool) -> Vec<ObligationId> {
        let table = self.0.table.borrow();
        let ids = table.by_slot.0.get(slot).cloned().unwrap_or_default();
        ids.into_iter().filter(|id| wanted(&table.open[id])).collect()
    }

    fn own(&self, id: ObligationId, owner: &OwnerKey) {
        let mut table = self.0.table.borrow_mut();
        let Some(entry) = table.open.get_mut(&id) else { return };
        entry.owner = Some(owner.clone());
        table.by_owner.add(owner.clone(), id);
    }

    /// Hands an attempt that gave up to the ledger's task. No I/O happens here: it is called by `Drop`.
    pub(super) fn give_up(&self, attempt: AttemptId) {
        // The task ends with the ledger; then nothing can be released any more.
        let _ = self.0.given_up.send(attempt);
    }

    fn made_by(&self, attempt: AttemptId) -> Vec<ObligationId> {
        self.0.table.borrow().by_attempt.0.get(&attempt).cloned().unwrap_or_default()
    }

    /// The open entries that `wanted` accepts, oldest first.
    pub(super) fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<ObligationId> {
        self.0.table.borrow().open.iter().filter(|(_, e)| wanted(e)).map(|(id, _)| *id).collect()
    }

    pub(super) fn with<T>(&self, id: ObligationId, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        self.0.table.borrow().open.get(&id).map(look)
    }

    pub(super) fn with_mut(&self, id: ObligationId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.0.table.borrow_mut().open.get_mut(&id) {
            change(entry);
        }
    }

    pub(super) fn entry_facts(&self, entry: &Entry) -> Facts {
        Facts {
            peer: Some(entry.peer.as_str().into()),
            uri: Some(entry.uri.as_ref().unwrap_or(&entry.target).as_str().into()),
            detail: Some(entry.kind.into()),
            ..entry.served.facts(self.0.client.party())
        }
    }

    fn describe(&self, id: ObligationId, entry: &Entry) -> Resource {
        let by = self.0.client.party().name.to_string();
        Resource {
            id: format!("{by}-{}-{}", self.0.shard, id.0),
            kind: entry.kind,
            by,
            at: entry.peer.clone(),
            uri: entry.uri.clone().unwrap_or_else(|| entry.target.clone()),
            request: entry.served.request,
            state: entry.obligation.state().as_str(),
            history: entry.history.clone(),
        }
    }

    fn at_ms(&self) -> f64 {
        let elapsed = self.0.client.env().clock.elapsed().as_secs_f64();
        (elapsed * 10_000.0).round() / 10.0
    }
}

/// What an attempt tells the ledger of a create.
pub(super) struct NewEntry {
    pub(super) kind: &'static str,
    pub(super) undo: Undo,
    pub(super) before: Option<Value>,
    pub(super) settle: Settle,
    pub(super) slot: Option<SlotKey>,
    pub(super) target: String,
    pub(super) attempt: AttemptId,
    pub(super) served: Served,
    pub(super) peer: String,
}

impl Entry {
    /// The request that ends the resource or restores what was there before; `None` while it cannot be addressed.
    pub(super) fn undo_call(&self) -> Option<Call> {
        let call = match &self.before {
            Some(before) => Undo::put_back(self.target.clone(), before.clone()).call(None),
            None => self.undo.call(self.uri.as_deref()),
        }?;
        let timing = if self.untimed { TimingMode::Omitted } else { call.timing };
        Some(Call { timing, ..call })
    }
}

impl NewEntry {
    fn into_entry(self, tries: u32) -> Entry {
        let NewEntry { kind, undo, before, settle, slot, target, attempt, served, peer } = self;
        Entry {
            obligation: Obligation::new(tries),
            kind,
            undo,
            before,
            settle,
            slot,
            target,
            uri: None,
            attempt,
            owner: None,
            served,
            peer,
            untimed: false,
            history: Vec::new(),
        }
    }
}
