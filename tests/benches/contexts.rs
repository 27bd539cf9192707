//! What many SM contexts cost: memory for each at an SMF, and the rate of PDU sessions created and released while 1 000
//! others are there, against 100 000 others.

mod aims;
mod canned;
mod stats;

use aims::verdict;
use api::nsmf_pdusession::{SM_CONTEXTS, Session, SmContextCreateData};
use canned::Canned;
use futures_util::stream::{self, StreamExt};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use mock5g::subscribers::{dnn, supi};
use sbi::client::Call;
use sbi::party::NfType;
use stats::median;
use std::time::{Duration, Instant};

const FEW: u64 = 1_000;
const MANY: u64 = 100_000;
/// So many contexts fill what is bounded (events, requests, connections) before memory is looked at.
const WARM_UP: u64 = 20_000;
const AT_ONCE: usize = 32;
const ROUNDS: usize = 10;
const SESSIONS_PER_ROUND: u64 = 500;
const MUST_HOLD_BYTES: f64 = 2_000.0;
const AIM_BYTES: f64 = 1_450.0;
const MUST_HOLD_SLOWDOWN: f64 = 1.25;
const AIM_SLOWDOWN: f64 = 1.10;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[actix::main]
async fn main() {
    memory().await;
    rates().await;
}

/// An SMF alone: its UDM answers and keeps nothing, and nobody keeps what the SMF answers.
async fn memory() {
    let canned = Canned::start();
    let lab = Lab::builder().peer(NfType::Udm, &canned.root).workers(1).unjudged().start().await;
    create(&lab, 0..WARM_UP).await;
    let before = resident_bytes();
    create(&lab, WARM_UP..WARM_UP + MANY).await;
    let bytes = (resident_bytes() - before) / MANY as f64;
    println!(
        "contexts  bytes per SM context {bytes:.0} (must hold {MUST_HOLD_BYTES}, aim {AIM_BYTES}: {})",
        verdict(bytes, MUST_HOLD_BYTES, AIM_BYTES)
    );
    println!("          resident memory of the process over {MANY} contexts, after {WARM_UP} others");
    lab.stop().await;
}

async fn create(lab: &Lab, subscribers: std::ops::Range<u64>) {
    let call = |n: u64| {
        let session = Session {
            supi: supi(n),
            pdu_session_id: api::common::PduSessionId(5),
            dnn: dnn("internet"),
            s_nssai: api::common::Snssai::sst(1),
        };
        let amf = "11111111-1111-4111-8111-111111111111".parse().expect("an id");
        let plmn = api::common::PlmnId::new("001", "01").expect("a network");
        let status_uri = format!("http://127.0.0.1:7705/namf-callback/v1/sm-context-status/{}/5", supi(n));
        let data = SmContextCreateData::new(session, amf, plmn, status_uri);
        Call::new(Method::POST, format!("{}{SM_CONTEXTS}", lab.api_root("smf"))).with_json(&data)
    };
    let created = stream::iter(subscribers).for_each_concurrent(AT_ONCE, |n| async move {
        let answer = lab.client().send(call(n)).await.expect("an answer");
        assert_eq!(answer.status, 201, "{answer:?}");
    });
    created.await;
}

fn resident_bytes() -> f64 {
    const PAGE: f64 = 4_096.0;
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: f64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
    pages * PAGE
}

/// Two whole labs, in turn.
async fn rates() {
    let (few, many) = (filled(FEW).await, filled(MANY).await);
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (lab, rates) in [&few, &many].into_iter().zip(&mut rates) {
            rates.push(SESSIONS_PER_ROUND as f64 / round(lab).await.as_secs_f64());
        }
    }
    let [few_rate, many_rate] = rates.map(median);
    let slowdown = few_rate / many_rate;
    println!(
        "contexts  sessions created and released per second, at {FEW}/at {MANY} {slowdown:.2} (must hold {MUST_HOLD_SLOWDOWN}, \
         aim {AIM_SLOWDOWN}: {})",
        verdict(slowdown, MUST_HOLD_SLOWDOWN, AIM_SLOWDOWN)
    );
    println!(
        "          {few_rate:.0} at {FEW} contexts, {many_rate:.0} at {MANY}; medians of {ROUNDS} rounds in turn of"
    );
    println!(
        "          {SESSIONS_PER_ROUND} sessions, {AT_ONCE} at a time: AMF, SMF, UDM and UDR in one process"
    );
    few.stop().await;
    many.stop().await;
}

async fn filled(contexts: u64) -> Lab {
    let subscribers = (0..contexts).map(supi);
    let lab = Lab::builder().subscribers(subscribers).unjudged().start().await;
    let established = stream::iter(0..contexts).for_each_concurrent(AT_ONCE, |n| {
        let lab = &lab;
        async move { expect_established(lab, PduSession::of(n)).await }
    });
    established.await;
    lab
}

async fn expect_established(lab: &Lab, session: PduSession) {
    let outcome = lab.establish(session).await;
    assert_eq!(outcome.as_str(), "established", "{outcome:?}");
}

/// Session 6 of so many subscribers, created and released.
async fn round(lab: &Lab) -> Duration {
    let begin = Instant::now();
    let done = stream::iter(0..SESSIONS_PER_ROUND).for_each_concurrent(AT_ONCE, |n| async move {
        let session = PduSession::of(n).id(6);
        expect_established(lab, session.clone()).await;
        assert_eq!(lab.release(&session).await, amf::Released::Asked);
    });
    done.await;
    begin.elapsed()
}
