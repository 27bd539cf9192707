//! Running releases: newest first, each with a budget of its own, tried again a bounded number of times.

use super::ledger::Ledger;
use super::obligation::{Fact, State, Step};
use super::slot::{Slot, SlotKey};
use super::table::{Entry, Holder, ObligationId};
use super::undo::{Found, Settle, Undo};
use crate::client::{Answer, Budget, Call, Lane, NoAnswer, last_segment, resolve};
use crate::event::{Facts, Kind};
use crate::nrf::is_stand_in;
use crate::planted::planted;
use crate::policy::LostCreates;
use crate::turns::NoTurn;
use http::StatusCode;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::spawn_local;

impl Ledger {
    /// `holder` needs nothing any more: what nobody else needs is released, what it came to hold last first. The next begins when the one
    /// before had its first answer, or after `release.wait_ms`; one failure never stops the others.
    pub(super) async fn leave_all(&self, holder: &Holder) {
        for id in self.to_leave(holder) {
            if self.leave(id, holder) == Some(Step::Release) {
                self.release_in_turn(id).await;
            }
        }
    }

    /// What `holder` holds, what it came to hold last first.
    fn to_leave(&self, holder: &Holder) -> Vec<ObligationId> {
        let mut held = self.held_by(holder);
        if planted!(SkipTheOldest) {
            held.drain(..held.len().min(1));
        }
        if !planted!(OldestFirst) {
            held.reverse();
        }
        if planted!(KeyBySubscriber) {
            let targets: Vec<_> =
                held.iter().filter_map(|id| self.with(*id, |e| e.intent.place.target().to_owned())).collect();
            for id in self.find(|e| targets.iter().any(|target| *target == e.intent.place.target())) {
                self.with_mut(id, |e| e.holders = std::iter::once(holder.clone()).collect());
                held.push(id);
            }
        }
        held
    }

    /// Releases one resource; ends when the release had its first answer, or after `release.wait_ms`.
    pub(super) async fn release_in_turn(&self, id: ObligationId) {
        let (tell, first_answer) = oneshot::channel::<()>();
        let ledger = self.clone();
        spawn_local(async move { ledger.release(id, move || drop(tell)).await });
        let _ = tokio::time::timeout(self.0.client.party().policy.release.wait, first_answer).await;
    }

    /// Releases one resource to the end: confirmed, superseded or hanging. `answered` is called after the first try.
    pub(super) async fn release(&self, id: ObligationId, answered: impl FnOnce()) {
        let mut answered = Some(answered);
        let mut pause = self.0.client.party().policy.release.backoff;
        loop {
            let fact = self.try_release(id).await;
            let step = fact.and_then(|fact| self.apply(id, fact));
            if let Some(answered) = answered.take() {
                answered();
            }
            if step == Some(Step::Retry) && planted!(FirstFailureStops) {
                std::future::pending::<()>().await;
            }
            if step != Some(Step::Retry) {
                return;
            }
            tokio::time::sleep(self.jittered(pause)).await;
            pause = pause.saturating_mul(2);
        }
    }

    /// Between three quarters of the pause and the whole.
    pub(super) fn jittered(&self, pause: Duration) -> Duration {
        let quarter = pause / 4;
        let spread = u64::try_from(quarter.as_micros()).unwrap_or(u64::MAX);
        pause - quarter + Duration::from_micros(self.0.client.env().entropy.up_to(spread))
    }

    /// One try. `None`: there is nothing to do any more.
    async fn try_release(&self, id: ObligationId) -> Option<Fact> {
        let Ok(_slot) = self.slot_for(id).await else { return Some(Fact::ReleaseFailed) };
        let _permit = self.0.at_once.acquire().await.ok()?;
        self.with(id, Entry::state).filter(|state| *state == State::Releasing)?;
        if self.yield_to_newer(id) {
            return None;
        }
        match self.with(id, Entry::undo_call)? {
            Some(call) => Some(self.send_undo(id, call).await),
            None => self.settle(id).await,
        }
    }

