//! Our rule 13 to TS 29.500 §6.11.2.2 (Rel-17): a release is done when it succeeded, when nothing is there any more
//! (404, 410), and when the slot is another's now (422 to a DELETE that names its own `smf-instance-id`).

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{Headers, create_a, lab_with_udm, ms, send};
use http::Method;
use sbi::client::Call;

const SLOT: &str = "/smf-registrations/";

/// How many DELETEs a registration needs if each is answered so, and whether it ends as hanging.
async fn deletes(status: u16) -> (usize, usize) {
    let stub = Stub::start().await;
    stub.on("DELETE", SLOT, Reply::status(status));
    let lab = lab_with_udm(&stub).policy("smf", |p| (p.release.tries, p.release.backoff) = (3, ms(2)));
    let lab = lab.start().await;
    let context = send(&lab, create_a(&lab)).await.location().unwrap().to_owned();
    send(&lab, Call::new(Method::POST, format!("{context}/release"))).await;
    let verdict = lab.verdict().await;
    (stub.count("DELETE", SLOT), verdict.hanging)
}

#[actix::test]
async fn success_absence_and_another_owner_end_a_release() {
    for status in [200, 202, 204, 404, 410, 422] {
        assert_eq!(deletes(status).await, (1, 0), "{status}");
    }
}

#[actix::test]
async fn anything_else_is_tried_again_and_then_hangs() {
    for status in [301, 400, 401, 403, 408, 409, 429, 500, 502, 503, 504] {
        assert_eq!(deletes(status).await, (3, 1), "{status}");
    }
}

/// What stood there before is there again only if the producer says so: 404 and 422 are no success of a PUT.
#[actix::test]
async fn a_value_that_cannot_be_put_back_is_reported() {
    for (status, expected) in [(204, (1, 0)), (404, (3, 1)), (422, (3, 1)), (503, (3, 1))] {
        let (stub, gate) = (Stub::start().await, Gate::closed());
        stub.once("PUT", SLOT, Reply::status(201));
        stub.once("PUT", SLOT, Reply::status(204).behind(&gate));
        stub.on("PUT", SLOT, Reply::status(status));
        let lab = lab_with_udm(&stub).policy("smf", |p| (p.release.tries, p.release.backoff) = (3, ms(2)));
        let lab = lab.start().await;
        assert_eq!(send(&lab, create_a(&lab)).await.status, 201);
        assert_eq!(send(&lab, create_a(&lab).pair(0, "250")).await.status, 504);
        gate.open();
        let hanging = lab.verdict().await.left.iter().filter(|left| left.starts_with("smf-reg")).count();
        assert_eq!((stub.count("PUT", SLOT) - 2, hanging), expected, "{status}: {}", lab.transcript());
    }
}
