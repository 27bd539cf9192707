//! Exchanges that go on after nobody waits for them any more, bounded in number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::sync::oneshot;

/// How many creates of one client may be in flight; beyond it the oldest is reset and treated as lost.
pub const MAX_SETTLING: usize = 4_096;

/// The creates in flight, oldest first.
#[derive(Clone)]
pub struct Settling(Rc<RefCell<InFlight>>);

struct InFlight {
    most: usize,
    entered: u64,
    places: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Default for Settling {
    fn default() -> Self {
        Settling::of_at_most(MAX_SETTLING)
    }
}

/// A create's place among those in flight; dropping it makes room.
pub struct Place {
    number: u64,
    displaced: oneshot::Receiver<()>,
    among: Settling,
}

impl Settling {
    /// Room for so many.
    pub fn of_at_most(most: usize) -> Self {
        Settling(Rc::new(RefCell::new(InFlight { most, entered: 0, places: BTreeMap::new() })))
    }

    /// Enters a create; the oldest leaves if there are too many.
    pub fn enter(&self) -> Place {
        let (displace, displaced) = oneshot::channel();
        let mut in_flight = self.0.borrow_mut();
        if in_flight.places.len() >= in_flight.most {
            let _ = in_flight.places.pop_first().map(|(_, oldest)| oldest.send(()));
        }
        in_flight.entered += 1;
        let number = in_flight.entered;
        in_flight.places.insert(number, displace);
        Place { number, displaced, among: self.clone() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.borrow().places.len()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.among.0.borrow_mut().places.remove(&self.number);
    }
}

impl Place {
    /// Ends when the create has to make room for younger ones.
    pub async fn displaced(mut self) {
        if (&mut self.displaced).await.is_err() {
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
        assert_eq!(settling.count(), 0, "what has ended leaves nothing");
        let oldest = settling.enter();
        let rest: Vec<_> = (0..MAX_SETTLING).map(|_| settling.enter()).collect();
        oldest.displaced().await;
        assert_eq!(rest.len(), MAX_SETTLING);
    }
}
