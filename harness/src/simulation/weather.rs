//! How a simulated world behaves, and what its NFs get of it: network, clock, entropy.

use super::network::Network;
use sbi::clock::{Clock, Instant, TimeSource};
use sbi::directory::Directory;
use sbi::env::{Entropy, Env, stable_hash};
use sbi::event::Events;
use sbi::fault::Faults;
use sbi::skew::Skews;
use sbi::traffic::Traffic;
use std::sync::Arc;
use std::time::Duration;

/// When every simulation begins: 2026-11-30T00:00:00Z, in microseconds since the Unix epoch.
const BEGIN_UNIX_US: i64 = 1_795_996_800_000_000;

/// How a simulated network behaves.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// The seed of everything random.
    pub seed: u64,
    /// The grain of the network's time: what is sent arrives at a multiple of it, much of it at once with other things.
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
}

/// One simulated world.
pub(crate) struct World {
    pub(crate) network: Network,
    env: Env,
    seed: u64,
}

impl World {
    /// Needs the runtime whose clock it is to live by.
    pub(crate) fn new(weather: Weather, traffic: Traffic) -> Self {
        let begin = Instant::now();
        let network = Network::new(weather, begin);
        let env = Env {
            net: Arc::new(network.host("scenario")),
            clock: Clock::new(Arc::new(SimulatedTime { begin })),
            entropy: Entropy::from_seed(weather.seed),
            events: Events::default(),
            traffic,
            faults: Faults::default(),
            directory: Directory::default(),
            skews: Skews::default(),
            schemas: None,
        };
        World { network, env, seed: weather.seed }
    }

    /// The world as who plays the scenario sees it.
    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    /// The world as the NF `name` sees it, with random numbers of its own.
    pub(crate) fn env_of(&self, name: &str) -> Env {
        Env {
            net: Arc::new(self.network.host(name)),
            entropy: Entropy::from_seed(self.seed ^ stable_hash(name)),
            ..self.env.clone()
        }
    }
}

struct SimulatedTime {
    begin: Instant,
}

impl TimeSource for SimulatedTime {
    fn unix_us(&self) -> i64 {
        BEGIN_UNIX_US + i64::try_from(self.elapsed().as_micros()).unwrap_or(i64::MAX / 2)
    }

    fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(self.begin)
    }
}
