//! A request on its way.

use crate::path::hops;
use http::Uri;
use http::request::Parts;
use http::uri::{PathAndQuery, Scheme};
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
    /// Until when a create is awaited; whoever sent it holds it for unanswered no longer than that.
    pub(crate) settled: Instant,
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
            settled: until + if takes_late.is_zero() { policy.release.settle } else { takes_late },
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

/// A URI as a place: without its query, however its host is written.
pub(crate) fn place_of(uri: &str) -> String {
    let uri = uri.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let host = uri.find("://").map_or(0, |scheme| scheme + 3);
    let path = uri[host..].find('/').map_or(uri.len(), |at| host + at);
    let (root, path) = uri.split_at(path);
    format!("{}{path}", root.to_ascii_lowercase().trim_end_matches(":80"))
}

/// A request's URI at another apiRoot. What has been read before is not read again, unless the apiRoot has a path of its own.
pub(crate) fn target_at(root: &str, uri: &Uri) -> Option<Uri> {
    let authority = authority(root);
    match root.strip_suffix(authority) {
        Some("http://") => {
            let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
            Uri::builder().scheme(Scheme::HTTP).authority(authority).path_and_query(path).build().ok()
        }
        _ => uri_at(root, uri).parse().ok(),
    }
}

/// A request's URI at another apiRoot.
pub(crate) fn uri_at(root: &str, uri: &Uri) -> String {
    format!("{root}{}", uri.path_and_query().map_or("/", |path| path.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_name() {
        for uri in [
            "HTTP://UDM:80/nudm-uecm/v1/X/5/",
            "http://udm/nudm-uecm/v1/X/5?a=/b",
            "http://udm/nudm-uecm/v1/X/5",
        ] {
            assert_eq!(place_of(uri), "http://udm/nudm-uecm/v1/X/5", "{uri}");
        }
        assert_eq!((&*place_of("http://[::1]:8080"), &*place_of("")), ("http://[::1]:8080", ""));
    }
}
