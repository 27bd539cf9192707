//! TS 29.504 §5.2.2.7, §5.2.2.8 and TS 29.503 §5.2.2.3, §5.2.2.5 (Rel-17): who wants to hear of changes is told, once
//! they have happened.

use crate::support::raw::Connection;
use crate::support::stub::{Reply, Stub};
use crate::support::{
    SUBS_TO_NOTIFY, SUPI, held, is, lab, lab_with_udr, profile, request, send, subscribe, subscription,
    to_notify, with,
};
use http::Method;
use mock5g::lab::{Builder, Lab};
use sbi::client::Call;
use sbi::event::Kind;
use sbi::fault::Rule;
use sbi::policy::LostCreates;
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
async fn a_wish_is_modified_and_one_whose_answer_is_undeliverable_is_as_it_was() {
    // On one worker what follows comes after the taking back.
    let (stub, lab) = (Stub::start().await, lab().workers(1).start().await);
    let location = send(&lab, wish(&lab, &to_notify(stub.root()))).await.location().unwrap().to_owned();
    let patch = |op: &str, path: &str, value: Value| {
        let items = json!([{"op": op, "path": path, "value": value}]).to_string();
        Call::new(Method::PATCH, &location).with_body("application/json-patch+json", items)
    };
    assert_eq!(send(&lab, patch("add", "/expiry", json!("2100-01-01T00:00:00Z"))).await.status, 204);
    assert_eq!(
        send(&lab, patch("replace", "/subscriptionId", json!("mine"))).await.status,
        204,
        "its id stays"
    );
    let id = location.rsplit('/').next().unwrap();
    let modified = with(to_notify(stub.root()), "expiry", json!("2100-01-01T00:00:00Z"));
    let modified = with(modified, "subscriptionId", json!(id));
    let there = || async { send(&lab, Call::get(&location)).await.json::<Value>().unwrap() };
    assert_eq!(there().await, modified);
    for (wrong, cause) in [
        (patch("add", "/expiry", json!("soon")), "OPTIONAL_IE_INCORRECT"),
        (patch("replace", "/monitoredResourceUris", json!([])), "MANDATORY_IE_INCORRECT"),
        (patch("remove", "/callbackReference", Value::Null), "MANDATORY_IE_MISSING"),
    ] {
        assert_eq!(send(&lab, wrong).await.problem().cause.as_deref(), Some(cause));
    }
    lab.fault(Rule::at("udr").delay_ms(100).matching("PATCH", "/subs-to-notify/").once());
    let mut connection = Connection::open(&lab.api_root("udr")).await;
    let elsewhere = patch("replace", "/callbackReference", json!("http://127.0.0.1:9/other"));
    let exchange = connection.send(&elsewhere).await;
    lab.wait_for("it is under way", is("udr", Kind::FaultApplied)).await;
    exchange.reset();
    lab.wait_for("the end", is("udr", Kind::ResponseUndeliverable)).await;
    assert_eq!(there().await, modified, "{}", lab.transcript());
    provision(&lab, "1 Mbps");
    lab.settle().await;
    assert_eq!(stub.count("POST", "/data-change"), 1);
}

#[actix::test]
async fn patches_at_the_same_time_lose_nothing() {
    let (stub, lab) = (Stub::start().await, lab().start().await);
    let location = send(&lab, wish(&lab, &to_notify(stub.root()))).await.location().unwrap().to_owned();
    let add = |n: usize| {
        let items = json!([{"op": "add", "path": format!("/x{n}"), "value": "x".repeat(500)}]).to_string();
        send(&lab, Call::new(Method::PATCH, &location).with_body("application/json-patch+json", items))
    };
    let answers = futures_util::future::join_all((0..40).map(add)).await;
    assert!(answers.iter().all(|answer| answer.status == 204));
    let there: Value = send(&lab, Call::get(&location)).await.json().unwrap();
    assert!((0..40).all(|n| there[format!("x{n}")].is_string()), "{there}");
}

