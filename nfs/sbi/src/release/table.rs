//! The ledger's table: its entries, and what finds them.

use super::obligation::{Obligation, State};
use super::place::Place;
use super::slot::SlotKey;
use super::undo::{Settle, Undo};
use crate::client::{Call, TimingMode};
use crate::event::RequestId;
use crate::party::Served;
use crate::planted::planted;
use serde::{Serialize, Serializer};
use serde_json::Value;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How many settled entries are kept for people to look at.
pub const MAX_SETTLED: usize = 10_000;

/// Numbers obligations within their ledger, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObligationId(pub(super) u64);

/// Numbers attempts within their ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptId(pub(super) u64);

/// Names a context that owns created resources.
pub type OwnerKey = Arc<str>;

/// Who needs a created resource: attempts that are under way, and contexts. It is released when the last has left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    Attempt(AttemptId),
    Owner(OwnerKey),
}

/// What an attempt tells the ledger of a create before it is sent.
pub(super) struct Intent {
    pub(super) kind: &'static str,
    pub(super) undo: Arc<Undo>,
    /// What the URI held before, until the newer value is known to have reached its consumer.
    pub(super) before: Option<Box<Value>>,
    /// How to find the resource; `None` once its URI is known, or if it was from the beginning.
    pub(super) settle: Option<Box<Settle>>,
    pub(super) slot: Option<SlotKey>,
    pub(super) label: Option<Arc<str>>,
    pub(super) place: Place,
    pub(super) served: Rc<Served>,
}

/// A state, and when it was entered: tenths of milliseconds since the process started, above the state's number.
#[derive(Clone, Copy)]
pub(super) struct Entered(u64);

impl Entered {
    pub(super) fn new(at: Duration, state: State) -> Self {
        let tenths = u64::try_from(at.as_micros() / 100).unwrap_or(u64::MAX);
        Entered(tenths << 8 | state as u64)
    }

    pub(super) fn shown(self) -> (f64, State) {
        ((self.0 >> 8) as f64 / 10.0, State::ALL[(self.0 & 0xff) as usize])
    }
}

/// One create, and what is known of it by now.
pub(super) struct Entry {
    pub(super) intent: Intent,
    pub(super) obligation: Obligation,
    /// Those who need it still.
    pub(super) holders: SmallVec<[Holder; 1]>,
    /// Whether the timing headers are left out of its undo: its producer called a fresh one late.
    pub(super) untimed: bool,
    pub(super) history: SmallVec<[Entered; 4]>,
}

impl Entry {
    pub(super) fn state(&self) -> State {
        self.obligation.state()
    }

    /// Whether a context owns it; else attempts alone hold it.
    pub(super) fn has_owner(&self) -> bool {
        self.holders.iter().any(|holder| matches!(holder, Holder::Owner(_)))
    }

    /// What it is; and of what cannot be addressed and may hang, with what it was created, so that a person can find it.
    pub(super) fn what(&self) -> String {
        match (self.state(), &self.intent.settle) {
            (State::Hanging, Some(settle)) => format!("{}, sent as {}", self.intent.kind, settle.sent()),
            _ => self.intent.kind.to_owned(),
        }
    }

    /// The resource's URI as far as it is known: until then, the URI that the create was sent to.
    pub(super) fn known_uri(&self) -> &str {
        self.intent.place.uri().unwrap_or(self.intent.place.target())
    }

    /// The request that ends the resource or restores what was there before; `None` while it cannot be addressed.
    pub(super) fn undo_call(&self) -> Option<Call> {
        let call = match &self.intent.before {
            Some(before) => Undo::put_back(Value::clone(before)).call(self.intent.place.target(), None),
            None => self.intent.undo.call(self.intent.place.target(), self.intent.place.uri()),
        }?;
        let timing = if self.untimed { TimingMode::Omitted } else { call.timing };
        Some(Call { timing, ..call })
    }
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
    /// How far it has come.
    pub state: State,
    /// Milliseconds since the process started, and the state entered then.
    pub history: Vec<(f64, State)>,
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The entries that are not settled, and the newest of those that are.
#[derive(Default)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<ObligationId, Box<Entry>>,
    pub(super) by_holder: Index<Holder>,
    pub(super) by_slot: Index<SlotKey>,
    pub(super) by_label: BTreeMap<Arc<str>, ObligationId>,
    pub(super) settled: VecDeque<Resource>,
    obligations: u64,
    attempts: u64,
}

