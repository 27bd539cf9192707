//! The world under simulation: turmoil's network, one clock for all hosts, and a seed.

use futures_util::future::LocalBoxFuture;
use sbi::clock::{Clock, TimeSource};
use sbi::directory::Directory;
use sbi::env::{Entropy, Env};
use sbi::event::Events;
use sbi::fault::Faults;
use sbi::net::{Accepted, BoxIo, Listen, Net};
use sbi::skew::Skews;
use sbi::traffic::Traffic;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use turmoil::net::{TcpListener, TcpStream};

/// When every simulation begins: 2026-11-30T00:00:00Z, in microseconds since the Unix epoch.
const BEGIN_UNIX_US: i64 = 1_795_996_800_000_000;

/// How a simulated network behaves.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// The seed of everything random.
    pub seed: u64,
    /// The granularity of time.
    pub tick: Duration,
    /// The shortest time that a message takes.
    pub min_latency: Duration,
    /// The longest.
    pub max_latency: Duration,
    /// When the simulation is given up as stuck.
    pub most: Duration,
}

impl Weather {
    /// Quick and even: for tests that look at one moment.
    pub fn calm(seed: u64) -> Self {
        let tick = Duration::from_millis(1);
        Weather { seed, tick, min_latency: tick, max_latency: tick, most: Duration::from_secs(300) }
    }

    /// Messages take from 1 to 40 ms, differently each.
    pub fn rough(seed: u64) -> Self {
        let max_latency = Duration::from_millis(40);
        Weather { tick: Duration::from_millis(5), max_latency, ..Weather::calm(seed) }
    }

    pub(crate) fn build<'a>(self) -> turmoil::Sim<'a> {
        turmoil::Builder::new()
            .rng_seed(self.seed)
            .tick_duration(self.tick)
            .min_message_latency(self.min_latency)
            .max_message_latency(self.max_latency)
            .simulation_duration(self.most)
            .tcp_capacity(4_096)
            .build()
    }

    pub(crate) fn env(self) -> Env {
        Env {
            net: Arc::new(SimulatedTcp),
            clock: Clock::new(Arc::new(SimulatedTime)),
            entropy: Entropy::from_seed(self.seed),
            events: Events::default(),
            traffic: Traffic::default(),
            faults: Faults::default(),
            directory: Directory::default(),
            skews: Skews::default(),
            schemas: None,
        }
    }
}

struct SimulatedTime;

impl TimeSource for SimulatedTime {
    fn unix_us(&self) -> i64 {
        BEGIN_UNIX_US + i64::try_from(self.elapsed().as_micros()).unwrap_or(i64::MAX / 2)
    }

    fn elapsed(&self) -> Duration {
        turmoil::sim_elapsed().unwrap_or_default()
    }
}

struct SimulatedTcp;

impl Net for SimulatedTcp {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> LocalBoxFuture<'a, io::Result<BoxIo>> {
        Box::pin(async move {
            let known = turmoil::lookup(host);
            Ok(Box::new(TcpStream::connect((known, port)).await?) as BoxIo)
        })
    }

    fn listen<'a>(&'a self, at: &'a str) -> LocalBoxFuture<'a, io::Result<Box<dyn Listen>>> {
        Box::pin(async move { Ok(Box::new(Simulated(TcpListener::bind(at).await?)) as Box<dyn Listen>) })
    }
}

struct Simulated(TcpListener);

impl Listen for Simulated {
    fn accept(&mut self) -> LocalBoxFuture<'_, io::Result<(Accepted, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = self.0.accept().await?;
            let open: Accepted = Box::new(move || Ok(Box::new(stream) as BoxIo));
            Ok((open, peer))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
