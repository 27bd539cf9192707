//! Exchanges that go on after nobody waits for them any more, bounded in number.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::oneshot;

/// How many creates of one client may be in flight; beyond it the oldest is reset and treated as lost.
pub const MAX_SETTLING: usize = 4_096;

/// The creates in flight, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Settling(Rc<RefCell<VecDeque<oneshot::Sender<()>>>>);

/// A create's place among those in flight.
pub(crate) struct Place(oneshot::Receiver<()>);

impl Settling {
    /// Enters a create; the oldest leaves if there are too many.
    pub(crate) fn enter(&self) -> Place {
        let (displace, displaced) = oneshot::channel();
        let mut queue = self.0.borrow_mut();
        if queue.len() >= MAX_SETTLING {
            queue.retain(|place| !place.is_closed());
        }
        if queue.len() >= MAX_SETTLING {
            let _ = queue.pop_front().map(|oldest| oldest.send(()));
        }
        queue.push_back(displace);
        Place(displaced)
    }

    /// How many are in flight.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().iter().filter(|place| !place.is_closed()).count()
    }
}

impl Place {
    /// Ends when the create has to make room for younger ones.
    pub(crate) async fn displaced(self) {
        if self.0.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_makes_room_and_what_has_ended_takes_none() {
        let settling = Settling::default();
        for _ in 0..MAX_SETTLING {
            drop(settling.enter());
        }
        let oldest = settling.enter();
        let rest: Vec<_> = (0..MAX_SETTLING).map(|_| settling.enter()).collect();
        oldest.displaced().await;
        assert_eq!(rest.len(), MAX_SETTLING);
    }
}
