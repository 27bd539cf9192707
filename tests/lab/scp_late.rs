//! What becomes of creates whose answers come too late at an SCP, and of deadlines that a bad one spoils; TS 29.500 §6.11.2.2
//! (Rel-17).

use crate::support::raw::Connection;
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, MAX, STAMP, assert_504, assert_504_t, deadline_ms, is, ms, now_ms, problem, send,
};
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use nrf::HeartBeats;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::{Effect, Rule, Spoilt};
use sbi::header::{LATE_ANSWER, MAX_RSP_TIME, SENDER_TIMESTAMP, SenderTimestamp, Timing};
use sbi::party::NfType;
use sbi::policy::Mode;
use serde_json::json;
use std::time::Duration;

const SUBSCRIPTIONS: &str = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
const REGISTRATION: &str = "/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5";
const TARGET: &str = "3gpp-Sbi-Target-apiRoot";

fn scp() -> Builder {
    Lab::builder().through_scps(1, false).only(&[NfType::Scp])
}

fn releasing_scp() -> Builder {
    scp().policy("scp", |policy| policy.release_late = true)
}

fn call(lab: &Lab, method: Method, stub: &Stub, path: &str) -> Call {
    let call = Call::new(method, format!("{}{path}", lab.api_root("scp"))).header(TARGET, stub.root());
    if call.method == Method::GET { call } else { call.with_json(&json!({})) }
}

fn location(stub: &Stub) -> String {
    format!("{}{SUBSCRIPTIONS}/7", stub.root())
}

#[actix::test]
async fn who_takes_a_late_answer_gets_it_and_who_does_not_gets_a_504() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let late = || Reply::json(201, &json!({})).header("location", location(&stub)).after_ms(500);
    stub.on("POST", "/sdm-subscriptions", late());
    let create = || call(&lab, Method::POST, &stub, SUBSCRIPTIONS).pair(0, "200");
    let refused = send(&lab, create()).await;
    assert_504_t(&refused, false);
    assert_eq!(problem(&refused, false)["passedOn"], "pending");
    assert!(refused.is_silence(), "nothing is known of the producer: {refused:?}");
    let answer = send(&lab, create().header(LATE_ANSWER.as_str(), "30000")).await;
    assert_eq!((answer.status.as_u16(), answer.location()), (201, Some(&*location(&stub))));
    let seen = stub.received("POST", "/sdm-subscriptions");
    assert!(seen.iter().all(|r| !r.headers.contains_key(LATE_ANSWER)), "it ends at the last SCP");
    lab.settle().await;
}

#[actix::test]
async fn the_producers_own_504_passes_although_the_time_is_over() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let refusal = Reply::problem(504, "TIMED_OUT_REQUEST").header("server", "UDM-7").after_ms(210);
    stub.on("POST", "/sdm-subscriptions", refusal);
    let create = call(&lab, Method::POST, &stub, SUBSCRIPTIONS).pair(0, "200");
    let answer = send(&lab, create.header(LATE_ANSWER.as_str(), "5000")).await;
    assert_504_t(&answer, false);
    assert_eq!(answer.headers["server"], "UDM-7");
}

#[actix::test]
async fn an_scp_says_what_it_passed_on_to_nobody() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    stub.on("POST", "/sdm-subscriptions", Reply::reset(h2::Reason::INTERNAL_ERROR));
    let late = call(&lab, Method::POST, &stub, SUBSCRIPTIONS).pair(-2_000, "1000");
    let nobody = Call::new(Method::POST, format!("{}{SUBSCRIPTIONS}", lab.api_root("scp")))
        .header(TARGET, "http://127.0.0.1:9");
    for sent in [late, nobody] {
        let answer = send(&lab, sent).await;
        assert_eq!(problem(&answer, false)["passedOn"], "no");
        assert!(!answer.is_silence(), "{answer:?}");
    }
    let lost = send(&lab, call(&lab, Method::POST, &stub, SUBSCRIPTIONS)).await;
    assert_504(&lost, false, "TARGET_NF_NOT_REACHABLE");
    assert_eq!(problem(&lost, false)["passedOn"], "ended");
    assert!(lost.is_silence() && lost.headers["3gpp-sbi-target-apiroot"] == stub.root(), "{lost:?}");
}

