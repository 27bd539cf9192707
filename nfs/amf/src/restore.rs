//! The contexts of an AMF in its journal.

use crate::amf::Core;
use crate::session::{PduSession, SessionKey};
use crate::ue::Ue;
use api::common::Supi;
use sbi::release::FoundContext;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// A context as it stands in the journal.
#[derive(Serialize, Deserialize)]
pub(crate) enum Context {
    /// A PDU session.
    Session(SessionKey, PduSession),
    /// A registered UE.
    Ue(Supi, Ue),
}

impl Core {
    /// Of two contexts for one thing the newer one has replaced the older one.
    pub(crate) fn restore(self: Rc<Self>, contexts: Vec<FoundContext>) -> Result<(), String> {
        let (mut replaced, mut taken_over) = (Vec::new(), Vec::new());
        for found in contexts {
            let owner = found.owner.to_string();
            let older = match found.decode()? {
                Context::Session(key, session) => {
                    let older = self.sessions.borrow_mut().insert(key, PduSession { owner, ..session });
                    older.map(|older| older.owner)
                }
                Context::Ue(supi, ue) => {
                    let ue = Ue { owner, request: found.request, ..ue };
                    if ue.taken_over.is_some() {
                        taken_over.push((supi, ue));
                        continue;
                    }
                    self.shard.ledger.delivered(&ue.owner);
                    self.ues.borrow_mut().insert(supi, ue).map(|older| older.owner)
                }
            };
            replaced.extend(older);
        }
        for (supi, ue) in taken_over {
            // Those of a UE that has come back since are its own.
            let has_come_back = self.ues.borrow().contains_key(&supi);
            let sessions = if has_come_back { Vec::new() } else { self.sessions_of(&supi) };
            actix::spawn(self.clone().end_taken_over(sessions, Some(ue)));
        }
        actix::spawn(async move {
            for owner in replaced {
                self.shard.ledger.disown(&owner).await;
            }
        });
        Ok(())
    }
}
