//! TS 29.503 §5.2.2.3 (Rel-17), our rule 16: `implicitUnsubscribe`, `uniqueSubscription` and `expires` are honoured;
//! giving up never takes what another session holds; a notification for what was released changes nothing.

use crate::support::raw::Connection;
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, REGISTRATION, SMF_A, SUBSCRIPTIONS_AT_UDR, SUPI, assert_504_t, body_a, changed_data, create,
    create_a, held, is, lab, lab_with_udm, lab_with_udr, reg_a, registration_of, request, send, subscribe,
    subscription, with,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use serde_json::{Value, json};

async fn subscribed(lab: &Lab, body: &Value) -> String {
    let answer = send(lab, subscribe(lab, body)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.location().unwrap().to_owned()
}

#[actix::test]
async fn an_implicit_subscription_ends_with_the_smfs_last_registration() {
    let lab = lab().start().await;
    let implicit = subscribed(&lab, &with(subscription(), "implicitUnsubscribe", json!(true))).await;
    let explicit = subscribed(&lab, &with(subscription(), "implicitUnsubscribe", json!(false))).await;
    send(&lab, reg_a(&lab)).await;
    let another = REGISTRATION.replace("/5", "/6");
    let registration = with(registration_of(SMF_A), "pduSessionId", json!(6));
    send(&lab, request(&lab, Method::PUT, "udm", &another).with_json(&registration)).await;
    for (path, held_after) in [(REGISTRATION, 3), (&*another, 1)] {
        assert_eq!(send(&lab, request(&lab, Method::DELETE, "udm", path)).await.status, 204);
        lab.settle().await;
        assert_eq!(held(&lab, "udm").await.len(), held_after);
    }
    assert_eq!(send(&lab, Call::new(Method::DELETE, implicit)).await.status, 404);
    assert_eq!(send(&lab, Call::new(Method::DELETE, explicit)).await.status, 204);
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn a_unique_subscription_exists_once() {
    let lab = lab().start().await;
    let unique = with(subscription(), "uniqueSubscription", json!(true));
    let first = subscribed(&lab, &unique).await;
    assert_eq!(subscribed(&lab, &unique).await, first);
    let elsewhere = with(unique, "callbackReference", json!("http://127.0.0.1:9/elsewhere"));
    assert_ne!(subscribed(&lab, &elsewhere).await, first, "another address is another subscription");
    assert_ne!(subscribed(&lab, &subscription()).await, first, "one that need not be unique is another");
    assert_eq!((held(&lab, "udm").await.len(), held(&lab, "udr").await.len()), (3, 3));
}

#[actix::test]
async fn a_subscription_ends_when_it_expires() {
    let lab = lab().start().await;
    let hour_ms = 3_600_000;
    let stays = subscribed(&lab, &subscription()).await;
    let expires = "2100-01-01T00:00:00Z";
    let ends = subscribed(&lab, &with(subscription(), "expires", json!(expires))).await;
    let until_2100_ms = 4_102_444_800_000 - crate::support::now_ms();
    lab.step_clock("udm", until_2100_ms - hour_ms);
    assert_eq!(send(&lab, Call::new(Method::DELETE, stays)).await.status, 204, "and nothing expired yet");
    lab.step_clock("udm", 2 * hour_ms);
    let ended = |e: &sbi::event::Event| is("udm", Kind::ReleaseConfirmed)(e) && e.time.starts_with("2100");
    lab.wait_for("the end", ended).await;
    assert_eq!(send(&lab, Call::new(Method::DELETE, ends)).await.status, 404);
    lab.expect_nothing_hanging().await;
}

fn modify(lab: &Lab, location: &str, patch: &Value) -> Call {
    let path = location.strip_prefix(&lab.api_root("udm")).unwrap();
    request(lab, Method::PATCH, "udm", path).with_body("application/merge-patch+json", patch.to_string())
}

/// The subscriptions that the UDR keeps.
async fn at_udr(lab: &Lab) -> Vec<Value> {
    send(lab, request(lab, Method::GET, "udr", SUBSCRIPTIONS_AT_UDR)).await.json().unwrap()
}

#[actix::test]
async fn a_modified_subscription_is_modified_in_the_udr_too() {
    let lab = lab().policy("udm", |p| p.hear_changes = true).start().await;
    let location = subscribed(&lab, &subscription()).await;
    let monitored = json!([format!("{SUPI}/am-data"), format!("{SUPI}/nssai")]);
    let patch = json!({"expires": "2100-01-01T00:00:00Z", "monitoredResourceUris": monitored});
    let answer = send(&lab, modify(&lab, &location, &patch)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let modified: Value = answer.json().unwrap();
    assert_eq!((&modified["expires"], &modified["monitoredResourceUris"]), (&patch["expires"], &monitored));
    assert_eq!(modified["callbackReference"], subscription()["callbackReference"]);
    assert_eq!(modified["subscriptionId"], location.rsplit('/').next().unwrap());
    lab.settle().await;
    let kept = at_udr(&lab).await;
    assert_eq!((kept.len(), &kept[0]["monitoredResourceUris"]), (1, &monitored));
    assert_eq!((held(&lab, "udm").await.len(), held(&lab, "udr").await.len()), (1, 2));
    assert_eq!(send(&lab, Call::new(Method::DELETE, location)).await.status, 204);
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
}

#[actix::test]
async fn a_modification_that_is_given_up_has_changed_nothing() {
    for path in ["/sdm-subscriptions$", "/subs-to-notify$"] {
        let lab = lab().policy("udm", |p| p.hear_changes = true).start().await;
        let location = subscribed(&lab, &subscription()).await;
        let before = (at_udr(&lab).await, held(&lab, "udr").await);
        lab.fault(Rule::at("udr").on_response().matching("POST", path).delay_ms(500).once());
        let patch = json!({"expires": "2100-01-01T00:00:00Z"});
        assert_504_t(&send(&lab, modify(&lab, &location, &patch).pair(0, "200")).await, false);
        lab.settle().await;
        assert_eq!((at_udr(&lab).await, held(&lab, "udr").await), before, "{path}");
        assert_eq!(send(&lab, Call::new(Method::DELETE, location)).await.status, 204);
        assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
    }
}

#[actix::test]
async fn a_modification_that_cannot_be_is_refused() {
    let lab = lab().start().await;
    let location = subscribed(&lab, &subscription()).await;
    for (patch, param) in [
        (json!({"monitoredResourceUris": null}), "/monitoredResourceUris"),
        (json!({"monitoredResourceUris": []}), "/monitoredResourceUris"),
        (json!({"expires": 5}), "/expires"),
        (json!({"expires": "soon"}), "/expires"),
    ] {
        let problem = send(&lab, modify(&lab, &location, &patch)).await.problem();
        assert_eq!((problem.status, &*problem.invalid_params[0].param), (Some(400), param), "{patch}");
    }
    let unknown = send(&lab, modify(&lab, &format!("{location}x"), &json!({}))).await;
    assert_eq!(unknown.problem().cause.as_deref(), Some("SUBSCRIPTION_NOT_FOUND"));
}

#[actix::test]
async fn a_subscription_that_no_longer_expires_stays() {
    let lab = lab().start().await;
    let expiring = with(subscription(), "expires", json!("2100-01-01T00:00:00Z"));
    let location = subscribed(&lab, &expiring).await;
    assert_eq!(send(&lab, modify(&lab, &location, &json!({"expires": null}))).await.status, 200);
    let soon = subscribed(&lab, &with(expiring, "dnn", json!("ims"))).await;
    lab.settle().await;
    lab.step_clock("udm", 4_102_444_800_000 - crate::support::now_ms());
    let ended = |e: &sbi::event::Event| is("udm", Kind::ReleaseConfirmed)(e) && e.time.starts_with("2100");
    lab.wait_for("the end of the other one", ended).await;
    assert_eq!(send(&lab, Call::new(Method::DELETE, soon)).await.status, 404);
    assert_eq!(send(&lab, Call::new(Method::DELETE, location)).await.status, 204);
}

#[actix::test]
async fn giving_up_takes_nothing_from_another_session_of_the_subscriber() {
    let lab = lab().start().await;
    send(&lab, create_a(&lab)).await;
    let before = [held(&lab, "udm").await, held(&lab, "udr").await];
    lab.fault(Rule::at("udm").on_response().matching("PUT", "/smf-registrations/6").delay_ms(500).once());
    let another = with(body_a(&lab), "pduSessionId", json!(6));
    assert_504_t(&send(&lab, create(&lab, &another).pair(0, "250")).await, true);
    lab.settle().await;
    assert_eq!([held(&lab, "udm").await, held(&lab, "udr").await], before);
}

#[actix::test]
async fn a_notification_counts_only_while_its_subscription_lives() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    let context = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    let address = stub.received("POST", "/")[0].json()["callbackReference"].as_str().unwrap().to_owned();
    let notify = || Call::new(Method::POST, address.clone()).with_json(&changed_data());
    assert_eq!(send(&lab, notify()).await.status, 204);
    send(&lab, Call::new(Method::POST, format!("{context}/release"))).await;
    let answer = send(&lab, notify()).await;
    assert_eq!((answer.status.as_u16(), answer.problem().cause.as_deref()), (404, Some("CONTEXT_NOT_FOUND")));
}

#[actix::test]
async fn a_given_up_session_is_not_notified_either() {
    let stub = Stub::start().await;
    stub.on("PUT", "/smf-registrations/", crate::support::stub::Reply::status(403));
    let lab = lab_with_udm(&stub).start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 403);
    let address = stub.received("POST", "/")[0].json()["callbackReference"].as_str().unwrap().to_owned();
    assert_eq!(send(&lab, Call::new(Method::POST, address).with_json(&changed_data())).await.status, 404);
    lab.expect_nothing_hanging().await;
}

/// The second answer names the same subscription: it stays, though the first one could not be handed over.
#[actix::test]
async fn a_unique_subscription_stays_for_whoever_was_answered() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    let location = format!("{}{SUBSCRIPTIONS_AT_UDR}/1", stub.root());
    stub.once("POST", "/", Reply::status(201).header("location", location).behind(&gate));
    let lab = lab_with_udr(&stub).start().await;
    let unique = subscribe(&lab, &with(subscription(), "uniqueSubscription", json!(true)));
    let mut first = Connection::open(&lab.api_root("udm")).await;
    let left = first.send(&unique).await;
    stub.wait("POST", "/").await;
    let mut second = Connection::open(&lab.api_root("udm")).await;
    let asked_again = second.send(&unique).await;
    let received = |e: &&Event| is("udm", Kind::RequestReceived)(e);
    lab.wait_for("the second request", |_| lab.events().iter().filter(received).count() == 2).await;
    left.reset();
    lab.wait_for("the first client leaves", is("udm", Kind::ClientGone)).await;
    gate.open();
    let answer = asked_again.answer().await.unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    lab.wait_for("the first answer", is("udm", Kind::ResponseUndeliverable)).await;
    lab.settle().await;
    let ended = send(&lab, Call::new(Method::DELETE, answer.location().unwrap())).await;
    assert_eq!(ended.status, 204, "{}", lab.transcript());
    lab.expect_nothing_hanging().await;
}
