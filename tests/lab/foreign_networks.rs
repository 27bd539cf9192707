//! TS 29.500 §6.11.2.1 (Rel-17): between networks the timing headers count if operator policy allows it. Our choices:
//! `3gpp-Sbi-Originating-Network-Id` names the network; foreign ones are ignored unless `deadline.peers` honours them.

use crate::support::{Headers, MAX, STAMP, assert_504_t, is, lab, reg_a, send};
use http::HeaderMap;
use mock5g::lab::{Builder, Lab};
use sbi::client::Call;
use sbi::event::Kind;
use sbi::policy::{Peer, Regard};
use std::sync::Arc;

const NETWORK: &str = "3gpp-Sbi-Originating-Network-Id";

fn saying(lab: Builder, peer: &str, regard: Regard) -> Builder {
    let peer = Peer::try_from(peer.to_owned()).unwrap();
    lab.policies(|p| {
        Arc::make_mut(&mut p.deadline.peers).said.insert(peer.clone(), regard);
    })
}

/// REG-A, which its client has stopped waiting for.
fn late(lab: &Lab) -> Call {
    Call { headers: HeaderMap::new(), ..reg_a(lab) }.pair(-5_000, "100")
}

#[actix::test]
async fn the_headers_of_a_foreign_network_are_ignored() {
    let lab = lab().start().await;
    let foreign = late(&lab).header(NETWORK, "999-70; src: SEPP-sepp.example");
    assert_eq!(send(&lab, foreign).await.status, 201, "{}", lab.transcript());
    let told: Vec<_> = lab.events().into_iter().filter(is("udm", Kind::TimingIgnored)).collect();
    assert!(told[0].detail.as_ref().unwrap().contains("999-70"), "{told:?}");
    let sent = lab.events().into_iter().find(is("udm", Kind::UpstreamSent)).unwrap();
    assert!(sent.budget_left_ms.unwrap() > 100.0, "the UDM calls with its own timer: {sent:?}");
    assert_504_t(&send(&lab, late(&lab).header(NETWORK, "001-001")).await, false);
    assert_504_t(&send(&lab, late(&lab)).await, false);
}

#[actix::test]
async fn what_is_ignored_cannot_be_malformed() {
    let lab = lab().policies(|p| p.deadline.strict = true).start().await;
    let malformed = |lab: &Lab| reg_a(lab).header(STAMP, "yesterday").header(MAX, "soon");
    assert_eq!(send(&lab, malformed(&lab).header(NETWORK, "999-70")).await.status, 201);
    assert_eq!(send(&lab, malformed(&lab)).await.status, 400);
}

#[actix::test]
async fn those_of_a_network_that_is_honoured_count() {
    let lab = saying(lab(), "999-70", Regard::Honour).start().await;
    assert_504_t(&send(&lab, late(&lab).header(NETWORK, "999-70")).await, false);
    assert_eq!(send(&lab, late(&lab).header(NETWORK, "999-71")).await.status, 201);
}

#[actix::test]
async fn those_of_an_nf_type_can_be_ignored() {
    let lab = saying(lab(), "pcf", Regard::Ignore).start().await;
    assert_eq!(send(&lab, late(&lab).header("user-agent", "PCF-one")).await.status, 201);
    assert_504_t(&send(&lab, late(&lab).header("user-agent", "SMF-one")).await, false);
}
