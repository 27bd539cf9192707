//! One request passed on to one producer, and its answer, in time or late.

use crate::answer::end_of_connection;
use crate::forwarder::Forwarder;
use crate::late::{Unwanted, Writing};
use crate::passing::{Passing, authority, place_of, target_at, uri_at};
use crate::path::pass;
use crate::route::is_routing;
use http::Uri;
use http::header::HOST;
use sbi::client::{Forwarded, Lane, MAX_PEERS, NoAnswer, Settling, location_in};
use sbi::event::{Facts, Kind};
use sbi::header::{Restamped, Timing};
use sbi::nrf::Producer;
use sbi::policy::{Forward, Mode};
use sbi::release::made_by;
use sbi::server::{RequestBody, RequestKind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::oneshot;

/// How many creates of one producer may be awaited here after their clients have left; beyond it the oldest is reset.
pub(crate) const MAX_LATE_PER_PEER: usize = 64;

/// An answer, and the write to a fixed URI that it is the end of.
pub(crate) struct Answered {
    pub(crate) answer: Forwarded,
    pub(crate) writing: Option<Writing>,
}

/// Counted as long as it is there.
struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    fn enter(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Relaxed);
        InFlight(count.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Forwarder {
    /// Asks one producer. A create or update goes on after the wait for it, so that what it leaves behind can be told.
    pub(crate) async fn ask(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        producer: &Producer,
    ) -> Result<Answered, NoAnswer> {
        let facts = self.facts(passing, producer);
        self.party.emit(Kind::UpstreamSent, facts.clone());
        let answered = self.exchange(passing, producer);
        let answer = match passing.kind {
            RequestKind::Write => self.ask_to_the_end(passing, facts.clone(), answered).await,
            RequestKind::Read | RequestKind::Release => {
                tokio::time::timeout_at(passing.late, answered).await.ok()
            }
        };
        let facts = Facts { budget_left_ms: passing.served.facts(&self.party).budget_left_ms, ..facts };
        match &answer {
            Some(Ok(answered)) => {
                self.party.emit(Kind::UpstreamAnswered, facts.status(answered.answer.head.status.as_u16()))
            }
            Some(Err(why)) => self.party.emit(Kind::UpstreamFailed, facts.detail(why.to_string())),
            None => self.party.emit(Kind::UpstreamTimedOut, facts),
        }
        let silence = || NoAnswer::Unknown { why: "none within this SCP's own timer".into(), ended: false };
        answer.unwrap_or_else(|| Err(silence()))
    }

    async fn ask_to_the_end(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        facts: Facts,
        answered: impl Future<Output = Result<Answered, NoAnswer>> + 'static,
    ) -> Option<Result<Answered, NoAnswer>> {
        let (counted, mut answered) = (InFlight::enter(&self.in_flight), Box::pin(answered));
        if let Ok(answer) = tokio::time::timeout_at(passing.late, answered.as_mut()).await {
            return Some(answer);
        }
        let (tell, told) = oneshot::channel();
        let (this, of_request) = (self.clone(), passing.clone());
        tokio::task::spawn_local(async move {
            if let Some(unheard) = this.unheard(&of_request, answered, tell, &facts).await {
                this.tell_late(&of_request, facts, unheard);
            }
            drop(counted);
        });
        tokio::time::timeout_at(passing.last_word, told).await.ok()?.ok()
    }

    /// Hands a late answer to whoever takes it; a success that nobody takes is what comes of this.
    async fn unheard(
        &self,
        passing: &Passing,
        answered: Pin<Box<impl Future<Output = Result<Answered, NoAnswer>>>>,
        tell: oneshot::Sender<Result<Answered, NoAnswer>>,
        facts: &Facts,
    ) -> Option<Answered> {
        let place = self.late_at(facts.peer.clone().unwrap_or_default()).enter();
        let answer = tokio::select! {
            biased;
            answer = answered => answer,
            () = tokio::time::sleep_until(passing.settled) => return None,
            () = place.displaced() => return None,
        };
        let unheard = tell.send(answer).err()?.ok()?;
        unheard.answer.head.status.is_success().then_some(unheard)
    }

    /// The late creates of one producer: so many of them leave most of its streams to others.
    fn late_at(&self, peer: Arc<str>) -> Settling {
        let mut late = self.late.borrow_mut();
        if late.len() >= MAX_PEERS {
            late.retain(|_, of_peer| of_peer.count() > 0);
        }
        late.entry(peer).or_insert_with(|| Settling::of_at_most(MAX_LATE_PER_PEER)).clone()
    }

    fn tell_late(&self, passing: &Passing, facts: Facts, mut late: Answered) {
        let target = facts.uri.as_deref().unwrap_or_default().to_owned();
        let head = &late.answer.head;
        let location = location_in(&head.headers);
        let status = head.status.as_u16();
        let what = format!("{status} comes too late; Location: {}", location.unwrap_or("none"));
        self.party.emit(Kind::ResponseLate, facts.status(status).detail(what));
        if let Some(creation) = self.creation(passing, &mut late, &target) {
            self.shards.of(&creation.target).do_send(Unwanted(creation));
        }
    }

    fn exchange(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        producer: &Producer,
    ) -> impl Future<Output = Result<Answered, NoAnswer>> + 'static {
        let (this, passing, root) = (self.clone(), passing.clone(), producer.root.clone());
        async move {
            let uri = target_at(&root, &passing.parts.uri);
            let uri = uri.ok_or_else(|| NoAnswer::NotSent("it would have an unusable URI".into()))?;
            let writing = match this.party.policy.release_late {
                true => Box::pin(this.begin_writing(&passing, uri_at(&root, &passing.parts.uri))).await?,
                false => None,
            };
            let make = || this.request(&passing, uri.clone());
            let lane = if passing.kind == RequestKind::Release { Lane::Releases } else { Lane::Calls };
            let answer = this.client.forward(authority(&root), lane, passing.until, make).await?;
            Ok(Answered { answer, writing })
        }
    }

    /// Late releases must not hit what a newer request writes to the same URI.
    async fn begin_writing(&self, passing: &Passing, target: String) -> Result<Option<Writing>, NoAnswer> {
        if made_by(&passing.parts.method, &target).is_none_or(|made| !made.may_be_anothers) {
            return Ok(None);
        }
        let place = place_of(&target);
        let keeper = self.shards.of(&place).clone();
        let writing = Writing::begin(keeper, place.into(), passing.until).await;
        writing.map(Some).map_err(|why| NoAnswer::NotSent(why.into()))
    }

    /// The request as it leaves now; nothing if its client waits no longer.
    fn request(&self, passing: &Passing, uri: Uri) -> Option<http::Request<RequestBody>> {
        if passing.kind != RequestKind::Release && self.is_over(passing) {
            return None;
        }
        let mut headers = passing.parts.headers.clone();
        end_of_connection(&mut headers);
        headers.remove(HOST);
        if self.party.scp.is_none() {
            let routing: Vec<_> = headers.keys().filter(|name| is_routing(name)).cloned().collect();
            routing.iter().for_each(|name| drop(headers.remove(name)));
        }
        pass(&mut headers, &self.via);
        let policy = &self.party.policy.deadline;
        let counts = passing.served.deadline.is_some() || policy.mode == Mode::Off;
        if policy.forward == Forward::Restamp
            && counts
            && let Timing::Pair(pair) = Timing::read_strict(&headers)
            && let Restamped::Pair(pair) = pair.restamped(self.party.env.clock.stamp())
        {
            pair.write(&mut headers);
        }
        passing.spoilt.iter().for_each(|spoilt| spoilt.spoil(&mut headers, self.party.env.clock.stamp()));
        let mut request = http::Request::new(passing.body.clone());
        *request.method_mut() = passing.parts.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Some(request)
    }

    fn facts(&self, passing: &Passing, producer: &Producer) -> Facts {
        Facts {
            peer: Some(self.party.env.directory.name(authority(&producer.root))),
            method: Some(passing.parts.method.clone()),
            uri: Some(uri_at(&producer.root, &passing.parts.uri).into()),
            ..passing.served.facts(&self.party)
        }
    }
}
