//! The ledger: every create of one shard and what is owed for it. Its single writer.

use super::attempt::Attempt;
use super::book::{Book, Wait};
use super::creates::Made;
use super::obligation::{Fact, Obligation, State, Step};
use super::place::Place;
use super::slot::{Slot, SlotKey};
use super::table::{AttemptId, Entered, Entry, Holder, Intent, ObligationId, OwnerKey, Resource, Table};
use super::undo::Target;
use crate::client::{Answer, Client, NoAnswer, authority, resolve};
use crate::clock::Instant;
use crate::event::{Facts, Kind, TraceId};
use crate::nrf::{chosen, is_at};
use crate::party::Served;
use crate::planted::planted;
use crate::turns::{NoTurn, Turns};
use futures_util::future::join_all;
use serde_json::Value;
use smallvec::smallvec;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// How many created resources of a shard may be unsettled, committed ones included. Beyond it nothing more is created.
pub const MAX_UNSETTLED: usize = 1_000_000;

/// How many releases of one shard are under way at once.
pub const MAX_RELEASES_AT_ONCE: usize = 64;

const STOPPING: &str = "this NF is stopping";

/// The ledger of one shard. Cheap to clone; everything happens on the shard's thread.
#[derive(Clone)]
pub struct Ledger(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) client: Rc<Client>,
    pub(super) slots: Turns<SlotKey>,
    pub(super) at_once: Semaphore,
    shard: usize,
    pub(super) table: RefCell<Table>,
    /// What goes into the journal, if there is one.
    pub(super) book: Option<Book>,
    closed: Cell<bool>,
    /// How many ends of contexts are being put on record.
    ending: Cell<usize>,
    /// Attempts up to this one can commit no more, and what is numbered up to this one is not joined any more.
    forgotten: Cell<(AttemptId, ObligationId)>,
    given_up: mpsc::UnboundedSender<AttemptId>,
}

impl Ledger {
    /// The ledger of shard number `shard`, and the task that serves attempts which gave up.
    pub fn start(client: Rc<Client>, shard: usize) -> Self {
        let book = client.party().journal.clone().map(|journal| Book::new(journal, shard));
        let (given_up, mut queue) = mpsc::unbounded_channel();
        let ledger = Ledger(Rc::new(Inner {
            client,
            slots: Turns::default(),
            at_once: Semaphore::new(MAX_RELEASES_AT_ONCE),
            shard,
            table: RefCell::default(),
            book,
            closed: Cell::new(false),
            ending: Cell::new(0),
            forgotten: Cell::new((AttemptId(0), ObligationId(0))),
            given_up,
        }));
        let served = Rc::downgrade(&ledger.0);
        tokio::task::spawn_local(async move {
            while let Some(attempt) = queue.recv().await {
                let Some(inner) = served.upgrade() else { return };
                let ledger = Ledger(inner);
                tokio::task::spawn_local(async move { ledger.leave_all(&Holder::Attempt(attempt)).await });
            }
        });
        ledger
    }

    /// The client through which this shard creates and releases.
    pub fn client(&self) -> &Rc<Client> {
        &self.0.client
    }

    /// How many entries are neither settled nor owned by a context.
    pub fn unsettled(&self) -> usize {
        self.find(|e| e.state() != State::Owned || !e.has_owner()).len()
    }

    /// How many slots are taken, creates in flight, and ends of contexts not on record yet.
    pub fn busy(&self) -> usize {
        self.0.slots.busy() + self.0.client.settling().count() + self.0.ending.get()
    }

    /// Every entry, oldest first: what is settled as far as it is kept, then the others.
    pub fn resources(&self) -> Vec<Resource> {
        let table = self.0.table.borrow();
        let others = table.entries.iter().map(|(id, entry)| self.describe(*id, entry));
        table.settled.iter().cloned().chain(others).collect()
    }

    pub(super) fn next_attempt(&self) -> AttemptId {
        self.0.table.borrow_mut().next_attempt()
    }

    /// Takes a slot, waiting for the create or release that is under way there, at most until `until`.
    pub(super) async fn take(&self, slot: &SlotKey, until: Instant) -> Result<Slot, NoTurn> {
        self.0.slots.take(slot.clone(), until).await
    }

