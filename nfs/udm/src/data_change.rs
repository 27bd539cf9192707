//! A UDR tells that data have changed, and the UDM tells who subscribed: the callback of `Nudr_DataRepository_Notify`
//! and `Nudm_SDM_Notification`, TS 29.503 §5.2.2.5 (Rel-17).

use crate::context::SubscriptionKey;
use crate::udm::{Core, Udm};
use actix::Message;
use actix_web::web;
use api::common::{ChangeItem, NotifyItem, Supi, Uri};
use api::decode::decode;
use api::nudm_sdm::{
    self, ModificationNotification, SdmSubscription, SessionManagementSubscriptionData, SubscribedData,
};
use api::nudr_dr::{DataChangeNotify, Resource};
use api::path::variable;
use api::percent::encoded;
use bytes::Bytes;
use http::Method;
use sbi::client::Call;
use sbi::json;
use sbi::party::Served;
use sbi::problem::Cause;
use sbi::server::{Failure, Reply, Shards};
use serde_json::Value;
use std::rc::Rc;

/// How many notifications of one shard are under way at once.
pub(crate) const MAX_NOTIFICATIONS: usize = 1_024;

const DATA_CHANGES: &str = "/nudm-callback/v1/data-changes";

/// The routes.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    let changes = format!("{DATA_CHANGES}/{{supi}}/{{name}}");
    app.service(web::resource(changes).route(web::post().to(take)));
}

/// Data have changed.
#[derive(Message)]
#[rtype(result = "Result<Reply, Failure>")]
pub(crate) struct DataChange {
    supi: Supi,
    stored_as: String,
    changed: DataChangeNotify,
}

async fn take(
    path: web::Path<(String, String)>,
    body: Bytes,
    shards: web::Data<Shards<Udm>>,
) -> Result<Reply, Failure> {
    let (supi, stored_as) = path.into_inner();
    let (supi, changed): (Supi, _) = (variable("supi", &supi)?, decode(&body)?);
    shards.ask(shards.of(supi.as_str()), DataChange { supi, stored_as, changed }).await
}

/// Passes on what concerns the subscription for which the UDR was asked. One that was ended is told of nothing.
pub(crate) fn pass_on(core: &Rc<Core>, message: &DataChange) -> Result<Reply, Failure> {
    let subscription = core.subscription_stored_as(&message.supi, &message.stored_as);
    let subscription =
        subscription.ok_or_else(|| Failure::new(Cause::ContextNotFound, "no such subscription is in use"))?;
    let notify_items = concerning(&message.supi, &subscription, &message.changed);
    if notify_items.is_empty() {
        return Ok(Reply::no_content());
    }
    let call = Call::new(Method::POST, subscription.callback_reference)
        .callback("Nudm_SDM_Notification; apiversion=2")
        .with_json(&ModificationNotification { notify_items });
    match core.notify(call) {
        true => Ok(Reply::no_content()),
        false => Err(Failure::new(Cause::NfCongestion, "too many notifications are under way")),
    }
}

impl Core {
    /// Where the UDR shall tell of changes that concern a subscription.
    pub(crate) fn data_change_callback(&self, key: &SubscriptionKey, stored_as: &str) -> Uri {
        let supi = encoded(key.supi.as_str());
        format!("{}{DATA_CHANGES}/{supi}/{stored_as}", self.shard.party.api_root)
    }

    fn subscription_stored_as(&self, supi: &Supi, stored_as: &str) -> Option<SdmSubscription> {
        let key = self.subscriptions_of(supi, |s| s.stored_as == stored_as).into_iter().next()?;
        self.subscriptions.borrow().newest(&key).map(|(_, s)| s.value.clone())
    }

    /// Sends a notification as a call of its own, bounded by this NF's timer, if not too many are under way. Nothing
    /// depends on the answer.
    pub(crate) fn notify(self: &Rc<Self>, call: Call) -> bool {
        let core = self.clone();
        self.notify_with(async move {
            let _ = core.shard.client().ask(&Served::own(&core.shard.party), call).await;
        })
    }

    /// The same, however it is told.
    pub(crate) fn notify_with(self: &Rc<Self>, telling: impl Future<Output = ()> + 'static) -> bool {
        if self.notifications.get() >= MAX_NOTIFICATIONS {
            return false;
        }
        let core = self.clone();
        core.notifications.set(core.notifications.get() + 1);
        actix::spawn(async move {
            telling.await;
            core.notifications.set(core.notifications.get() - 1);
        });
        true
    }
}

/// What of the changes concerns a subscription, by the names that its consumer gave the resources.
fn concerning(supi: &Supi, subscription: &SdmSubscription, changed: &DataChangeNotify) -> Vec<NotifyItem> {
    let item = |uri: &Uri| {
        let (_, data) = SubscribedData::monitored(uri).filter(|(of, _)| of == supi)?;
        let of_set = changed.notify_items.iter().filter(|item| is_of(supi, data, item));
        let changes: Vec<_> = of_set
            .flat_map(|item| &item.changes)
            .filter_map(|change| narrowed(data, subscription, change))
            .collect();
        (!changes.is_empty()).then(|| NotifyItem { resource_id: uri.clone(), changes })
    };
    subscription.monitored_resource_uris.iter().filter_map(item).collect()
}

fn is_of(supi: &Supi, data: SubscribedData, item: &NotifyItem) -> bool {
    matches!(
        Resource::monitored(&item.resource_id),
        Some(Resource::ProvisionedSet { supi: of, set, .. }) if of == *supi && set == data.set()
    )
}

