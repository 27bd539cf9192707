//! Names for authorities, so that events can say `udm` instead of `127.0.0.1:43121`.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Which NF lives where, as far as this process knows.
#[derive(Clone, Default)]
pub struct Directory(Arc<RwLock<BTreeMap<String, Known>>>);

struct Known {
    name: String,
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

    fn enter(&self, api_root: &str, name: &str, ours: bool) {
        let authority = api_root.split_once("://").map_or(api_root, |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(authority.to_owned(), Known { name: name.to_owned(), ours });
    }

    /// The name of who lives at `authority`, else the authority itself.
    pub fn name(&self, authority: &str) -> String {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(authority).map_or_else(|| authority.to_owned(), |known| known.name.clone())
    }

    /// Whether an NF of this process lives at `authority`.
    pub fn is_ours(&self, authority: &str) -> bool {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(authority).is_some_and(|known| known.ours)
    }
}
