//! NFs that are told of an NRF alone: they register, find one another in any order, and release where they created.

use crate::support::{request, send};
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use nrf::HeartBeats;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::party::NfType;
use serde_json::Value;

fn lab() -> Builder {
    Lab::builder().with_nrf(HeartBeats { interval_s: 1 })
}

/// All NFs are registered.
async fn registered(lab: &Lab) {
    for nf in ["amf", "smf", "udm", "udr"] {
        lab.wait_for("a registration", |e| &*e.nf == nf && e.event == Kind::NrfRegistered).await;
    }
}

#[actix::test]
async fn nfs_find_one_another_and_release_where_they_created() {
    let lab = lab().reaching_ues().start().await;
    registered(&lab).await;
    let outcome = lab.establish(PduSession::default()).await;
    assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
    let targets: Vec<_> = lab.process().resources().await.into_iter().map(|r| r.uri).collect();
    assert!(targets.iter().all(|uri| uri.starts_with("http://127.0.0.1:")), "{targets:?}");
    lab.wait_for("the message to the UE", |e| e.event == Kind::MessageTransferred).await;
    lab.release(&PduSession::default()).await;
    lab.expect_nothing_hanging().await;
    lab.stop().await;
}

#[actix::test]
async fn release_on_timeout_works_between_nfs_that_found_one_another() {
    let lab = lab().start().await;
    registered(&lab).await;
    lab.fault(Rule::at("udr").matching("PUT", "/smf-registrations/").delay_ms(800).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
    let verdict = lab.expect_nothing_hanging().await;
    assert!(verdict.released > 0, "{verdict:?}");
    lab.stop().await;
}

#[actix::test]
async fn whoever_is_not_there_yet_is_found_once_it_is() {
    let nrf = lab().only(&[NfType::Nrf]).start().await;
    let consumers = Lab::builder().only(&[NfType::Amf, NfType::Smf]).nrf(&nrf.api_root("nrf")).start().await;
    let early = consumers.establish(PduSession::default()).await;
    assert_eq!(early.as_str(), "refused", "{}", consumers.transcript());
    let said = |e: &Event| {
        e.event == Kind::UpstreamFailed && e.detail.as_deref().is_some_and(|d| d.contains("knows no udm"))
    };
    consumers.wait_for("no UDM", said).await;
    let producers = Lab::builder().only(&[NfType::Udm, NfType::Udr]).nrf(&nrf.api_root("nrf")).start().await;
    for nf in ["udm", "udr"] {
        producers.wait_for("a registration", |e| &*e.nf == nf && e.event == Kind::NrfRegistered).await;
    }
    let outcome = consumers.establish(PduSession::default()).await;
    assert_eq!(outcome.as_str(), "established", "{}\n{}", consumers.transcript(), producers.transcript());
    consumers.release(&PduSession::default()).await;
    consumers.expect_nothing_hanging().await;
    producers.expect_nothing_hanging().await;
    consumers.stop().await;
    producers.stop().await;
}

async fn instances(lab: &Lab) -> u64 {
    let list = send(lab, request(lab, Method::GET, "nrf", "/nnrf-nfm/v1/nf-instances")).await;
    list.json::<Value>().unwrap()["totalItemCount"].as_u64().unwrap()
}

#[actix::test]
async fn nfs_register_anew_when_the_nrf_has_forgotten_them_and_deregister_when_they_stop() {
    let nrf = lab().only(&[NfType::Nrf]).start().await;
    let lab = Lab::builder().nrf(&nrf.api_root("nrf")).start().await;
    registered(&lab).await;
    assert_eq!(instances(&nrf).await, 5);
    nrf.process().forget().await;
    assert_eq!(instances(&nrf).await, 1);
    let heard = |what: &'static str, nf: &'static str| {
        let said = move |detail: &str| detail.starts_with(nf) && detail.contains(what);
        move |e: &Event| e.event == Kind::NfChanged && e.detail.as_deref().is_some_and(said)
    };
    for nf in ["AMF", "SMF", "UDM", "UDR"] {
        nrf.wait_for("a new registration", heard("NF_REGISTERED", nf)).await;
    }
    lab.stop().await;
    for nf in ["AMF", "SMF", "UDM", "UDR"] {
        nrf.wait_for("a deregistration", heard("NF_DEREGISTERED", nf)).await;
    }
    nrf.stop().await;
}

#[actix::test]
async fn an_nrf_that_is_silent_costs_no_more_than_the_client_has() {
    let lab = lab().start().await;
    registered(&lab).await;
    lab.fault(Rule::at("nrf").matching("GET", "nnrf-disc").delay_ms(5_000));
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(300)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
    lab.clear_faults();
    lab.expect_nothing_hanging().await;
    lab.stop().await;
}
