//! A request's way through the SCP: whom it goes to, and what is passed back.

use crate::answer::pass_back;
use crate::exchange::Answered;
use crate::late::{Creation, OnItsWay};
use crate::passing::{Passing, authority, place_of, uri_at};
use crate::path::expect_a_way;
use crate::route::Route;
use crate::scp::Scp;
use crate::unanswered::Unanswered;
use http::HeaderValue;
use sbi::client::{Budget, Client, NoAnswer, Settling, location_in};
use sbi::clock::Instant;
use sbi::event::Kind;
use sbi::fault::{Effect, On, Spoilt, Subject};
use sbi::nrf::{NotFound, Producer, Query};
use sbi::party::{Party, Served};
use sbi::problem::{Cause, ProblemDetails, Progress};
use sbi::release::made_by;
use sbi::server::{self, Delivery, Outcome, PassedOn, RequestBody, RequestKind, Shards};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// How long a client is believed to wait at most: what headers can say, and no longer (our choice).
const MAX_WAIT: Duration = Duration::from_millis(99_999);

/// How long an answer's body may stand still; it is cut off then, or when it is looked at next, at most as long again.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// Passes requests on, on one worker.
pub(crate) struct Forwarder {
    pub(crate) party: Party,
    pub(crate) client: Rc<Client>,
    pub(crate) shards: Shards<Scp>,
    pub(crate) in_flight: Arc<AtomicUsize>,
    /// The late creates, by their producers' names.
    pub(crate) late: RefCell<BTreeMap<Arc<str>, Settling>>,
    pub(crate) via: HeaderValue,
}

impl Forwarder {
    pub(crate) fn new(party: Party, shards: Shards<Scp>, in_flight: Arc<AtomicUsize>) -> Rc<Self> {
        let via = HeaderValue::from_str(&format!("2.0 {}", party.signature()));
        let via = via.unwrap_or(HeaderValue::from_static("2.0 SCP"));
        let late = RefCell::default();
        Rc::new(Forwarder { client: Client::new(party.clone()), party, shards, in_flight, late, via })
    }

    /// As what answers the requests of a front.
    pub(crate) fn handler(self: Rc<Self>) -> server::Handler {
        Rc::new(move |request, _, served, _| Box::pin(self.clone().outcome(request, served)))
    }

    async fn outcome(self: Rc<Self>, request: hyper::Request<RequestBody>, served: Served) -> Outcome {
        self.serve(request, served).await.map_or_else(Outcome::from, Outcome::Answer)
    }

    async fn serve(
        self: &Rc<Self>,
        request: hyper::Request<RequestBody>,
        served: Served,
    ) -> Result<hyper::Response<server::ResponseBody>, Unanswered> {
        let (parts, body) = request.into_parts();
        expect_a_way(&parts.headers, &self.party.signature())?;
        let route = Route::of(&parts.headers, parts.uri.path())?;
        let mut passing = Passing::new(parts, body, served, self.waits_until(&served), &self.party.policy);
        passing.spoilt = self.fault(&passing).await;
        let passing = Rc::new(passing);
        let (producers, is_chosen) = self.producers(&route, &passing).await?;
        match (self.first_answer(&passing, producers).await, route) {
            (Ok((answered, producer)), _) => Ok(self.answer(&passing, answered, &producer, is_chosen)),
            // Whoever else the resource is bound to may serve it.
            (Err(why), Route::Target(_, Some(bound))) if why.may_be_repeated() => {
                let others = self.found(&bound, &passing).await.map_err(|_| why)?;
                let (answered, producer) = self.first_answer(&passing, others).await?;
                Ok(self.answer(&passing, answered, &producer, true))
            }
            (Err(why), _) => Err(why),
        }
    }

