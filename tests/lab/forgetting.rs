//! What the operator's reset forgets is not left in any ledger.

use crate::support::held;
use mock5g::lab::{Lab, PduSession};
use sbi::release::State;

#[actix::test]
async fn what_was_committed_meanwhile_is_owned_by_nobody_and_released() {
    let lab = Lab::builder().start().await;
    lab.establish(PduSession::default()).await;
    lab.process().forget().await;
    lab.settle().await;
    let left: Vec<_> =
        lab.process().resources().await.into_iter().filter(|r| r.state == State::Owned).collect();
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(lab.establish(PduSession::default().id(6)).await.as_str(), "established");
    assert_eq!(held(&lab, "udm").await.len(), 2, "the session has a subscription of its own");
    lab.release(&PduSession::default().id(6)).await;
    lab.expect_nothing_hanging().await;
}
