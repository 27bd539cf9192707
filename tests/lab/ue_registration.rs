//! TS 23.502 §4.2.2.2.2 (Rel-17): an AMF registers a UE at the UDM (R4), reads its data and subscribes to their changes;
//! our rule 15: a registration that was given up is purged with the AMF's own GUAMI.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{SUPI, changed_data, held, is, is_about, lab, lab_with_udm, ms, send};
use amf::{RegisterUe, Released};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::client::{Call, TimingMode};
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use sbi::party::NfType;
use serde_json::{Value, json};

const SLOT: &str = "/registrations/amf-3gpp-access";

fn ue(max_rsp_time_ms: u64) -> RegisterUe {
    RegisterUe {
        supi: SUPI.parse().unwrap(),
        max_rsp_time: Some(ms(max_rsp_time_ms)),
        timing: TimingMode::True,
    }
}

async fn registered(lab: &Lab) {
    let outcome = lab.register(ue(5_000)).await;
    assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
}

#[actix::test]
async fn a_ue_is_registered_and_deregistered_with_all_that_was_made() {
    let lab = lab().start().await;
    registered(&lab).await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(
        verdict.committed, 9,
        "registration and subscription, a session, and what the UDM made in the UDR"
    );
    assert_eq!(lab.deregister(&SUPI.parse().unwrap()).await, Released::Asked);
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
    assert_eq!(held(&lab, "udm").await.len() + held(&lab, "smf").await.len(), 0);
    assert_eq!(lab.deregister(&SUPI.parse().unwrap()).await, Released::Unknown);
}

#[actix::test]
async fn what_is_sent_is_what_a_udm_reads() {
    let udm = udm_with_data().await;
    let lab = lab_with_udm(&udm).start().await;
    registered(&lab).await;
    assert_eq!(udm.methods(), ["PUT", "GET", "GET", "POST"]);
    let put = udm.received("PUT", SLOT)[0].json();
    assert!(put["deregCallbackUri"].as_str().unwrap().starts_with(&lab.api_root("amf")), "{put}");
    lab.deregister(&SUPI.parse().unwrap()).await;
    let purge = udm.wait("PATCH", SLOT).await;
    assert_eq!(purge.headers["content-type"], "application/merge-patch+json");
    assert_eq!(purge.json(), json!({"guami": put["guami"], "purgeFlag": true}));
    let order: Vec<_> = udm.methods().into_iter().skip(4).collect();
    assert_eq!(order, ["DELETE", "PATCH"], "newest first");
    lab.settle().await;
}

