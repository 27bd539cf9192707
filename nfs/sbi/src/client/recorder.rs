//! What was sent and answered, for the record.

use super::call::{Answer, Call};
use crate::party::{Party, Served};
use crate::traffic::{Content, Direction, Exchange};
use bytes::Bytes;

/// Records a request once it has been answered, or when nobody waits for its answer any more.
pub(super) struct Recorder<'a> {
    party: &'a Party,
    served: Served,
    call: &'a Call,
    request: Option<Content>,
}

impl<'a> Recorder<'a> {
    pub(super) fn of(
        party: &'a Party,
        served: &Served,
        call: &'a Call,
        request: &http::Request<Bytes>,
    ) -> Self {
        let content = || Content::new(request.headers().clone(), request.body().clone());
        let request = party.env.traffic.is_kept().then(content);
        Recorder { party, served: *served, call, request }
    }

    pub(super) fn end(mut self, answer: Option<&Answer>) {
        self.record(answer);
    }

    fn record(&mut self, answer: Option<&Answer>) {
        let Some(request) = self.request.take() else { return };
        let env = &self.party.env;
        let answer = answer.map(|a| (a.status, Content::new(a.headers.clone(), a.body.clone())));
        env.traffic.record(Exchange {
            unix_us: env.clock.unix_us(),
            nf: self.party.name.clone(),
            direction: Direction::Sent,
            served: self.served.request,
            trace: self.served.trace,
            peer: env.directory.name(self.call.authority()).to_string(),
            method: self.call.method.clone(),
            uri: self.call.uri.clone(),
            request,
            answer,
            // A rule on sending delays or refuses; it changes nothing.
            faulted: false,
        });
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        self.record(None);
    }
}
