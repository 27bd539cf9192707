//! Whether an answer ever waits for a delayed ACK: the slowest of 100 answers that are asked for at once on one
//! connection, with the sockets as they are, against the same without TCP_NODELAY on either side.

mod aims;
mod load;
mod measured;
mod stats;

use aims::verdict;
use load::{Asked, Load};
use measured::{Measured, at_deadlines};
use sbi::net::{Accepted, BoxIo, Listen, Net, Tcp};
use sbi::party::NfType;
use sbi::policy::Mode;
use stats::median;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

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
    udm: Measured,
    load: Load,
    /// The slowest answer of each batch.
    slowest: Vec<Duration>,
}

impl Side {
    async fn start(net: Arc<dyn Net>) -> Side {
        let udm = Measured::start(NfType::Udm, net, at_deadlines(Mode::Reject)).await;
        let load = Load::connect(&*udm.net, &udm.api_root, 1, Asked::sm_data()).await;
        let mut side = Side { udm, load, slowest: Vec::new() };
        side.batches(WARM_UP).await;
        side.slowest.clear();
        side
    }

    async fn batches(&mut self, count: usize) {
        for _ in 0..count {
            self.slowest.push(self.load.run(STREAMS, STREAMS).await);
        }
    }

    /// The median of the slowest answers, and the slowest of all.
    fn slowest_ms(&self) -> (f64, f64) {
        let ms = self.slowest.iter().map(|slowest| slowest.as_secs_f64() * 1e3);
        (median(ms.clone()), ms.fold(0.0, f64::max))
    }

    fn stalls(&self) -> usize {
        self.slowest.iter().filter(|slowest| **slowest >= STALL).count()
    }

    fn tell(&self, name: &str) {
        let (median, most) = self.slowest_ms();
        println!(
            "          {name}  slowest answer of a batch: median {median:.1} ms, at most {most:.1} ms; \
             {} of {} batches stalled",
            self.stalls(),
            self.slowest.len(),
        );
    }
}

#[actix::main]
async fn main() {
    let (mut tcp, mut nagled) = (Side::start(Arc::new(Tcp)).await, Side::start(Arc::new(Nagled)).await);
    for _ in 0..ROUNDS {
        tcp.batches(BATCHES_PER_ROUND).await;
        nagled.batches(BATCHES_PER_ROUND).await;
    }
    let ((ours, most), (theirs, _)) = (tcp.slowest_ms(), nagled.slowest_ms());
    println!(
        "stall     slowest answer, ours/nagled {:.2}: at most {most:.1} ms (must hold {MUST_HOLD_MS}, aim {AIM_MS}: {}), stalled {} times",
        ours / theirs,
        verdict(most, MUST_HOLD_MS, AIM_MS),
        tcp.stalls(),
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