    /// A release at a fixed URI, and the settling of a subject, wait for creates that are under way there. What is
    /// shared has a URI of its own each time it is made.
    async fn slot_for(&self, id: ObligationId) -> Result<Option<Slot>, ()> {
        if planted!(TakeNoSlot) {
            return Ok(None);
        }
        let slot = self.with(id, |e| match &e.intent.slot {
            Some(SlotKey::Subject(_)) if e.intent.place.uri().is_some() => None,
            Some(SlotKey::Shared(_)) => None,
            slot => slot.clone(),
        });
        let Some(slot) = slot.flatten() else { return Ok(None) };
        let release = &self.0.client.party().policy.release;
        let until = self.0.client.env().clock.now() + release.settle + release.timer;
        loop {
            match self.take(&slot, until).await {
                Ok(slot) => return Ok(Some(slot)),
                // Those who wait there have a bound of their own; nothing was sent, so no try is lost.
                Err(NoTurn::Crowded) => tokio::time::sleep(release.backoff).await,
                Err(NoTurn::TimedOut) => return Err(()),
            }
            if self.0.client.env().clock.now() >= until {
                return Err(());
            }
        }
    }

    async fn send_undo(&self, id: ObligationId, call: Call) -> Fact {
        let puts_back = self.with(id, |e| e.intent.before.is_some()).unwrap_or(false);
        let outcome = self.send_own(id, call, Kind::ReleaseSent).await;
        let judged = |answer| match puts_back {
            true => Some(judge_put_back(answer)),
            false => self.with(id, |e| judge(&e.intent.undo, answer)),
        };
        let fact = outcome.as_ref().ok().and_then(judged);
        let silence = if planted!(SilenceConfirms) { Fact::ReleaseConfirmed } else { Fact::ReleaseFailed };
        let fact = fact.unwrap_or(silence);
        // What was seen at a URI of its own and is gone has been ended by its producer; nothing can land there any more.
        let had_own_uri = self.with(id, |e| e.intent.settle.is_some()).unwrap_or(false);
        let fact = match fact {
            Fact::ReleaseFoundNothing if self.may_be_anywhere(id) => Fact::ReleaseFailed,
            Fact::ReleaseFoundNothing if had_own_uri => Fact::ReleaseConfirmed,
            fact => fact,
        };
        if fact == Fact::ReleaseFailed {
            self.tell_failure(id, &outcome);
            // A fresh request is not late: the clocks differ, and will at the next try.
            let untimed = outcome.is_ok_and(|answer| answer.is_timed_out());
            self.with_mut(id, |e| e.untimed |= untimed);
        }
        fact
    }

    /// Sends a request of the ledger's own: a fresh pair and a budget of its own, never the expired one. It is waited
    /// for until its producer, too, takes it for late, whose tolerance and whose clock may make that later: what was
    /// sent to a fixed URI must not be carried out once the slot is another's.
    async fn send_own(&self, id: ObligationId, call: Call, kind: Kind) -> Result<Answer, NoAnswer> {
        let timer = self.0.client.party().policy.release.timer;
        self.send_within(id, call, kind, timer).await
    }

    /// A create that is repeated takes as long as a create does: it is waited for like one.
    async fn send_again(&self, id: ObligationId, call: Call) -> Result<Answer, NoAnswer> {
        let policy = &self.0.client.party().policy;
        let timer = policy.release.timer.max(policy.max_rsp_time);
        self.send_within(id, call, Kind::ReleaseSettling, timer).await
    }

    async fn send_within(
        &self,
        id: ObligationId,
        call: Call,
        kind: Kind,
        timer: Duration,
    ) -> Result<Answer, NoAnswer> {
        let gone = || NoAnswer::NotSent("the entry is settled".into());
        let client = &self.0.client;
        let served = self.with(id, |e| e.intent.served.clone()).ok_or_else(gone)?;
        let timer = if planted!(ReuseDeadDeadline) { Duration::ZERO } else { timer };
        let budget = Budget::own(timer, client.env().clock.now());
        let facts = Facts {
            budget_left_ms: served.facts(client.party()).budget_left_ms,
            ..client.facts(&served, &call)
        };
        client.party().emit(kind, facts);
        let exchange = client.exchange(&served, call, Lane::Releases, &budget);
        let silence = NoAnswer::Unknown { why: "no answer in time".into(), ended: false };
        let tolerance = Duration::from_millis(client.party().policy.deadline.skew_tolerance_ms);
        tokio::time::timeout_at(budget.until() + 2 * tolerance, exchange).await.unwrap_or(Err(silence))
    }

