//! What was received and answered, for the record.

use super::arrival::Arrival;
use super::body::ResponseBody;
use super::front::Front;
use crate::traffic::{Content, Direction, Exchange};
use std::mem::take;

impl Front {
    /// Records a request, as far as its body has been read, and its answer. Its headers and target are needed no more.
    pub(super) fn record(&self, arrival: &mut Arrival, answer: Option<&hyper::Response<ResponseBody>>) {
        let env = &self.party.env;
        if !env.traffic.is_kept() {
            return;
        }
        let content = |answer: &hyper::Response<ResponseBody>| {
            let content = Content::new(answer.headers().clone(), answer.body().at_hand());
            Content { cut: content.cut || answer.body().is_passed(), ..content }
        };
        let answer = answer.map(|answer| (answer.status(), content(answer)));
        env.traffic.record(Exchange {
            unix_us: env.clock.unix_us(),
            nf: self.party.name.clone(),
            direction: Direction::Received,
            served: arrival.served.request,
            trace: arrival.served.trace,
            peer: arrival.peer.to_string(),
            method: arrival.method.clone(),
            uri: take(&mut arrival.target),
            request: arrival.body.recorded(take(&mut arrival.headers)),
            answer,
            faulted: arrival.faulted.get(),
        });
    }
}
