//! The NRF's actor and its app.

use crate::discovery::{self, SearchResult};
use crate::management;
use crate::notifier::Notifier;
use crate::registry::{Change, HeartBeats, Registered, Registry};
use crate::search::Search;
use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult, Recipient};
use actix_web::web;
use api::common::{NfInstanceId, PlmnId};
use api::decode::decode_kept;
use api::nnrf_nfm::{
    HAL, HiddenFrom, NF_INSTANCES, NfProfile, NrfSubscription, UriList, nf_instance, subscription,
};
use api::patch::json_patch;
use bytes::Bytes;
use sbi::event::{Facts, Kind};
use sbi::json;
use sbi::nrf::profile_of;
use sbi::party::{NfType, Party, Served};
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Delivery, Failure, Forget, Handover, Holding, Holdings, Nf, Reply, Shard, Shards};
use std::time::Duration;

/// For how long a consumer may take what it found to be so, in seconds (our choice).
const VALIDITY_S: u64 = 30;

/// How long a subscription lasts at most, and if its consumer does not say.
const SUBSCRIBED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How often it is looked whose heart-beats have stopped.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// What an NRF needs.
#[derive(Clone)]
pub struct Config {
    /// Its network.
    pub plmn: PlmnId,
    /// How it asks for heart-beats.
    pub heart_beats: HeartBeats,
}

/// The NRF on one worker. What there is to know the first one knows: an NRF is asked seldom.
pub struct Nrf {
    shard: Shard,
    registry: Registry,
    notifier: Notifier,
    actor: Recipient<Handover>,
}

impl Actor for Nrf {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(EXPIRY_INTERVAL, |nrf, _| nrf.expire());
    }
}

impl Nf for Nrf {
    type Config = Config;

    const TYPE: NfType = NfType::Nrf;

    const APIS: &'static [&'static str] = &["/nnrf-nfm/v1", "/nnrf-disc/v1"];

    fn new(shard: Shard, config: Config, context: &mut Context<Self>) -> Self {
        Nrf {
            registry: Registry::new(
                own_profile(&shard.party),
                vec![config.plmn],
                config.heart_beats,
                shard.party.env.clock.now(),
            ),
            notifier: Notifier::new(shard.clone()),
            actor: context.address().recipient(),
            shard,
        }
    }

    fn routes(app: &mut web::ServiceConfig) {
        management::routes(app);
        discovery::routes(app);
    }
}

/// What an NRF is asked.
pub(crate) enum Operation {
    Register(Box<NfProfile>),
    Update(NfInstanceId, Bytes),
    Deregister(NfInstanceId),
    Read(NfInstanceId),
    List { nf_type: Option<String>, limit: usize },
    Subscribe(Box<NrfSubscription>),
    Prolong(String, Bytes),
    Unsubscribe(String),
    Find(Box<Search>),
}

/// The same, for the actor.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct Ask {
    served: Served,
    operation: Operation,
}

/// Asks the actor that knows.
pub(crate) async fn ask(
    shards: &Shards<Nrf>,
    served: Served,
    operation: Operation,
) -> Result<Reply, Failure> {
    shards.ask(shards.first(), Ask { served, operation }).await
}

impl Handler<Ask> for Nrf {
    type Result = Result<Reply, Failure>;

    fn handle(&mut self, Ask { served, operation }: Ask, _: &mut Context<Self>) -> Self::Result {
        match operation {
            Operation::Register(profile) => self.register(&served, *profile),
            Operation::Update(id, patch) => self.update(&served, id, &patch),
            Operation::Deregister(id) => self.deregister(&served, id),
            Operation::Read(id) => {
                Ok(Reply::ok(&self.registry.profile(id)?.clone().hidden_from(HiddenFrom::Subscribers)))
            }
            Operation::List { nf_type, limit } => Ok(self.list(nf_type.as_deref(), limit)),
            Operation::Subscribe(subscription) => self.subscribe(&served, *subscription),
            Operation::Prolong(id, patch) => self.prolong(&id, &patch),
            Operation::Unsubscribe(id) => self.registry.unsubscribe(&id).map(|()| Reply::no_content()),
            Operation::Find(search) => Ok(self.find(&search)),
        }
    }
}

impl Nrf {
    fn register(&mut self, served: &Served, profile: NfProfile) -> Result<Reply, Failure> {
        let now = self.shard.party.env.clock.now();
        let Registered { is_new, profile, moved_from, change } =
            self.registry.register(profile, served.request, now)?;
        let (id, nf_type) = (profile.nf_instance_id, &profile.nf_type);
        if let Some(before) = moved_from {
            let what = format!("{nf_type} {id} was at {before} just now: two processes may share this id");
            tracing::warn!(nf = %self.shard.party.name, "{}: {what}", Kind::NfMoved.as_str());
            self.emit(served, Kind::NfMoved, what);
        }
        self.tell(served, &change);
        let delivery = Delivery::local(format!("nf-instance {} {id}", served.request.0), self.actor.clone());
        let reply = match is_new {
            true => Reply::created_here(self.uri(&nf_instance(id)), &profile),
            false => Reply::ok(&profile),
        };
        Ok(reply.delivered_by(delivery))
    }

    fn update(&mut self, served: &Served, id: NfInstanceId, patch: &[u8]) -> Result<Reply, Failure> {
        let now = self.shard.party.env.clock.now();
        let change = self.registry.update(id, now, |profile| {
            let patched = json_patch(&json::to_value(profile), patch)?;
            decode_kept(&json::to_bytes(&patched))
        })?;
        if let Some(change) = change {
            self.tell(served, &change);
        }
        Ok(Reply::no_content())
    }