    fn tell_failure(&self, id: ObligationId, outcome: &Result<Answer, NoAnswer>) {
        let Some(facts) = self.with(id, |e| self.entry_facts(e)) else { return };
        let facts = match outcome {
            Ok(answer) => facts.status(answer.status.as_u16()),
            Err(no_answer) => facts.detail(no_answer.to_string()),
        };
        self.0.client.party().emit(Kind::ReleaseFailed, facts);
    }

    /// Finds out what became of a create whose `Location` was never seen, and releases it if it is there.
    async fn settle(&self, id: ObligationId) -> Option<Fact> {
        let Some(settle) = self.with(id, |e| e.intent.settle.clone())? else {
            return Some(Fact::ReleaseFailed);
        };
        if self.may_be_anywhere(id) {
            return Some(Fact::CannotBeFound);
        }
        match *settle {
            Settle::Repeat { call, older: None } => self.settle_by_repeat(id, *call).await,
            Settle::Repeat { call, older: Some(older) } => self.settle_unless_older(id, *call, *older).await,
            Settle::RepeatAtOurs(call) if self.may_repeat(&call) => self.settle_by_repeat(id, *call).await,
            Settle::RepeatAtOurs(_) => Some(Fact::CannotBeFound),
            read @ Settle::Read { .. } => self.settle_by_reading(id, read).await,
        }
    }

    /// Whether it is not known which producer an SCP has asked: another one says nothing of what that one has, unless the
    /// operator says that they know of one another's.
    fn may_be_anywhere(&self, id: ObligationId) -> bool {
        if self.0.client.party().policy.release.lost == LostCreates::Repeat {
            return false;
        }
        self.with(id, |e| e.intent.place.uri().is_none() && is_stand_in(e.intent.place.target()))
            .unwrap_or(false)
    }

    fn may_repeat(&self, call: &Call) -> bool {
        let client = &self.0.client;
        client.party().policy.release.lost == LostCreates::Repeat
            || client.env().directory.is_ours(call.authority())
    }

