//! Subscriptions to changes of a subscriber's data: `Nudm_SDM_Subscribe` and `Unsubscribe`,
//! TS 29.503 §5.2.2.3 and §5.2.2.4 (Rel-17).
//!
//! Creates: R7, the same subscription in the UDR, and, if this UDM wants to hear of changes, R16, the wish to be notified
//! of them; both are released when the consumer's time is over.

use crate::context::{Subscription, SubscriptionKey, owner};
use crate::sdm::{Subscribe, Unsubscribe};
use crate::udm::Core;
use api::common::{NfInstanceId, Supi};
use api::nudm_sdm::{self, SdmSubscription};
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::release::{Attempt, Committed};
use sbi::server::{Delivery, Failure, Reply};
use std::rc::Rc;
use std::time::Duration;

/// How many subscriptions one subscriber may have at this UDM.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// How many subscriptions one shard keeps.
pub(crate) const MAX_SUBSCRIPTIONS_PER_SHARD: usize = 200_000;

/// How often subscriptions that end by themselves are looked for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// Creates a subscription. With `uniqueSubscription`, one that the same consumer made for the same resources is
/// answered again as it is: so a consumer that lost an answer finds its subscription by asking again.
pub(crate) async fn create(core: Rc<Core>, message: Subscribe) -> Result<Reply, Failure> {
    let Subscribe { served, supi, value } = message;
    let expires_unix_ms = value.expires.as_deref().map(expiry).transpose()?;
    let _turn = core.shard.turn(&core.subscription_turns, supi.clone(), &served).await?;
    if let Some(key) = core.same_subscription(&supi, &value) {
        return core.answer_again(&key);
    }
    if core.subscriptions.borrow().len() >= MAX_SUBSCRIPTIONS_PER_SHARD {
        return Err(Failure::new(Cause::NfCongestion, "too many subscriptions are kept"));
    }
    if core.subscriptions_of(&supi, |_| true).len() >= MAX_SUBSCRIPTIONS {
        let detail = format!("{supi} has {MAX_SUBSCRIPTIONS} subscriptions already");
        return Err(Failure::new(Cause::InsufficientResources, detail));
    }
    let key = SubscriptionKey { supi, id: core.shard.party.env.entropy.uuid().to_string() };
    let value = SdmSubscription { subscription_id: Some(key.id.clone()), ..value };
    let location = core.location(&key);
    let kept = Subscription {
        value: value.clone(),
        stored_as: key.id.clone(),
        request: served.request,
        expires_unix_ms,
        answers: 1,
        kept: false,
    };
    let committed = core.keep_subscription(served, key, kept).await?;
    Ok(Reply::created(location, &value, &committed, core.actor.clone()))
}

pub(crate) fn expiry(text: &str) -> Result<i64, Failure> {
    sbi::clock::unix_ms_of_rfc3339(text).ok_or_else(|| {
        let problem =
            sbi::problem::ProblemDetails::new(Cause::OptionalIeIncorrect, "expires is no date-time");
        let param =
            sbi::problem::InvalidParam::body("/expires", "expected RFC 3339, as 2026-11-30T01:25:02Z");
        Failure::Problem(problem.with_param(param))
    })
}

/// Ends a subscription. Late or not, it is carried out.
pub(crate) async fn delete(core: Rc<Core>, message: Unsubscribe) -> Result<Reply, Failure> {
    let key = SubscriptionKey { supi: message.supi, id: message.id };
    let _turn = core.shard.turn(&core.subscription_turns, key.supi.clone(), &message.served).await?;
    match core.end_subscription(&key).await {
        true => Ok(Reply::no_content()),
        false => Err(no_subscription(&key.id)),
    }
}

fn no_subscription(id: &str) -> Failure {
    Failure::new(Cause::SubscriptionNotFound, format!("there is no subscription {id:.64}"))
}

/// Ends subscriptions whose `expires` has passed, for as long as the actor lives.
pub(crate) async fn expire(core: Rc<Core>) {
    loop {
        tokio::time::sleep(EXPIRY_INTERVAL).await;
        let now = core.shard.party.env.clock.stamp().unix_ms();
        for key in core.expired_subscriptions(now) {
            core.end_subscription(&key).await;
        }
    }
}