/// The part of a change that its consumer asked for; none if that part has not changed.
fn narrowed(data: SubscribedData, subscription: &SdmSubscription, change: &ChangeItem) -> Option<ChangeItem> {
    match data {
        SubscribedData::Am | SubscribedData::SmfSelection => Some(change.clone()),
        SubscribedData::Nssai if !change.path.is_empty() => {
            let path = change.path.strip_prefix("/nssai")?;
            let inside = path.is_empty() || path.starts_with('/');
            inside.then(|| ChangeItem { path: path.to_owned(), ..change.clone() })
        }
        SubscribedData::Nssai => part(change, |am| am.get("nssai").cloned()),
        SubscribedData::Sm if !change.path.is_empty() => Some(change.clone()),
        SubscribedData::Sm => part(change, |sm| Some(of_session(subscription, sm))),
    }
}

/// The change of a part of the whole.
fn part(change: &ChangeItem, part: impl Fn(&Value) -> Option<Value>) -> Option<ChangeItem> {
    let (before, now) =
        (change.orig_value.as_ref().and_then(&part), change.new_value.as_ref().and_then(&part));
    (before != now).then(|| ChangeItem::between("", before, now))
}

/// The session data of the slice and data network that a subscription names; foreign data as they are.
fn of_session(subscription: &SdmSubscription, sm: &Value) -> Value {
    match serde_json::from_value::<Vec<SessionManagementSubscriptionData>>(sm.clone()) {
        Ok(sm) => {
            let (slice, dnn) = (subscription.single_nssai.as_ref(), subscription.dnn.as_ref());
            json::to_value(&nudm_sdm::filter(&sm, slice, dnn))
        }
        Err(_) => sm.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SUPI: &str = "imsi-001010000000001";

    /// What a subscription to `monitored` is told of a change of `set`, as resource, operation and path.
    fn told(monitored: &[&str], set: &str, change: Value) -> Vec<(String, Vec<ChangeItem>)> {
        let subscription = serde_json::from_value(json!({
            "nfInstanceId": "22222222-2222-4222-8222-222222222222", "callbackReference": "http://127.0.0.1:9",
            "monitoredResourceUris": monitored, "singleNssai": {"sst": 1}, "dnn": "internet",
        }));
        let uri = format!("http://udr/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data/{set}");
        let changed = json!({"ueId": SUPI, "notifyItems": [{"resourceId": uri, "changes": [change]}]});
        let changed = serde_json::from_value(changed).expect("a notification");
        let supi = SUPI.parse().expect("SUPI");
        let items = concerning(&supi, &subscription.expect("a subscription"), &changed);
        items.into_iter().map(|item| (item.resource_id, item.changes)).collect()
    }

    fn replaced(before: &Value, now: &Value) -> Value {
        json!({"op": "REPLACE", "path": "", "origValue": before, "newValue": now})
    }

    #[test]
    fn each_resource_is_named_as_its_consumer_did() {
        let change = replaced(&json!({"a": 1}), &json!({"a": 2}));
        let monitored = [&*format!("{SUPI}/am-data"), &*format!("http://udm/nudm-sdm/v2/{SUPI}/sm-data")];
        let told = told(&monitored, "am-data", change.clone());
        let [(resource, changes)] = told.try_into().expect("one");
        assert_eq!((&*resource, json!(changes)), (monitored[0], json!([change])));
    }

    #[test]
    fn slices_are_told_of_only_if_they_have_changed() {
        let am =
            |slice: u8, other: u8| json!({"nssai": {"defaultSingleNssais": [{"sst": slice}]}, "a": other});
        let nssai = format!("{SUPI}/nssai");
        assert_eq!(told(&[&nssai], "am-data", replaced(&am(1, 1), &am(1, 2))), []);
        let [(_, changes)] =
            told(&[&nssai], "am-data", replaced(&am(1, 1), &am(2, 1))).try_into().expect("one");
        assert_eq!(changes[0].new_value, Some(am(2, 1)["nssai"].clone()));
        let deep = json!({"op": "ADD", "path": "/nssai/singleNssais", "newValue": []});
        assert_eq!(told(&[&nssai], "am-data", deep)[0].1[0].path, "/singleNssais");
        let beside = json!({"op": "ADD", "path": "/nssaiX", "newValue": []});
        assert_eq!(told(&[&nssai], "am-data", beside), []);
    }

    #[test]
    fn session_data_are_told_of_by_slice_and_data_network() {
        let sm = |sst: u8, dnns: &[&str]| {
            let dnns = dnns.iter().map(|name| name.parse().expect("DNN")).collect();
            json!(nudm_sdm::default_sm_data([(api::common::Snssai::sst(sst), dnns)]))
        };
        let monitored = format!("{SUPI}/sm-data");
        let told = |before: &Value, now: &Value| told(&[&monitored], "sm-data", replaced(before, now));
        assert_eq!(told(&sm(1, &["internet"]), &sm(1, &["internet", "ims"])), []);
        assert_eq!(told(&sm(1, &["internet"]), &sm(2, &["internet"]))[0].1[0].new_value, Some(json!([])));
        assert_eq!(told(&json!([1]), &json!([2]))[0].1[0].new_value, Some(json!([2])), "foreign data");
    }

    #[test]
    fn the_data_of_others_are_none_of_ones_business() {
        let change = replaced(&json!(1), &json!(2));
        assert_eq!(told(&["imsi-001010000000002/am-data", "x"], "am-data", change), []);
    }
}
