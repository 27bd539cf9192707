//! TS 29.503 §5.3.2.2, §5.3.2.3 and §5.3.2.4 (Rel-17), our rules 2, 6 and 14: an AMF registers at the UDM, which keeps it
//! in the UDR (R5), purges it or puts back what was there when the AMF's time is over, and tells an AMF that another one
//! has replaced only after that one's success was handed over.

use crate::support::raw::Connection;
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    AMF_A, AMF_B, AMF_REGISTRATION, AMF_REGISTRATION_AT_UDR, Headers, SUPI, amf_registration_of,
    assert_504_t, guami_of, held, is, lab, lab_with_udr, purge_of, request, send, subscribe, subscription,
    with,
};
use h2::Reason;
use http::Method;
use mock5g::lab::Lab;
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::fault::Rule;
use serde_json::{Value, json};

const NOWHERE: &str = "http://127.0.0.1:9";

fn put(lab: &Lab, body: &Value) -> Call {
    request(lab, Method::PUT, "udm", AMF_REGISTRATION).with_json(body)
}

/// The registration of this AMF, which wants to hear of its end at `amf`.
fn register(lab: &Lab, amf: &str, root: &str) -> Call {
    put(lab, &amf_registration_of(amf, root))
}

fn patch(lab: &Lab, patch: &Value) -> Call {
    let call = request(lab, Method::PATCH, "udm", AMF_REGISTRATION);
    call.with_body("application/merge-patch+json", patch.to_string())
}

fn cause(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.problem().cause.unwrap_or_default())
}

/// The registration that the UDM answers with.
async fn registered(lab: &Lab) -> Value {
    send(lab, request(lab, Method::GET, "udm", AMF_REGISTRATION)).await.json().unwrap()
}

#[actix::test]
async fn a_registration_is_created_replaced_and_read() {
    let lab = lab().start().await;
    let first = send(&lab, register(&lab, AMF_A, NOWHERE)).await;
    assert_eq!(first.status, 201);
    assert_eq!(first.location(), Some(&*format!("{}{AMF_REGISTRATION}", lab.api_root("udm"))));
    assert_eq!(first.json::<Value>(), Some(amf_registration_of(AMF_A, NOWHERE)));
    let moved = with(amf_registration_of(AMF_A, NOWHERE), "ratType", json!("NR_REDCAP"));
    assert_eq!(send(&lab, put(&lab, &moved)).await.status, 200);
    assert_eq!(registered(&lab).await, moved);
    assert_eq!(held(&lab, "udm").await, [AMF_REGISTRATION]);
    assert_eq!(held(&lab, "udr").await, [AMF_REGISTRATION_AT_UDR]);
}

#[actix::test]
async fn a_purge_ends_it_in_either_media_type() {
    let lab = lab().start().await;
    let as_json = request(&lab, Method::PATCH, "udm", AMF_REGISTRATION).with_json(&purge_of(AMF_A));
    for purge in [patch(&lab, &purge_of(AMF_A)), as_json] {
        assert_eq!(send(&lab, register(&lab, AMF_A, NOWHERE)).await.status, 201);
        assert_eq!(send(&lab, purge.clone()).await.status, 204);
        assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
        assert_eq!([held(&lab, "udm").await, held(&lab, "udr").await].concat(), Vec::<String>::new());
        assert_eq!(registered(&lab).await["purgeFlag"], true, "the last that was known");
        assert_eq!(cause(&send(&lab, purge).await), (404, "CONTEXT_NOT_FOUND".into()));
    }
}

#[actix::test]
async fn only_the_registered_amf_may_change_or_purge() {
    let lab = lab().start().await;
    assert_eq!(cause(&send(&lab, patch(&lab, &purge_of(AMF_A))).await), (404, "CONTEXT_NOT_FOUND".into()));
    send(&lab, register(&lab, AMF_A, NOWHERE)).await;
    for change in [purge_of(AMF_B), json!({"guami": guami_of(AMF_B), "pei": "imeisv-1"})] {
        assert_eq!(cause(&send(&lab, patch(&lab, &change)).await), (403, "INVALID_GUAMI".into()));
    }
    assert_eq!(registered(&lab).await, amf_registration_of(AMF_A, NOWHERE));
}