    /// Until when a client waits: until its deadline, or this SCP's own timer if it has none.
    fn waits_until(&self, served: &Served) -> Instant {
        let now = self.party.env.clock.now();
        let own = now + self.party.policy.max_rsp_time;
        served.work_deadline().map_or(own, |deadline| deadline.at().min(now + MAX_WAIT))
    }

    /// Applies a fault rule: waits, and tells how the deadline is to be spoilt.
    async fn fault(&self, passing: &Passing) -> Option<Spoilt> {
        let faults = &self.party.env.faults;
        if !faults.any() {
            return None;
        }
        let subject = Subject {
            nf: &self.party.name,
            peer: &self.party.sender_of(&passing.parts.headers).unwrap_or_default(),
            method: &passing.parts.method,
            path: passing.parts.uri.path(),
            headers: &passing.parts.headers,
            body: b"",
            deadline: passing.served.deadline.as_ref(),
        };
        let fault = faults.take(On::Forward, &subject, self.party.env.clock.now())?;
        let facts = passing.served.facts(&self.party).detail(fault.to_string());
        self.party.emit(Kind::FaultApplied, facts);
        tokio::time::sleep(fault.delay).await;
        match fault.effect {
            Effect::Spoil(spoilt) => Some(spoilt),
            _ => None,
        }
    }

    /// Whom to ask, the best first, and whether this SCP has chosen.
    async fn producers(&self, route: &Route, passing: &Passing) -> Result<(Vec<Producer>, bool), Unanswered> {
        if let Some(next) = &self.party.scp {
            return Ok((vec![Producer { root: next.root().to_owned(), instance: None }], false));
        }
        let query = match route {
            // An NRF does not find itself.
            Route::Delegated(query) if query.target() == "nrf" => return Ok((vec![self.nrf()?], true)),
            Route::Delegated(query) => query,
            Route::Target(root, _) => return Ok((vec![self.not_itself(root)?], false)),
        };
        Ok((self.found(query, passing).await?, true))
    }

    fn nrf(&self) -> Result<Producer, Unanswered> {
        let nrf = self.party.nrf.as_ref();
        let nrf = nrf.ok_or_else(|| Unanswered::own(Cause::NrfNotReachable, NotFound::NoNrf.to_string()))?;
        Ok(Producer { root: nrf.root().to_owned(), instance: None })
    }

    /// The producers that the NRF finds.
    async fn found(&self, query: &Query, passing: &Passing) -> Result<Vec<Producer>, Unanswered> {
        let now = self.party.env.clock.now();
        let budget = Budget::own(passing.until.saturating_duration_since(now), now);
        // Boxed: who names the target does not carry the room for it.
        let found = Box::pin(self.client.discover(&passing.served, query, &budget)).await;
        let problem = |why: NotFound| match why {
            _ if self.is_over(passing) => Unanswered::TimedOut(PassedOn::NO),
            NotFound::Nobody => Unanswered::own(Cause::NfDiscoveryFailure, why.to_string()),
            NotFound::Refused(_) => Unanswered::own(Cause::InvalidDiscoveryParam, why.to_string()),
            NotFound::NoNrf | NotFound::Silent(_) => Unanswered::own(Cause::NrfNotReachable, why.to_string()),
        };
        found.map_err(problem)
    }

    fn not_itself(&self, root: &str) -> Result<Producer, ProblemDetails> {
        match authority(root) == authority(&self.party.api_root) {
            true => Err(ProblemDetails::new(Cause::MsgLoopDetected, "the target is this SCP itself")),
            false => Ok(Producer { root: root.to_owned(), instance: None }),
        }
    }

