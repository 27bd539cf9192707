//! Telling subscribers: `Nnrf_NFManagement_NFStatusNotify`, TS 29.510 §5.2.2.6 (Rel-17).

use crate::registry::{Change, Registry};
use api::nnrf_nfm::{NfEvent, NotificationData, nf_instance};
use http::Method;
use sbi::client::Call;
use sbi::event::{Facts, Kind};
use sbi::party::Served;
use sbi::server::Shard;
use std::cell::Cell;
use std::rc::Rc;

/// How many notifications are under way at once; more are left out, and told by an event.
pub const MAX_NOTIFICATIONS: usize = 1_024;

/// Tells who has subscribed.
pub(crate) struct Notifier {
    shard: Shard,
    running: Rc<Cell<usize>>,
}

impl Notifier {
    pub(crate) fn new(shard: Shard) -> Self {
        Notifier { shard, running: Rc::default() }
    }

    /// How many notifications are under way.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Tells everybody who wants to hear of a change, each by a call of its own: nobody waits for a slow one.
    pub(crate) fn tell(&self, registry: &Registry, change: &Change) {
        let id = change.profile.nf_instance_id;
        let root = &self.shard.party.api_root;
        for (uri, profile) in registry.listeners(change).take(MAX_NOTIFICATIONS + 1) {
            let data = NotificationData {
                event: change.event.clone(),
                nf_instance_uri: format!("{root}{}", nf_instance(id)),
                nf_profile: (change.event != NfEvent::NF_DEREGISTERED).then_some(profile),
                profile_changes: None,
            };
            self.send(
                Call::new(Method::POST, uri).callback("Nnrf_NFManagement_NFStatusNotify").with_json(&data),
            );
        }
    }

    fn send(&self, call: Call) {
        let served = Served::own(&self.shard.party);
        if self.running.get() >= MAX_NOTIFICATIONS {
            let what = format!("{} is not told: too many notifications are under way", call.uri);
            self.shard
                .party
                .emit(Kind::StepSkipped, Facts { ..served.facts(&self.shard.party).detail(what) });
            return;
        }
        self.running.set(self.running.get() + 1);
        let (client, running) = (self.shard.client().clone(), self.running.clone());
        actix::spawn(async move {
            let _ = client.ask(&served, call).await;
            running.set(running.get() - 1);
        });
    }
}
