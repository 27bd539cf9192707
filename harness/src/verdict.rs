//! The verdict: what creators say they made, compared with what producers say they hold.

use crate::process::Process;
use sbi::release::{Resource, State};
use sbi::server::Held;
use serde::Serialize;
use std::collections::BTreeSet;

/// What became of every resource, each counted once by its last state: `created = committed + released + hanging`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// All resources.
    pub created: usize,
    /// Those that have an owner.
    pub committed: usize,
    /// Those that are gone.
    pub released: usize,
    /// Those that may be left: reported so, not settled yet, or held by a producer although no ledger owns them.
    pub hanging: usize,
    /// Which.
    pub left: Vec<String>,
    /// Committed, but their producer does not hold them.
    pub missing: Vec<String>,
}

impl std::fmt::Display for Verdict {
    /// The last line of every report.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Verdict { created, committed, released, hanging, .. } = self;
        write!(f, "created {created}, committed {committed}, released {released}, hanging {hanging}")
    }
}

impl Verdict {
    /// Asks every NF of the process.
    pub async fn of(process: &Process) -> Verdict {
        let held: Vec<Held> = process.held(None).await.into_iter().map(|(_, held)| held).collect();
        Verdict::judge(&process.resources().await, &held)
    }

    /// Compares what creators made with what producers hold.
    pub fn judge(resources: &[Resource], held: &[Held]) -> Verdict {
        let in_state = |state: State| resources.iter().filter(|r| r.state == state).count();
        let (committed, released) = (in_state(State::Owned), in_state(State::Released));
        let Comparison { reported, unsettled, orphans, missing } = Comparison::of(resources, held);
        let left = [reported, unsettled, orphans].concat();
        Verdict {
            created: committed + released + left.len(),
            committed,
            released,
            hanging: left.len(),
            missing,
            left,
        }
    }

    /// Whether nothing is left and nothing is missing.
    pub fn is_clean(&self) -> bool {
        self.hanging == 0 && self.missing.is_empty()
    }
}

/// What creators made, compared with what producers hold: each a line for a person.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Reported as hanging.
    pub reported: Vec<String>,
    /// Not settled yet.
    pub unsettled: Vec<String>,
    /// Held, and in no ledger.
    pub orphans: Vec<String>,
    /// Committed, and not held.
    pub missing: Vec<String>,
}

impl Comparison {
    /// Compares.
    pub fn of(resources: &[Resource], held: &[Held]) -> Comparison {
        let in_state = |state: State| resources.iter().filter(move |r| r.state == state);
        let owned: BTreeSet<&str> = in_state(State::Owned).map(|r| r.uri.as_str()).collect();
        let held_uris: BTreeSet<&str> = held.iter().map(|h| h.uri.as_str()).collect();
        let reported = in_state(State::Hanging);
        let unsettled = [State::Intended, State::InFlight, State::Held, State::Releasing];
        let unsettled = unsettled.into_iter().flat_map(in_state);
        let orphans = held.iter().filter(|h| !owned.contains(h.uri.as_str()));
        let orphans = orphans.filter(|h| !is_listed(resources, &h.uri));
        let missing = in_state(State::Owned).filter(|r| !held_uris.contains(r.uri.as_str()));
        Comparison {
            reported: reported.map(|r| format!("{} {} (reported by {})", r.kind, r.uri, r.by)).collect(),
            unsettled: unsettled
                .map(|r| format!("{} {} (still {} at {})", r.kind, r.uri, r.state.as_str(), r.by))
                .collect(),
            orphans: orphans.map(|h| format!("{} {} (in no ledger)", h.kind, h.uri)).collect(),
            missing: missing.map(|r| format!("{} {} (committed by {})", r.kind, r.uri, r.by)).collect(),
        }
    }
}

/// Whether a ledger knows of the resource as unsettled or hanging: then it is counted there.
fn is_listed(resources: &[Resource], uri: &str) -> bool {
    let settled = [State::Released, State::Void];
    resources.iter().any(|r| r.uri == uri && !settled.contains(&r.state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sbi::event::RequestId;

    fn resource(uri: &str, state: State) -> Resource {
        Resource {
            id: String::new(),
            kind: "sm-context",
            by: "amf".into(),
            at: "smf".into(),
            uri: uri.into(),
            request: RequestId(1),
            state,
            history: Vec::new(),
        }
    }

    fn held(uri: &str) -> Held {
        Held { kind: "sm-context", uri: uri.into(), request: None }
    }

    #[test]
    fn what_is_held_and_not_owned_hangs() {
        let resources =
            [resource("a", State::Owned), resource("b", State::Released), resource("c", State::Void)];
        let verdict = Verdict::judge(&resources, &[held("a"), held("b")]);
        assert_eq!(verdict.to_string(), "created 3, committed 1, released 1, hanging 1");
        assert!(!verdict.is_clean());
    }

    #[test]
    fn what_is_owned_and_not_held_is_missing() {
        let verdict = Verdict::judge(&[resource("a", State::Owned)], &[]);
        assert_eq!((verdict.hanging, verdict.missing.len(), verdict.is_clean()), (0, 1, false));
    }

    #[test]
    fn what_is_unsettled_or_reported_hangs_once() {
        let resources = [resource("a", State::Releasing), resource("b", State::Hanging)];
        let verdict = Verdict::judge(&resources, &[held("a"), held("b")]);
        assert_eq!((verdict.created, verdict.hanging), (2, 2));
    }
}
