//! The last checkpoint: what becomes of a handler's outcome.

use super::adapter::{json_response, problem_response};
use super::arrival::Arrival;
use super::body::ResponseBody;
use super::front::{End, Front, Outcome, PassedOn};
use super::gone::Gone;
use crate::event::Kind;
use crate::header::{TARGET_API_ROOT, http_date, read_late_answer};
use crate::party::NfType;
use crate::planted::planted;
use crate::policy::{Mode, OnClientGone};
use crate::problem::{Cause, PROBLEM_JSON, ProblemDetails, Progress};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, HeaderValue, SERVER};
use http_body_util::BodyExt;

impl Front {
    /// The last checkpoint: after the deadline there is only one true answer, and it is not given before.
    pub(super) async fn conclude(&self, arrival: &Arrival, outcome: Outcome, gone: &Gone) -> End {
        let end = match outcome {
            Outcome::Answer(answer) if self.goes_as_it_is(arrival, &answer, gone) => Ok(answer),
            _ => Box::pin(self.conclude_apart(arrival, outcome, gone)).await,
        };
        end.map(|answer| self.sign(answer))
    }

    /// Whether nothing is in the way of an answer, nor to be waited for or changed.
    fn goes_as_it_is(&self, arrival: &Arrival, answer: &hyper::Response<ResponseBody>, gone: &Gone) -> bool {
        self.party.journal.is_none()
            && self.party.policy.deadline.on_client_gone != OnClientGone::Keep
            && !self.is_over(arrival)
            && !gone.is_gone()
            && !self.is_wrapped(arrival, answer)
    }

    async fn conclude_apart(&self, arrival: &Arrival, outcome: Outcome, gone: &Gone) -> End {
        match outcome {
            Outcome::Answer(answer) if !self.ends_on_record().await => {
                self.undeliverable(arrival, answer, "the journal is not written").await;
                Err(h2::Reason::CANCEL.into())
            }
            Outcome::Answer(answer) if self.is_over(arrival) && !is_last_word(arrival, &answer) => {
                let passed_on = passed_on(&answer);
                self.undeliverable(arrival, answer, "its client's time is over").await;
                self.refuse(arrival, passed_on).await
            }
            Outcome::Answer(answer) => self.answer(arrival, answer, gone).await,
            Outcome::TimedOut(passed_on) => self.refuse(arrival, passed_on).await,
        }
    }

    /// Nobody hears that something is gone before its end is on record, since a restart would bring it back. Whether it is: a
    /// disk that hangs is waited for as long as for a release.
    async fn ends_on_record(&self) -> bool {
        let Some(journal) = self.party.journal.as_ref().filter(|_| !planted!(AnswerBeforeTheEnd)) else {
            return true;
        };
        if !journal.has_ends_to_write() {
            return true;
        }
        tokio::time::timeout(self.party.policy.release.timer, journal.ends_on_record()).await.is_ok()
    }

    async fn answer(&self, arrival: &Arrival, mut answer: hyper::Response<ResponseBody>, gone: &Gone) -> End {
        if self.party.policy.deadline.on_client_gone == OnClientGone::Keep {
            answer.body_mut().delivered();
        }
        if gone.is_gone() {
            self.undeliverable(arrival, answer, "its client is gone").await;
            return Err(h2::Reason::CANCEL.into());
        }
        Ok(self.shape(arrival, answer).await)
    }

    fn is_over(&self, arrival: &Arrival) -> bool {
        arrival.served.deadline.is_some_and(|d| d.expired(self.now())) && !planted!(SucceedTooLate)
    }

    /// Lets go of an answer. If it was a success, what it had made is released by its delivery.
    async fn undeliverable(&self, arrival: &Arrival, mut answer: hyper::Response<ResponseBody>, why: &str) {
        let Some(delivery) = answer.body_mut().take_delivery() else { return };
        // The NF is told first: who hears the event finds the release on its way.
        delivery.refused().await;
        self.party.emit(Kind::ResponseUndeliverable, self.facts(arrival).detail(why));
    }

