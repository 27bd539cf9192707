//! Telling consumers of changes: `Nudr_DataRepository_Notify`, TS 29.504 §5.2.2.8 (Rel-17).

use crate::repository::{Notification, Repository};
use http::Method;
use sbi::client::{Call, Client};
use sbi::party::Served;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_local;

/// How many notifications are under way at once.
pub const MAX_NOTIFICATIONS_AT_ONCE: usize = 64;

/// Sends the notifications of a repository, if nobody does yet, for as long as this thread lives. Two about the same
/// data may overtake each other: each holds the whole of what has changed.
pub(crate) async fn run(repository: Arc<Repository>, client: Rc<Client>) {
    let Some(mut outbox) = repository.outbox() else { return };
    let at_once = Arc::new(Semaphore::new(MAX_NOTIFICATIONS_AT_ONCE));
    while let Some(notification) = outbox.recv().await {
        let Ok(permit) = at_once.clone().acquire_owned().await else { return };
        let (repository, client) = (repository.clone(), client.clone());
        spawn_local(async move {
            tell(&client, notification).await;
            repository.told();
            drop(permit);
        });
    }
}

/// A call of its own, bounded by this NF's timer. Nothing depends on the answer.
async fn tell(client: &Client, notification: Notification) {
    let party = client.party();
    let now_unix_ms = party.env.clock.stamp().unix_ms();
    if notification.until_unix_ms.is_some_and(|until| until <= now_unix_ms) {
        return;
    }
    let call = Call::new(Method::POST, notification.callback)
        .callback("Nudr_DataRepository_onDataChange; apiversion=2")
        .with_json(&notification.body);
    let _ = client.ask(&Served::own(party), call).await;
}
