//! Where a request is held against the schemas of its API.

use super::arrival::Arrival;
use super::front::{Front, Outcome};
use crate::clock::Instant;

impl Front {
    /// Judges a request before its handler runs: an outcome if it is refused. Its body has to be there in time, and be
    /// no longer than what is recorded; otherwise only its handler judges it.
    pub(super) async fn judge(&self, arrival: &Arrival, until: Instant) -> Option<Outcome> {
        let schemas = self.party.env.schemas.as_ref()?;
        Box::pin(arrival.body.read_ahead(until)).await;
        let request = arrival.body.known_ahead(arrival.headers.clone());
        let judged = schemas.check.request(&arrival.method, &arrival.target, &request)?;
        if judged.violations.is_empty() {
            return None;
        }
        schemas.tell(&self.party, self.facts(arrival), &judged);
        judged.problem().filter(|_| schemas.refuse).map(|problem| Outcome::problem(&problem))
    }
}
