//! Our rule 11 to TS 29.500 §6.11.2.2 (Rel-17): what a POST made whose `Location` was never seen is found again, and
//! released: R6 and R9 by repeating the create, R7 by reading the collection.

use crate::support::stub::{Reply, Stub};
use crate::support::{
    Headers, SUBSCRIPTIONS_AT_UDR, assert_504, assert_504_t, body_a, create, create_a, held, lab,
    lab_with_udm, lab_with_udr, ms, send, subscribe, subscription, with,
};
use h2::Reason;
use mock5g::lab::{Builder, Lab, PduSession};
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use sbi::party::NfType;
use serde_json::{Value, json};

/// A peer that answers 504 at the deadline is heard before its answer counts as lost.
fn settling_soon(lab: Builder) -> Builder {
    lab.policies(|p| (p.release.settle, p.release.backoff) = (ms(700), ms(10)))
}

#[actix::test]
async fn a_lost_sdm_subscription_is_found_by_asking_for_a_unique_one() {
    let stub = Stub::start().await;
    stub.once("POST", "/sdm-subscriptions", Reply::silence());
    let lab = settling_soon(lab_with_udm(&stub)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.to_string(), "created 1, committed 0, released 1, hanging 0");
    let [lost, again] = stub.received("POST", "/").try_into().unwrap();
    let unique = |r: &Value| r["uniqueSubscription"].clone();
    assert_eq!((unique(&lost.json()), unique(&again.json())), (Value::Null, json!(true)));
    for name in ["callbackReference", "nfInstanceId", "monitoredResourceUris", "singleNssai", "dnn"] {
        assert_eq!(lost.json()[name], again.json()[name], "{name}");
    }
    let [released] = stub.received("DELETE", "/").try_into().unwrap();
    assert_eq!(Some(format!("{}{}", stub.root(), released.path)), again.location);
}

#[actix::test]
async fn a_lost_answer_leaves_nothing_at_udm_and_udr() {
    for lost in [Effect::LoseResponse, Effect::Reset(2), Effect::Reset(8)] {
        for (nf, path) in [("udm", "/sdm-subscriptions$"), ("udr", "/sdm-subscriptions$")] {
            let lab = settling_soon(lab()).start().await;
            let rule = Rule::at(nf).on_response().matching("POST", path).effect(lost.clone()).once();
            lab.fault(rule);
            let answer = send(&lab, create_a(&lab).pair(0, "300")).await;
            assert_eq!(answer.status, 504, "{answer:?}");
            lab.expect_nothing_hanging().await;
            assert!(lab.events().iter().any(|e| e.event == Kind::ReleaseSettling), "{}", lab.transcript());
        }
    }
}

/// A UDM that finds a unique subscription without looking at its callback: what it finds is another session's.
#[actix::test]
async fn what_another_session_made_is_not_taken_for_what_was_lost() {
    let stub = Stub::start().await;
    stub.once("POST", "/sdm-subscriptions", Reply::silence());
    let lab = settling_soon(lab_with_udm(&stub)).start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "200")).await, true);
    let six = with(body_a(&lab), "pduSessionId", json!(6));
    assert_eq!(send(&lab, create(&lab, &six)).await.status, 201);
    let theirs = stub.received("POST", "/sdm-subscriptions")[1].location.clone().unwrap();
    stub.on("POST", "/sdm-subscriptions", Reply::status(201).header("location", &theirs));
    lab.settle().await;
    assert_eq!(stub.count("DELETE", "/sdm-subscriptions"), 0, "{}", lab.transcript());
}

#[actix::test]
async fn a_location_that_names_nothing_counts_as_none() {
    for location in ["", "#", "#7"] {
        let stub = Stub::start().await;
        stub.once("POST", "/sdm-subscriptions", Reply::status(201).header("location", location));
        stub.on("PUT", "/smf-registrations/", Reply::problem(403, "UNKNOWN_5GS_SUBSCRIPTION"));
        let lab = lab_with_udm(&stub).start().await;
        assert_eq!(send(&lab, create_a(&lab)).await.status, 403);
        lab.expect_nothing_hanging().await;
        assert_eq!(stub.methods(), ["GET", "POST", "PUT", "POST", "DELETE"], "{location:?}");
    }
}

#[actix::test]
async fn a_lost_wish_at_a_foreign_udr_is_reported_at_once() {
    let stub = Stub::start().await;
    stub.once("POST", "/subs-to-notify", Reply::reset(Reason::INTERNAL_ERROR));
    let lab = settling_soon(lab_with_udr(&stub)).policy("udm", |p| p.hear_changes = true).start().await;
    assert_504(&send(&lab, subscribe(&lab, &subscription())).await, false, "TARGET_NF_NOT_REACHABLE");
    assert_eq!(lab.verdict().await.to_string(), "created 2, committed 0, released 1, hanging 1");
    assert_eq!(stub.count("POST", "/subs-to-notify"), 1);
    let told = lab.wait_for("the report", |e| e.event == Kind::ResourceHanging).await.detail.unwrap();
    assert!(told.contains("callbackReference"), "a person has to find it: {told}");
}

