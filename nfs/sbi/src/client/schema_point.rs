//! Where the answer to a request of ours is held against the schemas of its API.

use super::{Answer, Call, Client};
use crate::party::Served;
use crate::traffic::Content;
use bytes::Bytes;

impl Client {
    /// Remembers where this request wants to be called back.
    pub(super) fn learn(&self, call: &Call, request: &http::Request<Bytes>) {
        if let Some(schemas) = &self.party.env.schemas {
            let content = Content::new(request.headers().clone(), request.body().clone());
            schemas.check.learn(&call.method, &call.uri, &content);
        }
    }

    /// Tells what is wrong with an answer. It counts all the same: what it says of created resources matters more.
    pub(super) fn judge_answer(&self, served: &Served, call: &Call, answer: &Answer) {
        let Some(schemas) = &self.party.env.schemas else { return };
        let content = Content::new(answer.headers.clone(), answer.body.clone());
        let content = Content { cut: content.cut || answer.cut_off, ..content };
        let judged = schemas.check.answer(&call.method, &call.uri, answer.status, &content);
        if let Some(judged) = judged.filter(|judged| !judged.violations.is_empty()) {
            schemas.tell(&self.party, self.facts(served, call).status(answer.status.as_u16()), &judged);
        }
    }
}