impl Core {
    /// Keeps a subscription here and in the UDR. An older state of it lives on until this one is handed over.
    pub(crate) async fn keep_subscription(
        &self,
        served: Served,
        key: SubscriptionKey,
        subscription: Subscription,
    ) -> Result<Committed, Failure> {
        let mut attempt = Attempt::begin(&self.shard.ledger, served);
        self.post_subscription(&mut attempt, &key, &subscription).await?;
        if self.shard.party.policy.hear_changes {
            self.post_to_notify(&mut attempt, &key, &subscription).await?;
        }
        let owner = owner("subscription", &key.supi, &key.id, served.request);
        let committed = attempt.commit(owner, &subscription).await?;
        self.subscriptions.borrow_mut().push(key, committed.owner().clone(), subscription);
        Ok(committed)
    }

    /// Whether there was one.
    pub(crate) async fn end_subscription(&self, key: &SubscriptionKey) -> bool {
        let ended = self.subscriptions.borrow_mut().take(key);
        let owners: Vec<_> = ended.into_iter().map(|(owner, _)| owner).collect();
        self.disown_all(&owners).await;
        !owners.is_empty()
    }

    /// The subscriptions of `consumer` that shall end with its last registration for `supi`.
    pub(crate) fn implicit_subscriptions(&self, supi: &Supi, consumer: NfInstanceId) -> Vec<SubscriptionKey> {
        let wanted = |s: &Subscription| {
            s.value.nf_instance_id == consumer && s.value.implicit_unsubscribe == Some(true)
        };
        self.subscriptions_of(supi, wanted)
    }

    pub(crate) fn subscriptions_of(
        &self,
        supi: &Supi,
        wanted: impl Fn(&Subscription) -> bool,
    ) -> Vec<SubscriptionKey> {
        let first = SubscriptionKey { supi: supi.clone(), id: String::new() };
        let subscriptions = self.subscriptions.borrow();
        let of_supi = subscriptions.iter_from(&first).take_while(|(key, _, _)| key.supi == *supi);
        of_supi.filter(|(_, _, s)| wanted(s)).map(|(key, _, _)| key.clone()).collect()
    }

    fn expired_subscriptions(&self, now_unix_ms: i64) -> Vec<SubscriptionKey> {
        let subscriptions = self.subscriptions.borrow();
        let expired =
            subscriptions.iter().filter(|(_, _, s)| s.expires_unix_ms.is_some_and(|at| at <= now_unix_ms));
        expired.map(|(key, _, _)| key.clone()).collect()
    }

    fn same_subscription(&self, supi: &Supi, value: &SdmSubscription) -> Option<SubscriptionKey> {
        if value.unique_subscription != Some(true) {
            return None;
        }
        self.subscriptions_of(supi, |s| same_subject(&s.value, value)).into_iter().next()
    }

    /// Whose answer arrives keeps the subscription: the first one's may not.
    fn answer_again(&self, key: &SubscriptionKey) -> Result<Reply, Failure> {
        let mut subscriptions = self.subscriptions.borrow_mut();
        let owner = subscriptions.newest(key).map(|(owner, _)| owner.clone()).unwrap_or_default();
        let same = subscriptions.get_mut(key, &owner).ok_or_else(|| no_subscription(&key.id))?;
        same.answers += 1;
        let reply = Reply::created_here(self.location(key), &same.value);
        Ok(reply.delivered_by(Delivery::local(owner, self.actor.clone())))
    }

    fn location(&self, key: &SubscriptionKey) -> String {
        format!("{}{}", self.shard.party.api_root, nudm_sdm::sdm_subscription(&key.supi, &key.id))
    }
}

/// Whether two subscriptions are by the same consumer, to the same address, about the same resources.
fn same_subject(a: &SdmSubscription, b: &SdmSubscription) -> bool {
    a.nf_instance_id == b.nf_instance_id
        && a.callback_reference == b.callback_reference
        && a.monitored_resource_uris == b.monitored_resource_uris
        && a.single_nssai == b.single_nssai
        && a.dnn == b.dnn
}
