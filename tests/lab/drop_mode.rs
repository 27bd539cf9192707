//! TS 29.500 §6.11.2.2 (Rel-17), our rule 7: where late requests are dropped, the stream ends with RST_STREAM(CANCEL)
//! and no headers, over HTTP/1.1 the connection closes; everything else is as where they are refused.

use crate::support::raw::{Connection, http1, tcp, to_the_end};
use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    Headers, REGISTRATION, create_a, deadline_ms, every_read_and_write, held, is, lab, lab_with_udm, now_ms,
    reg_a, request, send,
};
use h2::Reason;
use http::Method;
use mock5g::lab::Builder;
use sbi::event::Kind;
use sbi::policy::Mode;

fn dropping(lab: Builder) -> Builder {
    lab.policies(|p| p.deadline.mode = Mode::Drop)
}

#[actix::test]
async fn a_late_request_ends_with_cancel_and_no_headers() {
    let lab = dropping(lab()).start().await;
    let calls = every_read_and_write(&lab);
    let expected = calls.len();
    for call in calls {
        let root = call.uri.strip_suffix(call.path()).unwrap().to_owned();
        let mut connection = Connection::open(&root).await;
        let dropped = connection.send(&call.clone().pair(-9_000, "1000")).await;
        assert_eq!(dropped.reset_code().await, Some(Reason::CANCEL), "{} {}", call.method, call.uri);
    }
    let count = |kind| lab.events().iter().filter(|e| e.event == kind).count();
    assert_eq!(count(Kind::RequestDroppedLate), expected);
    assert_eq!((count(Kind::RequestRefusedLate), count(Kind::UpstreamSent)), (0, 0));
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn over_http1_the_connection_closes_without_a_byte() {
    let lab = dropping(lab()).start().await;
    let late = http1(&reg_a(&lab).pair(-9_000, "1000"));
    let keep_alive = String::from_utf8(late).unwrap().replace("connection: close\r\n", "");
    let socket = tcp(&lab.api_root("udm"), keep_alive.as_bytes()).await;
    assert_eq!(to_the_end(socket).await, "");
    assert_eq!(lab.count("udm", Kind::RequestDroppedLate), 1);
}

#[actix::test]
async fn a_request_that_times_out_during_its_work_is_dropped_at_its_deadline_and_released() {
    let (stub, gate) = (Stub::start().await, Gate::closed());
    stub.on("PUT", "/smf-registrations/", Reply::status(201).behind(&gate));
    let lab = dropping(lab_with_udm(&stub)).start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let call = create_a(&lab).pair(0, "300");
    let deadline = deadline_ms(&call);
    let dropped = connection.send(&call).await.reset_code().await;
    assert_eq!(dropped, Some(Reason::CANCEL));
    assert!(now_ms() >= deadline, "it was dropped before its deadline");
    gate.open();
    lab.expect_nothing_hanging().await;
    stub.expect_no_leak();
    assert_eq!(connection.answer(&create_a(&lab)).await.status, 201, "the connection goes on");
}

#[actix::test]
async fn a_late_release_is_carried_out_and_dropped() {
    let lab = dropping(lab()).start().await;
    send(&lab, reg_a(&lab)).await;
    let mut connection = Connection::open(&lab.api_root("udm")).await;
    let release = request(&lab, Method::DELETE, "udm", REGISTRATION).pair(0, "0");
    assert_eq!(connection.send(&release).await.reset_code().await, Some(Reason::CANCEL));
    lab.wait_for("the drop", is("udm", Kind::RequestDroppedLate)).await;
    assert_eq!(held(&lab, "udm").await, Vec::<String>::new());
}
