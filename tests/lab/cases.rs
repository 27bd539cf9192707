//! What engineers reported in public against real NFs, proxies and HTTP/2 stacks. Each case is a sample of a kind.

use crate::support::raw::{Connection, tcp};
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, MAX, REGISTRATION, SMF_A, SMF_B, STAMP, SUBSCRIPTIONS, assert_504_t, body_a, create, create_a,
    deadline_ms, held, is, lab, lab_with_udm, lab_with_udr, ms, now_ms, problem, reg_a, register, request,
    send, with,
};
use h2::Reason;
use http::Method;
use mock5g::lab::{Lab, PduSession};
use regex_lite::Regex;
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use sbi::header::SenderTimestamp;
use sbi::party::NfType;
use sbi::policy::Mode;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

const SLOT: &str = "/smf-registrations/";
const ALL: [&str; 4] = ["amf", "smf", "udm", "udr"];

/// A path below the API of each NF.
fn path_of(nf: &str) -> &'static str {
    match nf {
        "amf" => "/namf-callback/v1/x",
        "smf" => "/nsmf-pdusession/v1/x",
        "udm" => "/nudm-sdm/v2/imsi-001010000000001/am-data",
        _ => "/nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/smf-registrations",
    }
}

#[actix::test]
async fn case_01_every_port_speaks_http2_with_prior_knowledge() {
    const SETTINGS: u8 = 4;
    let lab = lab().start().await;
    for nf in ALL {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let mut socket = tcp(&lab.api_root(nf), preface).await;
        let (mut settings, mut ack) = (false, false);
        while !(settings && ack) {
            let mut head = [0; 9];
            socket.read_exact(&mut head).await.unwrap();
            let mut rest = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            socket.read_exact(&mut rest).await.unwrap();
            settings |= head[3] == SETTINGS && head[4] == 0;
            ack |= head[3] == SETTINGS && head[4] == 1;
        }
        let answer = send(&lab, request(&lab, Method::GET, nf, path_of(nf))).await;
        assert!(matches!(answer.status.as_u16(), 200 | 404), "{nf}: {answer:?}");
    }
}

#[actix::test]
async fn case_01_every_call_and_callback_starts_with_http2() {
    let (udr, smf, udm, amf) =
        (Stub::start().await, Stub::start().await, Stub::start().await, Stub::start().await);
    let at_udm = lab_with_udm(&udm).start().await;
    let told_at = with(body_a(&at_udm), "smContextStatusUri", json!(format!("{}/status", amf.root())));
    assert_eq!(send(&at_udm, create(&at_udm, &told_at)).await.status, 201);
    assert_eq!(send(&at_udm, create_a(&at_udm)).await.status, 201);
    let at_udr = lab_with_udr(&udr).start().await;
    assert_eq!(send(&at_udr, reg_a(&at_udr)).await.status, 201);
    let at_smf = lab().peer(NfType::Smf, smf.root()).start().await;
    assert_eq!(at_smf.establish(PduSession::default()).await.as_str(), "established");
    amf.wait("POST", "/status").await;
    for (stub, least) in [(udm, 3), (udr, 2), (smf, 1), (amf, 1)] {
        assert!(stub.journal().len() >= least, "a stub speaks HTTP/2 only: {:#?}", stub.journal());
    }
}

#[actix::test]
async fn case_03_a_release_is_not_refused_for_the_dead_deadline() {
    for (method, path) in [("POST", "^/nudm-sdm/"), ("PUT", "^/nudm-uecm/")] {
        let lab = lab().start().await;
        lab.fault(Rule::at("udm").on_response().matching(method, path).delay_ms(1_200));
        assert_504_t(&send(&lab, create_a(&lab).pair(0, "700")).await, true);
        lab.expect_nothing_hanging().await;
        let answered = lab
            .events()
            .into_iter()
            .filter(|e| is("udm", Kind::ResponseSent)(e) && e.method.as_deref() == Some("DELETE"));
        let answered: Vec<_> = answered.map(|e| e.status).collect();
        assert!(!answered.is_empty() && answered.iter().all(|s| *s == Some(204)), "{answered:?}");
    }
}

#[actix::test]
async fn case_03_a_release_has_a_pair_of_its_own_and_is_tried_again() {
    let stub = Stub::start().await;
    stub.on("PUT", SLOT, Reply::status(201).after_ms(1_200));
    for path in [SLOT, SUBSCRIPTIONS] {
        stub.once("DELETE", path, Reply::status(503));
    }
    let lab = lab_with_udm(&stub).start().await;
    let call = create_a(&lab).pair(0, "700");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
    for path in [SLOT, SUBSCRIPTIONS] {
        let [_, second] = stub.received("DELETE", path).try_into().expect("exactly two DELETEs, then quiet");
        assert!(second.pair().unwrap().stamp.unix_ms() > deadline, "{second:#?}");
    }
    let of_late_put = stub.received("DELETE", SLOT).remove(0);
    assert!(of_late_put.pair().unwrap().stamp.unix_ms() > deadline, "{of_late_put:#?}");
}