/// A create at `path` that is answered with 201 after its client has its 504.
async fn late_create(lab: &Lab, stub: &Stub, method: Method, path: &str, gate: &Gate) {
    assert_504_t(&send(lab, call(lab, method, stub, path).pair(0, "200")).await, false);
    gate.open();
    lab.wait_for("the late answer", is("scp", Kind::ResponseLate)).await;
}

#[actix::test]
async fn with_release_late_what_came_too_late_is_released() {
    let (lab, stub) = (releasing_scp().start().await, Stub::start().await);
    for (method, path, late, release) in [
        (Method::POST, "/sdm-subscriptions", SUBSCRIPTIONS, ("DELETE", "/sdm-subscriptions/7")),
        (Method::PUT, "/smf-registrations/5", REGISTRATION, ("DELETE", "/smf-registrations/5")),
        (Method::POST, "/sm-contexts", "/nsmf-pdusession/v1/sm-contexts", ("POST", "/sm-contexts/7/release")),
    ] {
        let gate = Gate::closed();
        let reply = Reply::json(201, &json!({})).header("location", format!("{late}/7"));
        let wire = if method == Method::PUT { "PUT" } else { "POST" };
        stub.once(wire, path, reply.behind(&gate));
        stub.on(release.0, release.1, Reply::status(204));
        late_create(&lab, &stub, method, late, &gate).await;
        stub.wait(release.0, release.1).await;
        lab.settle().await;
    }
    assert_eq!(lab.count("scp", Kind::ReleaseConfirmed), 3, "{}", lab.transcript());
}

#[actix::test]
async fn with_release_late_what_its_client_left_is_released_and_what_replaced_something_is_not() {
    let (lab, stub) = (releasing_scp().start().await, Stub::start().await);
    stub.on(
        "POST",
        "/sdm-subscriptions",
        Reply::json(201, &json!({})).header("location", location(&stub)).after_ms(200),
    );
    stub.on("DELETE", "/sdm-subscriptions/7", Reply::status(204));
    let create = call(&lab, Method::POST, &stub, SUBSCRIPTIONS);
    lab.client().send_and_leave(create, async { drop(stub.wait("POST", "/sdm-subscriptions").await) }).await;
    stub.wait("DELETE", "/sdm-subscriptions/7").await;

    let gate = Gate::closed();
    stub.once("PUT", "/smf-registrations/5", Reply::status(204).behind(&gate));
    assert_504_t(&send(&lab, call(&lab, Method::PUT, &stub, REGISTRATION).pair(0, "200")).await, false);
    gate.open();
    let told = |e: &Event| is("scp", Kind::ResponseLate)(e) && e.method.as_deref() == Some("PUT");
    lab.wait_for("the late answer", told).await;
    lab.settle().await;
    assert_eq!(stub.count("DELETE", "/smf-registrations"), 0, "it is not known what it replaced");
}

#[actix::test]
async fn with_release_late_a_newer_write_at_the_same_uri_is_never_hit() {
    let (lab, stub) = (releasing_scp().start().await, Stub::start().await);
    let gate = Gate::closed();
    stub.once("PUT", "/smf-registrations/5", Reply::json(201, &json!({})).behind(&gate));
    assert_504_t(&send(&lab, call(&lab, Method::PUT, &stub, REGISTRATION).pair(0, "200")).await, false);
    // The retry is under way when the first one is answered.
    let newer = Gate::closed();
    stub.once("PUT", "/smf-registrations/5", Reply::json(201, &json!({})).behind(&newer));
    let retry = call(&lab, Method::PUT, &stub, REGISTRATION);
    let both = async {
        while stub.count("PUT", "/smf-registrations/5") < 2 {
            tokio::task::yield_now().await;
        }
        gate.open();
        lab.wait_for("the late answer", is("scp", Kind::ResponseLate)).await;
        newer.open();
    };
    let (answer, ()) = tokio::join!(send(&lab, retry), both);
    assert_eq!(answer.status, 201);
    lab.settle().await;
    assert_eq!(stub.count("DELETE", "/smf-registrations"), 0, "{:?}", stub.methods());
}

