//! Slots: what several attempts write, one after the other.

use crate::turns::Turn;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A place that holds one thing at a time, whoever writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SlotKey {
    /// A fixed URI: writing it again replaces what it held, so a release of an older attempt would hit a newer one.
    Uri(Arc<str>),
    /// A subject (SUPI and PDU session id) of which the producer keeps one context, each under a URI of its own.
    Subject(Arc<str>),
    /// A resource that several contexts use together: made by the first that needs it, joined by the others
    /// ([`Attempt::share`](super::Attempt::share)), released when the last has left.
    Shared(Arc<str>),
}

/// A slot that is taken: nobody else creates or releases there until it is dropped, so nothing overtakes.
pub type Slot = Turn<SlotKey>;
