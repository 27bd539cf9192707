//! An AMF registers: `Nudm_UECM_Registration`, TS 29.503 §5.3.2.2.2 (Rel-17).
//!
//! Creates: R5, the same registration in the UDR; purged when the AMF's time is over, or put back to what the UDR held
//! before. The AMF whose place it takes is told once the answer was handed over.

use crate::context::{AmfRegistration, owner};
use crate::udm::Core;
use crate::uecm_amf::RegisterAmf;
use api::common::Supi;
use api::nudm_uecm::{self, Amf3GppAccessRegistration};
use sbi::party::Served;
use sbi::release::{Attempt, Committed, SlotKey};
use sbi::server::{Failure, Reply};
use std::rc::Rc;

/// Registers an AMF: 201 if none is registered, 200 when it replaces a registration.
pub(crate) async fn register(core: Rc<Core>, message: RegisterAmf) -> Result<Reply, Failure> {
    let RegisterAmf { served, supi, value } = message;
    let value = Amf3GppAccessRegistration { purge_flag: None, ..value };
    let _turn = core.shard.turn(&core.amf_turns, supi.clone(), &served).await?;
    let (is_new, committed) = core.write_amf(served, &supi, value.clone()).await?;
    let location = format!("{}{}", core.shard.party.api_root, nudm_uecm::amf_registration(&supi));
    Ok(match is_new {
        true => Reply::created(location, &value, &committed, core.actor.clone()),
        false => Reply::replaced(&value, &committed, core.actor.clone()),
    })
}

impl Core {
    /// Writes a registration here and in the UDR: whether there was none, and the proof that it is owned.
    pub(crate) async fn write_amf(
        &self,
        served: Served,
        supi: &Supi,
        value: Amf3GppAccessRegistration,
    ) -> Result<(bool, Committed), Failure> {
        let replaced = self.replaced_amf(supi);
        let mut attempt = Attempt::begin(&self.shard.ledger, served);
        let before = self.put_amf_registration(&mut attempt, supi, &value).await?;
        let before = before.filter(|before| !before.is_purged());
        let is_new = before.is_none();
        let older = replaced.unwrap_or(before);
        let written_unix_ms = self.shard.party.env.clock.stamp().unix_ms();
        let registration = AmfRegistration {
            value,
            older,
            untold: None,
            replaced: None,
            request: served.request,
            written_unix_ms,
        };
        let owner = owner("amf-registration", supi, "-", served.request);
        let committed = attempt.commit(owner, &registration).await?;
        self.amf_registrations.borrow_mut().push(supi.clone(), committed.owner().clone(), registration);
        Ok((is_new, committed))
    }

    /// What a registration replaces beside those that are here, as far as this UDM knows without the UDR: what one that
    /// is not handed over yet replaces, it does too.
    fn replaced_amf(&self, supi: &Supi) -> Option<Option<Amf3GppAccessRegistration>> {
        let newest = self.amf_registrations.borrow().newest(supi).map(|(_, newest)| newest.older.clone());
        newest.or_else(|| self.known_amf(supi, &self.amf_slot(supi)))
    }

    /// The AMF that is registered, as far as this UDM knows without the UDR: `None` inside if none is. What a request
    /// that was given up left in the UDR is as good as gone: its release is under way.
    pub(crate) fn known_amf(&self, supi: &Supi, slot: &SlotKey) -> Option<Option<Amf3GppAccessRegistration>> {
        if let Some((_, registration)) = self.amf_registrations.borrow().newest(supi) {
            return Some(Some(registration.value.clone()));
        }
        let beneath = self.shard.ledger.beneath(slot)?;
        let beneath = beneath.and_then(|value| serde_json::from_value(value).ok());
        Some(beneath.filter(|registration: &Amf3GppAccessRegistration| !registration.is_purged()))
    }
}
