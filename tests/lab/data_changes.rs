//! TS 29.504 §5.2.2.7, §5.2.2.8 and TS 29.503 §5.2.2.3, §5.2.2.5 (Rel-17): who wants to hear of changes is told, once
//! they have happened.

use crate::support::stub::{Reply, Stub};
use crate::support::{SUBS_TO_NOTIFY, SUPI, held, is, lab, profile, request, send, to_notify, with};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use serde_json::{Value, json};
use udr::Profile;

/// The profile of the cases with this UE aggregate bit rate.
fn with_ambr(uplink: &str) -> Profile {
    let mut changed = Profile::from(profile());
    changed.am["subscribedUeAmbr"]["uplink"] = json!(uplink);
    changed
}

fn provision(lab: &Lab, uplink: &str) {
    lab.provision(&SUPI.parse().unwrap(), with_ambr(uplink));
}

fn wish(lab: &Lab, body: &Value) -> Call {
    request(lab, Method::POST, "udr", SUBS_TO_NOTIFY).with_json(body)
}

#[actix::test]
async fn a_wish_to_be_notified_is_made_read_and_ended() {
    let lab = lab().start().await;
    let made = send(&lab, wish(&lab, &to_notify("http://127.0.0.1:9"))).await;
    assert_eq!(made.status, 201);
    let location = made.location().unwrap().to_owned();
    let there: Value = send(&lab, Call::get(&location)).await.json().unwrap();
    let id = location.rsplit('/').next().unwrap();
    assert_eq!(there, with(to_notify("http://127.0.0.1:9"), "subscriptionId", json!(id)));
    assert_eq!(held(&lab, "udr").await, [format!("{SUBS_TO_NOTIFY}/{id}")]);
    assert_eq!(send(&lab, Call::new(Method::DELETE, &location)).await.status, 204);
    assert_eq!(send(&lab, Call::get(location)).await.status, 404);
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new());
}

#[actix::test]
async fn a_unique_wish_is_answered_again() {
    let lab = lab().start().await;
    let unique = with(to_notify("http://127.0.0.1:9"), "uniqueSubscription", json!(true));
    let first = send(&lab, wish(&lab, &unique)).await.location().unwrap().to_owned();
    assert_eq!(send(&lab, wish(&lab, &unique)).await.location(), Some(&*first));
    assert_eq!(held(&lab, "udr").await.len(), 1);
}

#[actix::test]
async fn a_change_is_told_to_who_monitors_it() {
    let (stub, lab) = (Stub::start().await, lab().start().await);
    send(&lab, wish(&lab, &to_notify(stub.root()))).await;
    provision(&lab, "1 Mbps");
    lab.settle().await;
    let [told] = stub.journal().try_into().unwrap();
    assert_eq!((&*told.method, &*told.path), ("POST", "/data-change"));
    assert_eq!(told.headers["3gpp-sbi-callback"], "Nudr_DataRepository_onDataChange; apiversion=2");
    assert!((9_000..=10_000).contains(&told.pair().unwrap().max.ms()), "the NF's own timer");
    let item = &told.json()["notifyItems"][0];
    assert_eq!(told.json()["ueId"], SUPI);
    assert_eq!(item["resourceId"], to_notify("")["monitoredResourceUris"][0]);
    let change = &item["changes"][0];
    assert_eq!((&change["op"], &change["path"]), (&json!("REPLACE"), &json!("")));
    assert_eq!(change["origValue"]["subscribedUeAmbr"]["uplink"], "1000 Mbps");
    assert_eq!(change["newValue"]["subscribedUeAmbr"]["uplink"], "1 Mbps");
}

#[actix::test]
async fn what_has_not_changed_or_is_not_monitored_is_not_told() {
    let (stub, lab) = (Stub::start().await, lab().start().await);
    let sm = format!("/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data/sm-data");
    let of_sm = with(to_notify(stub.root()), "monitoredResourceUris", json!([sm]));
    send(&lab, wish(&lab, &of_sm)).await;
    let ended = send(&lab, wish(&lab, &to_notify(stub.root()))).await.location().unwrap().to_owned();
    let expired = with(to_notify(stub.root()), "expiry", json!("2020-01-01T00:00:00Z"));
    send(&lab, wish(&lab, &expired)).await;
    provision(&lab, "1000 Mbps");
    send(&lab, Call::new(Method::DELETE, ended)).await;
    provision(&lab, "1 Mbps");
    lab.settle().await;
    assert_eq!(stub.journal().len(), 0, "{:#?}", stub.journal());
}

#[actix::test]
async fn a_consumer_that_does_not_answer_keeps_nobody_from_being_told() {
    let (silent, stub) = (Stub::start().await, Stub::start().await);
    silent.on("POST", "/data-change", Reply::silence());
    let lab = lab().policy("udr", |p| p.max_rsp_time = crate::support::ms(300)).start().await;
    for consumer in [&silent, &stub] {
        send(&lab, wish(&lab, &to_notify(consumer.root()))).await;
    }
    provision(&lab, "1 Mbps");
    stub.wait("POST", "/data-change").await;
    lab.wait_for("the end of the wait", is("udr", Kind::UpstreamTimedOut)).await;
    lab.settle().await;
    assert_eq!((silent.journal().len(), stub.journal().len()), (1, 1));
}

#[actix::test]
async fn an_expiry_that_is_none_is_named() {
    let lab = lab().start().await;
    let answer = send(&lab, wish(&lab, &with(to_notify("http://a"), "expiry", json!("soon")))).await;
    assert_eq!(answer.problem().invalid_params[0].param, "/expiry");
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new());
}