    /// Asks one after the other, as long as it is certain that none has seen the request.
    async fn first_answer(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        producers: Vec<Producer>,
    ) -> Result<(Answered, Producer), Unanswered> {
        let mut why = "there is none".to_owned();
        for producer in producers {
            let no_answer = match self.ask(passing, &producer).await {
                Ok(answered) => return Ok((answered, producer)),
                Err(no_answer) => no_answer,
            };
            match no_answer {
                NoAnswer::NotSent(_) if self.is_over(passing) => {
                    return Err(Unanswered::TimedOut(PassedOn::NO));
                }
                NoAnswer::NotSent(unreachable) if passing.body.is_untouched() => why = unreachable,
                no_answer => return Err(self.silence(passing, &producer, &no_answer)),
            }
        }
        let detail = format!("{} was not passed on: {why}", passing.parts.uri.path());
        Err(Unanswered::own(Cause::TargetNfNotReachable, detail))
    }

    /// What is said when a producer that may have seen the request does not answer it.
    fn silence(&self, passing: &Passing, producer: &Producer, no_answer: &NoAnswer) -> Unanswered {
        let progress = match no_answer {
            NoAnswer::Unknown { ended: true, .. } if self.party.scp.is_none() => Progress::Ended,
            _ => Progress::Pending,
        };
        let root = HeaderValue::from_str(&producer.root).ok();
        let passed_on = PassedOn { progress, to: root.filter(|_| self.party.scp.is_none()) };
        if self.is_over(passing) {
            return Unanswered::TimedOut(passed_on);
        }
        let path = passing.parts.uri.path();
        let detail = format!("{path} was passed on to {}: {no_answer}", producer.root);
        Unanswered::Problem(ProblemDetails::new(Cause::TargetNfNotReachable, detail).into(), passed_on)
    }

    pub(crate) fn is_over(&self, passing: &Passing) -> bool {
        passing.served.work_deadline().is_some_and(|deadline| deadline.expired(self.party.env.clock.now()))
    }

    fn answer(
        &self,
        passing: &Passing,
        mut answered: Answered,
        producer: &Producer,
        is_chosen: bool,
    ) -> hyper::Response<server::ResponseBody> {
        let uri = uri_at(&producer.root, &passing.parts.uri);
        pass_back(&mut answered.answer.head.headers, &self.via, producer, &uri, is_chosen);
        let makes = passing.kind == RequestKind::Write && answered.answer.head.status.is_success();
        let delivery = makes.then(|| self.delivery(passing, &mut answered, uri));
        answered.answer.into_answer(BODY_PATIENCE).map(|body| body.with_delivery(delivery))
    }

    /// The SCP's actor hears whether the success reached its client.
    fn delivery(&self, passing: &Passing, answered: &mut Answered, uri: String) -> Delivery {
        let location = location_in(&answered.answer.head.headers).map(str::to_owned);
        let (request, method, path) =
            (passing.served.request, &passing.parts.method, passing.parts.uri.path());
        let name = format!("{request} {method} {path}, made at {}", location.as_ref().unwrap_or(&uri));
        let keeper = self.shards.of(&place_of(&uri));
        if let Some(creation) = self.creation(passing, answered, &uri) {
            keeper.do_send(OnItsWay(name.as_str().into(), creation));
        }
        let delivery = Delivery::local(name, keeper.clone().recipient());
        // What was handed over is of interest only to who would release it else.
        if self.party.policy.release_late { delivery } else { delivery.told_if_it_fails() }
    }

    /// What an answer says was made, if that is to be released should its client not get the answer.
    pub(crate) fn creation(
        &self,
        passing: &Passing,
        answered: &mut Answered,
        target: &str,
    ) -> Option<Creation> {
        // Where the next SCP has sent it is known there.
        let is_on = self.party.policy.release_late && self.party.scp.is_none();
        let head = &answered.answer.head;
        let made = is_on.then(|| made_by(&passing.parts.method, target)).flatten();
        let made = made.filter(|made| made.was_made(head.status))?;
        let location = location_in(&head.headers).map(str::to_owned);
        if location.is_none() && !made.has_fixed_uri {
            return None;
        }
        let target = place_of(target);
        let writing = answered.writing.take();
        Some(Creation { made, served: passing.served, target, location, writing })
    }
}
