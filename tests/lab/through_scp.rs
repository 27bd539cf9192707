//! TS 29.500 §6.10 and §6.11.2.2 (Rel-17): what an SCP passes on, what it refuses itself, and that what it carries is released
//! as without it.

use crate::cases_of_scps::expect_own;
use crate::support::raw::Connection;
use crate::support::stub::{Reply, Stub};
use crate::support::{
    Headers, MAX, STAMP, assert_504, assert_504_t, deadline_ms, give_up_and_release, is, ms, now_ms, problem,
    send,
};
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use nrf::HeartBeats;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::header::{SenderTimestamp, Timing};
use sbi::party::NfType;
use sbi::policy::{Forward, Mode};
use serde_json::json;

const PATH: &str = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
const TARGET: &str = "3gpp-Sbi-Target-apiRoot";

/// An SCP alone.
pub fn scp() -> Builder {
    Lab::builder().through_scps(1, false).only(&[NfType::Scp])
}

/// A request to it, for a target.
pub fn call(lab: &Lab, method: Method, target: &str, path: &str) -> Call {
    Call::new(method, format!("{}{path}", lab.api_root("scp"))).header(TARGET, target)
}

#[actix::test]
async fn a_request_and_its_answer_pass_as_they_are() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let answer = Reply::json(201, &json!({"b": 1}))
        .header("location", format!("{}{PATH}/7", stub.root()))
        .header("retry-after", "3")
        .header("3gpp-sbi-lci", "Timestamp: \"x\"; Load-Metric: 5%; NF-Instance: 7")
        .header("server", "UDM-7");
    stub.on("POST", "/sdm-subscriptions", answer);
    let body = "{\"a\":\"\u{e9}\", \"a\" : 2}";
    let sent = call(&lab, Method::POST, &format!("{}/", stub.root()), &format!("{PATH}?x=%2F&y"))
        .with_body("application/json; x=y", body.to_owned())
        .header("3gpp-Sbi-Message-Priority", "5")
        .header("3gpp-Sbi-Max-Forward-Hops", "5; nodetype=scp")
        .header("x-unknown", "kept")
        .header("via", "2.0 SCP-other");
    let answer = send(&lab, sent).await;
    let seen = stub.wait("POST", "/sdm-subscriptions").await;
    assert_eq!((seen.path.as_str(), &seen.body[..]), (&*format!("{PATH}?x=%2F&y"), body.as_bytes()));
    assert_eq!(seen.headers["content-type"], "application/json; x=y");
    assert_eq!(seen.headers["3gpp-sbi-message-priority"], "5");
    assert_eq!(seen.headers["3gpp-sbi-max-forward-hops"], "4; nodetype=scp");
    assert_eq!(seen.headers["x-unknown"], "kept");
    assert_eq!(seen.headers.get("3gpp-sbi-target-apiroot"), None);
    let via: Vec<_> = seen.headers.get_all("via").iter().collect();
    assert_eq!(via.len(), 2, "{via:?}");
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (201, &b"{\"b\":1}"[..]));
    assert_eq!(answer.location(), Some(&*format!("{}{PATH}/7", stub.root())));
    for (name, value) in [("retry-after", "3"), ("server", "UDM-7")] {
        assert_eq!(answer.headers[name], value);
    }
    assert!(answer.headers.contains_key("3gpp-sbi-lci") && answer.headers.contains_key("via"));
}

#[actix::test]
async fn both_timing_headers_pass_byte_for_byte_the_malformed_too() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    stub.on("GET", "/am-data", Reply::json(200, &json!({})));
    let fresh = SenderTimestamp::from_unix_ms(now_ms()).to_string();
    let pairs = [
        [Some(fresh.as_str()), Some("09999")],
        [Some("yesterday"), Some("-1")],
        [Some(fresh.as_str()), None],
        [None, Some("500")],
        [None, None],
    ];
    for (n, [stamp, max]) in pairs.into_iter().enumerate() {
        let path = format!("/nudm-sdm/v2/imsi-{n}/am-data");
        let mut sent = call(&lab, Method::GET, stub.root(), &path);
        for (name, value) in [(STAMP, stamp), (MAX, max)] {
            if let Some(value) = value {
                sent = sent.header(name, value);
            }
        }
        let mut connection = Connection::open(&lab.api_root("scp")).await;
        assert_eq!(connection.answer(&sent).await.status, 200);
        let seen = stub.wait_for("it", |r| r.path == path).await;
        let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!((header(STAMP).as_deref(), header(MAX).as_deref()), (stamp, max), "pair {n}");
    }
}

