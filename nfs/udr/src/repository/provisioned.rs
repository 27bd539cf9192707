//! What is provisioned, and that it changes.

use super::Repository;
use crate::profile::Profile;
use api::common::{Dnn, Snssai, Supi};
use api::nudm_sdm::{self, SessionManagementSubscriptionData};
use api::nudr_dr::{AuthenticationSubscription, DataSet, Resource};
use sbi::problem::{Cause, ProblemDetails};
use sbi::server::Failure;
use serde_json::Value;

/// That a data set of a subscriber has changed.
pub(super) struct Changed {
    pub(super) set: DataSet,
    pub(super) before: Option<Value>,
    pub(super) now: Option<Value>,
}

impl Repository {
    /// Provisions a subscriber, replacing what was provisioned; what consumers wrote stays, the sequence number of its
    /// credentials too: a UE refuses one that it has seen. Who monitors a data set that has changed is notified, once it
    /// has.
    pub fn provision(&self, supi: &Supi, profile: impl Into<Profile>) {
        let mut now = profile.into();
        let known = self.subscribers.contains_key(supi);
        let before = {
            let mut subscriber = self.subscribers.entry(supi.clone()).or_default();
            if known {
                now.authentication.sequence_number =
                    subscriber.profile.authentication.sequence_number.clone();
            }
            std::mem::replace(&mut subscriber.profile, now.clone())
        };
        let changed = DataSet::ALL.into_iter().filter_map(|set| {
            let (before, now) = (known.then(|| before.set(set)), now.set(set));
            (before.as_ref() != Some(&now)).then_some(Changed { set, before, now: Some(now) })
        });
        self.to_notify.changed(supi, &changed.collect::<Vec<_>>());
    }

    /// Removes a subscriber and whatever consumers wrote for it. Who monitors a data set is notified.
    pub fn remove(&self, supi: &Supi) -> Result<(), Failure> {
        let (_, gone) = self.subscribers.remove(supi).ok_or_else(|| super::unknown(supi))?;
        let number = Resource::AuthenticationSubscription { supi: supi.clone() };
        self.keep_all(supi, gone.written(supi).into_iter().chain([number]).collect());
        let set = |set| Changed { set, before: Some(gone.profile.set(set)), now: None };
        self.to_notify.changed(supi, &DataSet::ALL.map(set));
        Ok(())
    }

    /// A part of the profile.
    pub fn provisioned<T>(&self, supi: &Supi, look: impl FnOnce(&Profile) -> T) -> Result<T, Failure> {
        self.with(supi, |s| look(&s.profile))
    }

    /// Changes the credentials in one step; nothing, if the change is refused.
    pub fn change_authentication(
        &self,
        supi: &Supi,
        change: impl FnOnce(&AuthenticationSubscription) -> Result<AuthenticationSubscription, ProblemDetails>,
    ) -> Result<(), Failure> {
        let mut subscriber = self.with_mut(supi)?;
        subscriber.profile.authentication = change(&subscriber.profile.authentication)?;
        drop(subscriber);
        self.keep(supi, &Resource::AuthenticationSubscription { supi: supi.clone() });
        Ok(())
    }

    /// The session data, narrowed to what was asked for.
    pub fn sm_data(
        &self,
        supi: &Supi,
        slice: Option<&Snssai>,
        dnn: Option<&Dnn>,
    ) -> Result<Vec<SessionManagementSubscriptionData>, Failure> {
        let data = self.provisioned(supi, |p| nudm_sdm::filter(&p.sm, slice, dnn))?;
        if data.is_empty() {
            let (slice, dnn) = (slice.map(Snssai::to_string), dnn.map(Dnn::to_string));
            let any = || "any".to_owned();
            let (slice, dnn) = (slice.unwrap_or_else(any), dnn.unwrap_or_else(any));
            let detail = format!("{supi} has no session data for slice {slice} and DNN {dnn}");
            Err(Failure::new(Cause::DataNotFound, detail))
        } else {
            Ok(data)
        }
    }
}
