//! Changing a subscription to changes: `Nudm_SDM_ModifySubscription`, TS 29.503 §5.2.2.6 (Rel-17).
//!
//! Creates: R7 and R16 anew, as for a new subscription. The older ones are released once the answer was handed over, and
//! stay if it never is: so a modification that is given up has changed nothing.

use crate::context::{Subscription, SubscriptionKey};
use crate::sdm::Modify;
use crate::subscribe::expiry;
use crate::udm::Core;
use sbi::problem::Cause;
use sbi::server::{Delivery, Failure, Reply};
use std::rc::Rc;

/// Carries out the procedure.
pub(crate) async fn modify(core: Rc<Core>, message: Modify) -> Result<Reply, Failure> {
    let Modify { served, supi, id, modification } = message;
    let key = SubscriptionKey { supi, id };
    let _turn = core.shard.turn(&core.subscription_turns, key.supi.clone(), &served).await?;
    let older = core.subscriptions.borrow().newest(&key).map(|(_, older)| older.value.clone());
    let older = older.ok_or_else(|| {
        Failure::new(Cause::SubscriptionNotFound, format!("there is no subscription {}", key.id))
    })?;
    let value = modification.apply(&older);
    let expires_unix_ms = value.expires.as_deref().map(expiry).transpose()?;
    let kept = Subscription {
        value: value.clone(),
        stored_as: core.shard.party.env.entropy.uuid().to_string(),
        request: served.request,
        expires_unix_ms,
        answers: 1,
        kept: false,
    };
    let committed = core.keep_subscription(served, key, kept).await?;
    Ok(Reply::ok(&value).delivered_by(Delivery::of(&committed, core.actor.clone())))
}