    fn deregister(&mut self, served: &Served, id: NfInstanceId) -> Result<Reply, Failure> {
        let change = self.registry.deregister(id)?;
        self.tell(served, &change);
        Ok(Reply::no_content())
    }

    fn list(&self, nf_type: Option<&str>, limit: usize) -> Reply {
        let all: Vec<_> = self.registry.ids(nf_type).map(|id| self.uri(&nf_instance(id))).collect();
        let total = all.len();
        let some = all.into_iter().take(limit).collect();
        let list = UriList::new(self.uri(NF_INSTANCES), some, total);
        Reply::ok(&list).with_body(HAL, json::to_bytes(&list))
    }

    fn subscribe(&mut self, served: &Served, value: NrfSubscription) -> Result<Reply, Failure> {
        // The OpenAPI file wants a name without hyphens.
        let id = self.shard.party.env.entropy.uuid().simple().to_string();
        let (value, ends_unix_ms) = self.lasting(value)?;
        let value = NrfSubscription { subscription_id: Some(id.clone()), ..value };
        self.registry.subscribe(&id, value.clone(), ends_unix_ms)?;
        let delivery = Delivery::local(format!("subscription {} {id}", served.request.0), self.actor.clone());
        Ok(Reply::created_here(self.uri(&subscription(&id)), &value).delivered_by(delivery))
    }

    fn prolong(&mut self, id: &str, patch: &[u8]) -> Result<Reply, Failure> {
        let now = self.shard.party.env.clock.stamp().unix_ms();
        let there = self.registry.prolong(id, |there| {
            let patched = json_patch(&json::to_value(there), patch)?;
            let value: NrfSubscription = decode_kept(&json::to_bytes(&patched))?;
            // How long it lasts is all that may be changed.
            lasting(NrfSubscription { validity_time: value.validity_time, ..there.clone() }, now)
        })?;
        Ok(Reply::ok(there))
    }

    fn lasting(&self, value: NrfSubscription) -> Result<(NrfSubscription, i64), ProblemDetails> {
        lasting(value, self.shard.party.env.clock.stamp().unix_ms())
    }

    fn find(&self, search: &Search) -> Reply {
        let nf_instances = self.registry.find(search);
        Reply::ok(&SearchResult { validity_period: VALIDITY_S, nf_instances })
    }

    fn expire(&mut self) {
        let clock = &self.shard.party.env.clock;
        let changes = self.registry.expire(clock.now(), clock.stamp().unix_ms());
        let served = Served::own(&self.shard.party);
        changes.iter().for_each(|change| self.tell(&served, change));
    }

    /// Tells subscribers, and whoever watches this NRF.
    fn tell(&self, served: &Served, change: &Change) {
        let NfProfile { nf_type, nf_instance_id, nf_status, .. } = &change.profile;
        let what = format!("{nf_type} {nf_instance_id}: {}, {nf_status}", change.event);
        self.emit(served, Kind::NfChanged, what);
        self.notifier.tell(&self.registry, change);
    }

    fn emit(&self, served: &Served, kind: Kind, what: String) {
        self.shard.party.emit(kind, Facts { ..served.facts(&self.shard.party).detail(what) });
    }

    fn uri(&self, path: &str) -> String {
        format!("{}{path}", self.shard.party.api_root)
    }
}

fn own_profile(party: &Party) -> NfProfile {
    let said = json::to_bytes(&profile_of(party, Nrf::APIS));
    decode_kept(&said).expect("what an NF says of itself is a profile")
}

/// A subscription with the time that it lasts, and when it ends, wall-clock ms since the Unix epoch.
fn lasting(value: NrfSubscription, now_unix_ms: i64) -> Result<(NrfSubscription, i64), ProblemDetails> {
    let longest = i64::try_from(SUBSCRIBED_FOR.as_millis()).unwrap_or(i64::MAX);
    let latest = now_unix_ms.saturating_add(longest);
    let wished = value.validity_time.as_deref().map(|text| {
        sbi::clock::unix_ms_of_rfc3339(text).ok_or_else(|| {
            let param = InvalidParam::body("/validityTime", "expected RFC 3339, as 2026-11-30T01:25:02Z");
            ProblemDetails::new(Cause::OptionalIeIncorrect, "validityTime is no date-time").with_param(param)
        })
    });
    let ends = wished.transpose()?.map_or(latest, |wished| wished.min(latest));
    let validity_time = Some(sbi::clock::rfc3339_of_unix_ms(ends));
    Ok((NrfSubscription { validity_time, ..value }, ends))
}

impl Handler<Handover> for Nrf {
    type Result = ();

    /// What its consumer never heard of is undone.
    fn handle(&mut self, handover: Handover, _: &mut Context<Self>) {
        let mut words = handover.owner.splitn(3, ' ');
        let (kind, request, id) = (words.next(), words.next(), words.next().unwrap_or_default());
        let request = request.and_then(|request| request.parse().ok()).map(sbi::event::RequestId);
        match (kind, id.parse::<NfInstanceId>(), request) {
            (Some("nf-instance"), Ok(id), Some(by)) if handover.delivered => self.registry.keep(id, by),
            (Some("nf-instance"), Ok(id), Some(by)) => {
                if let Some(change) = self.registry.undo(id, by) {
                    self.tell(&Served::own(&self.shard.party), &change);
                }
            }
            _ if handover.delivered => {}
            _ => drop(self.registry.unsubscribe(id)),
        }
    }
}

impl Handler<Forget> for Nrf {
    type Result = ();

    fn handle(&mut self, _: Forget, _: &mut Context<Self>) {
        self.registry.forget();
    }
}

impl Handler<Holdings> for Nrf {
    type Result = MessageResult<Holdings>;

    /// What it keeps for others ends by itself.
    fn handle(&mut self, _: Holdings, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Holding { held: Vec::new(), running: self.notifier.running() })
    }
}
