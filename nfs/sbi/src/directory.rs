//! Names for authorities, so that events can say `udm` instead of `127.0.0.1:43121`.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Which NF lives where, as far as this process knows.
#[derive(Clone, Default)]
pub struct Directory(Arc<RwLock<BTreeMap<String, String>>>);

impl Directory {
    /// Remembers that `name` lives at `api_root`.
    pub fn add(&self, api_root: &str, name: &str) {
        let authority = api_root.split_once("://").map_or(api_root, |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(authority.to_owned(), name.to_owned());
    }

    /// The name of who lives at `authority`, else the authority itself.
    pub fn name(&self, authority: &str) -> String {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(authority).cloned().unwrap_or_else(|| authority.to_owned())
    }
}