    /// 504 `TIMED_OUT_REQUEST` once the deadline has passed (before it, the statement would not be true), or nothing.
    ///
    /// An SCP says whom it has asked, or that it has asked nobody.
    async fn refuse(&self, arrival: &Arrival, passed_on: PassedOn) -> End {
        if !self.ends_on_record().await {
            return Err(h2::Reason::CANCEL.into());
        }
        // Without a deadline there was no time from the beginning: an own timer of 0.
        let Some(deadline) = arrival.served.deadline else {
            return Ok(problem_response(&ProblemDetails::new(
                Cause::TargetNfNotReachable,
                "the work took too long",
            )));
        };
        if !planted!(RefuseTooEarly) {
            tokio::time::sleep_until(deadline.at()).await;
        }
        if self.party.policy.deadline.mode == Mode::Drop {
            self.party.emit(Kind::RequestDroppedLate, self.facts(arrival));
            return Err(h2::Reason::CANCEL.into());
        }
        let detail = deadline.explain(self.now(), &self.party.env.clock);
        self.party.emit(Kind::RequestRefusedLate, self.facts(arrival).detail(detail.clone()).status(504));
        // Several on the way may answer so, and a proxy may replace `Server`.
        let detail = format!("{}: {detail}", self.party.signature());
        let said = Some(passed_on.progress).filter(|_| self.party.nf_type == NfType::Scp);
        let problem =
            ProblemDetails { passed_on: said, ..ProblemDetails::new(Cause::TimedOutRequest, detail) };
        let mut refusal = problem_response(&problem);
        passed_on.to.into_iter().for_each(|root| drop(refusal.headers_mut().insert(TARGET_API_ROOT, root)));
        Ok(self.shape(arrival, refusal).await)
    }

    /// Gives an error the form in which its API wants it.
    async fn shape(
        &self,
        arrival: &Arrival,
        answer: hyper::Response<ResponseBody>,
    ) -> hyper::Response<ResponseBody> {
        if !self.is_wrapped(arrival, &answer) {
            return answer;
        }
        let (parts, body) = answer.into_parts();
        let problem = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
        let wrapped = [b"{\"error\":", problem.as_ref(), b"}"].concat();
        json_response(parts.status, "application/json", Bytes::from(wrapped))
    }

    fn is_wrapped(&self, arrival: &Arrival, answer: &hyper::Response<ResponseBody>) -> bool {
        let is_problem = answer.headers().get(CONTENT_TYPE).is_some_and(|v| v == PROBLEM_JSON);
        is_problem && (self.wraps_errors)(&arrival.method, &arrival.path, answer.status())
    }

    /// `Server` says who answers, TS 29.500 §6.10.8.2 (Rel-17); `Date` is by this NF's clock.
    pub(super) fn sign(&self, mut answer: hyper::Response<ResponseBody>) -> hyper::Response<ResponseBody> {
        // Whoever else has answered has said so itself.
        if answer.body().is_passed() {
            return answer;
        }
        let date = http_date(self.party.env.clock.unix_us().div_euclid(1000));
        if let Ok(date) = HeaderValue::from_bytes(&date) {
            answer.headers_mut().insert(DATE, date);
        }
        answer.headers_mut().insert(SERVER, self.server.clone());
        answer
    }
}

/// Who has answered was asked, and what it did is not undone by nobody hearing of it.
fn passed_on(answer: &hyper::Response<ResponseBody>) -> PassedOn {
    match answer.body().is_passed() {
        true => PassedOn { progress: Progress::Pending, to: answer.headers().get(TARGET_API_ROOT).cloned() },
        false => PassedOn::NO,
    }
}

/// What a producer said says more than this SCP's own 504 would: a refusal to everyone, a success to those who take a late one.
fn is_last_word(arrival: &Arrival, answer: &hyper::Response<ResponseBody>) -> bool {
    answer.body().is_passed()
        && (!answer.status().is_success() || !read_late_answer(&arrival.headers).is_zero())
}
