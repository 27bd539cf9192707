//! Subscribers, changed while the NFs run: who subscribed to their data is notified, UDR to UDM to consumer.

use super::Operator;
use crate::config::SubscriberSection;
use actix_web::web;
use api::common::Supi;
use api::decode::{Ie, decode};
use api::path::variable;
use bytes::Bytes;
use sbi::problem::{InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply};
use std::sync::Arc;
use udr::Repository;

impl Ie for SubscriberSection {
    const MANDATORY: &'static [&'static str] = &[];
}

/// The routes.
pub(super) fn routes(app: &mut web::ServiceConfig) {
    app.service(web::resource("/mock5g/v1/subscribers/{supi}").put(put).get(get).delete(delete));
}

/// 201 for a new subscriber, 200 for one that is changed. What consumers wrote stays.
async fn put(supi: web::Path<String>, body: Bytes, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let (repository, supi) = (repository(&operator)?, variable::<Supi>("supi", &supi)?);
    let profile: SubscriberSection = decode(&body)?;
    if let Some(other) = profile.supi.as_ref().filter(|other| **other != supi) {
        let reason = format!("expected {supi}, as in the path, or nothing");
        let problem = ProblemDetails::plain(400, format!("/supi: found {other}, {reason}"));
        return Err(problem.with_param(InvalidParam::body("/supi", reason)).into());
    }
    if profile.count != 1 {
        let problem =
            ProblemDetails::plain(400, "/count: expected 1, or nothing: the path names one subscriber");
        return Err(problem.with_param(InvalidParam::body("/count", "expected 1, or nothing")).into());
    }
    let is_new = repository.provisioned(&supi, |_| ()).is_err();
    repository.provision(&supi, profile.profile());
    let shown = repository.provisioned(&supi, SubscriberSection::of)?;
    let shown = SubscriberSection { supi: Some(supi.clone()), ..shown };
    Ok(match is_new {
        true => {
            let location = format!("/mock5g/v1/subscribers/{}", api::percent::encoded(supi.as_str()));
            Reply::created_here(location, &shown)
        }
        false => Reply::ok(&shown),
    })
}

async fn get(supi: web::Path<String>, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let (repository, supi) = (repository(&operator)?, variable::<Supi>("supi", &supi)?);
    let profile = repository.provisioned(&supi, SubscriberSection::of)?;
    Ok(Reply::ok(&SubscriberSection { supi: Some(supi), ..profile }))
}

/// The subscriber, and whatever consumers wrote for it, is not there any more.
async fn delete(supi: web::Path<String>, operator: web::Data<Operator>) -> Result<Reply, Failure> {
    let (repository, supi) = (repository(&operator)?, variable::<Supi>("supi", &supi)?);
    repository.remove(&supi)?;
    Ok(Reply::no_content())
}

fn repository(operator: &Operator) -> Result<&Arc<Repository>, Failure> {
    let nobody = || ProblemDetails::plain(404, "no NF of this process keeps subscribers: ask its UDR").into();
    operator.process.repository.as_ref().ok_or_else(nobody)
}