#[actix::test]
async fn a_registration_that_comes_too_late_is_purged() {
    let (udm, gate) = (Stub::start().await, Gate::closed());
    udm.on("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&udm).start().await;
    assert_eq!(lab.register(ue(200)).await.as_str(), "gave_up");
    gate.open();
    let verdict = lab.verdict().await;
    assert_eq!(verdict.to_string(), "created 1, committed 0, released 1, hanging 0");
    assert_eq!(udm.methods(), ["PUT", "PATCH"]);
}

#[actix::test]
async fn a_purge_that_finds_another_amf_is_done() {
    for (status, body, tries) in [(403, "INVALID_GUAMI", 1), (404, "CONTEXT_NOT_FOUND", 1), (403, "OTHER", 2)]
    {
        let udm = Stub::start().await;
        udm.on("GET", "/am-data", Reply::problem(404, "DATA_NOT_FOUND"));
        udm.on("PATCH", SLOT, Reply::problem(status, body));
        let lab = lab_with_udm(&udm).policy("amf", |p| (p.release.tries, p.release.backoff) = (2, ms(2)));
        let lab = lab.start().await;
        assert_eq!(lab.register(ue(5_000)).await.as_str(), "refused");
        let hanging = lab.verdict().await.hanging;
        assert_eq!((udm.count("PATCH", SLOT), hanging), (tries, tries - 1), "{status} {body}");
    }
}

#[actix::test]
async fn each_step_that_fails_leaves_nothing() {
    let steps =
        [("PUT", SLOT), ("GET", "/am-data"), ("GET", "/smf-select-data"), ("POST", "/sdm-subscriptions")];
    for (method, path) in steps {
        for effect in [Effect::status(503), Effect::Reset(8)] {
            let lab =
                lab().policies(|p| (p.release.settle, p.release.backoff) = (ms(700), ms(10))).start().await;
            lab.fault(Rule::at("udm").matching(method, path).effect(effect).once());
            assert_ne!(lab.register(ue(5_000)).await.as_str(), "established", "{method} {path}");
            assert_eq!(lab.expect_nothing_hanging().await.committed, 0, "{method} {path}");
        }
    }
}

#[actix::test]
async fn registering_again_replaces_and_failing_to_leaves_the_older_one() {
    let lab = lab().start().await;
    registered(&lab).await;
    registered(&lab).await;
    assert_eq!(lab.expect_nothing_hanging().await.committed, 4);
    lab.fault(Rule::at("udm").matching("POST", "/sdm-subscriptions").effect(Effect::status(503)).once());
    assert_eq!(lab.register(ue(5_000)).await.as_str(), "refused");
    let verdict = lab.expect_nothing_hanging().await;
    assert_eq!(verdict.committed, 4, "{}", lab.transcript());
    assert_eq!(lab.deregister(&SUPI.parse().unwrap()).await, Released::Asked);
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
}

/// A UDM that has all that an AMF reads.
async fn udm_with_data() -> Stub {
    let udm = Stub::start().await;
    for data in ["/am-data", "/smf-select-data"] {
        udm.on("GET", data, Reply::json(200, &json!({})));
    }
    udm
}

/// Tells the AMF at the address that it gave in its newest registration.
async fn tell(lab: &Lab, udm: &Stub, reason: &str) -> u16 {
    let put = udm.received("PUT", SLOT).pop().unwrap().json();
    let news = json!({"deregReason": reason, "accessType": "3GPP_ACCESS"});
    let call = Call::new(Method::POST, put["deregCallbackUri"].as_str().unwrap()).with_json(&news);
    send(lab, call).await.status.as_u16()
}

#[actix::test]
async fn an_amf_that_is_replaced_while_it_registers_gives_up_and_puts_nothing_back() {
    for was_registered in [false, true] {
        let (udm, gate, data) = (Stub::start().await, Gate::closed(), Reply::json(200, &json!({})));
        let lab = lab_with_udm(&udm).start().await;
        udm.on("GET", "/smf-select-data", data.clone());
        if was_registered {
            udm.once("GET", "/am-data", data.clone());
            registered(&lab).await;
        }
        udm.once("GET", "/am-data", data.behind(&gate));
        udm.on("PATCH", SLOT, Reply::problem(403, "INVALID_GUAMI"));
        let news = async {
            let reads = if was_registered { 2 } else { 1 };
            while udm.count("GET", "/am-data") < reads {
                tokio::task::yield_now().await;
            }
            assert_eq!(tell(&lab, &udm, "UE_INITIAL_REGISTRATION").await, 204);
            gate.open();
        };
        let (outcome, ()) = tokio::join!(lab.register(ue(5_000)), news);
        assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
        assert_eq!(lab.verdict().await.hanging, 0, "{}", lab.transcript());
        assert_eq!(lab.deregister(&SUPI.parse().unwrap()).await, Released::Unknown);
        lab.settle().await;
        let puts = if was_registered { 2 } else { 1 };
        assert_eq!((udm.count("PUT", SLOT), udm.count("PATCH", SLOT)), (puts, 1), "{:?}", udm.methods());
    }
}

#[actix::test]
async fn the_sessions_of_a_ue_that_has_moved_are_the_other_amfs() {
    for (reason, releases) in
        [("UE_INITIAL_REGISTRATION", 1), ("SUBSCRIPTION_WITHDRAWN", 1), ("UE_REGISTRATION_AREA_CHANGE", 0)]
    {
        let (udm, smf) = (udm_with_data().await, Stub::start().await);
        let lab = lab_with_udm(&udm).peer(NfType::Smf, smf.root()).start().await;
        registered(&lab).await;
        assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
        assert_eq!(tell(&lab, &udm, reason).await, 204);
        udm.wait("DELETE", "/sdm-subscriptions").await;
        lab.settle().await;
        assert_eq!((smf.count("POST", "/release"), udm.count("PATCH", SLOT)), (releases, 0), "{reason}");
        assert_eq!(lab.release(&PduSession::default()).await, Released::Unknown, "{reason}");
        assert_eq!(tell(&lab, &udm, reason).await, 404, "it is not ours any more");
    }
}

#[actix::test]
async fn changed_data_are_noted_and_what_is_no_notification_is_refused() {
    let udm = udm_with_data().await;
    let lab = lab_with_udm(&udm).start().await;
    registered(&lab).await;
    let subscription = udm.received("POST", "/sdm-subscriptions")[0].json();
    let address = subscription["callbackReference"].as_str().unwrap().to_owned();
    let news = changed_data();
    for (address, body, status) in [
        (&address, &news, 204),
        (&address, &json!({}), 400),
        (&address, &json!([]), 400),
        (&format!("{address}x"), &news, 404),
    ] {
        let answer = send(&lab, Call::new(Method::POST, address).with_json(body)).await;
        assert_eq!(answer.status, status, "{address} {body}: {answer:?}");
    }
    assert_eq!(lab.count("amf", Kind::StatusNotified), 1);
}

/// The UDM tells the AMF that another one has its UE.
#[actix::test]
async fn an_amf_that_was_replaced_forgets_its_ue_and_purges_nothing() {
    let lab = lab().start().await;
    registered(&lab).await;
    let mine: Value = {
        let sent = lab.process().env.traffic.after(Some("amf"), 0);
        let put = sent.into_iter().find(|(_, e)| e.uri.ends_with(SLOT)).unwrap();
        serde_json::from_slice(&put.1.request.body).unwrap()
    };
    let mut theirs = mine.clone();
    theirs["amfInstanceId"] = json!("33333333-3333-4333-8333-333333333333");
    theirs["guami"]["amfId"] = json!("ffffff");
    theirs["deregCallbackUri"] = json!("http://127.0.0.1:9/gone");
    let path = format!("/nudm-uecm/v1/{SUPI}{SLOT}");
    let put = crate::support::request(&lab, Method::PUT, "udm", &path).with_json(&theirs);
    assert_eq!(send(&lab, put).await.status, 200);
    lab.wait_for("the news", is("amf", Kind::StatusNotified)).await;
    lab.settle().await;
    assert_eq!(lab.deregister(&SUPI.parse().unwrap()).await, Released::Unknown);
    let purges =
        lab.events().into_iter().filter(is_about("udm", Kind::RequestReceived, "PATCH", SLOT)).count();
    assert_eq!(purges, 0, "it is the other's now");
}
