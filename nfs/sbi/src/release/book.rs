//! What the ledger writes into the journal, and finds there after a restart.
//!
//! On record before it matters: the intent of a create before it leaves; a context, with what it owns, before its success
//! does; the end of a context before what it owns is released, and before the NF answers anybody. The rest (what a create
//! has come to, that a release was confirmed) follows when it can: without it, what is owed is settled or released once more, which ends nothing of
//! others'. An entry without an owner, and one whose owner's context has ended, is owed.

use super::ledger::Ledger;
use super::obligation::State;
use super::record::Record;
use super::table::{Entry, MAX_SETTLED, ObligationId, OwnerKey};
use crate::event::{Facts, Kind, RequestId};
use crate::journal::{Batch, Journal, Key, NotWritten, Recovered};
use crate::planted::planted;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is not on record yet.
pub(super) struct Book {
    journal: Journal,
    shard: u32,
    changed: RefCell<BTreeSet<ObligationId>>,
    /// Contexts, and what hangs.
    batch: RefCell<Batch>,
    /// What hangs stays on record, oldest first.
    hanging: RefCell<VecDeque<ObligationId>>,
    is_posting: Cell<bool>,
}

impl Book {
    pub(super) fn new(journal: Journal, shard: usize) -> Self {
        Book {
            journal,
            shard: u32::try_from(shard).unwrap_or(u32::MAX),
            changed: RefCell::default(),
            batch: RefCell::default(),
            hanging: RefCell::default(),
            is_posting: Cell::new(false),
        }
    }

    fn obligation(&self, id: ObligationId) -> Key {
        Key::Obligation { shard: self.shard, id: id.0 }
    }

    fn context(&self, owner: &str) -> Key {
        Key::Context { shard: self.shard, owner: owner.to_owned() }
    }
}

/// A context on record.
#[derive(Serialize, Deserialize)]
struct Written<T> {
    request: u64,
    context: T,
}

/// A context that was found after a restart.
#[derive(Clone, Debug)]
pub struct FoundContext {
    /// Its name as an owner.
    pub owner: OwnerKey,
    /// The request that made it: of two contexts for one thing the one with the higher number is newer.
    pub request: RequestId,
    context: Box<str>,
}

impl FoundContext {
    fn read(owner: &str, bytes: &[u8]) -> Result<Self, String> {
        let written: Written<Box<RawValue>> =
            serde_json::from_slice(bytes).map_err(|error| format!("the context {owner:.80?}: {error}"))?;
        let context = written.context.get().into();
        Ok(FoundContext { owner: owner.into(), request: RequestId(written.request), context })
    }

    /// What the NF had committed. The error is for whoever starts it.
    pub fn decode<T: for<'a> Deserialize<'a>>(&self) -> Result<T, String> {
        serde_json::from_str(&self.context)
            .map_err(|error| format!("the context {:.80?}: {error}", self.owner))
    }
}