#[actix::test]
async fn a_201_without_location_is_settled_like_a_lost_one() {
    let stub = Stub::start().await;
    stub.once("POST", "/sdm-subscriptions", Reply::json(201, &json!({})));
    stub.on("PUT", "/smf-registrations/", Reply::problem(403, "UNKNOWN_5GS_SUBSCRIPTION"));
    let lab = lab_with_udm(&stub).start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 403);
    lab.expect_nothing_hanging().await;
    assert_eq!(stub.methods(), ["GET", "POST", "PUT", "POST", "DELETE"]);
}

#[actix::test]
async fn a_udr_that_names_no_location_ever_is_reported() {
    let stub = Stub::start().await;
    stub.on("POST", "/sdm-subscriptions", Reply::json(201, &json!({})));
    stub.on("PUT", "/smf-registrations/", Reply::problem(403, "UNKNOWN_5GS_SUBSCRIPTION"));
    let lab = settling_soon(lab_with_udm(&stub)).policy("smf", |p| p.release.tries = 3).start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 403);
    assert_eq!(lab.verdict().await.hanging, 1, "{}", lab.transcript());
}

/// A UDR that loses the answer to a subscription, and then lists `stored` beside another's.
async fn udr_that_lists(stored: impl Fn(&Value) -> Value) -> (Stub, String) {
    let stub = Stub::start().await;
    stub.once("POST", "/sdm-subscriptions", Reply::reset(Reason::INTERNAL_ERROR));
    let lab = settling_soon(lab_with_udr(&stub)).policy("udm", |p| p.release.tries = 2).start().await;
    let call = subscribe(&lab, &subscription());
    let sent = async {
        let sent = stub.wait("POST", "/sdm-subscriptions").await.json();
        let others = json!({"subscriptionId": "theirs", "nfInstanceId": crate::support::SMF_B});
        stub.on("GET", "/sdm-subscriptions", Reply::json(200, &json!([others, stored(&sent)])));
    };
    let (answer, ()) = tokio::join!(send(&lab, call), sent);
    assert_504(&answer, false, "TARGET_NF_NOT_REACHABLE");
    let verdict = lab.verdict().await.to_string();
    assert_eq!(held(&lab, "udm").await, Vec::<String>::new());
    (stub, verdict)
}

#[actix::test]
async fn a_lost_subscription_at_the_udr_is_found_by_the_id_that_was_proposed() {
    let (stub, verdict) = udr_that_lists(|sent| json!({"subscriptionId": sent["subscriptionId"]})).await;
    let proposed = stub.received("POST", "/")[0].json()["subscriptionId"].as_str().unwrap().to_owned();
    let [released] = stub.received("DELETE", "/").try_into().unwrap();
    assert_eq!(released.path, format!("{SUBSCRIPTIONS_AT_UDR}/{proposed}"));
    assert_eq!(verdict, "created 1, committed 0, released 1, hanging 0");
}

#[actix::test]
async fn a_udr_that_gives_ids_of_its_own_is_searched_by_content() {
    let renamed = |sent: &Value| crate::support::with(sent.clone(), "subscriptionId", json!("77"));
    let (stub, verdict) = udr_that_lists(renamed).await;
    let [released] = stub.received("DELETE", "/").try_into().unwrap();
    assert_eq!(released.path, format!("{SUBSCRIPTIONS_AT_UDR}/77"));
    assert_eq!(verdict, "created 1, committed 0, released 1, hanging 0");
}

#[actix::test]
async fn what_the_udr_does_not_list_was_never_made() {
    let (stub, verdict) = udr_that_lists(|_| json!({"subscriptionId": "x", "nfInstanceId": "y"})).await;
    assert_eq!(stub.count("DELETE", "/"), 0);
    assert_eq!(verdict, "created 0, committed 0, released 0, hanging 0");
}

#[actix::test]
async fn an_sm_context_that_was_found_and_has_ended_by_itself_is_not_hanging() {
    let smf = Stub::start().await;
    smf.once("POST", "/sm-contexts", Reply::silence());
    smf.on("POST", "/release", Reply::problem(404, "CONTEXT_NOT_FOUND"));
    let lab = settling_soon(lab().peer(NfType::Smf, smf.root())).start().await;
    assert_eq!(lab.establish(PduSession::default().max_rsp_time_ms(200)).await.as_str(), "gave_up");
    let verdict = lab.verdict().await.to_string();
    assert_eq!(verdict, "created 1, committed 0, released 1, hanging 0", "{}", lab.transcript());
    assert_eq!((creates(&smf), smf.count("POST", "/release")), (2, 1));
}

