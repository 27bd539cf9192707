//! An attempt: what a procedure holds while it reads and creates upstream.

use super::book::Wait;
use super::ledger::Ledger;
use super::obligation::{Fact, State};
use super::place::Place;
use super::slot::{Slot, SlotKey};
use super::table::{AttemptId, Entry, Intent, ObligationId, OwnerKey};
use super::undo::{Settle, Undo};
use crate::client::{Answer, Budget, Call, Lane, NoAnswer, Ready, Upstream};
use crate::clock::Instant;
use crate::event::{Facts, Kind};
use crate::nrf::Located;
use crate::party::Served;
use crate::planted::planted;
use serde::Serialize;
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A create upstream, together with what ends it.
#[derive(Clone, Debug)]
pub struct Creation {
    /// What is created, for the ledger: `sdm-subscription`.
    pub kind: &'static str,
    /// The create.
    pub call: Call,
    /// What ends the resource. Creates that end alike share it.
    pub undo: Arc<Undo>,
    /// What the URI held before, as far as this NF has to restore it: giving up puts it back instead.
    pub before: Option<Value>,
    /// How to find out what became of it if its answer is lost; `None` if its URI is known beforehand.
    pub settle: Option<Settle>,
    /// Where attempts of the same context meet.
    pub slot: Option<SlotKey>,
}

impl Creation {
    /// The same at the producer that was found: it is released where it was made. Its slot is the same wherever that is.
    fn at(mut self, located: &Located) -> Self {
        self.call.uri = located.apply(&self.call.uri);
        self.settle.iter_mut().for_each(|settle| settle.at(located));
        self
    }
}

/// A procedure's hold on what it creates. A success is answered only from [`Committed`]; dropping the attempt gives
/// up, and the ledger releases what it had created.
pub struct Attempt {
    ledger: Ledger,
    id: AttemptId,
    served: Rc<Served>,
    committed: bool,
}

/// Proof that everything an attempt created has an owner. A 2xx to a create is built from it.
#[derive(Debug)]
pub struct Committed {
    owner: OwnerKey,
}

impl Committed {
    /// Who owns what was created.
    pub fn owner(&self) -> &OwnerKey {
        &self.owner
    }
}

impl Attempt {
    /// Begins an attempt for a served request.
    pub fn begin(ledger: &Ledger, served: Served) -> Self {
        Attempt {
            id: ledger.next_attempt(),
            ledger: ledger.clone(),
            served: Rc::new(served),
            committed: false,
        }
    }

    pub(super) fn id(&self) -> AttemptId {
        self.id
    }

    /// The request it works for.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Whether the served request's client still waits: checked after every upstream answer,
    /// TS 29.500 §6.11.2.2 (Rel-17), and before the next call.
    pub fn checkpoint(&self) -> Result<(), Upstream> {
        self.budget().map(|_| ())
    }

    /// Reads from upstream.
    pub async fn read(&self, call: Call) -> Result<Answer, Upstream> {
        self.ledger.client().ask(&self.served, call).await
    }

    /// Takes a slot before its content is read: nobody of this shard writes there until it is used or dropped.
    pub async fn take(&self, key: &SlotKey) -> Result<Slot, Upstream> {
        self.take_within(&self.budget()?, key).await
    }

    async fn take_within(&self, budget: &Budget, key: &SlotKey) -> Result<Slot, Upstream> {
        self.ledger.take(key, budget.until()).await.map_err(|no_turn| budget.no_turn(no_turn))
    }

    /// Holds what several contexts use together: the one that is there under `key`, else the one that `make` says how to
    /// create, under a label of its own. It is released when all have left who made or joined it.
    ///
    /// Whoever finds it being made waits for that answer, within its own deadline. A create that is given up stays its
    /// maker's: its late answer decides about it alone, and the next attempt makes another one.
    pub async fn share(
        &mut self,
        key: Arc<str>,
        make: impl FnOnce() -> (Arc<str>, Creation),
    ) -> Result<(), Upstream> {
        let key = SlotKey::Shared(key);
        let budget = self.budget()?;
        let _turn = self.take_within(&budget, &key).await?;
        if self.ledger.join(self.id, &key) {
            return Ok(());
        }
        let (label, creation) = make();
        let creation = Creation { slot: Some(key), ..creation };
        self.create_within(budget, None, creation, Some(label)).await.map(|_| ())
    }

