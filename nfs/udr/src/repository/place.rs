//! The places of a subscriber that hold one value each, whoever writes it.

use super::{Repository, Stored, Written, take_back, write};
use api::common::{PduSessionId, Supi};
use api::nudr_dr::Resource;
use sbi::event::RequestId;
use sbi::problem::Cause;
use sbi::server::Failure;
use serde_json::Value;

/// A place at a fixed URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// How the last authentication ended.
    AuthenticationStatus,
    /// The registration of the AMF.
    AmfRegistration,
    /// The registration of the SMF of a PDU session.
    SmfRegistration(PduSessionId),
}

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The resource is new.
    Created,
    /// It replaced what stood there.
    Replaced,
}

impl Place {
    /// What is held there.
    pub fn kind(self) -> &'static str {
        match self {
            Place::AuthenticationStatus => "authentication-status",
            Place::AmfRegistration => "amf-3gpp-access",
            Place::SmfRegistration(_) => "smf-registration",
        }
    }

    /// Which place a resource is.
    pub(super) fn of(resource: &Resource) -> Option<Self> {
        match resource {
            Resource::AuthenticationStatus { .. } => Some(Place::AuthenticationStatus),
            Resource::AmfRegistration { .. } => Some(Place::AmfRegistration),
            Resource::SmfRegistration { pdu_session_id, .. } => Some(Place::SmfRegistration(*pdu_session_id)),
            _ => None,
        }
    }

    pub(super) fn resource(self, supi: &Supi) -> Resource {
        let supi = supi.clone();
        match self {
            Place::AuthenticationStatus => Resource::AuthenticationStatus { supi },
            Place::AmfRegistration => Resource::AmfRegistration { supi },
            Place::SmfRegistration(pdu_session_id) => Resource::SmfRegistration { supi, pdu_session_id },
        }
    }

    /// Whether the value says that nothing is there any more: there is no DELETE for the registration of an AMF.
    pub(super) fn is_ended(self, value: &Value) -> bool {
        self == Place::AmfRegistration && value.get("purgeFlag") == Some(&Value::Bool(true))
    }

    fn empty(self) -> Failure {
        match self {
            Place::AuthenticationStatus => Failure::new(Cause::DataNotFound, "no authentication is known"),
            Place::AmfRegistration => Failure::new(Cause::ContextNotFound, "no AMF is registered"),
            Place::SmfRegistration(id) => {
                Failure::new(Cause::ContextNotFound, format!("no SMF is registered for session {id}"))
            }
        }
    }
}

impl Repository {
    /// What stands at a place.
    pub fn value(&self, supi: &Supi, place: Place) -> Result<Value, Failure> {
        let value = self.with(supi, |s| s.places.get(&place).map(|stored| stored.value.clone()))?;
        value.ok_or_else(|| place.empty())
    }

    /// The registrations of all SMFs.
    pub fn smf_registrations(&self, supi: &Supi) -> Result<Vec<Value>, Failure> {
        let is_smf = |(place, _): &(&Place, &Stored)| matches!(place, Place::SmfRegistration(_));
        self.with(supi, |s| s.places.iter().filter(is_smf).map(|(_, stored)| stored.value.clone()).collect())
    }

    /// Writes a value.
    pub fn put(&self, supi: &Supi, place: Place, value: Value, written: Written) -> Result<Put, Failure> {
        let before = write(&mut self.with_mut(supi)?.places, place, value, written);
        self.keep_place(supi, place);
        Ok(match before {
            Some(before) if !place.is_ended(&before) => Put::Replaced,
            _ => Put::Created,
        })
    }

    /// Takes back a write, if it is still the newest.
    pub fn undo_put(&self, supi: &Supi, place: Place, by: RequestId) {
        if let Ok(mut subscriber) = self.with_mut(supi) {
            take_back(&mut subscriber.places, place, by);
        }
        self.keep_place(supi, place);
    }

    /// When a place was written last.
    pub fn written(&self, supi: &Supi, place: Place) -> Option<Written> {
        self.with(supi, |s| s.places.get(&place).map(|stored| stored.written)).ok().flatten()
    }

    /// Empties a place.
    pub fn delete(&self, supi: &Supi, place: Place) -> Result<(), Failure> {
        let removed = self.with_mut(supi)?.places.remove(&place);
        self.keep_place(supi, place);
        removed.map(|_| ()).ok_or_else(|| place.empty())
    }
}
