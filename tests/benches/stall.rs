//! Whether an answer ever waits for a delayed ACK: the slowest of 100 answers that are asked for at once on one
//! connection, with the sockets as they are, against the same without TCP_NODELAY on either side.

mod load;
mod stats;
mod udm;

use load::Load;
use sbi::net::{Accepted, BoxIo, Listen, Net, Tcp};
use sbi::policy::Mode;
use stats::{quartiles, verdict};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use udm::Udm;

const MUST_HOLD_MS: f64 = 20.0;
const AIM_MS: f64 = 8.0;
/// Linux delays an ACK by 40 ms; a batch that takes most of that has waited for one.
const STALL: Duration = Duration::from_millis(35);
const STREAMS: usize = 100;
const WARM_UP: usize = 20;
const ROUNDS: usize = 10;
const BATCHES_PER_ROUND: usize = 20;

/// A UDM on one kind of socket, and who asks it.
struct Side {
    udm: Udm,
    load: Load,
    batches: Vec<Duration>,
}

impl Side {
    async fn start(net: Arc<dyn Net>) -> Side {
        let udm = Udm::start(net, Mode::Reject).await;
        let load = Load::connect(&*udm.net, &udm.api_root, 1).await;
        for _ in 0..WARM_UP {
            load.batch(STREAMS).await;
        }
        Side { udm, load, batches: Vec::new() }
    }

    async fn round(&mut self) {
        for _ in 0..BATCHES_PER_ROUND {
            self.batches.push(self.load.batch(STREAMS).await);
        }
    }

    /// The median of the slowest answers, and the slowest of all.
    fn slowest_ms(&self) -> (f64, f64) {
        let ms = self.batches.iter().map(|batch| batch.as_secs_f64() * 1e3);
        (quartiles(ms.clone())[1], ms.fold(0.0, f64::max))
    }

    fn tell(&self, name: &str) {
        let ((median, most), batches) = (self.slowest_ms(), self.batches.len());
        let stalled = self.batches.iter().filter(|batch| **batch >= STALL).count();
        println!(
            "          {name}  slowest answer of a batch: median {median:.1} ms, at most {most:.1} ms; \
             {stalled} of {batches} batches stalled",
        );
    }
}

#[actix::main]
async fn main() {
    let (mut tcp, mut nagled) = (Side::start(Arc::new(Tcp)).await, Side::start(Arc::new(Nagled)).await);
    for _ in 0..ROUNDS {
        tcp.round().await;
        nagled.round().await;
    }
    let ((ours, most), (theirs, _)) = (tcp.slowest_ms(), nagled.slowest_ms());
    println!(
        "stall     slowest answer, nagled/ours {:.1}: {most:.1} ms (must hold {MUST_HOLD_MS:.0} ms, aim {AIM_MS:.0} ms, on a quiet machine: {})",
        theirs / ours,
        verdict(most, MUST_HOLD_MS, AIM_MS),
    );
    tcp.tell("ours  ");
    nagled.tell("nagled");
    println!(
        "          batches of {STREAMS} requests at once on 1 connection; a stall is {} ms or more",
        STALL.as_millis()
    );
    tcp.udm.stop().await;
    nagled.udm.stop().await;
}

/// The machine's TCP as it comes, with Nagle's algorithm: what the benchmark has to be able to see.
struct Nagled;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + 'a>>;

impl Net for Nagled {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Boxed<'a, BoxIo> {
        Box::pin(async move { Ok(Box::new(TcpStream::connect((host, port)).await?) as BoxIo) })
    }

    fn listen<'a>(&'a self, at: &'a str) -> Boxed<'a, Box<dyn Listen>> {
        Box::pin(async move { Ok(Box::new(NagledListener(TcpListener::bind(at).await?)) as Box<dyn Listen>) })
    }
}

struct NagledListener(TcpListener);

impl Listen for NagledListener {
    fn accept(&mut self) -> Boxed<'_, (Accepted, SocketAddr)> {
        Box::pin(async move {
            let (stream, peer) = self.0.accept().await?;
            let stream = stream.into_std()?;
            let open: Accepted = Box::new(move || Ok(Box::new(TcpStream::from_std(stream)?) as BoxIo));
            Ok((open, peer))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