impl Table {
    pub(super) fn next_attempt(&mut self) -> AttemptId {
        self.attempts += 1;
        AttemptId(self.attempts)
    }

    /// The newest obligation's number.
    pub(super) fn newest(&self) -> ObligationId {
        ObligationId(self.obligations)
    }

    pub(super) fn insert(&mut self, entry: Entry) -> ObligationId {
        let id = ObligationId(self.obligations + 1);
        self.restore(id, entry);
        id
    }

    /// Inserts an entry under the number that it had before a restart; newer ones get higher numbers.
    pub(super) fn restore(&mut self, id: ObligationId, entry: Entry) {
        self.obligations =
            if planted!(CountAnew) { self.obligations + 1 } else { self.obligations.max(id.0) };
        entry.holders.iter().for_each(|holder| self.by_holder.add(holder.clone(), id));
        if let Some(slot) = &entry.intent.slot {
            self.by_slot.add(slot.clone(), id);
        }
        if let Some(label) = &entry.intent.label {
            self.by_label.insert(label.clone(), id);
        }
        self.entries.insert(id, Box::new(entry));
    }

    pub(super) fn remove(&mut self, id: ObligationId) -> Option<Box<Entry>> {
        let entry = self.entries.remove(&id)?;
        entry.holders.iter().for_each(|holder| self.by_holder.remove(holder, id));
        if let Some(slot) = &entry.intent.slot {
            self.by_slot.remove(slot, id);
        }
        if let Some(label) = &entry.intent.label {
            self.by_label.remove(label);
        }
        Some(entry)
    }

    /// `holder` takes over what `other` needed.
    pub(super) fn hand_over(&mut self, id: ObligationId, other: &Holder, holder: Holder) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.holders.retain(|there| there != other && *there != holder);
        entry.holders.push(holder.clone());
        self.by_holder.remove(other, id);
        self.by_holder.add(holder, id);
    }

    /// `holder` needs it too.
    pub(super) fn join(&mut self, id: ObligationId, holder: Holder) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if !entry.holders.contains(&holder) {
            entry.holders.push(holder.clone());
            self.by_holder.add(holder, id);
        }
    }

    /// `holder` needs it no more. Whether it was the last; a holder that does not hold it is not.
    pub(super) fn leave(&mut self, id: ObligationId, holder: &Holder) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        let held = entry.holders.len();
        entry.holders.retain(|other| *other != *holder);
        self.by_holder.remove(holder, id);
        if planted!(CountNobody) {
            entry.holders.clear();
        }
        held > 0 && entry.holders.is_empty()
    }

    pub(super) fn keep_settled(&mut self, resource: Resource) {
        if self.settled.len() == MAX_SETTLED {
            self.settled.pop_front();
        }
        self.settled.push_back(resource);
    }
}

/// The entries that share a key, in the order in which they came to it.
pub(super) struct Index<K: Ord>(BTreeMap<K, SmallVec<[ObligationId; 2]>>);

impl<K: Ord> Default for Index<K> {
    fn default() -> Self {
        Index(BTreeMap::new())
    }
}

impl<K: Ord> Index<K> {
    pub(super) fn add(&mut self, key: K, id: ObligationId) {
        let ids = self.0.entry(key).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }

    pub(super) fn remove(&mut self, key: &K, id: ObligationId) {
        let Some(ids) = self.0.get_mut(key) else { return };
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            self.0.remove(key);
        }
    }

    pub(super) fn get(&self, key: &K) -> Vec<ObligationId> {
        self.0.get(key).map(|ids| ids.to_vec()).unwrap_or_default()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }
}