#[actix::test]
async fn who_monitors_a_subscriber_hears_that_it_is_gone() {
    let (stub, lab) = (Stub::start().await, lab().start().await);
    send(&lab, wish(&lab, &to_notify(stub.root()))).await;
    lab.process().repository.as_ref().unwrap().remove(&SUPI.parse().unwrap()).unwrap();
    let told = stub.wait("POST", "/data-change").await.json();
    assert_eq!(told["notifyItems"][0]["changes"][0]["op"], "REMOVE", "{told}");
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

/// The creation of an SDM subscription that wants to hear at `stub` of changes of these data.
fn monitor(lab: &Lab, stub: &Stub, data: &[&str]) -> Call {
    let body = with(subscription(), "callbackReference", json!(format!("{}/changed", stub.root())));
    let uris: Vec<_> = data.iter().map(|data| format!("{SUPI}/{data}")).collect();
    subscribe(lab, &with(body, "monitoredResourceUris", json!(uris)))
}

fn hearing(lab: Builder) -> Builder {
    lab.policy("udm", |p| p.hear_changes = true)
}

#[actix::test]
async fn a_change_in_the_udr_reaches_who_subscribed_at_the_udm() {
    for without_udr in [false, true] {
        let stub = Stub::start().await;
        let lab = if without_udr { lab().without_udr() } else { lab() };
        let lab = hearing(lab).start().await;
        assert_eq!(send(&lab, monitor(&lab, &stub, &["am-data", "nssai"])).await.status, 201);
        provision(&lab, "1 Mbps");
        let told = stub.wait("POST", "/changed").await;
        assert_eq!(told.headers["3gpp-sbi-callback"], "Nudm_SDM_Notification; apiversion=2");
        let items = told.json()["notifyItems"].clone();
        assert_eq!(
            (items.as_array().unwrap().len(), &items[0]["resourceId"]),
            (1, &json!(format!("{SUPI}/am-data")))
        );
        assert_eq!(items[0]["changes"][0]["newValue"]["subscribedUeAmbr"]["uplink"], "1 Mbps");
    }
}

#[actix::test]
async fn a_subscription_hears_nothing_more_once_it_has_ended_or_monitors_something_else() {
    let (stub, lab) = (Stub::start().await, hearing(lab()).start().await);
    let ended = send(&lab, monitor(&lab, &stub, &["am-data"])).await.location().unwrap().to_owned();
    let other = send(&lab, monitor(&lab, &stub, &["am-data"])).await.location().unwrap().to_owned();
    send(&lab, Call::new(Method::DELETE, ended)).await;
    let patch = json!({"monitoredResourceUris": [format!("{SUPI}/smf-select-data")]});
    let patched = Call::new(Method::PATCH, other).with_json(&patch);
    assert_eq!(send(&lab, patched).await.status, 200);
    lab.settle().await;
    provision(&lab, "1 Mbps");
    lab.settle().await;
    assert_eq!(stub.journal().len(), 0, "{:#?}", stub.journal());
    let mut changed = with_ambr("1 Mbps");
    changed.smf_selection = json!({});
    lab.provision(&SUPI.parse().unwrap(), changed);
    let told = stub.wait("POST", "/changed").await.json();
    assert_eq!(told["notifyItems"][0]["resourceId"], patch["monitoredResourceUris"][0]);
}

#[actix::test]
async fn a_udr_that_keeps_or_notifies_nothing_is_respected() {
    for refusal in [Reply::status(404), Reply::status(405), Reply::problem(501, "X")] {
        let stub = Stub::start().await;
        stub.on("POST", "/sdm-subscriptions", refusal.clone());
        stub.on("POST", "/subs-to-notify", refusal);
        let lab = hearing(lab_with_udr(&stub)).start().await;
        let location = send(&lab, monitor(&lab, &stub, &["am-data"])).await.location().unwrap().to_owned();
        assert_eq!(held(&lab, "udm").await.len(), 1);
        assert_eq!(send(&lab, Call::new(Method::DELETE, location)).await.status, 204);
        assert_eq!(stub.methods(), ["POST", "POST"]);
        assert_eq!(lab.verdict().await.created, 0);
    }
}

#[actix::test]
async fn a_lost_wish_to_be_notified_is_found_by_asking_for_a_unique_one() {
    let stub = Stub::start().await;
    stub.once("POST", "/subs-to-notify", Reply::reset(h2::Reason::INTERNAL_ERROR));
    let lab = hearing(lab_with_udr(&stub));
    let lab = lab.policy("udm", |p| p.release.lost = LostCreates::Repeat).start().await;
    assert_eq!(send(&lab, monitor(&lab, &stub, &["am-data", "sm-data"])).await.status, 504);
    assert_eq!(
        lab.expect_nothing_hanging().await.to_string(),
        "created 2, committed 0, released 2, hanging 0"
    );
    let [lost, again] = stub.received("POST", "/subs-to-notify").try_into().unwrap();
    assert_eq!(with(again.json(), "uniqueSubscription", Value::Null), lost.json());
    let set =
        |set| format!("{}/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data/{set}", stub.root());
    assert_eq!(lost.json()["monitoredResourceUris"], json!([set("am-data"), set("sm-data")]));
    let released = stub.received("DELETE", "/subs-to-notify/").remove(0).path;
    assert_eq!(again.location, Some(format!("{}{released}", stub.root())));
}

#[actix::test]
async fn what_no_udr_keeps_is_not_asked_for() {
    let stub = Stub::start().await;
    for (hears, data) in [(true, "ue-context-in-smf-data"), (false, "am-data")] {
        let lab = lab_with_udr(&stub).policy("udm", |p| p.hear_changes = hears).start().await;
        assert_eq!(send(&lab, monitor(&lab, &stub, &[data])).await.status, 201);
    }
    assert_eq!(stub.count("POST", "/subs-to-notify"), 0);
}
