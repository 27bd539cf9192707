//! The NFs of one process, as its operator sees them.

use actix::{Addr, Recipient};
use amf::Amf;
use futures_util::future::join_all;
use sbi::env::Env;
use sbi::party::Party;
use sbi::release::Resource;
use sbi::server::{Busy, Close, Forget, Held, Holdings, Keeper, ReleaseAll, Resources, Shards, Unsettled};
use std::sync::Arc;
use udr::Repository;

/// One NF: who it is, and whom to ask what it holds and owes.
#[derive(Clone)]
pub struct NfHandle {
    /// Who it is.
    pub party: Party,
    /// Its shards.
    pub holdings: Vec<Recipient<Holdings>>,
    /// Their ledgers.
    pub keepers: Vec<Addr<Keeper>>,
    /// Who forgets on request.
    pub forgetful: Vec<Recipient<Forget>>,
    /// Its APIs, as path prefixes.
    pub apis: &'static [&'static str],
    /// Its actors, if it is an AMF: whom to ask for stimuli.
    pub amf: Option<Shards<Amf>>,
}

impl NfHandle {
    /// What it holds for others, sorted.
    pub async fn held(&self) -> Vec<Held> {
        let mut held = Vec::new();
        for shard in &self.holdings {
            held.extend(shard.send(Holdings).await.map(|h| h.held).unwrap_or_default());
        }
        held.sort();
        held
    }

    /// What it created upstream.
    pub async fn resources(&self) -> Vec<Resource> {
        let mut resources = Vec::new();
        for keeper in &self.keepers {
            resources.extend(keeper.send(Resources).await.unwrap_or_default());
        }
        resources
    }

    /// Whether no procedure runs, no create is in flight, and everything in its ledgers is settled or committed.
    pub async fn is_idle(&self) -> bool {
        for shard in &self.holdings {
            if shard.send(Holdings).await.is_ok_and(|h| h.running > 0) {
                return false;
            }
        }
        for keeper in &self.keepers {
            if keeper.send(Busy).await.is_ok_and(|busy| busy > 0) {
                return false;
            }
        }
        self.unsettled().await == 0
    }

    /// How many of its resources are neither settled nor committed.
    pub async fn unsettled(&self) -> usize {
        let mut unsettled = 0;
        for keeper in &self.keepers {
            unsettled += keeper.send(Unsettled).await.unwrap_or_default();
        }
        unsettled
    }

    /// Releases what it owns.
    pub async fn release_all(&self) {
        join_all(self.keepers.iter().map(|keeper| keeper.send(ReleaseAll))).await;
    }

    /// Forgets its contexts, and what it has settled.
    async fn forget(&self) {
        join_all(self.forgetful.iter().map(|shard| shard.send(Forget))).await;
        join_all(self.keepers.iter().map(|keeper| keeper.send(Forget))).await;
    }

    /// Lets it create and commit nothing more, and releases what it owns.
    pub async fn close(&self) {
        join_all(self.keepers.iter().map(|keeper| keeper.send(Close))).await;
    }
}

/// The NFs of one process.
#[derive(Clone)]
pub struct Process {
    /// Their world.
    pub env: Env,
    /// Its NFs.
    pub nfs: Vec<NfHandle>,
    /// The store of a UDM without a UDR, and the apiRoot it stands for.
    pub local_udr: Option<(String, Arc<Repository>)>,
    /// The subscribers, if a UDR or a UDM without one is here.
    pub repository: Option<Arc<Repository>>,
}

impl Process {
    /// The NF of this name.
    pub fn nf(&self, name: &str) -> Option<&NfHandle> {
        self.nfs.iter().find(|nf| &*nf.party.name == name)
    }

    /// What each NF holds for others, or only the NF `name`.
    pub async fn held(&self, name: Option<&str>) -> Vec<(String, Held)> {
        let mut all = Vec::new();
        for nf in self.nfs.iter().filter(|nf| name.is_none_or(|name| &*nf.party.name == name)) {
            all.extend(nf.held().await.into_iter().map(|held| (nf.party.name.to_string(), held)));
        }
        if let (Some((root, repository)), None) = (&self.local_udr, name) {
            all.extend(repository.held(root).into_iter().map(|held| ("udr".to_owned(), held)));
        }
        all
    }

    /// What all of them created upstream.
    pub async fn resources(&self) -> Vec<Resource> {
        let mut all = Vec::new();
        for nf in &self.nfs {
            all.extend(nf.resources().await);
        }
        all
    }

    /// Forgets contexts, what consumers wrote, settled resources, events and requests.
    pub async fn forget(&self) {
        if let Some((_, repository)) = &self.local_udr {
            repository.forget();
        }
        // Producers before their consumers: what a consumer makes once it has forgotten is not forgotten any more.
        let mut producers_first: Vec<_> = self.nfs.iter().collect();
        producers_first.sort_by_key(|nf| std::cmp::Reverse(nf.party.nf_type));
        for nf in producers_first {
            nf.forget().await;
        }
        self.env.events.clear();
        self.env.traffic.clear();
    }

    /// Whether nothing runs and everything is settled or committed.
    pub async fn is_idle(&self) -> bool {
        for nf in &self.nfs {
            if !nf.is_idle().await {
                return false;
            }
        }
        true
    }
}
