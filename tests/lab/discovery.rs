//! NFs that are told of an NRF alone: they register, find one another in any order, and release where they created.

use crate::support::{SUPI, give_up_and_release, request, send};
use amf::RegisterUe;
use http::Method;
use mock5g::lab::{Builder, Lab, PduSession};
use nrf::HeartBeats;
use sbi::client::TimingMode;
use sbi::event::{Event, Kind};
use sbi::fault::{Effect, Rule};
use sbi::party::NfType;
use serde_json::Value;

fn lab() -> Builder {
    Lab::builder().with_nrf(HeartBeats { interval_s: 1 })
}

#[actix::test]
async fn nfs_find_one_another_and_release_where_they_created() {
    let lab = lab().reaching_ues().start().await;
    lab.until_registered().await;
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
    lab.until_registered().await;
    give_up_and_release(&lab).await;
    lab.stop().await;
}

#[actix::test]
async fn whoever_is_not_there_yet_is_found_once_it_is() {
    let nrf = lab().only(&[NfType::Nrf]).start().await;
    let consumers = Lab::builder().only(&[NfType::Amf, NfType::Smf]).nrf(&nrf.api_root("nrf")).start().await;
    consumers.until_registered().await;
    let early = consumers.establish(PduSession::default()).await;
    assert_eq!(early.as_str(), "refused", "{}", consumers.transcript());
    let said = |e: &Event| {
        e.event == Kind::UpstreamFailed
            && e.detail.as_deref().is_some_and(|d| d.contains("knows no such producer: udm"))
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

/// What another NF reads has no stand-ins in it.
#[actix::test]
async fn a_stand_in_is_said_to_nobody() {
    let lab = lab().reaching_ues().start().await;
    lab.until_registered().await;
    lab.register(RegisterUe { supi: SUPI.parse().unwrap(), max_rsp_time: None, timing: TimingMode::True })
        .await;
    lab.establish(PduSession::default()).await;
    let sent = lab.process().env.traffic.after(None, 0);
    let is_told = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("discovered:");
    for (_, exchange) in &sent {
        assert!(!is_told(&exchange.request.body) && !is_told(exchange.uri.as_bytes()), "{exchange:?}");
    }
    assert!(sent.len() > 10, "{}", sent.len());
    lab.stop().await;
}

/// A create that is lost does not end the older SM context of the session, which it would have replaced.
#[actix::test]
async fn a_lost_create_at_a_found_smf_leaves_the_older_session() {
    let lab = lab().start().await;
    lab.until_registered().await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established", "{}", lab.transcript());
    lab.fault(Rule::at("smf").matching("POST", "/sm-contexts$").effect(Effect::Reset(2)).once());
    let lost = lab.establish(PduSession::default().max_rsp_time_ms(2_000)).await;
    assert_ne!(lost.as_str(), "established", "{}", lab.transcript());
    lab.settle().await;
    let held = lab.held("smf").await;
    assert_eq!(held.len(), 1, "the older one is still there: {held:?}\n{}", lab.transcript());
    lab.release(&PduSession::default()).await;
    lab.expect_nothing_hanging().await;
    lab.stop().await;
}

async fn instances(lab: &Lab) -> u64 {
    let list = send(lab, request(lab, Method::GET, "nrf", "/nnrf-nfm/v1/nf-instances")).await;
    list.json::<Value>().unwrap()["totalItemCount"].as_u64().unwrap()
}

#[actix::test]
async fn nfs_register_anew_when_the_nrf_has_forgotten_them_and_deregister_when_they_stop() {
    let nrf = lab().only(&[NfType::Nrf]).start().await;
    let lab = Lab::builder().nrf(&nrf.api_root("nrf")).start().await;
    lab.until_registered().await;
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
    lab.until_registered().await;
    lab.fault(Rule::at("nrf").matching("GET", "nnrf-disc").delay_ms(5_000));
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(300)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
    lab.clear_faults();
    lab.expect_nothing_hanging().await;
    lab.stop().await;
}
