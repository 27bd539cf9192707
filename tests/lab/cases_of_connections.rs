//! Cases 18, 22 and 40: streams that are gone, connections that end, and resets by the thousand.

use crate::support::frames::{Frames, reset_at_once};
use crate::support::raw::Connection;
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    AMF_REGISTRATION, Headers, REGISTRATION_AT_UDR, SUPI, amf_registration_of, assert_no_panic, create_a,
    held, is, lab, lab_with_udm, lab_with_udr, ms, reg_a, request, send, subscribe, subscription,
};
use futures_util::future::join_all;
use h2::Reason;
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::{Effect, Rule};
use sbi::party::NfType;
use sbi::release::State;
use serde_json::json;
use std::cell::Cell;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_local;

const CREATE: &str = "/sm-contexts";

/// The requests that a UDM serves by asking its UDR, and what it asks first.
fn served_by_asking(lab: &Lab) -> [(Call, &'static str, &'static str); 5] {
    let amf = amf_registration_of(crate::support::AMF_A, &lab.api_root("amf"));
    [
        (request(lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/am-data")), "GET", "/am-data"),
        (request(lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data")), "GET", "/sm-data"),
        (reg_a(lab), "GET", "/smf-registrations/"),
        (request(lab, Method::PUT, "udm", AMF_REGISTRATION).with_json(&amf), "GET", "/amf-3gpp-access"),
        (subscribe(lab, &subscription()), "POST", "/sdm-subscriptions"),
    ]
}

/// How a UDR may answer when nobody waits any more.
fn late_outcomes(stub: &Stub) -> Vec<Reply> {
    let location = format!("{}{REGISTRATION_AT_UDR}", stub.root());
    vec![
        Reply::json(200, &json!({})),
        Reply::json(200, &json!([])),
        Reply::status(201).header("location", location),
        Reply::status(204),
        Reply::problem(403, "X"),
        Reply::problem(404, "DATA_NOT_FOUND"),
        Reply::status(500),
        Reply::reset(Reason::INTERNAL_ERROR),
        Reply::reset(Reason::REFUSED_STREAM),
        Reply::hang_up(),
    ]
}

/// How many questions of the UDM have come to an end.
fn outcomes_at_udm(lab: &Lab) -> usize {
    lab.count("udm", Kind::UpstreamAnswered) + lab.count("udm", Kind::UpstreamFailed)
}

#[actix::test]
async fn case_18_a_late_answer_for_a_stream_that_is_gone_harms_nobody() {
    for outcome in 0..10 {
        let stub = Stub::start().await;
        let lab = lab_with_udr(&stub).start().await;
        for (call, method, path) in served_by_asking(&lab) {
            let (gate, late) = (Gate::closed(), late_outcomes(&stub).swap_remove(outcome));
            let seen = stub.count(method, path);
            stub.once(method, path, late.behind(&gate));
            let mut connection = Connection::open(&lab.api_root("udm")).await;
            let exchange = connection.send(&call).await;
            stub.wait_for("the question", |_| stub.count(method, path) > seen).await;
            let left = lab.count("udm", Kind::ClientGone);
            exchange.reset();
            lab.wait_for("the client leaves", |_| lab.count("udm", Kind::ClientGone) > left).await;
            let heard = outcomes_at_udm(&lab);
            gate.open();
            // The next request must not share a connection that is about to end.
            lab.wait_for("the late outcome", |_| outcomes_at_udm(&lab) > heard).await;
            lab.settle().await;
            assert_no_panic(&lab);
            assert_eq!(held(&lab, "udm").await, [""; 0], "{} {}", call.method, call.uri);
        }
    }
}

#[actix::test]
async fn case_18_the_next_identical_request_is_answered_and_nothing_is_pending() {
    let (stub, lab_gate) = (Stub::start().await, Gate::closed());
    let lab = lab_with_udr(&stub).start().await;
    stub.once("GET", "/sm-data", Reply::json(200, &json!([])).behind(&lab_gate));
    stub.once("PUT", "/smf-registrations/", Reply::hang_up().behind(&lab_gate));
    let sm_data = request(&lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data"));
    for (call, method, status) in [(sm_data, "GET", 200), (reg_a(&lab), "PUT", 201)] {
        let mut first = Connection::open(&lab.api_root("udm")).await;
        let exchange = first.send(&call).await;
        let (path, _) = call.path().rsplit_once('/').unwrap();
        let asked = |r: &crate::support::stub::Received| r.method == method && !r.path.contains(path);
        stub.wait_for("the question", asked).await;
        exchange.reset();
        lab.wait_for("the client leaves", is("udm", Kind::ClientGone)).await;
        lab_gate.open();
        lab.settle().await;
        let again = Connection::open(&lab.api_root("udm")).await.answer(&call).await;
        assert_eq!(again.status, status, "{again:?}\n{}", lab.transcript());
    }
    lab.settle().await;
    let open = [State::Intended, State::InFlight, State::Held, State::Releasing, State::Hanging];
    let pending = lab.process().resources().await.into_iter().filter(|r| open.contains(&r.state));
    assert_eq!(pending.count(), 0, "{}", lab.transcript());
}

/// The AMF's client on one worker: all its requests to an SMF go on one connection.
fn amf_of_one_worker(smf: &Stub) -> Builder {
    lab().workers(1).peer(NfType::Smf, smf.root())
}

async fn establish_three(lab: &Lab) -> Vec<&'static str> {
    let sessions = (0..3).map(|n| lab.establish(PduSession::of(n).max_rsp_time_ms(20_000)));
    join_all(sessions).await.iter().map(amf::Outcome::as_str).collect()
}

#[actix::test]
async fn case_22_what_the_peer_did_not_process_is_repeated_once_on_a_new_connection() {
    for (reason, name) in [(0, "NO_ERROR"), (11, "ENHANCE_YOUR_CALM"), (2, "INTERNAL_ERROR")] {
        let smf = Stub::start_with(move |mut frames: Frames, root| async move {
            assert_eq!(frames.requests(3).await, [1, 3, 5]);
            frames.goaway(1, reason).await;
            frames.created(1, &format!("{root}/nsmf-pdusession/v1/sm-contexts/of-stream-1")).await;
            frames.close().await;
        });
        let smf = smf.await;
        let lab = amf_of_one_worker(&smf).start().await;
        assert_eq!(establish_three(&lab).await, ["established"; 3], "{}", lab.transcript());
        let again = smf.received("POST", CREATE);
        assert_eq!(again.len(), 2, "the two others, once each: {again:#?}");
        assert!(again.iter().all(|r| r.connection == 1), "{again:#?}");
        assert_eq!(lab.count("amf", Kind::UpstreamRepeated), 2, "{}", lab.transcript());
        let goaway = lab.wait_for("its reason", is("amf", Kind::GoawayReceived)).await;
        assert_eq!(goaway.detail.unwrap(), format!("{name}, last stream 1"));
        assert_eq!(lab.count("amf", Kind::UpstreamFailed), 0, "silently");
        let made = lab.process().resources().await.into_iter().filter(|r| r.by == "amf");
        assert_eq!(made.filter(|r| r.uri.ends_with("/of-stream-1")).count(), 1);
    }
}

#[actix::test]
async fn case_22_a_post_whose_fate_is_unknown_is_not_repeated() {
    for says_goaway in [true, false] {
        let smf = Stub::start_with(move |mut frames: Frames, _| async move {
            frames.requests(3).await;
            if says_goaway {
                frames.goaway(5, 0).await;
            }
            frames.close().await;
        });
        let smf = smf.await;
        let lab = amf_of_one_worker(&smf).start().await;
        assert_eq!(establish_three(&lab).await, ["gave_up"; 3], "{}", lab.transcript());
        lab.settle().await;
        assert_eq!(lab.count("amf", Kind::UpstreamRepeated), 0, "{}", lab.transcript());
        assert_eq!(lab.count("amf", Kind::ReleaseSettling), 3, "they are looked for instead");
        assert_eq!(smf.count("POST", "/release"), 3, "what was found is released");
    }
}

#[actix::test]
async fn case_22_nothing_is_repeated_once_the_time_is_over() {
    let gate = Gate::closed();
    let opened = gate.clone();
    let smf = Stub::start_with(move |mut frames: Frames, _| async move {
        frames.requests(1).await;
        opened.opened().await;
        frames.goaway(0, 0).await;
        frames.close().await;
    });
    let smf = smf.await;
    let lab = amf_of_one_worker(&smf).start().await;
    assert_eq!(lab.establish(PduSession::default().max_rsp_time_ms(200)).await.as_str(), "gave_up");
    gate.open();
    lab.wait_for("the GOAWAY", is("amf", Kind::GoawayReceived)).await;
    lab.settle().await;
    assert_eq!(smf.journal().len(), 0, "neither repeated nor released: it was not processed");
    let made = lab.process().resources().await.into_iter().filter(|r| r.by == "amf");
    assert_eq!(made.map(|r| r.state).collect::<Vec<_>>(), [State::Void]);
}

/// A peer that refuses for good is not asked for ever.
#[actix::test]
async fn case_22_what_is_refused_again_is_given_up() {
    for method in ["GET", "POST", "PUT"] {
        let udm = Stub::start().await;
        udm.on(method, "/", Reply::reset(Reason::REFUSED_STREAM));
        let lab = lab_with_udm(&udm).start().await;
        let answer = send(&lab, create_a(&lab)).await;
        crate::support::assert_504(&answer, true, "TARGET_NF_NOT_REACHABLE");
        lab.expect_nothing_hanging().await;
        assert_eq!((udm.count(method, "/"), lab.count("smf", Kind::UpstreamRepeated)), (2, 1), "{method}");
    }
}

#[actix::test]
async fn case_22_an_idle_connection_that_was_closed_is_replaced() {
    let udm = Stub::start().await;
    let lab = lab_with_udm(&udm).workers(1).start().await;
    for n in 0..3 {
        assert_eq!(
            send(&lab, create_a(&lab)).await.status,
            201,
            "after {n} connections\n{}",
            lab.transcript()
        );
        lab.settle().await;
        udm.close_connections().await;
    }
    assert_eq!(lab.count("smf", Kind::UpstreamFailed), 0, "{}", lab.transcript());
}

#[actix::test]
async fn case_22_so_is_one_that_was_closed_without_a_goaway_or_says_goaway_and_stays() {
    for says_goaway in [false, true] {
        let (closed, is_closed) = oneshot::channel();
        let smf = Stub::start_with(move |mut frames: Frames, root| async move {
            frames.requests(1).await;
            frames.created(1, &format!("{root}/nsmf-pdusession/v1/sm-contexts/1")).await;
            if says_goaway {
                frames.goaway(1, 0).await;
                let _ = closed.send(());
                while frames.next().await.is_some() {}
            } else {
                frames.close().await;
                let _ = closed.send(());
            }
        });
        let smf = smf.await;
        let lab = amf_of_one_worker(&smf).start().await;
        assert_eq!(lab.establish(PduSession::of(0)).await.as_str(), "established");
        is_closed.await.unwrap();
        if says_goaway {
            lab.wait_for("the GOAWAY", is("amf", Kind::GoawayReceived)).await;
        }
        assert_eq!(lab.establish(PduSession::of(1)).await.as_str(), "established", "{}", lab.transcript());
        assert_eq!(smf.count("POST", CREATE), 1, "on the next connection");
    }
}

/// So many pairs of requests on one connection: one that its client resets 50 ms later, and one that it waits for.
#[actix::test]
async fn case_40_half_of_2000_requests_are_reset_and_the_others_are_answered() {
    const PAIRS: usize = 1_000;
    const AT_ONCE: usize = 40;
    let lab = lab().start().await;
    lab.fault(Rule { header: Some(slow_ones()), ..Rule::at("udm").effect(Effect::Drop) });
    let normal = request(&lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/am-data"));
    let slow = normal.clone().header("x-slow", "yes");
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    for n in 0..PAIRS {
        let place = places.clone().acquire_owned().await.unwrap();
        let exchange = connection.send(&slow).await;
        spawn_local(async move {
            tokio::time::sleep(ms(50)).await;
            exchange.reset();
            drop(place);
        });
        assert_eq!(connection.answer(&normal).await.status, 200, "after {n} resets");
    }
    let gone = Cell::new(0);
    let is_last = |e: &Event| {
        gone.set(gone.get() + usize::from(is("udm", Kind::ClientGone)(e)));
        gone.get() == PAIRS
    };
    lab.wait_for("the last reset", is_last).await;
    assert_eq!(connection.answer(&normal).await.status, 200, "the connection lives");
    assert_eq!((lab.count("udm", Kind::GoawaySent), held(&lab, "udm").await.len()), (0, 0));
    assert_no_panic(&lab);
}

/// They are answered by nobody, however slow the machine is.
fn slow_ones() -> (http::HeaderName, regex_lite::Regex) {
    (http::HeaderName::from_static("x-slow"), regex_lite::Regex::new("yes").unwrap())
}

/// Of each kind of request, all at once, each reset as soon as it is sent.
#[actix::test]
async fn case_40_resets_of_every_kind_of_request_leave_the_connection_alone() {
    let lab = lab().start().await;
    for (call, ..) in served_by_asking(&lab) {
        let mut connection = Connection::open(&lab.api_root("udm")).await;
        for _ in 0..300 {
            connection.send(&call).await.reset();
        }
        let normal = request(&lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}/am-data"));
        assert_eq!(connection.answer(&normal).await.status, 200, "{} {}", call.method, call.uri);
    }
    lab.settle().await;
    assert_eq!(lab.count("udm", Kind::GoawaySent), 0);
}

const ENHANCE_YOUR_CALM: u32 = 11;

#[actix::test]
async fn case_40_a_limit_that_fires_names_itself_and_can_be_set() {
    for (limit, resets, fires) in [(20, 200, true), (1_024, 200, false), (1_024, 3_000, true)] {
        let lab = lab().policy("udm", |p| p.max_pending_resets = limit).start().await;
        let mut attack = Frames::client(&lab.api_root("udm")).await;
        attack.write(&reset_at_once(1, resets)).await;
        if fires {
            assert_eq!(attack.goaway_reason().await, Some(ENHANCE_YOUR_CALM), "{limit} {resets}");
            let told = lab.wait_for("its reason", is("udm", Kind::GoawaySent)).await;
            let told = told.detail.unwrap();
            assert!(
                told.starts_with("ENHANCE_YOUR_CALM") && told.contains("sbi.max_pending_resets"),
                "{told}"
            );
        }
        assert_eq!(send(&lab, reg_a(&lab)).await.status, 201, "others are served");
        assert_eq!(lab.count("udm", Kind::GoawaySent), usize::from(fires), "{limit} {resets}");
    }
}

/// Our client reconnects, and says why it had to.
#[actix::test]
async fn case_40_a_client_whose_peer_is_not_calm_goes_on_on_another_connection() {
    let smf = Stub::start_with(|mut frames: Frames, root| async move {
        frames.requests(1).await;
        frames.created(1, &format!("{root}/nsmf-pdusession/v1/sm-contexts/1")).await;
        frames.goaway(1, ENHANCE_YOUR_CALM).await;
        frames.close().await;
    });
    let smf = smf.await;
    let lab = amf_of_one_worker(&smf).start().await;
    assert_eq!(lab.establish(PduSession::of(0)).await.as_str(), "established");
    let told = |e: &Event| is("amf", Kind::GoawayReceived)(e) && e.peer.as_deref() == Some("smf");
    let told = lab.wait_for("its reason", told).await.detail.unwrap();
    assert_eq!(told, "ENHANCE_YOUR_CALM, last stream 1");
    assert_eq!(lab.establish(PduSession::of(1)).await.as_str(), "established");
}
