//! Names for authorities and signatures, so that events can say `udm` instead of `127.0.0.1:43121`, and which NFs are of
//! this process.

use crate::event::MAX_EVENT_TEXT;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

/// How many names are remembered of NFs that were found: their addresses come from outside.
const MAX_FOUND_NAMES: usize = 1_024;

/// How many names of strangers are kept, so that events share them: they come from outside too.
const MAX_STRANGERS: usize = 1_024;

/// Which NF lives where, as far as this process knows.
#[derive(Clone, Default)]
pub struct Directory(Arc<RwLock<Entries>>);

#[derive(Default)]
struct Entries {
    by_authority: BTreeMap<String, Known>,
    by_signature: BTreeMap<String, Arc<str>>,
    strangers: BTreeSet<Arc<str>>,
}

struct Known {
    name: Arc<str>,
    ours: bool,
}

impl Directory {
    /// Remembers that an NF of this process, `name`, lives at `api_root`.
    pub fn add(&self, api_root: &str, name: &str) {
        self.enter(api_root, name, true);
    }

    /// Remembers that another's NF, called `name`, lives at `api_root`.
    pub fn add_foreign(&self, api_root: &str, name: &str) {
        self.enter(api_root, name, false);
    }

    /// Remembers what kind of NF was found at `api_root`, unless its name is known, or too many are.
    pub(crate) fn add_found(&self, api_root: &str, name: &str) {
        let authority = api_root.split_once("://").map_or(api_root, |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        let is_known = |entries: &Entries| {
            entries.by_authority.contains_key(authority) || entries.by_authority.len() >= MAX_FOUND_NAMES
        };
        let is_known = is_known(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        if !is_known {
            self.enter(api_root, name, false);
        }
    }

    fn enter(&self, api_root: &str, name: &str, ours: bool) {
        let authority = api_root.split_once("://").map_or(api_root, |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.by_authority.insert(authority.to_owned(), Known { name: name.into(), ours });
    }

    /// The name of who lives at `authority`, else the authority itself.
    pub fn name(&self, authority: &str) -> Arc<str> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries.by_authority.get(authority) {
            return known.name.clone();
        }
        drop(entries);
        self.stranger(authority)
    }

    /// A name that is nobody's here. The same names share their text.
    pub(crate) fn stranger(&self, name: &str) -> Arc<str> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = entries.strangers.get(name) {
            return kept.clone();
        }
        let is_full = entries.strangers.len() >= MAX_STRANGERS;
        drop(entries);
        let name: Arc<str> = name.into();
        if !is_full && name.len() <= MAX_EVENT_TEXT {
            let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
            entries.strangers.insert(name.clone());
        }
        name
    }

    /// Whether an NF of this process lives at `authority`.
    pub fn is_ours(&self, authority: &str) -> bool {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries.by_authority.get(authority).is_some_and(|known| known.ours)
    }

    /// Remembers how the NF `name` of this process signs what it sends.
    pub fn add_signature(&self, signature: String, name: Arc<str>) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.by_signature.insert(signature, name);
    }

    /// The name of the NF of this process that signs so.
    pub fn signed(&self, signature: &str) -> Option<Arc<str>> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries.by_signature.get(signature).cloned()
    }
}