async fn passed_on(lab: &Lab, stub: &Stub, sent: Call) -> http::HeaderMap {
    let path = sent.path().to_owned();
    let mut connection = Connection::open(&lab.api_root("scp")).await;
    assert_eq!(connection.answer(&sent).await.status, 200);
    stub.wait_for("it", |r| r.path == path).await.headers
}

#[actix::test]
async fn a_faulty_scp_spoils_deadlines() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    stub.on("GET", "/am-data", Reply::json(200, &json!({})));
    let spoil = |spoilt: Spoilt| {
        lab.clear_faults();
        lab.fault(Rule::at("scp").on_forward().effect(Effect::Spoil(spoilt)));
    };
    let get = |n: usize| {
        let stamp = SenderTimestamp::from_unix_ms(now_ms() - 700).to_string();
        let path = format!("/nudm-sdm/v2/imsi-{n}/am-data");
        call(&lab, Method::GET, &stub, &path).header(STAMP, &stamp).header(MAX, "5000")
    };
    let read = |headers: &http::HeaderMap| Timing::read(headers).pair().unwrap();

    spoil(Spoilt::RestampedOnly);
    let (sent, seen) = (get(1), passed_on(&lab, &stub, get(1)).await);
    assert!(read(&seen).max.ms() == 5_000 && read(&seen).expires_at_unix_ms() >= deadline_ms(&sent) + 700);

    spoil(Spoilt::Extended(Duration::from_secs(90)));
    let sent = get(2);
    let seen = passed_on(&lab, &stub, sent.clone()).await;
    assert_eq!(read(&seen).expires_at_unix_ms(), deadline_ms(&sent) + 90_000);

    for (n, name) in [SENDER_TIMESTAMP, MAX_RSP_TIME].into_iter().enumerate() {
        spoil(Spoilt::Without(vec![name.clone()]));
        let seen = passed_on(&lab, &stub, get(3 + n)).await;
        let left = [STAMP, MAX].map(|header| seen.contains_key(header));
        assert_eq!(left, [name != SENDER_TIMESTAMP, name != MAX_RSP_TIME], "never one alone, but on purpose");
    }
    assert_eq!(lab.count("scp", Kind::FaultApplied), 4);
}

#[actix::test]
async fn a_faulty_scp_forwards_what_has_expired() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    stub.on("GET", "/am-data", Reply::json(200, &json!({})));
    lab.fault(Rule::at("scp").on_late().effect(Effect::LetThrough).once());
    let get = |n: usize| {
        call(&lab, Method::GET, &stub, &format!("/nudm-sdm/v2/imsi-{n}/am-data")).pair(-2_000, "1000")
    };
    let late = get(1);
    assert_eq!(send(&lab, late.clone()).await.status, 200);
    let seen = stub.wait("GET", "/am-data").await;
    assert_eq!(Timing::read(&seen.headers), Timing::read(&late.headers), "as it came");
    assert_504_t(&send(&lab, get(2)).await, false);
}

/// An SMF behind a bad SCP: it creates for a client that has gone, and what it made is released all the same.
#[actix::test]
async fn nothing_hangs_behind_a_faulty_scp() {
    for rule in [
        Rule::at("scp").on_forward().effect(Effect::Spoil(Spoilt::RestampedOnly)),
        Rule::at("scp").on_forward().effect(Effect::Spoil(Spoilt::Extended(ms(2_000)))),
        Rule::at("scp").on_forward().effect(Effect::Spoil(Spoilt::Without(vec![MAX_RSP_TIME]))),
    ] {
        let lab = Lab::builder().through_scps(1, false).start().await;
        lab.fault(rule);
        lab.fault(Rule::at("udr").matching("PUT", "/smf-registrations/").delay_ms(800).once());
        let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
        assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
        lab.expect_nothing_hanging().await;
    }
}

#[actix::test]
async fn an_smf_that_looks_at_no_deadline_answers_too_late_through_an_scp() {
    let lab = Lab::builder()
        .through_scps(2, false)
        .policy("smf", |policy| policy.deadline.mode = Mode::Off)
        .start()
        .await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(800).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
    lab.wait_for("the late answer", is("amf", Kind::ResponseLate)).await;
    let verdict = lab.expect_nothing_hanging().await;
    assert!(verdict.released > 0, "{verdict:?}");
}

