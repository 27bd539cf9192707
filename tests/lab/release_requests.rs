//! Our rule 12 to TS 29.500 §6.11.2.2 (Rel-17): newest first, each by its own 3GPP operation, each a new request with a
//! fresh pair and its own budget, to the `Location` exactly as given; tried a bounded number of times; one failure
//! never stops the others.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, REGISTRATION, SUBSCRIPTIONS, assert_504_t, create_a, deadline_ms, is, lab_with_udm, ms, now_ms,
    send,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::release::State;

const SLOT: &str = "/smf-registrations/";

/// CREATE-A, whose context is then released.
async fn create_and_release(lab: &Lab) {
    let context = send(lab, create_a(lab)).await.location().unwrap().to_owned();
    let released = send(lab, Call::new(Method::POST, format!("{context}/release"))).await;
    assert_eq!(released.status, 204, "{}", lab.transcript());
}

#[actix::test]
async fn the_newest_is_released_first() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    create_and_release(&lab).await;
    lab.settle().await;
    let paths: Vec<_> = stub.received("DELETE", "/").into_iter().map(|r| r.path).collect();
    assert!(paths[0].starts_with(REGISTRATION) && paths[1].starts_with(SUBSCRIPTIONS), "{paths:?}");
    stub.expect_no_leak();
}

#[actix::test]
async fn the_next_waits_for_the_first_answer_of_the_one_before() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("DELETE", SLOT, Reply::status(204).after_ms(150).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.wait = ms(60_000)).start().await;
    let opened = async {
        stub.wait("DELETE", SLOT).await;
        assert_eq!(stub.count("DELETE", SUBSCRIPTIONS), 0);
        gate.open();
        let next = stub.wait("DELETE", SUBSCRIPTIONS).await;
        let first = stub.received("DELETE", SLOT).remove(0);
        assert!(first.answered.is_some() && next.at_ms >= first.at_ms + 150);
    };
    tokio::join!(create_and_release(&lab), opened);
}

#[actix::test]
async fn one_that_fails_does_not_stop_the_others() {
    for failing in [Reply::silence(), Reply::status(503), Reply::hang_up()] {
        let stub = Stub::start().await;
        stub.on("DELETE", SLOT, failing);
        let lab = lab_with_udm(&stub).policy("smf", |p| {
            (p.release.wait, p.release.timer) = (ms(50), ms(200));
            (p.release.tries, p.release.backoff) = (2, ms(10));
        });
        let lab = lab.start().await;
        create_and_release(&lab).await;
        let verdict = lab.verdict().await;
        assert_eq!(verdict.to_string(), "created 2, committed 0, released 1, hanging 1");
        assert_eq!((stub.count("DELETE", SLOT), stub.count("DELETE", SUBSCRIPTIONS)), (2, 1));
    }
}

#[actix::test]
async fn a_release_is_tried_a_bounded_number_of_times_and_then_reported_as_hanging() {
    let stub = Stub::start().await;
    stub.on("DELETE", SUBSCRIPTIONS, Reply::status(503));
    let lab = lab_with_udm(&stub).policy("smf", |p| (p.release.tries, p.release.backoff) = (5, ms(4)));
    let lab = lab.start().await;
    create_and_release(&lab).await;
    let hanging = lab.wait_for("the report", is("smf", Kind::ResourceHanging)).await;
    let made = stub.received("POST", SUBSCRIPTIONS)[0].location.clone();
    assert_eq!((hanging.uri, hanging.peer.as_deref()), (made.clone(), Some("udm")));
    lab.settle().await;
    assert_eq!((stub.count("DELETE", SUBSCRIPTIONS), lab.count("smf", Kind::ReleaseFailed)), (5, 5));
    let resources = lab.process().resources().await;
    let listed = resources.iter().find(|r| r.state == State::Hanging).expect("it stays listed");
    assert_eq!(Some(&listed.uri), made.as_ref());
}

#[actix::test]
async fn each_release_has_a_fresh_pair_and_a_budget_of_its_own() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.release.timer = ms(2_345)).start().await;
    let call = create_a(&lab).pair(0, "250");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    let opened = now_ms();
    gate.open();
    lab.expect_nothing_hanging().await;
    for release in stub.received("DELETE", "/") {
        let pair = release.pair().expect("a pair");
        assert!(pair.expires_at_unix_ms() > deadline, "the expired budget was passed on: {release:#?}");
        assert!((1_000..=2_345).contains(&pair.max.ms()), "{pair:?}");
    }
    let of_the_put = stub.received("DELETE", SLOT)[0].pair().unwrap();
    assert!(of_the_put.stamp.unix_ms() >= opened && opened >= deadline);
}

#[actix::test]
async fn the_location_is_used_exactly_as_given() {
    let elsewhere = Stub::start().await;
    let absolute = format!("{}/site%2Fa/b%20c/%7E1?x=%2F&y", elsewhere.root());
    for (location, path) in [
        (&*absolute, "/site%2Fa/b%20c/%7E1?x=%2F&y"),
        ("/other/prefix/7", "/other/prefix/7"),
        ("sdm-subscriptions/9", "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions/9"),
    ] {
        let stub = Stub::start().await;
        stub.on("POST", SUBSCRIPTIONS, Reply::status(201).header("location", location));
        let lab = lab_with_udm(&stub).start().await;
        create_and_release(&lab).await;
        lab.expect_nothing_hanging().await;
        let at = if location.starts_with("http") { &elsewhere } else { &stub };
        let released = at.journal().into_iter().filter(|r| r.method == "DELETE" && r.path == path).count();
        assert_eq!(released, 1, "{location}: {:#?}", at.journal());
    }
}
