//! Where notifications are sent to: URIs that earlier requests gave.

use crate::operation::Callback;
use crate::route::path_and_query;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many URIs are remembered; the oldest are forgotten, and what is sent there is not checked.
pub const MAX_CALLBACKS: usize = 4_096;

/// How long a URI may be that is remembered, in bytes.
pub const MAX_CALLBACK_URI: usize = 2_048;

/// The URIs, by path and query: on receipt, that is all of a URI.
#[derive(Default)]
pub(crate) struct Callbacks(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    callbacks: BTreeMap<String, Callback>,
    order: VecDeque<String>,
}

impl Callbacks {
    pub(crate) fn learn(&self, uri: &str, callback: &Callback) {
        if uri.len() > MAX_CALLBACK_URI {
            return;
        }
        let (mut remembered, key) = (self.remembered(), key(uri));
        if remembered.callbacks.insert(key.clone(), callback.clone()).is_none() {
            remembered.order.push_back(key);
        }
        if remembered.order.len() > MAX_CALLBACKS
            && let Some(oldest) = remembered.order.pop_front()
        {
            remembered.callbacks.remove(&oldest);
        }
    }

    pub(crate) fn find(&self, uri: &str) -> Option<Callback> {
        self.remembered().callbacks.get(&key(uri)).cloned()
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(uri: &str) -> String {
    let (path, query) = path_and_query(uri);
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Place;

    #[test]
    fn the_oldest_are_forgotten() {
        let place = Place { file: "x".into(), pointer: String::new() };
        let callback = Callback { pointer: "/a".into(), at: place, name: "x".into() };
        let callbacks = Callbacks::default();
        (0..=MAX_CALLBACKS).for_each(|n| callbacks.learn(&format!("http://a/{n}"), &callback));
        assert!(callbacks.find("/0").is_none() && callbacks.find("http://b/1").is_some());
        assert_eq!(callbacks.remembered().callbacks.len(), MAX_CALLBACKS);
        let long = format!("http://a/{}", "x".repeat(MAX_CALLBACK_URI));
        callbacks.learn(&long, &callback);
        assert!(callbacks.find(&long).is_none());
    }
}
