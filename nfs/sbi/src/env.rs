//! What an NF gets from outside, as values: network, clock, entropy, and where its events go.

use crate::clock::Clock;
use crate::directory::Directory;
use crate::event::Events;
use crate::fault::Faults;
use crate::net::{Net, Tcp};
use crate::schema::Schemas;
use crate::skew::Skews;
use crate::traffic::Traffic;
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// The world around an NF. Nothing in an NF's code knows whether it is real or simulated.
#[derive(Clone)]
pub struct Env {
    /// Opens and accepts connections.
    pub net: Arc<dyn Net>,
    /// Monotonic and wall-clock time.
    pub clock: Clock,
    /// Random bits.
    pub entropy: Entropy,
    /// The process's event stream.
    pub events: Events,
    /// The newest requests of the process.
    pub traffic: Traffic,
    /// The process's fault rules.
    pub faults: Faults,
    /// Names of authorities, for events.
    pub directory: Directory,
    /// How far the clocks of an NF's peers are from its own.
    pub skews: Skews,
    /// What the messages of others are held against, if anything.
    pub schemas: Option<Schemas>,
}

impl Env {
    /// The real world.
    pub fn system() -> Self {
        Env {
            net: Arc::new(Tcp),
            clock: Clock::system(),
            entropy: Entropy::from_os(),
            events: Events::default(),
            traffic: Traffic::default(),
            faults: Faults::default(),
            directory: Directory::default(),
            skews: Skews::default(),
            schemas: None,
        }
    }

    /// The same world for another NF of the process, with a clock error of its own.
    pub fn for_nf(&self) -> Self {
        Env { clock: self.clock.independent(), skews: Skews::default(), ..self.clone() }
    }
}

/// A hash that is the same in every process: FNV-1a.
pub fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// Random bits: seeded in simulation, so that runs repeat. For identifiers and jitter, not for secrets.
#[derive(Clone)]
pub struct Entropy(Arc<Mutex<fastrand::Rng>>);

impl Entropy {
    /// Seeded by the operating system.
    pub fn from_os() -> Self {
        Entropy(Arc::new(Mutex::new(fastrand::Rng::new())))
    }

    /// Seeded by `seed`.
    pub fn from_seed(seed: u64) -> Self {
        Entropy(Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))))
    }

    /// 64 random bits.
    pub fn u64(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).u64(..)
    }

    /// A random UUID (version 4).
    pub fn uuid(&self) -> Uuid {
        let bits = (u128::from(self.u64()) << 64) | u128::from(self.u64());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }

    /// A value of `0..=most`.
    pub fn up_to(&self, most: u64) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).u64(0..=most)
    }
}
