//! The contexts of a UDM in its journal.

use crate::context::{AmfRegistration, Owned, Registration, Subscription, parse};
use crate::dereg_notify::Deregistered;
use crate::udm::Core;
use sbi::release::{FoundContext, OwnerKey};
use std::rc::Rc;

impl Core {
    /// Of two contexts for one thing the newer one has replaced the older one: whether its answer was handed over is not
    /// known, and a consumer that never saw it releases it. An AMF that was replaced is told, once more if it knows.
    pub(crate) fn restore(self: Rc<Self>, contexts: Vec<FoundContext>) -> Result<(), String> {
        let newest_last: Vec<OwnerKey> = contexts.iter().map(|found| found.owner.clone()).collect();
        let replaced = contexts.into_iter().map(|found| self.take_back(found));
        let replaced: Vec<Vec<Deregistered>> = replaced.collect::<Result<_, _>>()?;
        actix::spawn(async move {
            for deregistered in replaced.into_iter().flatten() {
                self.tell_deregistered(deregistered).await;
            }
            for owner in newest_last {
                let replaced = self.keep(&owner);
                self.end_replaced(replaced).await;
            }
        });
        Ok(())
    }

    /// An AMF that had been replaced is not registered any more, and given back.
    fn take_back(&self, found: FoundContext) -> Result<Vec<Deregistered>, String> {
        let request = found.request;
        match parse(&found.owner).ok_or_else(|| format!("no context is called {:.80?}", found.owner))? {
            Owned::Registration(key) => {
                let registration = Registration { request, ..found.decode()? };
                self.registrations.borrow_mut().push(key, found.owner, registration);
            }
            Owned::AmfRegistration(supi) => {
                let registration = AmfRegistration { request, ..found.decode()? };
                if registration.replaced.is_some() {
                    return Ok(Deregistered::before(&supi, &found.owner, &registration));
                }
                self.amf_registrations.borrow_mut().push(supi, found.owner, registration);
            }
            Owned::Subscription(key) => {
                let subscription = Subscription { request, ..found.decode()? };
                self.subscriptions.borrow_mut().push(key, found.owner, subscription);
            }
        }
        Ok(Vec::new())
    }
}