#[actix::test]
async fn who_is_bound_serves_what_its_target_cannot() {
    let lab = Lab::builder()
        .with_nrf(HeartBeats { interval_s: 1 })
        .through_scps(1, false)
        .only(&[NfType::Nrf, NfType::Scp, NfType::Udm, NfType::Udr])
        .start()
        .await;
    lab.until_registered().await;
    let udm = lab.process().nf("udm").unwrap().party.instance_id;
    let path = "/nudm-sdm/v2/imsi-001010000000001/am-data";
    let get = |binding: &str| {
        let call = Call::get(format!("{}{path}", lab.api_root("scp"))).header(TARGET, "http://127.0.0.1:9");
        call.header("3gpp-Sbi-Routing-Binding", binding)
    };
    let bound = send(&lab, get(&format!("bl=nf-instance; nfinst={udm}; servname=nudm-sdm"))).await;
    assert_eq!(bound.status, 200, "{bound:?}");
    assert_eq!(bound.headers["3gpp-sbi-target-apiroot"], lab.api_root("udm"), "who was chosen is said");
    let stranger = send(&lab, get("bl=nf-instance; nfinst=00000000-0000-0000-0000-000000000000")).await;
    assert_504(&stranger, false, "TARGET_NF_NOT_REACHABLE");
    let unbound = send(&lab, get("bl=planet")).await;
    assert_504(&unbound, false, "TARGET_NF_NOT_REACHABLE");
    lab.stop().await;
}

/// The order in which two writes begin is not the one in which they are carried out.
#[actix::test]
async fn with_release_late_an_older_write_that_was_carried_out_later_is_not_hit() {
    let (lab, stub) = (releasing_scp().start().await, Stub::start().await);
    let (first, second) = (Gate::closed(), Gate::closed());
    stub.once("PUT", "/smf-registrations/5", Reply::json(200, &json!({})).behind(&first));
    let older = call(&lab, Method::PUT, &stub, REGISTRATION);
    let newer = async {
        stub.wait("PUT", "/smf-registrations/5").await;
        stub.once("PUT", "/smf-registrations/5", Reply::json(201, &json!({})).behind(&second));
        assert_504_t(&send(&lab, call(&lab, Method::PUT, &stub, REGISTRATION).pair(0, "200")).await, false);
        first.open();
    };
    let (answer, ()) = tokio::join!(send(&lab, older), newer);
    assert_eq!(answer.status, 200);
    second.open();
    lab.wait_for("the late answer", is("scp", Kind::ResponseLate)).await;
    lab.settle().await;
    assert_eq!(stub.count("DELETE", "/smf-registrations"), 0, "{:?}", stub.methods());
}

/// Its producer may answer it with the very subscription that is being released.
#[actix::test]
async fn with_release_late_a_repeated_subscription_waits_for_the_release() {
    let (lab, stub) = (releasing_scp().start().await, Stub::start().await);
    let (late, release) = (Gate::closed(), Gate::closed());
    let created = || Reply::json(201, &json!({})).header("location", location(&stub));
    stub.once("POST", "/sdm-subscriptions", created().behind(&late));
    stub.on("DELETE", "/sdm-subscriptions/7", Reply::status(204).behind(&release));
    late_create(&lab, &stub, Method::POST, SUBSCRIPTIONS, &late).await;
    stub.wait("DELETE", "/sdm-subscriptions/7").await;
    stub.once("POST", "/sdm-subscriptions", created());
    let released = async {
        let begun = || lab.count("scp", Kind::UpstreamSent) == 2;
        while !begun() {
            tokio::task::yield_now().await;
        }
        assert_eq!(stub.count("POST", "/sdm-subscriptions"), 1, "it waits");
        release.open();
    };
    let (answer, ()) = tokio::join!(send(&lab, call(&lab, Method::POST, &stub, SUBSCRIPTIONS)), released);
    assert_eq!(answer.status, 201);
    lab.settle().await;
    assert_eq!(stub.methods(), ["POST", "DELETE", "POST"]);
}
