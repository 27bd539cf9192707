//! How long an NRF takes to find who is looked for among 1 000 registered instances, over HTTP/2, one search at a time.

mod aims;
mod load;
mod measured;
mod stats;

use aims::verdict;
use api::nnrf_nfm::nf_instance;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use load::{Asked, Load};
use measured::Measured;
use sbi::net::Tcp;
use sbi::party::NfType;
use sbi::policy::Policy;
use serde_json::{Value, json};
use stats::percentile;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MUST_HOLD_MS: f64 = 1.0;
const INSTANCES: u32 = 1_000;
const SEARCHES: usize = 2_000;
const WARM_UP: usize = 100;

/// One finds one by the pattern of its SUPIs, one by their range, one by slice and DNN, and one finds nobody.
const SEARCHED: [(&str, &str); 4] = [
    ("SUPI, by pattern", "&service-names=nudm-sdm&supi=imsi-001019999000517"),
    ("SUPI, by range", "&service-names=nudm-sdm&supi=imsi-001010000000517"),
    ("slice and DNN", "&snssais=%5B%7B%22sst%22%3A1%2C%22sd%22%3A%22000517%22%7D%5D&dnn=internet"),
    ("nobody", "&supi=imsi-999700000021309"),
];

#[actix::main]
async fn main() {
    let nrf = Measured::start(NfType::Nrf, Arc::new(Tcp), Policy::default()).await;
    for n in 0..INSTANCES {
        register(&nrf, n).await;
    }
    for (what, searched) in SEARCHED {
        let query = format!("/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF{searched}");
        let load = Load::connect(&Tcp, &nrf.api_root, 1, Asked::get(&query)).await;
        load.run(WARM_UP, 1).await;
        load.took();
        load.run(SEARCHES, 1).await;
        let ms: Vec<f64> = load.took().iter().map(|took| took.as_secs_f64() * 1e3).collect();
        let p99 = percentile(ms.iter().copied(), 99);
        println!(
            "discovery {what}, among {INSTANCES}: p99 {p99:.2} ms, median {:.2} ms (must hold {MUST_HOLD_MS}: {})",
            percentile(ms, 50),
            verdict(p99, MUST_HOLD_MS, MUST_HOLD_MS),
        );
    }
    nrf.stop().await;
}

async fn register(nrf: &Measured, n: u32) {
    let id = format!("{n:08x}-0000-4000-8000-000000000000");
    let path = nf_instance(id.parse().expect("an id"));
    let json = (HeaderName::from_static("content-type"), HeaderValue::from_static("application/json"));
    let body = Bytes::from(profile(n, &id).to_string());
    let asked = Asked { method: Method::PUT, headers: vec![json], body, ..Asked::get(&path) };
    Load::connect(&Tcp, &nrf.api_root, 1, asked).await.run(1, 1).await;
}

/// A UDM for a thousand subscribers, by range and by pattern, in a slice of its own.
fn profile(n: u32, id: &str) -> Value {
    let service = |name: &str| {
        json!({
            "serviceInstanceId": name, "serviceName": name, "scheme": "http", "nfServiceStatus": "REGISTERED",
            "versions": [{"apiVersionInUri": "v2", "apiFullVersion": "2.3.0"}],
            "ipEndPoints": [{"ipv4Address": "127.0.0.1", "port": 7712}],
        })
    };
    json!({
        "nfInstanceId": id, "nfType": "UDM", "nfStatus": "REGISTERED", "ipv4Addresses": ["127.0.0.1"], "heartBeatTimer": 3600,
        "sNssais": [{"sst": 1, "sd": format!("{n:06}")}],
        "nfServices": [service("nudm-sdm"), service("nudm-uecm")],
        "udmInfo": {"supiRanges": [
            {"start": format!("00101{n:010}"), "end": format!("00101{n:010}")},
            {"pattern": format!("^imsi-00101999900{n:04}$")},
        ]},
    })
}
