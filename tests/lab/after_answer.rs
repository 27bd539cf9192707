//! What follows an SMF's 201, TS 23.502 §4.3.2.2.1 (Rel-17): nothing of it before the 201 was written (our rule 6), and a
//! failure releases everything, tells the UE with a reject and the AMF with RELEASED.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    SUPI, create_a, established_at, held, is, is_about, lab, lab_with_udm, place, request, send,
};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use sbi::multipart::{self, Part};
use serde_json::{Value, json};
use smf::Answer;

const N1N2: &str = "/n1-n2-messages";

async fn established(lab: &Lab) {
    let outcome = lab.establish(PduSession::default()).await;
    assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
}

#[actix::test]
async fn ue_and_gnb_are_told_once_the_201_was_written_and_the_gnb_answers() {
    for answer in [Answer::AfterUpstream, Answer::Early] {
        let lab = lab().reaching_ues().smf(|smf| smf.answer = answer).start().await;
        established(&lab).await;
        lab.wait_for("the gNB's answer", is_about("smf", Kind::ResponseSent, "POST", "/modify")).await;
        let answered = place(&lab, "a 201", |e| is("smf", Kind::ResponseSent)(e) && e.status == Some(201));
        let told = place(&lab, "a transfer", is_about("smf", Kind::UpstreamSent, "POST", N1N2));
        assert!(answered < told, "{}", lab.transcript());
        let said = lab.wait_for("the accept", is("amf", Kind::MessageTransferred)).await;
        assert!(said.detail.unwrap().starts_with("accept for session 5"));
        let verdict = lab.expect_nothing_hanging().await;
        assert_eq!((verdict.committed, held(&lab, "udm").await.len()), (5, 2), "{answer:?}");
        lab.release(&PduSession::default()).await;
        assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
    }
}

#[actix::test]
async fn an_early_answer_does_not_wait_for_the_registration() {
    let lab = lab().smf(|smf| smf.answer = Answer::Early).start().await;
    established(&lab).await;
    lab.settle().await;
    let answered = place(&lab, "a 201", |e| is("smf", Kind::ResponseSent)(e) && e.status == Some(201));
    let registers =
        place(&lab, "a registration", is_about("smf", Kind::UpstreamSent, "PUT", "/smf-registrations/"));
    assert!(answered < registers, "{}", lab.transcript());
    lab.expect_nothing_hanging().await;
    assert_eq!(lab.count("smf", Kind::StepSkipped), 1, "there is no AMF to tell");
}

#[actix::test]
async fn a_registration_that_fails_after_an_early_answer_ends_everything() {
    let lab = lab().reaching_ues().smf(|smf| smf.answer = Answer::Early).start().await;
    lab.fault(Rule::at("udm").matching("PUT", "/smf-registrations/").effect(Effect::status(403)));
    established(&lab).await;
    lab.wait_for("RELEASED", is("amf", Kind::StatusNotified)).await;
    let said = lab.wait_for("the reject", is("amf", Kind::MessageTransferred)).await;
    assert!(said.detail.unwrap().starts_with("reject for session 5"));
    assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
    assert_eq!(lab.count("smf", Kind::ProcedureFailed), 1);
    assert_eq!(held(&lab, "smf").await.len() + held(&lab, "udm").await.len(), 0);
}

#[actix::test]
async fn a_transfer_that_fails_ends_everything() {
    let refused = [Effect::status(404), Effect::status(504), Effect::Reset(8)];
    for effect in refused {
        let lab = lab().reaching_ues().start().await;
        lab.fault(Rule::at("amf").matching("POST", N1N2).effect(effect.clone()));
        established(&lab).await;
        lab.wait_for("RELEASED", is("amf", Kind::StatusNotified)).await;
        assert_eq!(lab.expect_nothing_hanging().await.committed, 0, "{effect:?}");
        assert_eq!(lab.release(&PduSession::default()).await, amf::Released::Unknown, "{effect:?}");
    }
}

#[actix::test]
async fn a_creation_that_times_out_sends_nothing_to_the_ue() {
    let lab = lab().reaching_ues().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(500).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(200)).await;
    assert_eq!(outcome.as_str(), "gave_up");
    lab.expect_nothing_hanging().await;
    assert_eq!(lab.count("amf", Kind::MessageTransferred), 0);
}

/// The N1N2 of a session whose UE sent its request along, as an AMF that is none of ours gets it.
#[actix::test]
async fn the_transfer_has_all_that_real_amfs_need() {
    let amf = Stub::start().await;
    amf.on("POST", N1N2, Reply::json(200, &json!({"cause": "N1_N2_TRANSFER_INITIATED"})));
    let udm = Stub::start().await;
    let lab = lab_with_udm(&udm).reaching_ues().smf_calls_amf(amf.root()).start().await;
    established(&lab).await;
    let transfer = amf.wait("POST", N1N2).await;
    assert_eq!(transfer.path, format!("/namf-comm/v1/ue-contexts/{SUPI}{N1N2}"));
    let content_type = transfer.headers["content-type"].to_str().unwrap();
    let parts = sbi::multipart::parse(content_type, transfer.body.clone()).unwrap();
    let kinds: Vec<_> = parts.iter().map(|part| part.content_type.as_str()).collect();
    assert_eq!(kinds, ["application/json", "application/vnd.3gpp.5gnas", "application/vnd.3gpp.ngap"]);
    let data: Value = serde_json::from_slice(&parts[0].body).unwrap();
    assert_eq!(data["n2InfoContainer"]["smInfo"]["sNssai"], json!({"sst": 1}));
    assert_eq!(parts[1].body[..4], [0x2e, 5, 1, 0xc2], "PSI and PTI of the request");
    assert!(transfer.pair().is_some(), "a fresh pair");
}