#[actix::test]
async fn an_amf_changes_its_registration() {
    let lab = lab().start().await;
    send(&lab, register(&lab, AMF_A, NOWHERE)).await;
    let change = json!({"guami": guami_of(AMF_A), "pei": "imeisv-1", "initialRegistrationInd": null});
    assert_eq!(send(&lab, patch(&lab, &change)).await.status, 204);
    let changed = with(amf_registration_of(AMF_A, NOWHERE), "initialRegistrationInd", Value::Null);
    assert_eq!(registered(&lab).await, with(changed.clone(), "pei", json!("imeisv-1")));
    let spoilt = json!({"guami": guami_of(AMF_A), "deregCallbackUri": null});
    assert_eq!(send(&lab, patch(&lab, &spoilt)).await.status, 400);
    let late = json!({"guami": guami_of(AMF_A), "pei": null});
    assert_504_t(&send(&lab, patch(&lab, &late).pair(0, "0")).await, false);
    lab.settle().await;
    assert_eq!(registered(&lab).await["pei"], "imeisv-1", "of late changes only a purge is carried out");
}

#[actix::test]
async fn a_late_purge_does_not_hit_a_registration_that_was_written_since() {
    let lab = lab().start().await;
    send(&lab, register(&lab, AMF_A, NOWHERE)).await;
    let delayed = patch(&lab, &purge_of(AMF_A)).pair(-3_000, "1000");
    assert_504_t(&send(&lab, delayed).await, false);
    assert_eq!(held(&lab, "udm").await, [AMF_REGISTRATION]);
}

/// What a UDM sends after a PUT that came too late, to a UDR whose slot reads so.
async fn undo_at_udr(read: Reply, put: Reply) -> Vec<(String, String, Value)> {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("GET", "/amf-3gpp-access", read);
    stub.once("PUT", "/amf-3gpp-access", put.behind(&gate));
    let lab = lab_with_udr(&stub).start().await;
    assert_504_t(&send(&lab, register(&lab, AMF_A, NOWHERE).pair(0, "200")).await, false);
    gate.open();
    lab.expect_nothing_hanging().await;
    let media_type =
        |r: &crate::support::stub::Received| r.headers["content-type"].to_str().unwrap().to_owned();
    stub.journal().into_iter().skip(2).map(|r| (r.method.clone(), media_type(&r), r.json())).collect()
}

#[actix::test]
async fn what_was_put_into_an_empty_slot_is_purged_whatever_2xx_came_or_none() {
    let purge = json!([{"op": "add", "path": "/purgeFlag", "value": true}]);
    let purged = [("PATCH".to_owned(), "application/json-patch+json".to_owned(), purge)];
    for put in
        [Reply::status(200), Reply::status(201), Reply::status(204), Reply::reset(Reason::INTERNAL_ERROR)]
    {
        assert_eq!(undo_at_udr(Reply::problem(404, "CONTEXT_NOT_FOUND"), put).await, purged);
    }
}

#[actix::test]
async fn what_the_slot_held_is_put_back_purged_or_not() {
    let old = with(amf_registration_of(AMF_B, NOWHERE), "vendorAttribute", json!({"kept": [1, null]}));
    for old in [old.clone(), with(old, "purgeFlag", json!(true))] {
        let undone = undo_at_udr(Reply::json(200, &old), Reply::status(204)).await;
        assert_eq!(undone, [("PUT".into(), "application/json".into(), old)]);
    }
}

#[actix::test]
async fn the_amf_that_is_replaced_is_told_once_the_newer_success_is_out() {
    for (initial, reason) in
        [(json!(true), "UE_INITIAL_REGISTRATION"), (Value::Null, "UE_REGISTRATION_AREA_CHANGE")]
    {
        let (old, lab) = (Stub::start().await, lab().start().await);
        send(&lab, register(&lab, AMF_A, old.root())).await;
        let newer = with(amf_registration_of(AMF_B, NOWHERE), "initialRegistrationInd", initial);
        assert_eq!(send(&lab, put(&lab, &newer)).await.status, 200);
        lab.settle().await;
        let [told] = old.journal().try_into().unwrap();
        assert_eq!((&*told.method, told.path), ("POST", format!("/namf-callback/v1/{SUPI}/dereg-notify")));
        assert_eq!(told.headers["3gpp-sbi-callback"], "Nudm_UECM_DeregistrationNotification");
        let body: Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!(body, json!({"deregReason": reason, "accessType": "3GPP_ACCESS"}));
        assert_eq!(held(&lab, "udm").await, [AMF_REGISTRATION]);
        assert_eq!(cause(&send(&lab, patch(&lab, &purge_of(AMF_A))).await), (403, "INVALID_GUAMI".into()));
    }
}