#[actix::test]
async fn case_05_clocks_that_differ_are_told_from_slow_peers() {
    let lab = lab().start().await;
    let reg = |offset, max| send(&lab, reg_a(&lab).pair(offset, max));
    let detail = |answer: &Answer| problem(answer, false)["detail"].as_str().unwrap().to_owned();
    let behind = reg(-300_000, "10000").await;
    assert_504_t(&behind, false);
    assert!(detail(&behind).contains("5.0 min (300"), "{}", detail(&behind));
    assert!(reg(300_000, "10000").await.status.is_success(), "five minutes ahead");
    assert!(reg(40, "500").await.status.is_success(), "40 ms ahead");
    let epoch = reg_a(&lab).header(STAMP, "Thu, 01 Jan 1970 00:00:00.000 GMT");
    let epoch = send(&lab, epoch.header(MAX, "99999")).await;
    assert_504_t(&epoch, false);
    assert!(detail(&epoch).contains("years"), "{}", detail(&epoch));
    let warned = lab.events().into_iter().filter(is("udm", Kind::SkewObserved)).filter_map(|e| e.detail);
    assert_eq!(warned.count(), 3, "for 1, 2 and 4: {}", lab.transcript());
    crate::support::assert_no_panic(&lab);
}

#[actix::test]
async fn case_05_skew_between_our_own_nfs_is_tolerated_or_named() {
    let lab = lab().policy("udm", |p| p.deadline.skew_tolerance_ms = 400_000).start().await;
    lab.step_clock("smf", -300_000);
    assert_eq!(send(&lab, create_a(&lab)).await.status, 201, "{}", lab.transcript());
    lab.step_clock("udr", 300_000);
    assert_eq!(send(&lab, create_a(&lab)).await.status, 504);
    lab.wait_for("a warning", is("udr", Kind::SkewObserved)).await;
}

#[actix::test]
async fn case_07_no_third_call_starts_once_the_time_is_over() {
    let stub = Stub::start().await;
    let profile = json!(crate::support::profile());
    stub.on("GET", "/sm-data", Reply::json(200, &profile).after_ms(400));
    let location = format!("{}{SUBSCRIPTIONS}/1", stub.root());
    stub.on("POST", SUBSCRIPTIONS, Reply::status(201).header("location", location).after_ms(400));
    stub.on("PUT", SLOT, Reply::status(201).after_ms(400));
    let lab = lab_with_udm(&stub).start().await;
    let call = create_a(&lab).pair(0, "600");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    assert!(now_ms() >= deadline);
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
    assert_eq!(stub.methods(), ["GET", "POST", "DELETE"]);
}

#[actix::test]
async fn case_07_the_504_does_not_wait_for_the_answer_of_the_call_that_took_too_long() {
    for (method, path) in [("GET", "/sm-data"), ("POST", SUBSCRIPTIONS), ("PUT", SLOT)] {
        let (stub, gate) = (Stub::start().await, Gate::closed());
        stub.on(method, path, Reply::problem(403, "X").behind(&gate));
        let lab = lab_with_udm(&stub).start().await;
        assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
        let last = stub.journal().into_iter().rfind(|r| r.method != "DELETE").unwrap();
        assert_eq!((last.method.as_str(), last.answered), (method, None));
        gate.open();
        lab.expect_nothing_hanging().await;
    }
}

#[actix::test]
async fn case_08_a_retry_after_a_timeout_gets_the_slot() {
    let lab = lab().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", SLOT).delay_ms(1_000));
    lab.fault(Rule::at("udm").on_response().matching("DELETE", SLOT).delay_ms(800));
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "500")).await, true);
    let retry = send(&lab, create_a(&lab)).await;
    assert_eq!(retry.status, 201, "{}", lab.transcript());
    lab.settle().await;
    expect_only(&lab, retry.location().unwrap(), "internet").await;
}

