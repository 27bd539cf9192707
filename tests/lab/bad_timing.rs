//! TS 29.500 §6.11.2 (Rel-17) does not say what becomes of malformed timing headers; our choice: every operation answers
//! as if they were not there, and says so.

use crate::support::raw::Connection;
use crate::support::{
    Headers, MAX, STAMP, assert_no_panic, every_read_and_write, lab, lab_with_udm, stub::Stub,
};
use sbi::client::Call;
use sbi::event::Kind;

/// Malformed pairs: stamp and limit.
fn malformed() -> Vec<(String, String)> {
    let stamp = "Mon, 30 Nov 2026 10:00:00.123 GMT";
    let long = "7".repeat(5_000);
    [
        (stamp, "10s"),
        (stamp, "-1"),
        (stamp, "18446744073709551616"),
        (stamp, ""),
        ("", "1000"),
        ("yesterday", "1000"),
        ("Mon, 30 Feb 2026 10:00:00.123 GMT", "0"),
        (&*long, "0"),
        (stamp, &*long),
    ]
    .map(|(stamp, max)| (stamp.to_owned(), max.to_owned()))
    .into()
}

fn with_pair(call: &Call, stamp: &str, max: &str) -> Call {
    call.clone().header(STAMP, stamp).header(MAX, max)
}

#[actix::test]
async fn every_operation_answers_as_if_malformed_headers_were_not_there() {
    let lab = lab().start().await;
    let (operations, malformed) = (every_read_and_write(&lab), malformed());
    for operation in &operations {
        let mut connection = Connection::open(operation.uri.strip_suffix(operation.path()).unwrap()).await;
        connection.answer(operation).await;
        let plain = connection.answer(operation).await.status;
        for (stamp, max) in &malformed {
            let answer = connection.answer(&with_pair(operation, stamp, max)).await;
            assert_eq!(answer.status, plain, "{} {} with {stamp:?} {max:?}", operation.method, operation.uri);
        }
    }
    let told = lab.events().iter().filter(|e| e.event == Kind::TimingMalformed).count();
    assert_eq!(told, operations.len() * malformed.len());
    assert_no_panic(&lab);
}

#[actix::test]
async fn malformed_headers_are_not_passed_on() {
    let stub = Stub::start().await;
    let lab = lab_with_udm(&stub).start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for (stamp, max) in malformed() {
        let answer = connection.answer(&with_pair(&crate::support::create_a(&lab), &stamp, &max)).await;
        assert_eq!(answer.status, 201);
    }
    let journal = stub.journal();
    assert!(journal.iter().all(|r| r.pair().is_some()), "{journal:#?}");
}