/// Why a record is waited for.
pub(super) enum Wait<'a> {
    Intent(ObligationId),
    Context(&'a str),
    End(&'a str),
    All,
}

impl Ledger {
    /// Something of an entry that a restart has to know has changed, or it is gone.
    pub(super) fn changed(&self, id: ObligationId) {
        let Some(book) = &self.0.book else { return };
        book.changed.borrow_mut().insert(id);
        self.post_soon(book);
    }

    /// It hangs: it is forgotten here, and stays on record.
    pub(super) fn hangs(&self, id: ObligationId, entry: &Entry) {
        let Some(book) = &self.0.book else { return };
        book.batch.borrow_mut().insert(book.obligation(id), Some(Record::write(entry)));
        let mut hanging = book.hanging.borrow_mut();
        hanging.push_back(id);
        if hanging.len() > MAX_SETTLED
            && let Some(oldest) = hanging.pop_front()
        {
            book.batch.borrow_mut().insert(book.obligation(oldest), None);
        }
        self.post_soon(book);
    }

    /// What hangs is forgotten for good.
    pub(super) fn forget_hanging(&self) {
        let Some(book) = &self.0.book else { return };
        let hanging = std::mem::take(&mut *book.hanging.borrow_mut());
        book.batch.borrow_mut().extend(hanging.into_iter().map(|id| (book.obligation(id), None)));
        self.post_soon(book);
    }

    /// A context as it is now. It is on record once [`Ledger::on_record`] says so, or soon.
    pub fn keep_context(&self, owner: &str, request: RequestId, context: &impl Serialize) {
        let Some(book) = &self.0.book else { return };
        if planted!(WriteNoContext) {
            return;
        }
        let written = crate::json::to_bytes(&Written { request: request.0, context });
        self.put_context(book, owner, Some(written));
    }

    /// The same of a context that ends, and stays on record until [`Ledger::end_context`]. No answer leaves this NF before that
    /// is on record.
    pub fn keep_ending(&self, owner: &str, request: RequestId, context: &impl Serialize) {
        self.keep_context(owner, request, context);
        self.post_end();
    }

    /// A context has ended; nothing that it owned is its any more. No answer leaves this NF before that is on record.
    pub fn end_context(&self, owner: &str) {
        let Some(book) = &self.0.book else { return };
        if planted!(WriteNoEnd) {
            return;
        }
        self.put_context(book, owner, None);
        self.post_end();
    }

    /// At once: whoever is answered from now on waits for it.
    fn post_end(&self) {
        if let Some(book) = &self.0.book {
            book.journal.post_end(self.unwritten(book));
        }
    }

    fn put_context(&self, book: &Book, owner: &str, context: Option<Bytes>) {
        book.batch.borrow_mut().insert(book.context(owner), context);
        self.post_soon(book);
    }

    /// Everything that is not on record yet.
    fn unwritten(&self, book: &Book) -> Batch {
        let mut batch = std::mem::take(&mut *book.batch.borrow_mut());
        for id in std::mem::take(&mut *book.changed.borrow_mut()) {
            batch.insert(book.obligation(id), self.with(id, |entry| Record::write(entry)));
        }
        batch
    }

    /// Writes what has changed, together with what changes right after.
    fn post_soon(&self, book: &Book) {
        if book.is_posting.replace(true) {
            return;
        }
        let ledger = self.clone();
        tokio::task::spawn_local(async move {
            tokio::task::yield_now().await;
            let Some(book) = &ledger.0.book else { return };
            book.is_posting.set(false);
            let batch = ledger.unwritten(book);
            if !batch.is_empty() {
                book.journal.post(batch);
            }
        });
    }

    /// Ends when everything up to now is on record. What could not be written is tried again, but for a context that was to
    /// begin.
    pub(super) async fn on_record(&self, why: Wait<'_>) -> Result<(), NotWritten> {
        let Some(book) = &self.0.book else { return Ok(()) };
        let is_later = match why {
            Wait::Intent(_) => planted!(IntendLater),
            Wait::Context(_) => planted!(AcknowledgeBeforeTheWrite),
            Wait::End(_) | Wait::All => false,
        };
        if is_later {
            return Ok(());
        }
        let beginning = if let Wait::Context(owner) = why { Some(book.context(owner)) } else { None };
        book.journal.write(self.unwritten(book), beginning).await?;
        self.tell_written(why);
        Ok(())
    }

    fn tell_written(&self, why: Wait<'_>) {
        let party = self.0.client.party();
        let facts = match why {
            Wait::Intent(id) => self.with(id, |entry| {
                let facts = self.entry_facts(entry);
                facts.detail(format!("the intent of {}", entry.what()))
            }),
            Wait::Context(owner) => Some(Facts::default().detail(format!("the context {owner}"))),
            Wait::End(owner) => Some(Facts::default().detail(format!("the end of {owner}"))),
            Wait::All => return,
        };
        party.emit(Kind::JournalWritten, facts.unwrap_or_default());
    }

    /// Takes in what was on record when the NF started, and gives its contexts, oldest first. What is owed is released by
    /// [`Ledger::resume`].
    pub(crate) fn recover(&self, recovered: &Recovered) -> Result<Vec<FoundContext>, String> {
        let contexts: BTreeSet<&str> = recovered.contexts.iter().map(|(owner, _)| owner.as_str()).collect();
        let tries = self.0.client.party().policy.release.tries;
        for (id, bytes) in &recovered.obligations {
            let is_there = |owner: &str| contexts.contains(owner) && !planted!(OweEverything);
            let mut entry = Record::read(bytes, is_there, tries)
                .map_err(|error| format!("what is owed under number {id}: {error}"))?;
            entry.history.push(self.entered(entry.state()));
            self.0.table.borrow_mut().restore(ObligationId(*id), entry);
        }
        let found = recovered.contexts.iter().map(|(owner, bytes)| FoundContext::read(owner, bytes));
        let mut found = found.collect::<Result<Vec<_>, _>>()?;
        found.sort_by_key(|context| context.request);
        Ok(found)
    }

    /// The newest request for which anything is on record.
    pub(crate) fn newest_request(&self) -> RequestId {
        let table = self.0.table.borrow();
        let newest = table.entries.values().map(|entry| entry.intent.served.request).max();
        newest.unwrap_or(RequestId(0))
    }

    /// Releases what the crash has left without an owner: what one attempt had made, newest first.
    pub(crate) fn resume(&self) {
        if planted!(ResumeNothing) {
            return;
        }
        let mut attempts: BTreeMap<RequestId, Vec<ObligationId>> = BTreeMap::new();
        for id in self.find(|entry| entry.state() == State::Releasing) {
            let request = self.with(id, |entry| entry.intent.served.request).unwrap_or(RequestId(0));
            attempts.entry(request).or_default().push(id);
        }
        for owed in attempts.into_values() {
            let ledger = self.clone();
            tokio::task::spawn_local(async move {
                for id in owed.into_iter().rev() {
                    ledger.release_in_turn(id).await;
                }
            });
        }
    }
}