    /// Creates upstream, waiting for its slot if it has one: the wait counts.
    pub async fn create(&mut self, creation: Creation) -> Result<Answer, Upstream> {
        let budget = self.budget()?;
        let slot = match &creation.slot {
            Some(_) if planted!(TakeNoSlot) => None,
            Some(key) => Some(self.take_within(&budget, key).await?),
            None => None,
        };
        self.create_within(budget, slot, creation, None).await
    }

    /// Creates upstream, in a slot that was taken before.
    pub async fn create_in(&mut self, slot: Slot, creation: Creation) -> Result<Answer, Upstream> {
        self.create_within(self.budget()?, Some(slot), creation, None).await
    }

    fn budget(&self) -> Result<Budget, Upstream> {
        self.ledger.client().budget(&self.served)
    }

    async fn create_within(
        &mut self,
        budget: Budget,
        slot: Option<Slot>,
        creation: Creation,
        label: Option<Arc<str>>,
    ) -> Result<Answer, Upstream> {
        let client = self.ledger.client().clone();
        let creation = match client.located(&self.served, &creation.call, &budget).await? {
            Some(located) => creation.at(&located),
            None => creation,
        };
        let id = self.intend(&creation, label)?;
        if let Err(upstream) = self.on_record(Wait::Intent(id), &budget).await {
            self.ledger.note(id, Fact::NotSent);
            return Err(upstream);
        }
        let facts = client.sent(&self.served, &creation.call, &budget);
        let answered = self.send(id, slot, creation.call, budget, facts.clone());
        let outcome = tokio::time::timeout_at(budget.until(), answered).await;
        client.judge(&self.served, &budget, facts, outcome.ok().and_then(Result::ok))
    }

    fn intend(&self, creation: &Creation, label: Option<Arc<str>>) -> Result<ObligationId, Upstream> {
        let target = match &creation.slot {
            Some(SlotKey::Uri(uri)) if **uri == *creation.call.uri => uri.clone(),
            _ => creation.call.uri.as_str().into(),
        };
        let intent = Intent {
            kind: creation.kind,
            undo: creation.undo.clone(),
            before: creation.before.clone().map(Box::new),
            settle: creation.settle.clone().map(Box::new),
            slot: creation.slot.clone(),
            label,
            place: Place::Sent(target),
            served: self.served.clone(),
        };
        self.ledger.intend(self.id, intent).map_err(|why| Upstream::Congested(why.into()))
    }

    /// Sends the create on its own task: it goes on after the wait for it has ended, so that a late answer is seen.
    fn send(
        &self,
        id: ObligationId,
        slot: Option<Slot>,
        call: Call,
        budget: Budget,
        facts: Facts,
    ) -> oneshot::Receiver<Result<Answer, NoAnswer>> {
        let (tell, told) = oneshot::channel();
        let exchange = Exchange { ledger: self.ledger.clone(), served: *self.served, id, budget };
        tokio::task::spawn_local(async move {
            let mut tell = Some(tell);
            let outcome = exchange.run(call, &mut tell).await;
            if planted!(DropLateAnswers) && exchange.is_over() {
                return;
            }
            exchange.ledger.note_outcome(id, &outcome);
            drop(slot);
            exchange.tell_if_late(&outcome, facts);
            if let Some(tell) = tell {
                let _ = tell.send(outcome);
            }
        });
        told
    }

    /// Gives everything created to `owner`, the name of `context`, unless the client has stopped waiting. Both are on
    /// record, if there is a journal, when this ends well; else everything is given up.
    pub async fn commit(
        mut self,
        owner: impl Into<OwnerKey>,
        context: &impl Serialize,
    ) -> Result<Committed, Upstream> {
        self.checkpoint()?;
        let owner = owner.into();
        let owned = self.ledger.commit(self.id, &owner).map_err(|why| Upstream::Congested(why.into()))?;
        self.committed = true;
        self.ledger.keep_context(&owner, self.served.request, context);
        match self.be_on_record(&owner).await {
            Ok(()) => Ok(Committed { owner }),
            Err(upstream) => {
                self.ledger.take_back(owned, &owner);
                Err(upstream)
            }
        }
    }