#[actix::test]
async fn a_lost_sm_context_is_found_by_repeating_its_creation() {
    for lost in [Effect::LoseResponse, Effect::Reset(2)] {
        let lab = settling_soon(mock5g::lab::Lab::builder()).start().await;
        lab.fault(Rule::at("smf").on_response().matching("POST", "/sm-contexts$").effect(lost).once());
        let outcome = lab.establish(PduSession::default().max_rsp_time_ms(400)).await;
        assert_ne!(outcome.as_str(), "established");
        lab.expect_nothing_hanging().await;
        let creates = |e: &sbi::event::Event| {
            e.event == Kind::RequestReceived
                && &*e.nf == "smf"
                && e.uri.as_ref().unwrap().ends_with("/sm-contexts")
        };
        assert_eq!(lab.events().iter().filter(|e| creates(e)).count(), 2, "{}", lab.transcript());
    }
}

#[actix::test]
async fn a_lost_udr_answer_to_a_put_is_released_at_its_known_uri() {
    for lost in [Effect::LoseResponse, Effect::Reset(2)] {
        let lab = settling_soon(lab()).start().await;
        lab.fault(Rule::at("udr").on_response().matching("PUT", "/smf-registrations/").effect(lost).once());
        assert_eq!(send(&lab, create_a(&lab).pair(0, "400")).await.status, 504);
        lab.expect_nothing_hanging().await;
    }
}

/// An SMF that has an older SM context of the session, and loses the answer to the creation of the next.
async fn smf_with_an_older_context(read: Reply) -> (Stub, Lab, String) {
    let smf = Stub::start().await;
    let lab = settled_at(&smf).await;
    smf.on("POST", "/retrieve", read);
    smf.once("POST", "/sm-contexts", Reply::reset(Reason::INTERNAL_ERROR));
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "gave_up");
    let verdict = lab.verdict().await.to_string();
    (smf, lab, verdict)
}

async fn settled_at(smf: &Stub) -> Lab {
    let lab = settling_soon(lab().peer(NfType::Smf, smf.root()));
    let lab = lab.policy("amf", |p| p.release.tries = 2).start().await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
    lab
}

fn creates(smf: &Stub) -> usize {
    smf.journal().iter().filter(|r| r.path.ends_with("/sm-contexts")).count()
}

#[actix::test]
async fn a_lost_create_is_not_repeated_while_the_older_context_is_there() {
    let (smf, lab, _) = smf_with_an_older_context(Reply::json(200, &json!({}))).await;
    assert_eq!(creates(&smf), 2);
    assert_eq!(lab.release(&PduSession::default()).await, amf::Released::Asked, "the older one lives");
}

#[actix::test]
async fn a_lost_create_is_not_repeated_if_it_is_not_known_whether_the_older_context_is_there() {
    for unclear in [Reply::problem(500, "SYSTEM_FAILURE"), Reply::problem(504, "TIMED_OUT_REQUEST")] {
        let (smf, lab, verdict) = smf_with_an_older_context(unclear).await;
        assert_eq!(creates(&smf), 2, "repeating it would have ended the older one");
        assert_eq!(verdict, "created 2, committed 1, released 0, hanging 1", "{}", lab.transcript());
    }
}

#[actix::test]
async fn a_lost_create_is_repeated_once_the_older_context_is_said_to_be_gone() {
    let (smf, lab, verdict) = smf_with_an_older_context(Reply::problem(404, "CONTEXT_NOT_FOUND")).await;
    assert_eq!(creates(&smf), 3);
    assert_eq!(smf.count("POST", "/release"), 1);
    assert_eq!(verdict, "created 1, committed 0, released 1, hanging 0", "{}", lab.transcript());
}

#[actix::test]
async fn a_list_that_cannot_be_read_does_not_say_that_nothing_was_made() {
    for list in [Reply::status(200), Reply::json(200, &json!({"no": "list"}))] {
        let stub = Stub::start().await;
        stub.once("POST", "/sdm-subscriptions", Reply::reset(Reason::INTERNAL_ERROR));
        stub.on("GET", "/sdm-subscriptions", list);
        let lab = settling_soon(lab_with_udr(&stub)).policy("udm", |p| p.release.tries = 2).start().await;
        assert_eq!(send(&lab, subscribe(&lab, &subscription())).await.status, 504);
        assert_eq!(lab.verdict().await.hanging, 1, "{}", lab.transcript());
    }
}