/// One SM context lives, and one registration, its own.
async fn expect_only(lab: &Lab, context: &str, dnn: &str) {
    let retrieved =
        send(lab, Call::new(Method::POST, format!("{context}/retrieve")).with_json(&json!({}))).await;
    assert_eq!(retrieved.status, 200, "{}", lab.transcript());
    assert_eq!(retrieved.json::<Value>().unwrap()["smContext"]["dnn"], dnn);
    let registered = send(lab, request(lab, Method::GET, "udm", REGISTRATION)).await;
    assert_eq!(registered.json::<Value>().unwrap()["dnn"], dnn, "{}", lab.transcript());
    assert_eq!(held(lab, "smf").await.len(), 1);
    for nf in ["udm", "udr"] {
        let held = held(lab, nf).await;
        let kinds = ["smf-registrations/", "sdm-subscriptions/"];
        let count = kinds.map(|kind| held.iter().filter(|path| path.contains(kind)).count());
        assert_eq!(count, [1, 1], "{nf} holds {held:?}");
    }
    assert_eq!(send(lab, Call::new(Method::POST, format!("{context}/release"))).await.status, 204);
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn case_08_the_same_with_every_fault_that_can_end_an_attempt() {
    let faults = [
        Rule::at("udm").on_response().matching("POST", SUBSCRIPTIONS).delay_ms(600),
        Rule::at("udm").on_response().matching("PUT", SLOT).effect(Effect::Reset(2)),
        Rule::at("udm").matching("PUT", SLOT).effect(Effect::status(500)),
        Rule::at("udr").on_response().matching("PUT", SLOT).delay_ms(600),
        Rule::at("udr").matching("GET", SLOT).delay_ms(600),
    ];
    for fault in faults {
        let lab = lab().start().await;
        let what = fault.id.clone();
        lab.fault(fault.once());
        assert!(send(&lab, create_a(&lab).pair(0, "350")).await.status.is_server_error(), "{what}");
        let retry = send(&lab, create_a(&lab)).await;
        assert_eq!(retry.status, 201, "{what}\n{}", lab.transcript());
        lab.settle().await;
        expect_only(&lab, retry.location().unwrap(), "internet").await;
    }
}

/// Sets the UDM's clock so that the milliseconds of its time are `part`, and gives back its time.
fn udm_time_with_ms(lab: &Lab, part: i64) -> i64 {
    lab.step_clock("udm", part - now_ms().rem_euclid(1_000));
    lab.process().nf("udm").unwrap().party.env.clock.stamp().unix_ms()
}

#[actix::test]
async fn case_10_a_stamp_without_milliseconds_gets_the_benefit() {
    let lab = lab().workers(1).start().await;
    for _ in 0..3 {
        let now = udm_time_with_ms(&lab, 920);
        let stamp = SenderTimestamp::from_unix_ms(now).to_string();
        let (whole, _) = stamp.split_once('.').unwrap();
        let call = reg_a(&lab).header(STAMP, &format!("{whole} GMT"));
        let answer = send(&lab, call.header(MAX, "800")).await;
        assert!(answer.status.is_success(), "{answer:?}\n{}", lab.transcript());
    }
    assert!(lab.count("udm", Kind::TimingCompleted) > 0);
    let frozen = reg_a(&lab).header(STAMP, "Tue, 03 Jun 2025 02:41:42.760 GMT");
    let frozen = send(&lab, frozen.header(MAX, "10000")).await;
    assert_504_t(&frozen, false);
    let detail = problem(&frozen, false)["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("years"), "it is a replay: {detail}");
}

#[actix::test]
async fn case_10_our_own_stamps_have_exactly_three_digits() {
    let (udm, udr) = (Stub::start().await, Stub::start().await);
    let (at_udm, at_udr) = (lab_with_udm(&udm).start().await, lab_with_udr(&udr).start().await);
    let context = send(&at_udm, create_a(&at_udm)).await.location().unwrap().to_owned();
    send(&at_udm, Call::new(Method::POST, format!("{context}/release"))).await;
    send(&at_udr, reg_a(&at_udr).pair(0, "9000")).await;
    let form = Regex::new(r"^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d{3} GMT$").unwrap();
    let journal = [udm.journal(), udr.journal()].concat();
    assert!(journal.len() >= 7, "{journal:#?}");
    for received in journal {
        let stamp = received.headers[STAMP].to_str().unwrap();
        assert!(form.is_match(stamp), "{stamp}");
    }
}

#[actix::test]
async fn case_12_odd_limits_are_read_to_the_letter_or_not_at_all() {
    let lab = lab().start().await;
    let reg = |max| send(&lab, reg_a(&lab).pair(-50, max));
    assert_504_t(&reg("0").await, false);
    for good in ["00500", " 500 ", "99999"] {
        assert!(reg(good).await.status.is_success(), "{good:?}");
    }
    assert_eq!(lab.count("udm", Kind::TimingMalformed), 0);
    let odd = ["100000", "10s", "-1", "1.5", "18446744073709551616", ""];
    for odd in odd {
        assert!(reg(odd).await.status.is_success(), "{odd:?}");
    }
    assert_eq!(lab.count("udm", Kind::TimingMalformed), odd.len());
}

#[actix::test]
async fn case_12_a_strict_nf_refuses_what_is_outside_the_grammar() {
    let lab = lab().policy("udm", |p| p.deadline.strict = true).start().await;
    let reg = |max| send(&lab, reg_a(&lab).pair(-50, max));
    for good in ["00500", " 500 ", "99999"] {
        assert!(reg(good).await.status.is_success(), "{good:?}");
    }
    for odd in ["100000", "10s", "-1", "1.5", "18446744073709551616", ""] {
        assert_eq!(reg(odd).await.status, 400, "{odd:?}");
    }
    assert_504_t(&reg("0").await, false);
}

#[actix::test]
async fn case_44_a_queued_release_is_cancelled_by_the_newer_attempt() {
    let lab = lab().policy("smf", |p| p.release.backoff = ms(20_000)).start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", SLOT).delay_ms(600).once());
    lab.fault(Rule::at("udm").matching("DELETE", SLOT).effect(Effect::status(503)).once());
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "500")).await, true);
    let failed = |e: &sbi::event::Event| {
        is("smf", Kind::ReleaseFailed)(e) && e.uri.as_ref().is_some_and(|uri| uri.contains(SLOT))
    };
    lab.wait_for("the release is queued", failed).await;
    let newer = send(&lab, create(&lab, &with(body_a(&lab), "dnn", json!("ims")))).await;
    assert_eq!(newer.status, 201, "{}", lab.transcript());
    lab.settle().await;
    expect_only(&lab, newer.location().unwrap(), "ims").await;
}