    /// Meanwhile the client may have stopped waiting, and the NF may have been told to stop or forget.
    async fn be_on_record(&self, owner: &str) -> Result<(), Upstream> {
        self.on_record(Wait::Context(owner), &self.budget()?).await?;
        self.ledger.may_commit(self.id).map_err(|why| Upstream::Congested(why.into()))
    }

    /// A journal that cannot be written in time is no reason to wait longer.
    async fn on_record(&self, why: Wait<'_>, budget: &Budget) -> Result<(), Upstream> {
        let written = tokio::time::timeout_at(budget.until(), self.ledger.on_record(why)).await;
        written.map_err(|_| budget.passed())?.map_err(|error| Upstream::Congested(error.to_string()))?;
        if self.ledger.client().env().clock.now() < budget.until() { Ok(()) } else { Err(budget.passed()) }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.committed {
            self.ledger.give_up(self.id);
        }
    }
}

/// Whoever waits for the answer to a create.
type Waiting = Option<oneshot::Sender<Result<Answer, NoAnswer>>>;

/// A create under way.
struct Exchange {
    ledger: Ledger,
    served: Served,
    id: ObligationId,
    budget: Budget,
}

impl Exchange {
    async fn run(&self, call: Call, waiting: &mut Waiting) -> Result<Answer, NoAnswer> {
        let client = self.ledger.client();
        let call = client.taking_late_answer(call);
        let ready = client.connect(&self.served, &call, Lane::Calls, self.budget.until()).await?;
        self.ledger.apply(self.id, Fact::Sent);
        if self.ledger.with(self.id, Entry::state) != Some(State::InFlight) {
            return Err(NoAnswer::NotSent("its attempt gave up first".into()));
        }
        let (place, is_silent) = (client.settling().enter(), Cell::new(false));
        tokio::select! {
            biased;
            outcome = self.last_word(ready, call, waiting, &is_silent) => outcome,
            () = tokio::time::sleep_until(self.settled_by()) => Err(NoAnswer::Unknown {
                why: "no answer within release.settle_ms".into(),
                // By then an intermediary has let go of it as well.
                ended: is_silent.get(),
            }),
            () = place.displaced() => {
                Err(NoAnswer::Unknown { why: "too many creates await their late answers".into(), ended: false })
            }
        }
    }

    /// What its producer says. An intermediary that has no answer has not said anything of it: whoever waits is told, and the
    /// create counts as unanswered for as long as it may still be carried out.
    async fn last_word(
        &self,
        ready: Ready,
        call: Call,
        waiting: &mut Waiting,
        is_silent: &Cell<bool>,
    ) -> Result<Answer, NoAnswer> {
        let client = self.ledger.client();
        let outcome = client.send(ready, &self.served, call, Lane::Calls, &self.budget).await;
        match &outcome {
            Ok(answer) if answer.is_silence() && !planted!(TrustGateways) => {
                self.ledger.sent_to(self.id, answer);
                if answer.is_the_end() {
                    let why = "its producer has ended the exchange with an SCP".into();
                    return Err(NoAnswer::Unknown { why, ended: true });
                }
            }
            Err(NoAnswer::Unknown { ended: false, .. }) => {}
            _ => return outcome,
        }
        is_silent.set(true);
        if let Some(waiting) = waiting.take() {
            let _ = waiting.send(outcome);
        }
        std::future::pending().await
    }

    /// Until when a late answer is awaited, counted from the end of the wait for it: a producer that gives up gives its
    /// answer only then.
    fn settled_by(&self) -> Instant {
        let policy = &self.ledger.client().party().policy;
        let tolerance = std::time::Duration::from_millis(policy.deadline.skew_tolerance_ms);
        self.budget.until() + policy.release.settle.max(tolerance)
    }

    fn is_over(&self) -> bool {
        self.ledger.client().env().clock.now() >= self.budget.until()
    }

    fn tell_if_late(&self, outcome: &Result<Answer, NoAnswer>, facts: Facts) {
        let party = self.ledger.client().party();
        if !self.is_over() {
            return;
        }
        if let Ok(answer) = outcome {
            let budget_left_ms = self.served.facts(party).budget_left_ms;
            let facts = Facts { budget_left_ms, ..facts };
            party.emit(Kind::ResponseLate, facts.status(answer.status.as_u16()));
        }
    }
}
