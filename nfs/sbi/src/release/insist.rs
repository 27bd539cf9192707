//! What has to be told to another NF, so that nothing of ours stays owned there: told again until it is heard.

use super::ledger::Ledger;
use crate::client::{Budget, Call, Lane};
use crate::party::Served;

impl Ledger {
    /// Sends a notification until it is answered by whoever it is for, as often and with such pauses as a release is tried.
    /// Whether it was: a success, or an error that says that nobody needs it.
    pub async fn insist(&self, served: &Served, call: Call) -> bool {
        let client = self.client();
        let release = client.party().policy.release;
        let mut pause = release.backoff;
        for left in (0..release.tries).rev() {
            let budget = Budget::own(release.timer, client.env().clock.now());
            let exchange = client.exchange(served, call.clone(), Lane::Calls, &budget);
            let answer = tokio::time::timeout_at(budget.until(), exchange).await;
            if answer.is_ok_and(|answer| answer.is_ok_and(|answer| is_heard(answer.status.as_u16()))) {
                return true;
            }
            if left == 0 {
                break;
            }
            tokio::time::sleep(self.jittered(pause)).await;
            pause = pause.saturating_mul(2);
        }
        false
    }
}

fn is_heard(status: u16) -> bool {
    matches!(status, 200..300 | 400..500) && !matches!(status, 408 | 425 | 429)
}