#[actix::test]
async fn a_pair_that_is_stamped_anew_says_the_same_moment() {
    let lab = scp().policies(|policy| policy.deadline.forward = Forward::Restamp).start().await;
    let stub = Stub::start().await;
    stub.on("GET", "/am-data", Reply::json(200, &json!({})));
    let sent = call(&lab, Method::GET, stub.root(), "/nudm-sdm/v2/imsi-1/am-data").pair(-700, "5000");
    let until = deadline_ms(&sent);
    assert_eq!(send(&lab, sent.clone()).await.status, 200);
    let seen = stub.wait("GET", "/am-data").await;
    let pair = Timing::read(&seen.headers).pair().unwrap();
    assert_eq!(pair.expires_at_unix_ms(), until);
    assert!(pair.stamp.unix_ms() >= Timing::read(&sent.headers).pair().unwrap().stamp.unix_ms() + 700);
    assert!(pair.max.ms() <= 4_300, "{pair:?}");

    let ahead = call(&lab, Method::GET, stub.root(), "/nudm-sdm/v2/imsi-2/am-data").pair(60_000, "99999");
    assert_eq!(send(&lab, ahead.clone()).await.status, 200);
    let seen = stub.wait_for("it", |r| r.path.contains("imsi-2")).await;
    assert_eq!(
        Timing::read(&seen.headers),
        Timing::read(&ahead.headers),
        "what cannot be said stays as it is"
    );
    let half = call(&lab, Method::GET, stub.root(), "/nudm-sdm/v2/imsi-3/am-data").header(MAX, "100");
    assert_eq!(send(&lab, half).await.status, 200);
    let seen = stub.wait_for("it", |r| r.path.contains("imsi-3")).await;
    assert!(seen.headers.get(STAMP).is_none() && seen.headers[MAX] == "100", "{seen:?}");
}

#[actix::test]
async fn what_is_late_is_refused_by_the_scp_itself_dropped_or_let_through() {
    for (forward, mode) in [
        (Forward::Unmodified, Mode::Reject),
        (Forward::Restamp, Mode::Reject),
        (Forward::Restamp, Mode::Drop),
        (Forward::Restamp, Mode::Off),
    ] {
        let lab = scp()
            .policies(|policy| (policy.deadline.forward, policy.deadline.mode) = (forward, mode))
            .start()
            .await;
        let stub = Stub::start().await;
        stub.on("POST", "/sdm-subscriptions", Reply::json(201, &json!({})));
        let late = call(&lab, Method::POST, stub.root(), PATH).with_json(&json!({})).pair(-2_000, "1000");
        let answer = lab.client().send(late.clone()).await;
        match mode {
            Mode::Reject => {
                let answer = answer.unwrap();
                assert_504_t(&answer, false);
                assert!(answer.headers["server"].to_str().unwrap().starts_with("SCP-"), "{answer:?}");
            }
            Mode::Drop => assert!(answer.is_err(), "{answer:?}"),
            Mode::Off => {
                assert_eq!(answer.unwrap().status, 201);
                let seen = stub.wait("POST", "/sdm-subscriptions").await;
                assert_eq!(
                    Timing::read(&seen.headers),
                    Timing::read(&late.headers),
                    "there is nothing left to say"
                );
            }
        }
        lab.settle().await;
        assert_eq!(stub.journal().len(), usize::from(mode == Mode::Off), "{mode:?}");
    }
}

#[actix::test]
async fn what_leads_nowhere_has_its_own_clear_answer() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    stub.on("GET", "/am-data", Reply::json(200, &json!({})));
    let path = "/nudm-sdm/v2/imsi-1/am-data";
    let id = lab.process().nf("scp").unwrap().party.instance_id;
    let to = |target: &str| call(&lab, Method::GET, target, path);
    let untargeted = Call::get(format!("{}{path}", lab.api_root("scp")));
    let cases = [
        (untargeted, 400, "MANDATORY_IE_MISSING"),
        (to(stub.root()).header("via", &format!("2.0 SCP-x, 2.0 SCP-{id}")), 400, "MSG_LOOP_DETECTED"),
        (to(stub.root()).header("3gpp-sbi-max-forward-hops", "0; nodetype=scp"), 502, "MAX_SCP_HOPS_REACHED"),
        (to(stub.root()).header("3gpp-sbi-max-forward-hops", "lots"), 400, "MANDATORY_IE_INCORRECT"),
    ];
    for (sent, status, cause) in cases {
        expect_own(&send(&lab, sent.clone()).await, status, cause, &format!("{sent:?}"));
    }
    assert_eq!(stub.journal().len(), 0);
}