#[actix::test]
async fn case_44_a_release_still_behind_its_create_is_cancelled_too() {
    let lab = lab().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", SLOT).delay_ms(900).once());
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "500")).await, true);
    let newer = send(&lab, create(&lab, &with(body_a(&lab), "dnn", json!("ims"))).pair(0, "20000")).await;
    assert_eq!(newer.status, 201, "{}", lab.transcript());
    lab.settle().await;
    expect_only(&lab, newer.location().unwrap(), "ims").await;
}

#[actix::test]
async fn case_44_a_release_that_was_sent_is_waited_for() {
    for slow in [Rule::at("udm"), Rule::at("udm").on_response()] {
        let lab = lab().start().await;
        lab.fault(Rule::at("udm").on_response().matching("PUT", SLOT).delay_ms(350).once());
        lab.fault(slow.matching("DELETE", SLOT).delay_ms(800).once());
        assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
        let sent = |e: &sbi::event::Event| {
            is("smf", Kind::ReleaseSent)(e) && e.uri.as_ref().is_some_and(|uri| uri.contains(SLOT))
        };
        lab.wait_for("the release is sent", sent).await;
        let newer = create(&lab, &with(body_a(&lab), "dnn", json!("ims"))).pair(0, "20000");
        let newer = send(&lab, newer).await;
        assert_eq!(newer.status, 201, "{}", lab.transcript());
        lab.settle().await;
        expect_only(&lab, newer.location().unwrap(), "ims").await;
    }
}

#[actix::test]
async fn case_44_the_same_between_udm_and_udr() {
    for slow in [Rule::at("udr"), Rule::at("udr").on_response()] {
        let lab = lab().start().await;
        lab.fault(Rule::at("udr").on_response().matching("PUT", SLOT).delay_ms(350).once());
        lab.fault(slow.matching("DELETE", SLOT).delay_ms(500).once());
        assert_504_t(&send(&lab, register(&lab, SMF_A).pair(0, "250")).await, false);
        lab.wait_for("the release is sent", is("udm", Kind::ReleaseSent)).await;
        let newer = send(&lab, register(&lab, SMF_B).pair(0, "20000")).await;
        assert_eq!(newer.status, 201, "{}", lab.transcript());
        lab.settle().await;
        let there = send(&lab, request(&lab, Method::GET, "udm", REGISTRATION)).await;
        assert_eq!(there.json::<Value>().unwrap()["smfInstanceId"], SMF_B);
        assert_eq!(send(&lab, request(&lab, Method::DELETE, "udm", REGISTRATION)).await.status, 204);
        lab.expect_nothing_hanging().await;
    }
}

#[actix::test]
async fn case_50_dropping_lets_go_of_every_stream() {
    const LATE: usize = 300;
    let lab = lab().policies(|p| p.deadline.mode = Mode::Drop).start().await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let mut dropped = Vec::new();
    for _ in 0..LATE {
        dropped.push(connection.send(&reg_a(&lab).pair(-9_000, "1000")).await);
    }
    for stream in dropped {
        assert_eq!(stream.reset_code().await, Some(Reason::CANCEL));
    }
    assert_eq!(connection.answer(&reg_a(&lab)).await.status, 201, "on the same connection");
    assert_eq!(lab.count("udm", Kind::RequestDroppedLate), LATE);
    assert_eq!(lab.count("udm", Kind::RequestRefusedLate), 0);
}
