//! One procedure per context at a time.

use crate::clock::Instant;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use tokio::sync::oneshot;

/// How many procedures may wait for one context. More are refused: somebody is sending without waiting.
pub const MAX_WAITERS_PER_CONTEXT: usize = 32;

/// What becomes of a procedure that arrives at a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing runs there: start.
    Start,
    /// Wait for those before it.
    Wait,
    /// Too many wait already.
    Refuse,
}

/// Decides from what a context is busy with: whether a procedure runs, and how many wait.
pub fn decide(running: bool, waiting: usize) -> Decision {
    match (running, waiting) {
        (false, _) => Decision::Start,
        (true, n) if n < MAX_WAITERS_PER_CONTEXT => Decision::Wait,
        (true, _) => Decision::Refuse,
    }
}

/// Why a procedure did not get its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTurn {
    /// Its own time ended while it waited.
    #[error("the context was busy until the request's time ended")]
    TimedOut,
    /// [`MAX_WAITERS_PER_CONTEXT`] wait already.
    #[error("{MAX_WAITERS_PER_CONTEXT} procedures wait for this context already")]
    Crowded,
}

type Queue<K> = VecDeque<oneshot::Sender<Turn<K>>>;

/// The turns of one shard's contexts, by `K`. A key is in the map only while a procedure runs.
pub struct Turns<K: Ord + Clone>(Rc<RefCell<BTreeMap<K, Queue<K>>>>);

impl<K: Ord + Clone> Default for Turns<K> {
    fn default() -> Self {
        Turns(Rc::default())
    }
}

impl<K: Ord + Clone> Clone for Turns<K> {
    fn clone(&self) -> Self {
        Turns(self.0.clone())
    }
}

impl<K: Ord + Clone> Turns<K> {
    /// Takes the turn at `key`, waiting for those before it, at most until `until`.
    pub async fn take(&self, key: K, until: Instant) -> Result<Turn<K>, NoTurn> {
        let Some(wait) = self.arrive(&key)? else { return Ok(Turn { turns: self.clone(), key }) };
        match tokio::time::timeout_at(until, wait).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(NoTurn::TimedOut),
        }
    }

    fn arrive(&self, key: &K) -> Result<Option<oneshot::Receiver<Turn<K>>>, NoTurn> {
        let mut queues = self.0.borrow_mut();
        let waiting = queues.get_mut(key).map(|queue| {
            queue.retain(|waiter| !waiter.is_closed());
            queue.len()
        });
        match decide(waiting.is_some(), waiting.unwrap_or(0)) {
            Decision::Refuse => Err(NoTurn::Crowded),
            Decision::Start => {
                queues.insert(key.clone(), Queue::new());
                Ok(None)
            }
            Decision::Wait => {
                let (tx, rx) = oneshot::channel();
                queues.entry(key.clone()).or_default().push_back(tx);
                Ok(Some(rx))
            }
        }
    }

    /// Hands the turn to the next, or forgets the key. A turn that nobody receives is dropped, so passed on in turn.
    fn pass_on(&self, key: &K) {
        let next = self.next(key);
        if let Some(next) = next {
            drop(next.send(Turn { turns: self.clone(), key: key.clone() }));
        }
    }

    fn next(&self, key: &K) -> Option<oneshot::Sender<Turn<K>>> {
        let mut queues = self.0.borrow_mut();
        let next = queues.get_mut(key).and_then(VecDeque::pop_front);
        if next.is_none() {
            queues.remove(key);
        }
        next
    }

    /// How many contexts are busy.
    pub fn busy(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A turn; dropping it passes it on.
pub struct Turn<K: Ord + Clone> {
    turns: Turns<K>,
    key: K,
}

impl<K: Ord + Clone> Drop for Turn<K> {
    fn drop(&mut self) {
        self.turns.pass_on(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_for_the_first_and_another_key_does_not() {
        let turns = Turns::default();
        let first = turns.take("a", soon()).await.expect("free");
        let _other = turns.take("b", soon()).await.expect("free");
        assert_eq!(turns.take("a", soon()).await.err(), Some(NoTurn::TimedOut));
        drop(first);
        assert!(turns.take("a", soon()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_never_handed_to_one_that_left() {
        let turns = Turns::default();
        let first = turns.take("a", soon()).await.expect("free");
        assert!(turns.take("a", soon()).await.is_err());
        drop(first);
        assert_eq!(turns.busy(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_refused() {
        let turns = Turns::default();
        let _first = turns.take(1, soon()).await.expect("free");
        let waiters: Vec<_> = (0..MAX_WAITERS_PER_CONTEXT).map(|_| turns.arrive(&1)).collect();
        assert!(waiters.iter().all(Result::is_ok));
        assert_eq!(turns.take(1, soon()).await.err(), Some(NoTurn::Crowded));
    }
}