#[actix::test]
async fn an_amf_that_replaces_itself_is_not_told() {
    let (amf, lab) = (Stub::start().await, lab().start().await);
    for _ in 0..2 {
        send(&lab, register(&lab, AMF_A, amf.root())).await;
    }
    lab.settle().await;
    assert_eq!(amf.journal().len(), 0);
}

#[actix::test]
async fn the_old_amf_hears_nothing_of_a_registration_that_is_given_up() {
    let (old, lab) = (Stub::start().await, lab().start().await);
    send(&lab, register(&lab, AMF_A, old.root())).await;
    lab.fault(Rule::at("udr").on_response().matching("PUT", "amf-3gpp-access").delay_ms(500).once());
    assert_504_t(&send(&lab, register(&lab, AMF_B, NOWHERE).pair(0, "250")).await, false);
    lab.settle().await;
    assert_eq!(old.journal().len(), 0, "{}", lab.transcript());
    assert_eq!(registered(&lab).await["amfInstanceId"], AMF_A);
    assert_eq!(send(&lab, patch(&lab, &purge_of(AMF_A))).await.status, 204, "it lives on");
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
}

#[actix::test]
async fn the_old_amf_hears_nothing_of_one_that_cannot_be_handed_over() {
    let (old, lab) = (Stub::start().await, lab().start().await);
    send(&lab, register(&lab, AMF_A, old.root())).await;
    lab.fault(Rule::at("udr").on_response().matching("PUT", "amf-3gpp-access").delay_ms(100).once());
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let exchange = connection.send(&register(&lab, AMF_B, NOWHERE)).await;
    lab.wait_for("it is under way", is("udr", Kind::FaultApplied)).await;
    exchange.reset();
    lab.wait_for("the end", is("udm", Kind::ResponseUndeliverable)).await;
    lab.wait_for("the release", is("udm", Kind::ReleaseConfirmed)).await;
    lab.settle().await;
    assert_eq!(old.journal().len(), 0, "{}", lab.transcript());
    assert_eq!(registered(&lab).await["amfInstanceId"], AMF_A);
}

#[actix::test]
async fn a_registration_that_another_udm_wrote_is_ended_and_its_amf_told() {
    let (old, lab) = (Stub::start().await, lab().start().await);
    let at_udr = |body: &Value| request(&lab, Method::PUT, "udr", AMF_REGISTRATION_AT_UDR).with_json(body);
    send(&lab, at_udr(&amf_registration_of(AMF_A, old.root()))).await;
    assert_eq!(send(&lab, patch(&lab, &purge_of(AMF_A))).await.status, 204);
    assert_eq!(held(&lab, "udr").await, Vec::<String>::new());
    assert_eq!(send(&lab, register(&lab, AMF_B, NOWHERE)).await.status, 201);
    lab.settle().await;
    assert_eq!(old.journal().len(), 0, "what was purged has ended already");
    assert_eq!(send(&lab, patch(&lab, &purge_of(AMF_B))).await.status, 204);
    lab.settle().await;
    send(&lab, at_udr(&amf_registration_of(AMF_A, old.root()))).await;
    assert_eq!(send(&lab, register(&lab, AMF_B, NOWHERE)).await.status, 200);
    old.wait("POST", "/dereg-notify").await;
}

#[actix::test]
async fn implicit_subscriptions_end_with_the_registration_of_their_amf() {
    for replaced in [false, true] {
        let lab = lab().start().await;
        for implicit in [true, false] {
            let body = with(subscription(), "nfInstanceId", json!(AMF_A));
            send(&lab, subscribe(&lab, &with(body, "implicitUnsubscribe", json!(implicit)))).await;
        }
        send(&lab, register(&lab, AMF_A, NOWHERE)).await;
        assert_eq!(held(&lab, "udm").await.len(), 3);
        let ends = if replaced { register(&lab, AMF_B, NOWHERE) } else { patch(&lab, &purge_of(AMF_A)) };
        assert_eq!(send(&lab, ends).await.status, if replaced { 200 } else { 204 });
        lab.settle().await;
        let expected = if replaced { 2 } else { 1 };
        assert_eq!((held(&lab, "udm").await.len(), held(&lab, "udr").await.len()), (expected, expected));
    }
}
