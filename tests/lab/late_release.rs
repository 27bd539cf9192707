//! Our rule 2 to TS 29.500 §6.11.2.2 (Rel-17): a late request that only releases is carried out, since refusing it
//! would create the very leak; its answer is 504 all the same. Except on a fixed URI that was rewritten since.

use crate::support::stub::Stub;
use crate::support::{
    AMF_A, AMF_REGISTRATION, Headers, REGISTRATION, REGISTRATION_AT_UDR, SMF_A, SMF_B, SUBSCRIPTIONS_AT_UDR,
    amf_registration_of, assert_504_t, body_a, create, established_at, held, lab, notification, purge_of,
    reg_a, register, registration_of, request, send, subscribe, subscription, with,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::policy::LateRelease;
use serde_json::{Value, json};

/// Something of every kind, and the request that ends it.
async fn releases(lab: &Lab) -> Vec<Call> {
    let body = with(body_a(lab), "pduSessionId", json!(6));
    let context = send(lab, create(lab, &body)).await.location().unwrap().to_owned();
    let subscribed = send(lab, subscribe(lab, &subscription())).await.location().unwrap().to_owned();
    assert_eq!(send(lab, reg_a(lab)).await.status, 201);
    let at_udr = with(subscription(), "subscriptionId", json!("at-udr"));
    send(lab, request(lab, Method::POST, "udr", SUBSCRIPTIONS_AT_UDR).with_json(&at_udr)).await;
    let registered = REGISTRATION_AT_UDR.replace("/5", "/7");
    let registration = with(registration_of(SMF_A), "pduSessionId", json!(7));
    send(lab, request(lab, Method::PUT, "udr", &registered).with_json(&registration)).await;
    let amf = request(lab, Method::PUT, "udm", AMF_REGISTRATION);
    send(lab, amf.with_json(&amf_registration_of(AMF_A, "http://127.0.0.1:9"))).await;
    vec![
        request(lab, Method::PATCH, "udm", AMF_REGISTRATION).with_json(&purge_of(AMF_A)),
        Call::new(Method::POST, format!("{context}/release")),
        Call::new(Method::DELETE, subscribed),
        request(lab, Method::DELETE, "udm", REGISTRATION),
        request(lab, Method::DELETE, "udr", &format!("{SUBSCRIPTIONS_AT_UDR}/at-udr")),
        request(lab, Method::DELETE, "udr", &registered),
    ]
}

async fn all_held(lab: &Lab) -> Vec<String> {
    [held(lab, "smf").await, held(lab, "udm").await, held(lab, "udr").await].concat()
}

#[actix::test]
async fn a_late_release_is_carried_out_and_answered_504() {
    let lab = lab().start().await;
    for release in releases(&lab).await {
        let before = all_held(&lab).await.len();
        assert_504_t(&send(&lab, release.clone().pair(0, "0")).await, false);
        lab.settle().await;
        assert!(all_held(&lab).await.len() < before, "{} {}", release.method, release.uri);
        assert_eq!(send(&lab, release).await.status, 404);
    }
    assert_eq!(all_held(&lab).await, Vec::<String>::new());
}

#[actix::test]
async fn where_late_releases_are_refused_nothing_is_done() {
    let lab = lab().policies(|p| p.deadline.late_release = LateRelease::Refuse).start().await;
    let releases = releases(&lab).await;
    let before = all_held(&lab).await;
    for release in releases {
        assert_504_t(&send(&lab, release.pair(0, "0")).await, false);
    }
    assert_eq!(all_held(&lab).await, before);
}

#[actix::test]
async fn a_late_release_of_what_is_not_there_says_504_too() {
    let lab = lab().start().await;
    let release = request(&lab, Method::DELETE, "udm", REGISTRATION).pair(-3_000, "1000");
    assert_504_t(&send(&lab, release).await, false);
}

#[actix::test]
async fn a_late_release_of_a_fixed_uri_that_was_rewritten_since_does_nothing() {
    let lab = lab().start().await;
    for (nf, path) in [("udm", REGISTRATION), ("udr", REGISTRATION_AT_UDR)] {
        let register = |smf| request(&lab, Method::PUT, nf, path).with_json(&registration_of(smf));
        send(&lab, register(SMF_A)).await;
        let delayed = request(&lab, Method::DELETE, nf, path).pair(-3_000, "1000");
        send(&lab, register(SMF_B)).await;
        assert_504_t(&send(&lab, delayed).await, false);
        let there: Value = send(&lab, request(&lab, Method::GET, nf, path)).await.json().unwrap();
        assert_eq!(there["smfInstanceId"], SMF_B, "at {nf}");
    }
}

#[actix::test]
async fn a_release_in_time_may_be_older_than_what_it_ends() {
    let lab = lab().start().await;
    send(&lab, register(&lab, SMF_A)).await;
    let release = request(&lab, Method::DELETE, "udm", REGISTRATION).pair(-3_000, "60000");
    assert_eq!(send(&lab, release).await.status, 204);
}

#[actix::test]
async fn a_late_released_notification_ends_the_session() {
    let (lab, uri) = established_at(&Stub::start().await).await;
    let notification = notification(&uri, "RELEASED");
    assert_504_t(&send(&lab, notification.clone().pair(-3_000, "1000")).await, false);
    assert_eq!(lab.count("amf", Kind::StatusNotified), 1, "it was carried out");
    assert_eq!(send(&lab, notification).await.status, 404, "the session has ended");
}