    /// Writes down what is about to be created. The error says why nothing more may be.
    pub(super) fn intend(&self, attempt: AttemptId, intent: Intent) -> Result<ObligationId, &'static str> {
        if self.0.closed.get() {
            return Err(STOPPING);
        }
        if self.0.table.borrow().entries.len() >= MAX_UNSETTLED {
            return Err("too many created resources are not settled yet");
        }
        let inherited = intent.slot.as_ref().and_then(|slot| self.inherit(slot));
        let mut obligation = Obligation::new(self.0.client.party().policy.release.tries);
        let history = smallvec![self.entered(obligation.state())];
        let mut intent = intent;
        if planted!(ForgetWhatStoodThere) {
            intent.before = None;
        }
        if let Some((older, before)) = inherited {
            obligation.inherit(&older);
            intent.before = before;
        }
        let entry = Entry {
            intent,
            obligation,
            holders: smallvec![Holder::Attempt(attempt)],
            untimed: false,
            history,
        };
        let id = self.0.table.borrow_mut().insert(entry);
        self.changed(id);
        Ok(id)
    }

    /// What an older attempt left at a fixed URI and has not yet released: its release is cancelled, and what the URI
    /// held before it is now the newer attempt's to restore.
    fn inherit(&self, slot: &SlotKey) -> Option<(Obligation, Option<Box<Value>>)> {
        let SlotKey::Uri(_) = slot else { return None };
        let left = self.in_slot(slot, |e| e.state() == State::Releasing);
        let newest = left.into_iter().rfind(|id| !self.yield_to_newer(*id))?;
        let left = self.with(newest, |e| (e.obligation.clone(), e.intent.before.clone()));
        self.note(newest, Fact::Superseded);
        left
    }

    /// Takes over what a request that this NF passed on to `target` has made there, for nobody: it is released.
    pub fn release_unwanted(&self, made: Made, served: Served, target: &str, location: Option<&str>) {
        let attempt = self.next_attempt();
        let intent = Intent {
            kind: made.kind,
            undo: Arc::new(made.undo),
            before: None,
            settle: None,
            slot: made.may_be_anothers.then(|| SlotKey::Uri(target.into())),
            label: None,
            place: Place::Sent(target.into()),
            served: Rc::new(served),
        };
        let uri = location.map_or_else(|| target.to_owned(), |location| resolve(target, location));
        let id = match self.intend(attempt, intent) {
            Ok(id) => id,
            Err(why) => {
                let facts = Facts { uri: Some(uri.into()), ..Facts::default() };
                return self.0.client.party().emit(Kind::ResourceHanging, facts.detail(why));
            }
        };
        self.apply(id, Fact::Sent);
        self.leave(id, &Holder::Attempt(attempt));
        self.with_mut(id, |entry| entry.intent.place.found_at(&uri));
        self.note(id, Fact::Created);
    }

    /// Somebody else writes to where a request was passed on to: what is owed there is theirs now. Waits, at most until `until`, for a release that is
    /// on its way, since it might hit what they write: whether it has ended.
    pub async fn yield_slot(&self, slot: SlotKey, until: Instant) -> bool {
        let Ok(_turn) = self.take(&slot, until).await else { return false };
        let owed = self.in_slot(&slot, |e| e.state() == State::Releasing);
        owed.into_iter().for_each(|id| self.note(id, Fact::Superseded));
        true
    }

    /// Takes in a fact, and does what it asks for.
    pub(super) fn note(&self, id: ObligationId, fact: Fact) {
        if let Some(Step::Release) = self.apply(id, fact) {
            self.start_release(id);
        }
    }

    fn start_release(&self, id: ObligationId) {
        let ledger = self.clone();
        tokio::task::spawn_local(async move { ledger.release(id, || {}).await });
    }

    /// Takes in a fact; the caller does what it asks for.
    pub(super) fn apply(&self, id: ObligationId, fact: Fact) -> Option<Step> {
        let mut table = self.0.table.borrow_mut();
        let entry = table.entries.get_mut(&id)?;
        let before = entry.state();
        let step = entry.obligation.on(fact);
        let after = entry.state();
        if after == before {
            return step;
        }
        entry.history.push(self.entered(after));
        let facts = self.entry_facts(entry);
        if after.is_final()
            && let Some(entry) = table.remove(id)
        {
            if after == State::Hanging {
                self.hangs(id, &entry);
            }
            let settled = self.describe(id, &entry);
            table.keep_settled(settled);
        }
        drop(table);
        if matters_after_restart(after) {
            self.changed(id);
        }
        self.tell(before, after, fact, facts);
        step
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
                if !planted!(ForgetLocation) {
                    self.locate(id, answer);
                }
                self.note(id, Fact::Created);
                self.supersede_subject(id);
            }
            // A gateway's word does not say what the producer did; at a fixed URI, looking costs nothing (our choice).
            Ok(answer)
                if matches!(answer.status.as_u16(), 502 | 504)
                    && self.has_known_uri(id)
                    && !planted!(TrustGateways) =>
            {
                self.sent_to(id, answer);
                self.note(id, Fact::LostForGood);
            }
            Ok(_) => self.note(id, Fact::Refused),
            Err(NoAnswer::NotSent(_)) => self.note(id, Fact::NotSent),
            Err(NoAnswer::Unknown { .. }) if planted!(SilenceIsNotSent) => self.note(id, Fact::NotSent),
            Err(NoAnswer::Unknown { ended: true, .. }) => self.note(id, Fact::LostForGood),
            Err(NoAnswer::Unknown { ended: false, .. }) => self.note(id, Fact::LostForNow),
        }
    }

    fn has_known_uri(&self, id: ObligationId) -> bool {
        self.with(id, |e| e.intent.settle.is_none()).unwrap_or(false)
    }

    /// An SCP tells whom it has asked: what may have been made there is looked for, and released, there.
    pub(super) fn sent_to(&self, id: ObligationId, answer: &Answer) {
        let asked = self.with(id, |e| chosen(e.intent.place.target(), answer)).flatten();
        let Some(located) = asked else { return };
        self.with_mut(id, |entry| {
            entry.intent.place = Place::Sent(located.apply(entry.intent.place.target()).into());
            entry.intent.settle.iter_mut().for_each(|settle| settle.at(&located));
        });
        self.changed(id);
    }

    fn locate(&self, id: ObligationId, answer: &Answer) {
        self.with_mut(id, |entry| {
            if let Some(located) = chosen(entry.intent.place.target(), answer) {
                entry.intent.place = Place::Sent(located.apply(entry.intent.place.target()).into());
            }
            let intent = &entry.intent;
            let target = intent.place.target();
            let uri = match (&intent.undo.target, &intent.settle, answer.location()) {
                (Target::Location(_), _, Some(location)) => resolve(target, location),
                (_, None, _) => target.to_owned(),
                _ => return,
            };
            entry.intent.place.found_at(&uri);
            // What a lost answer would have needed can be a whole request.
            entry.intent.settle = None;
        });
    }

    /// A producer keeps one context per subject: a newer create that succeeded there has replaced whatever older ones
    /// had made.
    pub(super) fn supersede_subject(&self, newer: ObligationId) {
        let known = self.with(newer, |e| (e.intent.slot.clone(), e.intent.place.target().to_owned()));
        let Some((Some(slot @ SlotKey::Subject(_)), target)) = known else { return };
        let everywhere = planted!(SupersedeEverywhere);
        let older = self.in_slot(&slot, |e| everywhere || e.intent.place.target() == target);
        older.into_iter().filter(|id| *id < newer).for_each(|id| self.note(id, Fact::Superseded));
    }

    /// Why an attempt may not commit any more, if so.
    pub(super) fn may_commit(&self, attempt: AttemptId) -> Result<(), &'static str> {
        if self.0.closed.get() {
            return Err(STOPPING);
        }
        if attempt <= self.0.forgotten.get().0 {
            return Err("its operator has reset this NF meanwhile");
        }
        Ok(())
    }

    /// Gives the resources of an attempt their owner: which; what it did not get is given up. The error says why nothing may
    /// be committed any more.
    pub(super) fn commit(
        &self,
        attempt: AttemptId,
        owner: &OwnerKey,
    ) -> Result<Vec<ObligationId>, &'static str> {
        self.may_commit(attempt)?;
        let mut owned = Vec::new();
        let attempt = Holder::Attempt(attempt);
        for (n, id) in self.held_by(&attempt).into_iter().enumerate() {
            if planted!(OwnNothing) || planted!(OwnOnlyOne) && n > 0 {
                self.note(id, Fact::Committed);
            } else if matches!(self.with(id, Entry::state), Some(State::Held | State::Owned)) {
                self.0.table.borrow_mut().hand_over(id, &attempt, Holder::Owner(owner.clone()));
                self.note(id, Fact::Committed);
                // What others own too has one owner more, and is in no other state.
                self.changed(id);
                owned.push(id);
            } else if let Some(Step::Release) = self.leave(id, &attempt) {
                self.start_release(id);
            }
        }
        Ok(owned)
    }

    /// What was given to `owner` just now is not its after all. Whatever it had before stays.
    pub(super) fn take_back(&self, owned: Vec<ObligationId>, owner: &OwnerKey) {
        let holder = Holder::Owner(owner.clone());
        let unwanted = owned.into_iter().rev().filter(|id| self.leave(*id, &holder) == Some(Step::Release));
        let unwanted: Vec<_> = unwanted.collect();
        unwanted.iter().for_each(|id| self.changed(*id));
        if !self.owns(owner) {
            self.end_context(owner);
        }
        let ledger = self.clone();
        tokio::task::spawn_local(async move {
            ledger.all_on_record().await;
            for id in unwanted {
                ledger.release_in_turn(id).await;
            }
        });
    }

    /// Lets an attempt have what is there in a shared slot, which it has taken: whether anything is.
    pub(super) fn join(&self, attempt: AttemptId, slot: &SlotKey) -> bool {
        let dying = planted!(JoinTheDying);
        let is_there =
            |state| matches!(state, State::Held | State::Owned) || dying && state == State::Releasing;
        let there = self.in_slot(slot, |e| is_there(e.state()));
        let Some(id) = there.last().filter(|id| **id > self.0.forgotten.get().1) else { return false };
        self.0.table.borrow_mut().join(*id, Holder::Attempt(attempt));
        true
    }

    /// The success that gave `owner` its resources was handed to its client: what it replaced at the same URIs is
    /// superseded, and is not put back any more.
    pub fn delivered(&self, owner: &str) {
        for id in self.owned_by(owner) {
            if !planted!(PutBackTooLate) {
                self.forget_before(id);
            }
            if let Some(slot @ SlotKey::Uri(_)) = self.with(id, |e| e.intent.slot.clone()).flatten() {
                self.supersede_owned(&slot, id);
            }
        }
    }

    fn supersede_owned(&self, slot: &SlotKey, newer: ObligationId) {
        if planted!(ReplaceNothing) {
            return;
        }
        let older = self.in_slot(slot, |e| e.state() == State::Owned);
        older.into_iter().filter(|id| *id < newer).for_each(|id| self.note(id, Fact::Superseded));
    }

    /// The context `owner` has ended: once that is on record, what it owns is released, newest first; waits until each
    /// release had its first answer, or `release.wait_ms`.
    pub async fn disown(&self, owner: &str) {
        self.end_on_record(owner).await;
        self.release_owned(owner).await;
    }

    /// The second half of that: the end of `owner` is on record.
    pub async fn release_owned(&self, owner: &str) {
        self.leave_all(&Holder::Owner(owner.into())).await;
    }

    /// The context `owner` ends, and stays on record as it is now until [`Ledger::end_context`]: what it owns is released as by
    /// [`Ledger::disown`].
    pub async fn let_go(&self, owner: &str) {
        self.kept_on_record(owner).await;
        self.release_owned(owner).await;
    }

    /// The context `owner` has ended: ends once that is on record, or cannot be put there now. Before that nobody may hear that
    /// it is gone, since a restart would bring it back.
    pub async fn end_on_record(&self, owner: &str) {
        self.end_context(owner);
        self.kept_on_record(owner).await;
    }

    /// The same of what was last said of `owner`: that it has ended, or ends.
    pub async fn kept_on_record(&self, owner: &str) {
        self.wait_for(Wait::End(owner)).await;
    }

    /// Ends once everything up to now is on record, or cannot be put there now.
    pub async fn all_on_record(&self) {
        self.wait_for(Wait::All).await;
    }

    async fn wait_for(&self, what: Wait<'_>) {
        self.0.ending.set(self.0.ending.get() + 1);
        // What cannot be written now is tried again; the releases do not wait for that.
        let _ = self.on_record(what).await;
        self.0.ending.set(self.0.ending.get() - 1);
    }

    /// The NF stops: from now on nothing is created or committed. What is owned is found again by a journal; without one it
    /// is released.
    pub async fn close(&self) {
        self.0.closed.set(true);
        if self.0.book.is_none() {
            self.disown_all().await;
        }
    }

    /// Forgets the settled entries.
    pub fn forget_settled(&self) {
        self.forget_hanging();
        self.0.table.borrow_mut().settled.clear();
    }

    /// Releases everything that is owned, owners side by side.
    pub async fn disown_all(&self) {
        let owners = self.owners();
        self.end_contexts(&owners);
        self.all_on_record().await;
        join_all(owners.iter().map(|owner| self.leave_all(owner))).await;
    }

    /// The same of all who own something now, in the background: their contexts are forgotten. Attempts that are under way
    /// may have made what its producer has forgotten: they commit nothing any more.
    pub fn disown_forgotten(&self) {
        self.0.forgotten.set((self.next_attempt(), self.0.table.borrow().newest()));
        let (ledger, owners) = (self.clone(), self.owners());
        self.end_contexts(&owners);
        tokio::task::spawn_local(async move {
            ledger.all_on_record().await;
            join_all(owners.iter().map(|owner| ledger.leave_all(owner))).await;
        });
    }

    /// The contexts of all who own something have ended.
    fn end_contexts(&self, owners: &[Holder]) {
        for owner in owners {
            if let Holder::Owner(owner) = owner {
                self.end_context(owner);
            }
        }
    }

    fn owners(&self) -> Vec<Holder> {
        let is_owner = |holder: &&Holder| matches!(holder, Holder::Owner(_));
        self.0.table.borrow().by_holder.keys().filter(is_owner).cloned().collect()
    }

    /// Whether the shared resource that its maker labelled so is wanted: by a context, or by an attempt that is under way.
    pub fn is_wanted(&self, label: &str) -> bool {
        let table = self.0.table.borrow();
        let state = table.by_label.get(label).and_then(|id| table.entries.get(id)).map(|entry| entry.state());
        matches!(state, Some(State::InFlight | State::Held | State::Owned))
    }

    /// Of the procedure that made the newest of what `owner` owns: what ties its events together.
    pub fn trace_of(&self, owner: &str) -> Option<TraceId> {
        let newest = *self.owned_by(owner).last()?;
        self.with(newest, |e| e.intent.served.trace)
    }

    /// The producer has ended what `owner` owns, by its own word: there is nothing to release, for whomever else held it.
    pub fn ended(&self, owner: &str) {
        self.end_context(owner);
        for id in self.owned_by(owner) {
            self.apply(id, Fact::EndedByProducer);
        }
    }

    /// The same of what `owner` owns at a fixed URI: another has written there.
    pub fn ended_in_slot(&self, slot: &SlotKey, owner: &str) {
        let owned = self.owned_by(owner);
        for id in
            self.in_slot(slot, |e| e.state() == State::Owned).into_iter().filter(|id| owned.contains(id))
        {
            self.apply(id, Fact::EndedByProducer);
        }
    }

    /// A newer attempt of ours wrote to the same fixed URI: releasing the older one must not hit it. What the URI held
    /// before the older one is now the newer one's to restore, unless its consumer already has its answer. Whoever
    /// calls this holds the slot, so the newer one is no longer on its way.
    pub(super) fn yield_to_newer(&self, id: ObligationId) -> bool {
        let Some(slot @ SlotKey::Uri(_)) = self.with(id, |e| e.intent.slot.clone()).flatten() else {
            return false;
        };
        let newer = self.in_slot(&slot, |_| true).into_iter().find(|other| *other > id);
        let Some(newer) = newer.filter(|_| !planted!(HitTheNewer)) else { return false };
        let before = self.with(id, |e| e.intent.before.clone()).flatten();
        self.with_mut(newer, |e| e.intent.before = e.intent.before.take().and(before));
        self.changed(newer);
        self.note(id, Fact::Superseded);
        true
    }

    /// What a fixed URI holds again once all that was given up there is released: `None` inside if nothing, outside if
    /// nothing was given up.
    pub fn beneath(&self, slot: &SlotKey) -> Option<Option<Value>> {
        let oldest = *self.in_slot(slot, |e| e.state() != State::Owned).first()?;
        self.with(oldest, |e| e.intent.before.as_deref().cloned())
    }

    /// It shall not be there again: whoever it belonged to has ended it meanwhile.
    pub fn forget_beneath(&self, slot: &SlotKey) {
        self.in_slot(slot, |_| true).into_iter().for_each(|id| self.forget_before(id));
    }

    /// What stood there before is not put back any more.
    fn forget_before(&self, id: ObligationId) {
        if self.with(id, |e| e.intent.before.is_some()) == Some(true) {
            self.with_mut(id, |e| e.intent.before = None);
            self.changed(id);
        }
    }

    /// Whether anything is owned by `owner`.
    pub fn owns(&self, owner: &str) -> bool {
        !self.owned_by(owner).is_empty()
    }

    /// Where the newest of what an attempt has made is.
    pub fn location_made_by(&self, attempt: &Attempt) -> Option<String> {
        let newest = *self.held_by(&Holder::Attempt(attempt.id())).last()?;
        self.with(newest, |e| e.intent.place.uri().map(str::to_owned)).flatten()
    }

    /// Where that is which `owner` owns and which was created by a request to `target`, wherever that is if it is to be found.
    pub fn location(&self, owner: &str, target: &str) -> Option<String> {
        let there = |e: &Entry| {
            let place = Some(&e.intent.place).filter(|place| is_at(place.target(), target));
            place.and_then(Place::uri).map(str::to_owned)
        };
        self.owned_by(owner).into_iter().find_map(|id| self.with(id, there).flatten())
    }

    fn owned_by(&self, owner: &str) -> Vec<ObligationId> {
        let mut held = self.held_by(&Holder::Owner(owner.into()));
        held.retain(|id| self.with(*id, Entry::state) == Some(State::Owned));
        held
    }

    pub(super) fn held_by(&self, holder: &Holder) -> Vec<ObligationId> {
        self.0.table.borrow().by_holder.get(holder)
    }

    /// `holder` needs it no more: if nobody else does, what has to be done about that.
    pub(super) fn leave(&self, id: ObligationId, holder: &Holder) -> Option<Step> {
        if !self.0.table.borrow_mut().leave(id, holder) {
            return None;
        }
        let owned = self.with(id, Entry::state) == Some(State::Owned);
        self.apply(id, if owned { Fact::Disowned } else { Fact::GaveUp })
    }

    fn in_slot(&self, slot: &SlotKey, wanted: impl Fn(&Entry) -> bool) -> Vec<ObligationId> {
        let table = self.0.table.borrow();
        table.by_slot.get(slot).into_iter().filter(|id| wanted(&table.entries[id])).collect()
    }

    /// Hands an attempt that gave up to the ledger's task. No I/O happens here: it is called by `Drop`.
    pub(super) fn give_up(&self, attempt: AttemptId) {
        // The task ends with the ledger; then nothing can be released any more.
        let _ = self.0.given_up.send(attempt);
    }

    /// The entries that `wanted` accepts, oldest first.
    pub(super) fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<ObligationId> {
        self.0.table.borrow().entries.iter().filter(|(_, e)| wanted(e)).map(|(id, _)| *id).collect()
    }

    pub(super) fn with<T>(&self, id: ObligationId, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        self.0.table.borrow().entries.get(&id).map(|entry| look(entry))
    }

    pub(super) fn with_mut(&self, id: ObligationId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.0.table.borrow_mut().entries.get_mut(&id) {
            change(entry);
        }
    }

    pub(super) fn entry_facts(&self, entry: &Entry) -> Facts {
        Facts {
            peer: Some(self.peer_of(entry)),
            uri: Some(entry.known_uri().into()),
            detail: Some(entry.what()),
            ..entry.intent.served.facts(self.0.client.party())
        }
    }

    fn peer_of(&self, entry: &Entry) -> Arc<str> {
        self.0.client.env().directory.name(authority(entry.intent.place.target()))
    }

    fn describe(&self, id: ObligationId, entry: &Entry) -> Resource {
        let by = self.0.client.party().name.to_string();
        Resource {
            id: format!("{by}-{}-{}", self.0.shard, id.0),
            kind: entry.intent.kind,
            by,
            at: self.peer_of(entry).to_string(),
            uri: entry.known_uri().to_owned(),
            request: entry.intent.served.request,
            state: entry.state(),
            history: entry.history.iter().map(|entered| entered.shown()).collect(),
        }
    }

    pub(super) fn entered(&self, state: State) -> Entered {
        Entered::new(self.0.client.env().clock.elapsed(), state)
    }
}

/// Whether a restart has to know that an entry came to this state: what is sent may be unanswered at any time, and what has
/// no owner is released.
fn matters_after_restart(state: State) -> bool {
    !matches!(state, State::Intended | State::InFlight | State::Releasing | State::Hanging)
}
