//! The contexts of one shard: for each key the newest, and below it what it replaces once its answer is delivered.

use crate::release::OwnerKey;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Contexts by key. Creating a context for a key that has one does not end the older one at once: it ends when the
/// newer one's success was handed to its client, and lives on if it was not.
pub struct Contexts<K: Ord, C>(BTreeMap<K, Vec<(OwnerKey, C)>>);

impl<K: Ord, C> Default for Contexts<K, C> {
    fn default() -> Self {
        Contexts(BTreeMap::new())
    }
}

impl<K: Ord + Clone, C> Contexts<K, C> {
    /// The newest context of `key`.
    pub fn newest(&self, key: &K) -> Option<&(OwnerKey, C)> {
        self.0.get(key).and_then(|stack| stack.last())
    }

    /// All contexts of `key`, oldest first.
    pub fn of(&self, key: &K) -> impl DoubleEndedIterator<Item = &(OwnerKey, C)> {
        self.0.get(key).into_iter().flatten()
    }

    /// The context `owner` of `key`.
    pub fn get_mut(&mut self, key: &K, owner: &str) -> Option<&mut C> {
        self.0.get_mut(key)?.iter_mut().find(|(other, _)| &**other == owner).map(|(_, context)| context)
    }

    /// Adds a context.
    pub fn push(&mut self, key: K, owner: OwnerKey, context: C) {
        match self.0.entry(key) {
            Entry::Vacant(none) => drop(none.insert(vec![(owner, context)])),
            Entry::Occupied(mut stack) => stack.get_mut().push((owner, context)),
        }
    }

    /// Removes the context `owner`.
    pub fn remove(&mut self, key: &K, owner: &str) -> Option<C> {
        let stack = self.0.get_mut(key)?;
        let at = stack.iter().position(|(other, _)| &**other == owner)?;
        let (_, context) = stack.remove(at);
        if stack.is_empty() {
            self.0.remove(key);
        }
        Some(context)
    }

    /// Removes those of `key` that are `wanted`, oldest first: their owners.
    pub fn remove_those(&mut self, key: &K, wanted: impl Fn(&C) -> bool) -> Vec<OwnerKey> {
        let owners: Vec<_> =
            self.of(key).filter(|(_, c)| wanted(c)).map(|(owner, _)| owner.clone()).collect();
        owners.iter().for_each(|owner| drop(self.remove(key, owner)));
        owners
    }

    /// Removes what the context `owner` replaces, oldest first.
    pub fn replaced_by(&mut self, key: &K, owner: &str) -> Vec<(OwnerKey, C)> {
        let Some(stack) = self.0.get_mut(key) else { return Vec::new() };
        let at = stack.iter().position(|(other, _)| &**other == owner).unwrap_or(0);
        stack.drain(..at).collect()
    }

    /// Removes all contexts of `key`, oldest first.
    pub fn take(&mut self, key: &K) -> Vec<(OwnerKey, C)> {
        self.0.remove(key).unwrap_or_default()
    }

    /// The newest context of each key that has an older one too.
    pub fn newest_of_several(&self) -> Vec<OwnerKey> {
        let several = self.0.values().filter(|stack| stack.len() > 1);
        several.filter_map(|stack| stack.last().map(|(owner, _)| owner.clone())).collect()
    }

    /// The owners of all contexts.
    pub fn owners(&self) -> impl Iterator<Item = &OwnerKey> {
        self.0.values().flatten().map(|(owner, _)| owner)
    }

    /// How many keys have a context.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The newest context of each key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &OwnerKey, &C)> {
        self.0.iter().filter_map(|(key, stack)| stack.last().map(|(owner, context)| (key, owner, context)))
    }

    /// The same, from `first` on in the order of the keys.
    pub fn iter_from(&self, first: &K) -> impl Iterator<Item = (&K, &OwnerKey, &C)> {
        let from = self.0.range(first.clone()..);
        from.filter_map(|(key, stack)| stack.last().map(|(owner, context)| (key, owner, context)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_context_lives_on_until_the_newer_one_is_delivered() {
        let mut contexts = Contexts::default();
        contexts.push(5, "old".into(), 'o');
        contexts.push(5, "new".into(), 'n');
        assert_eq!(contexts.remove(&5, "new"), Some('n'));
        assert_eq!(contexts.newest(&5).map(|(_, c)| *c), Some('o'));
        contexts.push(5, "newer".into(), 'r');
        assert_eq!(contexts.replaced_by(&5, "newer"), [("old".into(), 'o')]);
        assert_eq!(contexts.iter().count(), 1);
        assert_eq!(contexts.take(&5).len(), 1);
        assert_eq!(contexts.iter().count(), 0);
    }
}