    /// While the older resource is there, the create that would have replaced it was not carried out; repeating it
    /// would. Only its producer's word that it is gone allows that.
    async fn settle_unless_older(&self, id: ObligationId, call: Call, older: Call) -> Option<Fact> {
        let outcome = self.send_own(id, older, Kind::ReleaseSettling).await;
        match &outcome {
            Ok(answer) if answer.status.is_success() && !planted!(RepeatOverOlder) => {
                Some(Fact::ReleaseFoundNothing)
            }
            Ok(_) if planted!(RepeatOverOlder) => self.settle_by_repeat(id, call).await,
            Ok(answer) if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) => {
                self.settle_by_repeat(id, call).await
            }
            _ => Some(self.failed(id, &outcome)),
        }
    }

    fn failed(&self, id: ObligationId, outcome: &Result<Answer, NoAnswer>) -> Fact {
        self.tell_failure(id, outcome);
        Fact::ReleaseFailed
    }

    async fn settle_by_repeat(&self, id: ObligationId, call: Call) -> Option<Fact> {
        let outcome = self.send_again(id, call).await;
        match &outcome {
            Ok(answer) if answer.status.is_success() => {
                let Some(location) = answer.location() else { return Some(self.failed(id, &outcome)) };
                let uri = self.with(id, |e| resolve(e.intent.place.target(), location))?;
                if self.is_at_another(id, &uri) {
                    return Some(Fact::ReleaseFoundNothing);
                }
                self.with_mut(id, |e| e.intent.place.found_at(&uri));
                self.changed(id);
                self.supersede_subject(id);
                self.release_found(id).await
            }
            Ok(answer) if refuses_for_good(answer.status) => Some(Fact::ReleaseFoundNothing),
            _ => Some(self.failed(id, &outcome)),
        }
    }

    /// Whether another create of ours made what is there: then its producer did not tell this one's from that one's.
    fn is_at_another(&self, id: ObligationId, uri: &str) -> bool {
        self.find(|e| e.intent.place.uri() == Some(uri)).into_iter().any(|other| other != id)
    }

    async fn settle_by_reading(&self, id: ObligationId, read: Settle) -> Option<Fact> {
        let Settle::Read { collection, .. } = &read else { return None };
        let outcome = self.send_own(id, Call::get(collection), Kind::ReleaseSettling).await;
        let entries: Option<Vec<serde_json::Value>> = match &outcome {
            Ok(answer) if matches!(answer.status.as_u16(), 204 | 404) => Some(Vec::new()),
            Ok(answer) if answer.status.is_success() => answer.json(),
            _ => None,
        };
        let Some(entries) = entries else { return Some(self.failed(id, &outcome)) };
        match read.find(&entries, |id| self.is_anothers(&read, id)) {
            Found::Nothing => Some(Fact::ReleaseFoundNothing),
            Found::Unclear => Some(Fact::ReleaseFailed),
            Found::At(uri) => {
                self.with_mut(id, |e| e.intent.place.found_at(&uri));
                self.changed(id);
                self.release_found(id).await
            }
        }
    }

    /// Whether an entry of the collection is what another create of ours made there, however its `Location` is written.
    fn is_anothers(&self, read: &Settle, entry_id: &str) -> bool {
        let Settle::Read { collection, .. } = read else { return false };
        let names = |e: &Entry| e.intent.place.uri().and_then(last_segment).is_some_and(|id| id == entry_id);
        !self.find(|e| e.intent.place.target() == collection && names(e)).is_empty()
    }

    async fn release_found(&self, id: ObligationId) -> Option<Fact> {
        if planted!(FindAndLeave) {
            return Some(Fact::ReleaseConfirmed);
        }
        let call = self.with(id, Entry::undo_call).flatten()?;
        Some(self.send_undo(id, call).await)
    }
}

/// Whether a create that is repeated is refused for a reason that the first one will have met as well.
fn refuses_for_good(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 408 | 409 | 425 | 429)
}

/// What the answer to a release means. Done is: 2xx, and what says that nothing of ours is there any more.
fn judge(undo: &Undo, answer: &Answer) -> Fact {
    match answer.status.as_u16() {
        _ if planted!(AnyAnswerConfirms) => Fact::ReleaseConfirmed,
        404 if planted!(NothingIsFailure) => Fact::ReleaseFailed,
        200..300 => Fact::ReleaseConfirmed,
        404 | 410 => Fact::ReleaseFoundNothing,
        _ if undo.is_done_by(answer) => Fact::ReleaseConfirmed,
        _ => Fact::ReleaseFailed,
    }
}

/// What was there before is there again only if its producer says so.
fn judge_put_back(answer: &Answer) -> Fact {
    if answer.status.is_success() { Fact::ReleaseConfirmed } else { Fact::ReleaseFailed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_done() {
        let answer = |status: u16| Answer::new(StatusCode::from_u16(status).expect("valid"));
        let undo = Undo::delete_there("").done_if(422, None).done_if(403, Some("INVALID_GUAMI"));
        let fact = |status: u16| judge(&undo, &answer(status));
        assert_eq!([200, 204, 422].map(fact), [Fact::ReleaseConfirmed; 3]);
        assert_eq!(judge(&Undo::delete_there(""), &answer(422)), Fact::ReleaseFailed);
        let purged = Answer { body: r#"{"cause":"INVALID_GUAMI"}"#.into(), ..answer(403) };
        assert_eq!(judge(&undo, &purged), Fact::ReleaseConfirmed);
        assert_eq!([404, 410].map(fact), [Fact::ReleaseFoundNothing; 2]);
        assert_eq!([400, 403, 409, 429, 500, 503, 504].map(fact), [Fact::ReleaseFailed; 7]);
    }
}
