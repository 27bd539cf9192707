//! TS 29.500 §6.11.2.1 (Rel-17), our rule 8: a call waits for the smaller of the NF's own timer and what is left of the
//! served request, and says so upstream with a pair of its own.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, assert_504_t, body_a, create, create_a, deadline_ms, lab_with_udm, lab_with_udr, ms, now_ms,
    profile, reg_a, send, with,
};
use mock5g::lab::Builder;
use sbi::client::Call;
use sbi::header::{MAX_RSP_TIME, Pair, SENDER_TIMESTAMP};
use serde_json::json;

/// The pairs that the stub saw during a request which succeeds.
async fn announced(lab: Builder, stub: &Stub, call: impl FnOnce(&mock5g::lab::Lab) -> Call) -> Vec<Pair> {
    let lab = lab.start().await;
    let answer = send(&lab, call(&lab)).await;
    assert_eq!(answer.status, 201, "{}", lab.transcript());
    stub.journal().iter().map(|r| r.pair().unwrap_or_else(|| panic!("no pair in {r:#?}"))).collect()
}

#[actix::test]
async fn what_is_left_is_announced_with_a_fresh_stamp() {
    let (stub, sent) = (Stub::start().await, now_ms());
    let lab = lab_with_udm(&stub).policy("smf", |p| p.deadline.margin_ms = 1_000);
    let pairs = announced(lab, &stub, |lab| create_a(lab).pair(-2_000, "9000")).await;
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        assert!(pair.stamp.unix_ms() >= sent, "the client's own stamp was passed on: {pair:?}");
        // 7 s were left, 1 s of them is the margin; half of it is for clocks that are read one after the other.
        assert!(pair.expires_at_unix_ms() <= sent + 6_500, "{pair:?}");
        assert!((1_000..=6_000).contains(&pair.max.ms()), "{pair:?}");
    }
}

#[actix::test]
async fn no_hop_announces_more_than_the_first_client_waits() {
    let stub = Stub::start().await;
    let lab = lab_with_udr(&stub).policies(|p| p.deadline.margin_ms = 1_000).start().await;
    let call = create_a(&lab).pair(0, "8000");
    let deadline = deadline_ms(&call);
    assert_eq!(send(&lab, call).await.status, 201, "{}", lab.transcript());
    let at_udr = stub.journal();
    assert!(at_udr.len() >= 4, "{at_udr:#?}");
    // Two margins: the SMF's and the UDM's.
    let most = |r: &crate::support::stub::Received| r.pair().unwrap().expires_at_unix_ms();
    assert!(at_udr.iter().map(most).all(|until| until <= deadline - 1_500), "{at_udr:#?}");
}

#[actix::test]
async fn without_a_deadline_the_own_timer_is_announced() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).policy("smf", |p| p.max_rsp_time = ms(43_210));
    for pair in announced(lab, &stub, create_a).await {
        assert!((20_000..=43_210).contains(&pair.max.ms()), "{pair:?}");
    }
}

#[actix::test]
async fn the_smaller_of_both_is_announced() {
    let stub = Stub::start().await;
    let lab = lab_with_udr(&stub).policy("udm", |p| p.max_rsp_time = ms(7_654));
    for pair in announced(lab, &stub, |lab| reg_a(lab).pair(0, "50000")).await {
        assert!((2_000..=7_654).contains(&pair.max.ms()), "{pair:?}");
    }
}

#[actix::test]
async fn a_wait_that_cannot_be_expressed_is_left_out() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).policy("smf", |p| p.max_rsp_time = ms(200_000)).start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 201);
    for received in stub.journal() {
        for name in [SENDER_TIMESTAMP, MAX_RSP_TIME] {
            assert!(!received.headers.contains_key(&name), "{received:#?}");
        }
    }
}

#[actix::test]
async fn a_call_that_waits_for_a_stream_until_its_time_is_over_is_never_sent() {
    let (stub, gate) = (Stub::with_streams(1).await, Gate::closed());
    stub.on("GET", "/sm-data", Reply::json(200, &json!(profile())).behind(&gate));
    let lab = lab_with_udm(&stub).workers(1).start().await;
    let session = |id| create(&lab, &with(body_a(&lab), "pduSessionId", json!(id)));
    for id in 1..=sbi::client::MAX_CONNECTIONS_PER_PEER {
        let (client, call) = (lab.client(), session(id));
        let nth = stub.wait_for("the next read", |r| r.connection == id - 1);
        client.send_and_leave(call, async { drop(nth.await) }).await;
    }
    let call = session(9).pair(0, "300");
    let deadline = deadline_ms(&call);
    assert_504_t(&send(&lab, call).await, true);
    assert!(now_ms() >= deadline);
    assert_eq!(stub.journal().len(), sbi::client::MAX_CONNECTIONS_PER_PEER);
    gate.open();
    lab.expect_nothing_hanging().await;
}