#[actix::test]
async fn a_producer_that_is_silent_resets_or_stalls_costs_what_the_client_has() {
    let lab = scp().policies(|policy| policy.max_rsp_time = ms(300)).start().await;
    let stub = Stub::start().await;
    stub.on("GET", "/silent", Reply::silence());
    stub.on("GET", "/reset", Reply::reset(h2::Reason::INTERNAL_ERROR));
    stub.on("GET", "/stalls", Reply::json(200, &json!({})).without_end());
    let get = |path: &str| call(&lab, Method::GET, stub.root(), path);
    assert_504(&send(&lab, get("/silent")).await, false, "TARGET_NF_NOT_REACHABLE");
    assert_504_t(&send(&lab, get("/silent").pair(0, "200")).await, false);
    assert_504(&send(&lab, get("/reset")).await, false, "TARGET_NF_NOT_REACHABLE");
    let stalled = lab.client().send(get("/stalls")).await;
    assert!(stalled.as_ref().map_or(true, |answer| answer.cut_off), "{stalled:?}");
    let seen = stub.received("GET", "/silent");
    assert_eq!(seen.len(), 2);
    lab.settle().await;
}

#[actix::test]
async fn a_create_that_is_answered_too_late_is_told_with_its_location() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let location = format!("{}{PATH}/7", stub.root());
    let late = Reply::json(201, &json!({})).header("location", location.clone()).after_ms(600);
    stub.on("POST", "/sdm-subscriptions", late);
    let sent = call(&lab, Method::POST, stub.root(), PATH).with_json(&json!({})).pair(0, "200");
    assert_504_t(&send(&lab, sent).await, false);
    let told = |e: &Event| {
        is("scp", Kind::ResponseLate)(e) && e.detail.as_deref().is_some_and(|d| d.contains(&location))
    };
    lab.wait_for("the late answer", told).await;
    assert!(stub.received("POST", "/sdm-subscriptions")[0].reset.is_none(), "the producer was not cut off");
    assert_eq!(stub.journal().len(), 1, "the SCP owns nothing and releases nothing");
    lab.settle().await;
}

/// With an NRF, an SCP, and NFs that know both.
fn indirect(delegates: bool) -> Builder {
    Lab::builder().with_nrf(HeartBeats { interval_s: 1 }).through_scps(1, delegates)
}

#[actix::test]
async fn a_session_and_its_release_pass_through_an_scp_in_both_models() {
    for delegates in [false, true] {
        let lab = indirect(delegates).reaching_ues().start().await;
        lab.until_registered().await;
        let outcome = lab.establish(PduSession::default()).await;
        assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
        lab.wait_for("the message to the UE", |e| e.event == Kind::MessageTransferred).await;
        let asked_nrf = |e: &Event| {
            &*e.nf != "scp"
                && e.uri.as_deref().is_some_and(|u| u.contains("nnrf-disc"))
                && e.event == Kind::RequestReceived
                && e.peer.as_deref() != Some("scp")
        };
        assert_eq!(
            lab.events().iter().any(asked_nrf),
            !delegates,
            "who finds the producers:\n{}",
            lab.transcript()
        );
        lab.release(&PduSession::default()).await;
        lab.expect_nothing_hanging().await;
        lab.stop().await;
    }
}

#[actix::test]
async fn release_on_timeout_works_through_an_scp_in_both_models_and_modes() {
    for (delegates, forward) in [
        (false, Forward::Unmodified),
        (false, Forward::Restamp),
        (true, Forward::Unmodified),
        (true, Forward::Restamp),
    ] {
        let lab = indirect(delegates).policies(|policy| policy.deadline.forward = forward).start().await;
        lab.until_registered().await;
        give_up_and_release(&lab).await;
        lab.stop().await;
    }
}

#[actix::test]
async fn a_delegated_search_that_finds_nobody_says_so() {
    let lab = indirect(true).only(&[NfType::Nrf, NfType::Scp]).start().await;
    lab.wait_for("a registration", is("scp", Kind::NrfRegistered)).await;
    let sent = Call::get(format!("{}/nudm-sdm/v2/imsi-1/am-data", lab.api_root("scp")))
        .header("3gpp-Sbi-Discovery-target-nf-type", "UDM")
        .header("3gpp-Sbi-Discovery-requester-nf-type", "AMF")
        .header("3gpp-Sbi-Discovery-service-names", "nudm-sdm");
    let answer = send(&lab, sent).await;
    assert_eq!(
        (answer.status.as_u16(), &problem(&answer, false)["cause"]),
        (400, &json!("NF_DISCOVERY_FAILURE"))
    );
    lab.stop().await;
}
