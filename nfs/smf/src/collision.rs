//! Two creates for one PDU session: TS 29.502 §5.2.3.3.1 (Rel-17).
//!
//! A create that finds an SM context of its session is accepted only if its procedure began later than the one that the
//! context came from, as `3gpp-Sbi-Origination-Timestamp` says. So a request that was overtaken on its way ends nothing.
//!
//! Our choices, where the text is silent: if either side has no stamp the new one counts as the more recent; of two that
//! began at the same moment, the one that is there stays, unless both are the same attempt, sent twice.

use crate::context::{Held, SessionKey};
use crate::smf::Core;
use api::common::NfInstanceId;
use sbi::event::Kind;
use sbi::header::{Malformed, OriginationTimestamp};
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::server::Failure;
use serde::{Deserialize, Serialize};

/// What becomes of a create that collides with an SM context; `smf.collisions`. TS 29.502 §5.2.3.3.1 (Rel-17): optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collisions {
    /// It is accepted if it is the more recent one, else 403 `LATE_OVERLAPPING_REQUEST`.
    #[default]
    Compare,
    /// It is accepted; when it began is not looked at.
    Accept,
}

/// What a create says of itself.
pub(crate) struct Claim<'a> {
    /// When its procedure began.
    pub(crate) originated: Option<OriginationTimestamp>,
    /// The AMF that sends it.
    pub(crate) amf: &'a NfInstanceId,
    /// Where that AMF wants to hear of the context: each attempt of ours has an address of its own.
    pub(crate) status_uri: &'a str,
}

impl Claim<'_> {
    /// Since when there is a context that this create may not replace, if so.
    fn is_overtaken_by(&self, held: &Held) -> Option<OriginationTimestamp> {
        let (ours, theirs) = (self.originated?, held.originated?);
        let is_same_attempt = *self.amf == held.amf && self.status_uri == held.status_uri;
        let is_more_recent = ours > theirs || ours == theirs && is_same_attempt;
        (!is_more_recent).then_some(theirs)
    }
}

impl Core {
    /// When the procedure of a create began, as far as that counts here. Malformed: ignored, with an event, and 400 from a
    /// strict NF, like the other timing headers.
    pub(crate) fn read_originated(
        &self,
        served: &Served,
        said: Result<Option<OriginationTimestamp>, Malformed>,
    ) -> Result<Option<OriginationTimestamp>, Failure> {
        let party = &self.shard.party;
        match said {
            _ if self.config.collisions == Collisions::Accept => Ok(None),
            Ok(originated) => Ok(originated),
            Err(malformed) => {
                party.emit(Kind::TimingMalformed, served.facts(party).detail(malformed.to_string()));
                if party.policy.deadline.strict { Err(malformed.problem().into()) } else { Ok(None) }
            }
        }
    }

    /// Refuses a create that is not the more recent one, before anything is asked upstream.
    pub(crate) fn expect_more_recent(
        &self,
        served: &Served,
        key: &SessionKey,
        claim: &Claim,
    ) -> Result<(), Failure> {
        let contexts = self.contexts.borrow();
        let newest = contexts.newest(key);
        let Some(theirs) = newest.and_then(|(_, held)| claim.is_overtaken_by(held)) else { return Ok(()) };
        let ours = claim.originated.map_or_else(String::new, |ours| ours.to_string());
        let SessionKey { supi, pdu_session_id } = key;
        let why =
            format!("session {pdu_session_id} of {supi} has a context of {theirs}; this one is of {ours}");
        let party = &self.shard.party;
        party.emit(Kind::CollisionRefused, served.facts(party).detail(why.clone()));
        Err(Failure::new(Cause::LateOverlappingRequest, why))
    }
}
