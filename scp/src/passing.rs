//! A request on its way.

use crate::path::hops;
use http::Uri;
use http::request::Parts;
use sbi::clock::Instant;
use sbi::fault::Spoilt;
use sbi::header::read_late_answer;
use sbi::party::Served;
use sbi::policy::Policy;
use sbi::server::{RequestBody, RequestKind};
use std::time::Duration;

/// How long after its client's deadline an answer is waited for: the last word of whoever works on the request says more than
/// this SCP's, and its client waits no longer (our choice).
const LAST_WORD: Duration = Duration::from_millis(50);

/// By so much less for each SCP that the request has passed: those that are nearer to the producer speak first.
const EARLIER_PER_HOP: Duration = Duration::from_millis(5);

/// A request on its way.
pub(crate) struct Passing {
    pub(crate) parts: Parts,
    pub(crate) body: RequestBody,
    pub(crate) served: Served,
    /// Until when its client waits.
    pub(crate) until: Instant,
    /// When its answer counts as late.
    pub(crate) late: Instant,
    /// Until when a late answer is passed back all the same.
    pub(crate) last_word: Instant,
    pub(crate) kind: RequestKind,
    /// What a fault rule does to its deadline.
    pub(crate) spoilt: Option<Spoilt>,
}

impl Passing {
    pub(crate) fn new(
        parts: Parts,
        body: RequestBody,
        served: Served,
        until: Instant,
        policy: &Policy,
    ) -> Self {
        let earlier = EARLIER_PER_HOP.saturating_mul(hops(&parts.headers));
        let late = until + LAST_WORD.saturating_sub(earlier);
        let takes_late = read_late_answer(&parts.headers).min(policy.release.settle);
        Passing {
            kind: RequestKind::of(&parts.method, parts.uri.path()),
            late,
            last_word: late.max(until + takes_late.saturating_sub(earlier)),
            parts,
            body,
            served,
            until,
            spoilt: None,
        }
    }
}

/// `host[:port]` of an apiRoot.
pub(crate) fn authority(root: &str) -> &str {
    let rest = root.split_once("://").map_or(root, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// A request's URI at another apiRoot.
pub(crate) fn uri_at(root: &str, uri: &Uri) -> String {
    format!("{root}{}", uri.path_and_query().map_or("/", |path| path.as_str()))
}
