//! Our rule 16 to TS 29.500 §6.11.2.2 (Rel-17): an SMF holds one SDM subscription per SUPI, DNN and S-NSSAI, counted;
//! giving up never deletes what another session holds.

use crate::support::stub::{Gate, Received, Reply, Stub};
use crate::support::{
    Headers, assert_504_t, body_a, changed_data, create, create_a, lab, lab_with_udm, send, with,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::{Answer, Call};
use serde_json::json;

const POSTED: &str = "/sdm-subscriptions";
const REGISTRATION_5: &str = "/smf-registrations/5";

/// CREATE-A for session 6.
fn create_6(lab: &Lab) -> Call {
    create(lab, &with(body_a(lab), "pduSessionId", json!(6)))
}

async fn created(lab: &Lab, call: Call) -> String {
    let answer = send(lab, call).await;
    assert_eq!(answer.status, 201, "{answer:?}\n{}", lab.transcript());
    answer.location().unwrap().to_owned()
}

async fn release(lab: &Lab, context: &str) {
    let released = send(lab, Call::new(Method::POST, format!("{context}/release"))).await;
    assert_eq!(released.status, 204, "{released:?}");
    lab.settle().await;
}

async fn notify(lab: &Lab, subscription: &Received) -> u16 {
    let callback = subscription.json()["callbackReference"].as_str().unwrap().to_owned();
    let Answer { status, .. } = send(lab, Call::new(Method::POST, callback).with_json(&changed_data())).await;
    status.as_u16()
}

#[actix::test]
async fn the_last_session_ends_the_subscription() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    let contexts = [created(&lab, create_a(&lab)).await, created(&lab, create_6(&lab)).await];
    let subscriptions = stub.received("POST", POSTED);
    assert_eq!(subscriptions.len(), 1, "one for both");
    release(&lab, &contexts[0]).await;
    assert_eq!(stub.count("DELETE", POSTED), 0, "session 6 has it still");
    assert_eq!(notify(&lab, &subscriptions[0]).await, 204);
    release(&lab, &contexts[1]).await;
    assert_eq!(notify(&lab, &subscriptions[0]).await, 404, "it is released");
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn another_dnn_and_another_slice_have_subscriptions_of_their_own() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    let six = with(body_a(&lab), "pduSessionId", json!(6));
    created(&lab, create_a(&lab)).await;
    created(&lab, create(&lab, &with(six.clone(), "dnn", json!("ims")))).await;
    let seven = with(with(six, "pduSessionId", json!(7)), "sNssai", json!({"sst": 1}));
    created(&lab, create(&lab, &seven)).await;
    assert_eq!(stub.count("POST", POSTED), 3);
}

/// As the UDM's own comparison has it: a DNN in any case, an SD in any case, and `FFFFFF` for none.
#[actix::test]
async fn however_dnn_and_slice_are_written_they_share_one() {
    let (stub, slice) = (Stub::start().await, |sd: &str| json!({"sst": 1, "sd": sd}));
    let lab = lab_with_udm(&stub).start().await;
    for (id, dnn, slice) in
        [(5, "internet", slice("0000a1")), (6, "INTERNET", slice("0000A1")), (7, "ims", slice("0000a1"))]
    {
        let body = with(with(body_a(&lab), "pduSessionId", json!(id)), "dnn", json!(dnn));
        created(&lab, create(&lab, &with(body, "sNssai", slice))).await;
    }
    assert_eq!(stub.count("POST", POSTED), 2);
}

/// What a UDM tells while a session is still being set up is for that session too.
#[actix::test]
async fn a_change_is_heard_as_soon_as_somebody_wants_the_subscription() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", REGISTRATION_5, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let told = async {
        stub.wait("PUT", REGISTRATION_5).await;
        assert_eq!(notify(&lab, &stub.received("POST", POSTED)[0]).await, 204);
        gate.open();
    };
    tokio::join!(created(&lab, create_a(&lab)), told);
}

#[actix::test]
async fn a_session_that_gives_up_leaves_what_another_holds() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/6", Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let context = created(&lab, create_a(&lab)).await;
    assert_504_t(&send(&lab, create_6(&lab).pair(0, "250")).await, true);
    gate.open();
    lab.settle().await;
    assert_eq!((stub.count("POST", POSTED), stub.count("DELETE", POSTED)), (1, 0), "{}", lab.transcript());
    assert_eq!(notify(&lab, &stub.received("POST", POSTED)[0]).await, 204);
    release(&lab, &context).await;
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn what_the_session_that_gave_up_had_made_stays_with_those_who_joined() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", REGISTRATION_5, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let five = send(&lab, create_a(&lab).pair(0, "1000"));
    let six = async {
        stub.wait("PUT", REGISTRATION_5).await;
        created(&lab, create_6(&lab)).await
    };
    let (refused, context) = tokio::join!(five, six);
    assert_504_t(&refused, true);
    gate.open();
    lab.settle().await;
    assert_eq!((stub.count("POST", POSTED), stub.count("DELETE", POSTED)), (1, 0), "{}", lab.transcript());
    release(&lab, &context).await;
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn a_session_waits_for_the_subscription_that_another_is_making() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("POST", POSTED, Reply::status(201).header("location", "/nudm-sdm/v2/x/7").behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let five = created(&lab, create_a(&lab));
    let others = async {
        stub.wait("POST", POSTED).await;
        assert_504_t(&send(&lab, create_6(&lab).pair(0, "250")).await, true);
        assert_eq!(stub.count("POST", POSTED), 1, "within its own deadline only, and without one of its own");
        gate.open();
    };
    tokio::join!(five, others);
    created(&lab, create_6(&lab)).await;
    assert_eq!(stub.count("POST", POSTED), 1);
}

#[actix::test]
async fn nobody_joins_one_that_was_never_answered() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("POST", POSTED, Reply::status(201).header("location", "/nudm-sdm/v2/x/7").behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    let context = created(&lab, create_6(&lab)).await;
    assert_eq!(stub.count("POST", POSTED), 2, "the late answer of the first decides nothing for the second");
    gate.open();
    lab.settle().await;
    assert_eq!(stub.count("DELETE", "/nudm-sdm/v2/x/7"), 1, "{}", lab.transcript());
    assert_eq!(stub.count("DELETE", POSTED), 0);
    release(&lab, &context).await;
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn a_session_that_is_made_anew_keeps_the_subscription() {
    let lab = lab().start().await;
    created(&lab, create_a(&lab)).await;
    let context = created(&lab, create_a(&lab)).await;
    lab.settle().await;
    let kinds: Vec<_> = lab.held("udm").await.into_iter().map(|held| held.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "sdm-subscription").count(), 1, "{kinds:?}");
    release(&lab, &context).await;
    lab.expect_nothing_hanging().await;
    assert!(lab.held("udm").await.is_empty());
}
