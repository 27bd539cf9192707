//! Our rule 14 to TS 29.500 §6.11.2.2 (Rel-17): a PUT's status does not tell created from replaced, the creator knows
//! what the slot held. It held nothing: release. It held something: the UDM puts the old value back, an SMF writes its
//! own older live session again, else it deletes with its own `smf-instance-id`, which cannot hit another's.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, REGISTRATION, SMF_A, SMF_B, SUPI, assert_504_t, body_a, create, create_a, held, lab,
    lab_with_udm, lab_with_udr, reg_a, register, registration_of, request, send, with,
};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::client::Call;
use sbi::fault::Rule;
use serde_json::{Value, json};

const SLOT: &str = "/smf-registrations/";

/// What a UDM sends after a PUT that came too late, to a UDR whose slot reads so.
async fn undo_at_udr(read: Reply, put_status: u16) -> Vec<(String, Value)> {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("GET", SLOT, read);
    stub.once("PUT", SLOT, Reply::status(put_status).behind(&gate));
    let lab = lab_with_udr(&stub).start().await;
    assert_504_t(&send(&lab, reg_a(&lab).pair(0, "200")).await, false);
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.journal().into_iter().skip(2).map(|r| (r.method.clone(), r.json())).collect()
}

#[actix::test]
async fn what_was_put_into_an_empty_slot_is_deleted_whatever_2xx_came() {
    for put_status in [200, 201, 204] {
        let empty = Reply::problem(404, "CONTEXT_NOT_FOUND");
        assert_eq!(undo_at_udr(empty, put_status).await, [("DELETE".into(), Value::Null)], "{put_status}");
    }
}

#[actix::test]
async fn a_slot_without_a_usable_body_is_empty() {
    for body in [json!({}), json!([]), json!("x"), json!({"smfInstanceId": SMF_B}), Value::Null] {
        let undone = undo_at_udr(Reply::json(200, &body), 204).await;
        assert_eq!(undone, [("DELETE".into(), Value::Null)], "{body}");
    }
    assert_eq!(undo_at_udr(Reply::status(204), 204).await, [("DELETE".into(), Value::Null)]);
}

#[actix::test]
async fn the_udm_puts_the_old_value_back_whatever_2xx_came() {
    for put_status in [200, 201, 204] {
        let old = with(registration_of(SMF_B), "vendorAttribute", json!({"kept": [1, 2.5, null]}));
        let undone = undo_at_udr(Reply::json(200, &old), put_status).await;
        assert_eq!(undone, [("PUT".into(), old)], "{put_status}");
    }
}

#[actix::test]
async fn a_subscriber_that_the_udr_does_not_know_is_not_an_empty_slot() {
    let stub = Stub::start().await;
    stub.on("GET", SLOT, Reply::problem(404, "USER_NOT_FOUND"));
    let lab = lab_with_udr(&stub).start().await;
    let answer = send(&lab, reg_a(&lab)).await;
    assert_eq!((answer.status.as_u16(), answer.problem().cause.as_deref()), (404, Some("USER_NOT_FOUND")));
    assert_eq!(stub.methods(), ["GET"]);
}

/// The registration that the UDM answers with.
async fn registered(lab: &Lab) -> Value {
    send(lab, request(lab, Method::GET, "udm", REGISTRATION)).await.json().unwrap()
}

#[actix::test]
async fn the_registration_of_another_smf_comes_back_in_the_udr() {
    let lab = lab().start().await;
    assert_eq!(send(&lab, register(&lab, SMF_A)).await.status, 201);
    lab.fault(Rule::at("udr").on_response().matching("PUT", SLOT).delay_ms(500).once());
    assert_504_t(&send(&lab, register(&lab, SMF_B).pair(0, "250")).await, false);
    lab.settle().await;
    assert_eq!(registered(&lab).await["smfInstanceId"], SMF_A);
    assert_eq!(send(&lab, request(&lab, Method::DELETE, "udm", REGISTRATION)).await.status, 204);
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn an_smf_writes_its_own_older_live_session_again() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.once("PUT", SLOT, Reply::status(201));
    stub.once("PUT", SLOT, Reply::status(204).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let older = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    let newer = with(body_a(&lab), "dnn", json!("ims"));
    assert_504_t(&send(&lab, create(&lab, &newer).pair(0, "250")).await, true);
    gate.open();
    lab.settle().await;
    let [first, second, again] = stub.received("PUT", SLOT).try_into().unwrap();
    assert_eq!((&second.json()["dnn"], again.json()), (&json!("ims"), first.json()));
    assert_eq!(stub.count("DELETE", SLOT), 0);
    assert_eq!(send(&lab, Call::new(Method::POST, format!("{older}/retrieve"))).await.status, 200);
}

#[actix::test]
async fn the_older_session_is_whole_again_at_udm_and_udr() {
    let lab = lab().start().await;
    let older = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    let before = [held(&lab, "udm").await, held(&lab, "udr").await];
    lab.fault(Rule::at("udm").on_response().matching("PUT", SLOT).delay_ms(500).once());
    let newer = with(body_a(&lab), "dnn", json!("ims"));
    assert_504_t(&send(&lab, create(&lab, &newer).pair(0, "250")).await, true);
    lab.settle().await;
    assert_eq!([held(&lab, "udm").await, held(&lab, "udr").await], before);
    assert_eq!(registered(&lab).await["dnn"], "internet");
    send(&lab, Call::new(Method::POST, format!("{older}/release"))).await;
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn an_smf_names_itself_when_it_deletes() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    let context = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    send(&lab, Call::new(Method::POST, format!("{context}/release"))).await;
    let own = lab.process().nf("smf").unwrap().party.instance_id;
    assert_eq!(stub.wait("DELETE", SLOT).await.path, format!("{REGISTRATION}?smf-instance-id={own}"));
}

#[actix::test]
async fn the_release_of_one_smf_cannot_hit_the_registration_of_another() {
    let lab = lab().with_smf("smf-2").start().await;
    let context = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    let at_smf_2 = PduSession::default().at("smf-2");
    assert_eq!(lab.establish(at_smf_2.clone()).await.as_str(), "established");
    send(&lab, Call::new(Method::POST, format!("{context}/release"))).await;
    lab.expect_nothing_hanging().await;
    let smf_2 = lab.process().nf("smf-2").unwrap().party.instance_id.to_string();
    assert_eq!(registered(&lab).await["smfInstanceId"], smf_2, "{SUPI}");
    lab.release(&at_smf_2).await;
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
}
