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
        let mut replaced = Vec::new();
        for found in contexts {
            let owner = found.owner.to_string();
            let older = match found.decode()? {
                Context::Session(key, session) => {
                    let older = self.sessions.borrow_mut().insert(key, PduSession { owner, ..session });
                    older.map(|older| older.owner)
                }
                Context::Ue(supi, ue) => {
                    self.shard.ledger.delivered(&owner);
                    self.ues.borrow_mut().insert(supi, Ue { owner, ..ue }).map(|older| older.owner)
                }
            };
            replaced.extend(older);
        }
        actix::spawn(async move {
            for owner in replaced {
                self.shard.ledger.disown(&owner).await;
            }
        });
        Ok(())
    }
}