#[actix::test]
async fn a_message_for_a_session_that_is_not_known_is_404() {
    let lab = lab().start().await;
    let path = format!("/namf-comm/v1/ue-contexts/{SUPI}{N1N2}");
    let message = |body: Value| request(&lab, Method::POST, "amf", &path).with_json(&body);
    let unknown = send(&lab, message(json!({"pduSessionId": 5}))).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.problem().cause.as_deref()),
        (404, Some("CONTEXT_NOT_FOUND"))
    );
    let unnamed = send(&lab, message(json!({}))).await;
    assert_eq!(
        (unnamed.status.as_u16(), unnamed.problem().cause.as_deref()),
        (400, Some("MANDATORY_IE_MISSING"))
    );
}

#[actix::test]
async fn the_amf_may_take_the_user_plane_down_and_up() {
    let lab = lab().start().await;
    let context = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    let modify =
        |body: Value| sbi::client::Call::new(Method::POST, format!("{context}/modify")).with_json(&body);
    for (wanted, reached) in [("DEACTIVATED", "DEACTIVATED"), ("ACTIVATING", "ACTIVATED")] {
        let answer = send(&lab, modify(json!({"upCnxState": wanted}))).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json::<Value>().unwrap()["upCnxState"].as_str()),
            (200, Some(reached))
        );
    }
    assert_eq!(send(&lab, modify(json!({}))).await.status, 204);
    send(&lab, sbi::client::Call::new(Method::POST, format!("{context}/release"))).await;
    let gone = send(&lab, modify(json!({}))).await;
    assert_eq!((gone.status.as_u16(), gone.problem().cause.as_deref()), (404, Some("CONTEXT_NOT_FOUND")));
    assert!(gone.json::<Value>().unwrap()["error"].is_object(), "it is wrapped");
}

/// What real SMFs refuse a session without, TS 29.502 §6.1.6.2.2 (Rel-17); and a refusal of what the gNB has set up is told.
#[actix::test]
async fn an_amf_says_where_its_ue_is_and_tells_of_a_modification_that_is_refused() {
    let smf = Stub::start().await;
    smf.on("POST", "/modify", Reply::problem(400, "SYSTEM_FAILURE"));
    let (lab, _) = established_at(&smf).await;
    let create = &smf.received("POST", "/sm-contexts")[0];
    let parts =
        multipart::parse(create.headers["content-type"].to_str().unwrap(), create.body.clone()).unwrap();
    let data: Value = serde_json::from_slice(&parts[0].body).unwrap();
    let plmn = json!({"mcc": "001", "mnc": "01"});
    assert_eq!((&data["guami"]["plmnId"], &data["ratType"]), (&plmn, &json!("NR")), "{data}");
    let location = &data["ueLocation"]["nrLocation"];
    assert_eq!((&location["tai"]["plmnId"], &location["ncgi"]["nrCellId"]), (&plmn, &json!("000000010")));
    let transfer = json!({"pduSessionId": 5, "n2InfoContainer": {"n2InformationClass": "SM", "smInfo": {
        "pduSessionId": 5, "n2InfoContent": {"ngapIeType": "PDU_RES_SETUP_REQ", "ngapData": {"contentId": "n2"}}}}});
    let part = |content_type: &str, id: Option<&str>, body: Vec<u8>| Part {
        content_type: content_type.into(),
        content_id: id.map(str::to_owned),
        body: body.into(),
    };
    let parts = [
        part("application/json", None, transfer.to_string().into()),
        part("application/vnd.3gpp.ngap", Some("n2"), vec![0]),
    ];
    let (content_type, body) = multipart::write_fresh(&parts, 1);
    let path = format!("/namf-comm/v1/ue-contexts/{SUPI}/n1-n2-messages");
    let call = request(&lab, Method::POST, "amf", &path).with_body(&content_type, body);
    assert_eq!(send(&lab, call).await.status, 200);
    let told = lab.wait_for("the refusal", is("amf", Kind::ProcedureFailed)).await;
    assert!(told.detail.unwrap().contains("/modify"));
}

/// The procedure that follows an early answer gets no turn in time: then it has failed like any other.
#[actix::test]
async fn an_early_answer_whose_procedure_never_gets_its_turn_is_taken_back() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    let lab = lab_with_udm(&stub).smf(|smf| {
        smf.answer = Answer::Early;
        smf.procedure_timer = std::time::Duration::from_millis(200);
    });
    let lab = lab.workers(1).start().await;
    stub.once("GET", "/sm-data", Reply::json(200, &json!(crate::support::profile())));
    stub.on("GET", "/sm-data", Reply::problem(403, "X").behind(&gate));
    let first = send(&lab, create_a(&lab));
    let second = async {
        stub.wait("GET", "/sm-data").await;
        send(&lab, create_a(&lab)).await
    };
    let opened = async {
        lab.wait_for("the failure", is("smf", Kind::ProcedureFailed)).await;
        gate.open();
    };
    let (first, second, ()) = tokio::join!(first, second, opened);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 403));
    lab.settle().await;
    assert_eq!(held(&lab, "smf").await, Vec::<String>::new(), "{}", lab.transcript());
    lab.expect_nothing_hanging().await;
}
