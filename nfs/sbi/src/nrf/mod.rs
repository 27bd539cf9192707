//! An NF's side of the NRF: it registers there, and finds its producers there, TS 29.510 (Rel-17).

mod discovery;
mod profile;
mod registration;

pub(crate) use discovery::{Discovery, Located, chosen, delegated, is_at, is_stand_in};
pub use discovery::{MAX_FOUND, MAX_VALIDITY, NotFound, Producer, Query, at_instance, discovered, in_body};
pub use profile::profile_of;
pub(crate) use registration::Registration;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The NRF of an NF, and whether it is registered there. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NrfLink {
    root: Arc<str>,
    is_registered: Arc<AtomicBool>,
}

impl NrfLink {
    /// The NRF at an apiRoot.
    pub fn new(root: impl Into<Arc<str>>) -> Self {
        NrfLink { root: root.into(), is_registered: Arc::default() }
    }

    /// Its apiRoot.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whether the NF is registered, as far as it knows.
    pub fn is_registered(&self) -> bool {
        self.is_registered.load(Relaxed)
    }

    fn set_registered(&self, is_registered: bool) -> bool {
        self.is_registered.swap(is_registered, Relaxed)
    }
}
