//! What an SCP costs: ours (model C, stamping each request anew) against the proxies that are installed, all before the same
//! nghttpd. CPU time per request and latency, GET and POST, bodies of 600 bytes and of 2 kB; rounds of all in turn.

mod aims;
mod foreign;
mod load;
mod measured;
mod stats;

use aims::verdict;
use bytes::Bytes;
use foreign::Foreign;
use http::{HeaderName, HeaderValue, Method};
use load::{Asked, Load};
use measured::Measured;
use sbi::header::TARGET_API_ROOT;
use sbi::net::Tcp;
use sbi::party::NfType;
use sbi::policy::{Forward, Policy};
use stats::{median, percentile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What binary and lab have.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// CPU time against nghttpx and against Envoy: what must hold, and the aim.
const GOALS: [(&str, f64, f64); 2] = [("nghttpx", 1.6, 1.25), ("Envoy", 0.5, 0.33)];
const CONNECTIONS: usize = 4;
const STREAMS: usize = 50;
const ROUNDS: usize = 30;
const REQUESTS: usize = 2_000;
/// Latency is measured with one request at a time on each connection: with more, it is that of a queue.
const CALM_REQUESTS: usize = 400;
/// So many requests fill the ring of kept events; before that, an event costs less.
const WARM_UP: usize = 20_000;

const SHAPES: [(&str, &str, usize); 4] = [
    ("GET 600 B", "/600", 0),
    ("GET 2 kB", "/2000", 0),
    ("POST 600 B", "/600", 600),
    ("POST 2 kB", "/600", 2_000),
];

/// Who passes requests on.
enum Proxy {
    Ours(Box<Measured>),
    Foreign(Foreign),
    /// Nobody: the producer itself.
    None(String),
}

impl Proxy {
    fn name(&self) -> &'static str {
        match self {
            Proxy::Ours(_) => "ours",
            Proxy::Foreign(foreign) => foreign.name,
            Proxy::None(_) => "none",
        }
    }

    fn root(&self) -> String {
        match self {
            Proxy::Ours(scp) => scp.api_root.clone(),
            Proxy::Foreign(foreign) => foreign.root(),
            Proxy::None(producer) => producer.clone(),
        }
    }

    async fn cpu_time(&self) -> Duration {
        match self {
            Proxy::Ours(scp) => scp.cpu_time().await,
            Proxy::Foreign(foreign) => foreign.cpu_time(),
            Proxy::None(_) => Duration::ZERO,
        }
    }
}

/// What came of one shape of requests through one proxy.
struct Figures {
    name: &'static str,
    cpu_us: Vec<f64>,
    per_second: Vec<f64>,
    calm_us: Vec<f64>,
}

impl Figures {
    fn p99_us(&self) -> f64 {
        percentile(self.calm_us.iter().copied(), 99)
    }
}

#[actix::main]
async fn main() {
    let scratch = scratch();
    let Some(producer) = Foreign::nghttpd(&scratch) else {
        return println!("scp       left out: there is no nghttpd (Debian: nghttp2-server)");
    };
    let proxies = proxies(&producer, &scratch).await;
    for (shape, path, body) in SHAPES {
        let asked = asked(&producer, path, body);
        let figures = measure(&proxies, &asked).await;
        tell(shape, &figures);
    }
    for proxy in proxies {
        if let Proxy::Ours(scp) = proxy {
            scp.stop().await;
        }
    }
    let _ = std::fs::remove_dir_all(scratch);
}

/// A directory with the files that the producer serves.
fn scratch() -> PathBuf {
    let directory = std::env::temp_dir().join(format!("mock5g-scp-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory to write to");
    for bytes in [600, 2_000] {
        std::fs::write(directory.join(bytes.to_string()), vec![b'x'; bytes]).expect("a file");
    }
    directory
}

async fn proxies(producer: &Foreign, scratch: &Path) -> Vec<Proxy> {
    let mut policy = Policy::default();
    policy.deadline.forward = Forward::Restamp;
    let ours = Measured::start(NfType::Scp, Arc::new(Tcp), policy).await;
    let foreign = [
        ("nghttpx", Foreign::nghttpx(producer.port)),
        ("HAProxy", Foreign::haproxy(producer.port, scratch)),
        ("Envoy", Foreign::envoy(producer.port, scratch)),
    ];
    let mut proxies = vec![Proxy::None(producer.root()), Proxy::Ours(Box::new(ours))];
    for (name, foreign) in foreign {
        match foreign {
            Some(foreign) => proxies.push(Proxy::Foreign(foreign)),
            None => println!("scp       {name} is not installed, and left out"),
        }
    }
    proxies
}

fn asked(producer: &Foreign, path: &'static str, body: usize) -> Asked {
    let root = HeaderValue::from_str(&producer.root()).expect("an apiRoot");
    let json = (HeaderName::from_static("content-type"), HeaderValue::from_static("application/json"));
    Asked {
        method: if body > 0 { Method::POST } else { Method::GET },
        headers: [(TARGET_API_ROOT, root)].into_iter().chain((body > 0).then_some(json)).collect(),
        body: Bytes::from(vec![b'x'; body]),
        ..Asked::get(path)
    }
}

async fn measure(proxies: &[Proxy], asked: &Asked) -> Vec<Figures> {
    let mut sides = Vec::new();
    for proxy in proxies {
        let load = Load::connect(&Tcp, &proxy.root(), CONNECTIONS, asked.clone()).await;
        load.run(if matches!(proxy, Proxy::Ours(_)) { WARM_UP } else { REQUESTS }, STREAMS).await;
        let (name, none) = (proxy.name(), Vec::new);
        sides.push((proxy, load, Figures { name, cpu_us: none(), per_second: none(), calm_us: none() }));
    }
    for round in 0..ROUNDS {
        // Each goes first in turn.
        let at = round % sides.len();
        sides.rotate_left(at);
        for (proxy, load, figures) in &mut sides {
            let before = proxy.cpu_time().await;
            let took = load.run(REQUESTS, STREAMS).await;
            let cpu = proxy.cpu_time().await - before;
            figures.cpu_us.push(cpu.as_secs_f64() * 1e6 / REQUESTS as f64);
            figures.per_second.push(REQUESTS as f64 / took.as_secs_f64());
            load.took();
            load.run(CALM_REQUESTS, 1).await;
            figures.calm_us.extend(load.took().iter().map(|took| took.as_secs_f64() * 1e6));
        }
        sides.rotate_right(at);
    }
    sides.into_iter().map(|(_, _, figures)| figures).collect()
}

fn tell(shape: &str, all: &[Figures]) {
    let named = |name: &str| all.iter().find(|figures| figures.name == name);
    let (Some(none), Some(ours)) = (named("none"), named("ours")) else { return };
    for (name, must_hold, aim) in GOALS {
        let Some(other) = named(name) else { continue };
        let ratio = median(ours.cpu_us.iter().zip(&other.cpu_us).map(|(ours, other)| ours / other));
        println!(
            "scp       {shape}: CPU per request, ours/{name} {ratio:.2} (must hold {must_hold}, aim {aim}: {})",
            verdict(ratio, must_hold, aim),
        );
    }
    for figures in all.iter().filter(|figures| figures.name != "none") {
        println!(
            "          {:8} {:5.1} us, {:6.0} requests/s; p99 {:+.0} us at one request at a time",
            figures.name,
            median(figures.cpu_us.iter().copied()),
            median(figures.per_second.iter().copied()),
            figures.p99_us() - none.p99_us(),
        );
    }
}
