//! Passing a request on, and its answer back.

use crate::answer::{end_of_connection, pass_back};
use crate::path::{expect_a_way, pass};
use crate::route::{Route, is_routing};
use actix::Recipient;
use http::header::{HOST, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Uri};
use sbi::client::{Budget, Client, Forwarded, Lane, NoAnswer};
use sbi::clock::Instant;
use sbi::event::{Facts, Kind};
use sbi::header::{Restamped, Timing};
use sbi::nrf::{NotFound, Producer};
use sbi::party::{Party, Served};
use sbi::policy::{Forward, Mode};
use sbi::problem::{Cause, ProblemDetails};
use sbi::server::{self, Delivery, Handover, Outcome, RequestBody, RequestKind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::oneshot;

/// Passes requests on, on one worker.
pub(crate) struct Forwarder {
    party: Party,
    client: Rc<Client>,
    actor: Recipient<Handover>,
    in_flight: Arc<AtomicUsize>,
    via: HeaderValue,
}

/// Why there is no answer to pass back.
enum Unanswered {
    /// The client has stopped waiting.
    TimedOut,
    /// An error of the SCP's own.
    Problem(ProblemDetails),
}

impl From<ProblemDetails> for Unanswered {
    fn from(problem: ProblemDetails) -> Self {
        Unanswered::Problem(problem)
    }
}

/// A request on its way.
struct Passing {
    parts: Parts,
    body: RequestBody,
    served: Served,
    /// Until when its answer is waited for: the client's deadline, or this SCP's own timer if that ends first.
    until: Instant,
    kind: RequestKind,
}

/// Counted as long as it is there.
struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Forwarder {
    pub(crate) fn new(party: Party, actor: Recipient<Handover>, in_flight: Arc<AtomicUsize>) -> Rc<Self> {
        let via = HeaderValue::from_str(&format!("2.0 {}", party.signature()));
        let via = via.unwrap_or(HeaderValue::from_static("2.0 SCP"));
        Rc::new(Forwarder { client: Client::new(party.clone()), party, actor, in_flight, via })
    }

    /// As what answers the requests of a front.
    pub(crate) fn handler(self: Rc<Self>) -> server::Handler {
        Rc::new(move |request, _, served, _| {
            let this = self.clone();
            Box::pin(async move {
                match this.serve(request, served).await {
                    Ok(answer) => Outcome::Answer(answer),
                    Err(Unanswered::TimedOut) => Outcome::TimedOut,
                    Err(Unanswered::Problem(problem)) => Outcome::problem(&problem),
                }
            })
        })
    }

    async fn serve(
        self: &Rc<Self>,
        request: hyper::Request<RequestBody>,
        served: Served,
    ) -> Result<hyper::Response<server::ResponseBody>, Unanswered> {
        let (parts, body) = request.into_parts();
        expect_a_way(&parts.headers, &self.party.signature())?;
        let route = Route::of(&parts.headers, parts.uri.path())?;
        let now = self.party.env.clock.now();
        let own = now + self.party.policy.max_rsp_time;
        let until = served.work_deadline().map_or(own, |deadline| deadline.at().min(own));
        let kind = RequestKind::of(&parts.method, parts.uri.path());
        let passing = Rc::new(Passing { parts, body, served, until, kind });
        let (producers, is_chosen) = self.producers(&route, &passing).await?;
        let (answer, producer) = self.first_answer(&passing, producers).await?;
        Ok(self.answer(&passing, answer, &producer, is_chosen))
    }

    /// Whom to ask, the best first, and whether this SCP has chosen.
    async fn producers(&self, route: &Route, passing: &Passing) -> Result<(Vec<Producer>, bool), Unanswered> {
        if let Some(next) = &self.party.scp {
            return Ok((vec![Producer { root: next.root().to_owned(), instance: None }], false));
        }
        let query = match route {
            Route::Delegated(query) => query,
            Route::Target(root) => return Ok((vec![self.not_itself(root)?], false)),
        };
        let budget = Budget::own(passing.until - self.party.env.clock.now(), self.party.env.clock.now());
        let found = self.client.discover(&passing.served, query, &budget).await;
        let problem = |why: NotFound| match why {
            _ if self.is_over(passing) => Unanswered::TimedOut,
            NotFound::Nobody => ProblemDetails::new(Cause::NfDiscoveryFailure, why.to_string()).into(),
            NotFound::NoNrf | NotFound::Silent(_) => {
                ProblemDetails::new(Cause::NrfNotReachable, why.to_string()).into()
            }
        };
        Ok((found.map_err(problem)?, true))
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
    ) -> Result<(Forwarded, Producer), Unanswered> {
        let mut why = "there is none".to_owned();
        for producer in producers {
            match self.ask(passing, &producer).await {
                Some(Ok(answer)) => return Ok((answer, producer)),
                _ if self.is_over(passing) => return Err(Unanswered::TimedOut),
                Some(Err(NoAnswer::NotSent(unreachable))) if passing.body.is_untouched() => why = unreachable,
                Some(Err(no_answer)) => {
                    why = no_answer.to_string();
                    break;
                }
                None => {
                    why = "it did not answer within this SCP's own timer".into();
                    break;
                }
            }
        }
        let detail = format!("{} was not answered: {why}", passing.parts.uri.path());
        Err(ProblemDetails::new(Cause::TargetNfNotReachable, detail).into())
    }

    /// Asks one producer; nothing if the wait for it has ended. A create or update goes on then, so that what it leaves behind
    /// can be told.
    async fn ask(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        producer: &Producer,
    ) -> Option<Result<Forwarded, NoAnswer>> {
        let facts = self.facts(passing, producer);
        self.party.emit(Kind::UpstreamSent, facts.clone());
        let answered = self.exchange(passing, producer);
        let answer = match passing.kind {
            RequestKind::Write => self.ask_to_the_end(passing, facts.clone(), answered).await,
            RequestKind::Read | RequestKind::Release => {
                tokio::time::timeout_at(passing.until, answered).await.ok()
            }
        };
        let facts = Facts { budget_left_ms: passing.served.facts(&self.party).budget_left_ms, ..facts };
        match &answer {
            Some(Ok(answer)) => {
                self.party.emit(Kind::UpstreamAnswered, facts.status(answer.head.status.as_u16()))
            }
            Some(Err(why)) => self.party.emit(Kind::UpstreamFailed, facts.detail(why.to_string())),
            None => self.party.emit(Kind::UpstreamTimedOut, facts),
        }
        answer
    }

    async fn ask_to_the_end(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        facts: Facts,
        answered: impl Future<Output = Result<Forwarded, NoAnswer>> + 'static,
    ) -> Option<Result<Forwarded, NoAnswer>> {
        let (tell, told) = oneshot::channel();
        let (this, until) = (self.clone(), passing.until);
        self.in_flight.fetch_add(1, Relaxed);
        let counted = InFlight(self.in_flight.clone());
        tokio::task::spawn_local(async move {
            let latest = until + this.party.policy.release.settle;
            let answer = tokio::time::timeout_at(latest, answered).await;
            // Whoever waits no longer leaves the answer here.
            if let Ok(answer) = answer
                && let Err(unheard) = tell.send(answer)
                && let Ok(late) = unheard
                && late.head.status.is_success()
            {
                this.tell_late(facts, &late);
            }
            drop(counted);
        });
        tokio::time::timeout_at(until, told).await.ok()?.ok()
    }

    fn tell_late(&self, facts: Facts, late: &Forwarded) {
        let location = late.head.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let what =
            format!("{} comes too late; Location: {}", late.head.status.as_u16(), location.unwrap_or("none"));
        self.party.emit(Kind::ResponseLate, facts.status(late.head.status.as_u16()).detail(what));
    }

    fn exchange(
        self: &Rc<Self>,
        passing: &Rc<Passing>,
        producer: &Producer,
    ) -> impl Future<Output = Result<Forwarded, NoAnswer>> + 'static {
        let (this, passing, root) = (self.clone(), passing.clone(), producer.root.clone());
        async move {
            let uri: Option<Uri> = uri_at(&root, &passing.parts.uri).parse().ok();
            let uri = uri.ok_or_else(|| NoAnswer::NotSent("it would have an unusable URI".into()))?;
            let make = || this.request(&passing, uri.clone());
            let lane = if passing.kind == RequestKind::Release { Lane::Releases } else { Lane::Calls };
            this.client.forward(authority(&root), lane, passing.until, make).await
        }
    }

    /// The request as it leaves now; nothing if its client waits no longer.
    fn request(&self, passing: &Passing, uri: Uri) -> Option<http::Request<RequestBody>> {
        let mut headers = passing.parts.headers.clone();
        if passing.kind != RequestKind::Release && self.is_over(passing) {
            return None;
        }
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
        let mut request = http::Request::new(passing.body.clone());
        *request.method_mut() = passing.parts.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Some(request)
    }

    fn is_over(&self, passing: &Passing) -> bool {
        passing.served.work_deadline().is_some_and(|deadline| deadline.expired(self.party.env.clock.now()))
    }

    fn answer(
        &self,
        passing: &Passing,
        mut answer: Forwarded,
        producer: &Producer,
        is_chosen: bool,
    ) -> hyper::Response<server::ResponseBody> {
        let uri = uri_at(&producer.root, &passing.parts.uri);
        pass_back(&mut answer.head.headers, &self.via, producer, &uri, is_chosen);
        let made = (passing.kind == RequestKind::Write && answer.head.status.is_success()).then(|| {
            let location =
                answer.head.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or(&uri);
            format!("{} {}, made at {location}", passing.parts.method, passing.parts.uri.path())
        });
        let delivery = made.map(|made| Delivery::local(made, self.actor.clone()));
        answer.into_answer(passing.until).map(|body| body.with_delivery(delivery))
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

fn authority(root: &str) -> &str {
    let rest = root.split_once("://").map_or(root, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn uri_at(root: &str, uri: &Uri) -> String {
    format!("{root}{}", uri.path_and_query().map_or("/", |path| path.as_str()))
}
