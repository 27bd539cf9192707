//! What a consumer changed, for as long as the answer that says so is on its way.

use crate::repository::{Place, Repository};
use api::common::Supi;
use api::percent::{decoded, encoded};
use sbi::event::RequestId;

/// Something that a consumer changed, as it is named while the answer is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Put(Supi, Place, RequestId),
    Subscription(Supi, String, RequestId),
    ToNotify(String, RequestId),
}

impl Change {
    /// Kind, id, request and SUPI; the SUPI comes last since it may hold spaces.
    pub(super) fn name(&self) -> String {
        match self {
            Change::Put(supi, place, by) => {
                let id = match place {
                    Place::SmfRegistration(id) => id.to_string(),
                    Place::AuthenticationStatus | Place::AmfRegistration => "-".into(),
                };
                format!("{} {id} {} {supi}", place.kind(), by.0)
            }
            Change::Subscription(supi, id, by) => {
                format!("sdm-subscription {} {} {supi}", encoded(id), by.0)
            }
            Change::ToNotify(id, by) => format!("subs-to-notify {} {} -", encoded(id), by.0),
        }
    }

    /// The change that `name` names.
    fn parse(name: &str) -> Option<Change> {
        let mut words = name.splitn(4, ' ');
        let (kind, id, by, supi) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let request = || by.parse().ok().map(RequestId);
        let place = match kind {
            "authentication-status" => Place::AuthenticationStatus,
            "amf-3gpp-access" => Place::AmfRegistration,
            "smf-registration" => Place::SmfRegistration(id.parse().ok()?),
            "sdm-subscription" => {
                return Some(Change::Subscription(supi.parse().ok()?, decoded(id).ok()?, request()?));
            }
            _ => return Some(Change::ToNotify(decoded(id).ok()?, request()?)),
        };
        Some(Change::Put(supi.parse().ok()?, place, request()?))
    }
}

/// Takes back a change whose answer could not be handed over. What was added is gone already if its consumer was quick
/// to give it up.
pub(crate) fn undo(repository: &Repository, change: &str) {
    match Change::parse(change) {
        Some(Change::Put(supi, place, by)) => repository.undo_put(&supi, place, by),
        Some(Change::Subscription(supi, id, by)) => repository.undo_subscription(&supi, &id, by),
        Some(Change::ToNotify(id, by)) => repository.undo_to_notify(&id, by),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::common::PduSessionId;

    #[test]
    fn a_change_is_named_without_loss() {
        let supi = |text: &str| text.parse::<Supi>().expect("a SUPI");
        for change in [
            Change::Put(supi("imsi-001010000000001"), Place::SmfRegistration(PduSessionId(5)), RequestId(7)),
            Change::Put(supi("nai-a b@example.org"), Place::AmfRegistration, RequestId(8)),
            Change::Put(supi("nai-a b@example.org"), Place::AuthenticationStatus, RequestId(9)),
            Change::Subscription(supi("nai-a b@example.org"), "two words / 100 %".into(), RequestId(4)),
            Change::ToNotify("two words / 100 %".into(), RequestId(5)),
        ] {
            assert_eq!(Change::parse(&change.name()), Some(change));
        }
    }
}
