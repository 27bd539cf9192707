//! Our rule 5 to TS 29.500 §6.11.2.2 (Rel-17): a client that leaves does not stop the work, the deadline does; a
//! success that can no longer be handed to its stream is released.

use crate::support::raw::{Connection, http1, tcp};
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, REGISTRATION, SUBSCRIPTIONS_AT_UDR, assert_504_t, create_a, held, is, lab, lab_with_udm,
    lab_with_udr, reg_a, request, send, subscribe, subscription,
};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::fault::Rule;
use sbi::policy::OnClientGone;

/// How a client leaves.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    ByReset,
    ByHangingUp,
    ByHangingUpOverHttp1,
}

const WAYS: [Leaves; 3] = [Leaves::ByReset, Leaves::ByHangingUp, Leaves::ByHangingUpOverHttp1];

/// Sends `call`, leaves once `moment` has come, and waits until the NF knows.
async fn leave(lab: &Lab, nf: &str, call: Call, way: Leaves, moment: impl Future) {
    let root = lab.api_root(nf);
    match way {
        Leaves::ByReset => {
            let mut connection = Connection::open(&root).await;
            let exchange = connection.send(&call).await;
            moment.await;
            exchange.reset();
            lab.wait_for("the client leaves", is(nf, Kind::ClientGone)).await;
        }
        Leaves::ByHangingUp => {
            let mut connection = Connection::open(&root).await;
            let _exchange = connection.send(&call).await;
            moment.await;
            connection.hang_up().await;
        }
        Leaves::ByHangingUpOverHttp1 => {
            let socket = tcp(&root, &http1(&call)).await;
            moment.await;
            drop(socket);
        }
    }
    lab.wait_for("the client leaves", is(nf, Kind::ClientGone)).await;
}

#[actix::test]
async fn the_work_goes_on_and_its_success_is_released() {
    for way in WAYS {
        let (stub, gate) = (Stub::start().await, Gate::closed());
        stub.on(
            "GET",
            "/sm-data",
            Reply::json(200, &serde_json::json!(crate::support::profile())).behind(&gate),
        );
        let lab = lab_with_udm(&stub).start().await;
        leave(&lab, "smf", create_a(&lab), way, stub.wait("GET", "/sm-data")).await;
        gate.open();
        lab.wait_for("an undeliverable success", is("smf", Kind::ResponseUndeliverable)).await;
        let verdict = lab.expect_nothing_hanging().await;
        assert_eq!(verdict.to_string(), "created 2, committed 0, released 2, hanging 0", "{way:?}");
        assert_eq!(stub.methods(), ["GET", "POST", "PUT", "DELETE", "DELETE"], "{way:?}");
        stub.expect_no_leak();
    }
}

#[actix::test]
async fn the_same_holds_for_what_a_udm_made_in_its_udr() {
    for way in WAYS {
        for (create, method) in [(true, "PUT"), (false, "POST")] {
            let (stub, gate) = (Stub::start().await, Gate::closed());
            let location = format!("{}{SUBSCRIPTIONS_AT_UDR}/1", stub.root());
            stub.on(method, "/", Reply::status(201).header("location", location).behind(&gate));
            let lab = lab_with_udr(&stub).start().await;
            let call = if create { reg_a(&lab) } else { subscribe(&lab, &subscription()) };
            leave(&lab, "udm", call, way, stub.wait(method, "/")).await;
            gate.open();
            lab.wait_for("an undeliverable success", is("udm", Kind::ResponseUndeliverable)).await;
            lab.expect_nothing_hanging().await;
            assert_eq!(
                (stub.count("DELETE", "/"), held(&lab, "udm").await.len()),
                (1, 0),
                "{way:?} {method}"
            );
        }
    }
}

#[actix::test]
async fn an_operator_may_keep_what_was_made_for_a_client_that_left() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/", Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.deadline.on_client_gone = OnClientGone::Keep);
    let lab = lab.start().await;
    leave(&lab, "smf", create_a(&lab), Leaves::ByReset, stub.wait("PUT", "/")).await;
    gate.open();
    lab.wait_for("a commit", is("smf", Kind::ResourceCommitted)).await;
    lab.settle().await;
    assert_eq!((held(&lab, "smf").await.len(), stub.count("DELETE", "/")), (1, 0));
}

#[actix::test]
async fn keeping_is_not_for_clients_whose_time_is_over() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/", Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&stub).policy("smf", |p| p.deadline.on_client_gone = OnClientGone::Keep);
    let lab = lab.start().await;
    assert_504_t(&send(&lab, create_a(&lab).pair(0, "250")).await, true);
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
}

#[actix::test]
async fn the_deadline_of_a_client_that_left_still_stops_the_work() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("POST", "/sdm-subscriptions", Reply::status(403).behind(&gate));
    let lab = lab_with_udm(&stub).start().await;
    let call = create_a(&lab).pair(0, "400");
    leave(&lab, "smf", call, Leaves::ByReset, stub.wait("POST", "/")).await;
    lab.wait_for("the deadline", is("smf", Kind::UpstreamTimedOut)).await;
    gate.open();
    lab.expect_nothing_hanging().await;
    assert_eq!(stub.methods(), ["GET", "POST"]);
}

#[actix::test]
async fn a_release_is_carried_out_although_its_client_left() {
    for way in WAYS {
        let lab = lab().start().await;
        send(&lab, reg_a(&lab)).await;
        lab.fault(Rule::at("udm").matching("DELETE", "/smf-registrations/").delay_ms(300).once());
        let release = request(&lab, Method::DELETE, "udm", REGISTRATION);
        leave(&lab, "udm", release, way, lab.wait_for("the delay", is("udm", Kind::FaultApplied))).await;
        lab.wait_for("the release", is("udm", Kind::ReleaseConfirmed)).await;
        lab.expect_nothing_hanging().await;
    }
}

#[actix::test]
async fn a_half_closed_stream_is_answered() {
    let lab = lab().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(200).once());
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let half_closed = connection.send(&create_a(&lab).pair(0, "10000")).await;
    assert_eq!(half_closed.answer().await.unwrap().status, 201);
    assert_eq!(lab.count("smf", Kind::ClientGone), 0);
}
