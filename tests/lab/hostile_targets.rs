//! Targets that reset, stall or send garbage, at an SCP: each has its own clear answer, and a polite client beside it gets all of
//! its own.

use crate::cases_of_scps::expect_own;
use crate::support::raw::Connection;
use crate::support::stub::{Reply, Stub};
use crate::support::{Headers, assert_504_t, send};
use crate::through_scp::{call, scp};
use futures_util::future::join_all;
use h2::Reason;
use http::Method;
use mock5g::lab::Lab;
use serde_json::json;
use std::cell::Cell;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::spawn_local;

const PATH: &str = "/nudm-sdm/v2/imsi-001010000000001/am-data";

/// How long the SCPs here wait if their client does not say.
const OWN_TIMER: Duration = Duration::from_secs(1);

async fn impatient_scp() -> Lab {
    let lab = scp().policies(|policy| {
        policy.max_rsp_time = OWN_TIMER;
        policy.release.settle = OWN_TIMER;
    });
    lab.start().await
}

/// Something at a port that says `greeting` to everybody, and then hangs up or stays.
async fn garbage(greeting: &'static [u8], stays: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    spawn_local(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            spawn_local(async move {
                let _ = socket.write_all(greeting).await;
                let mut rest = Vec::new();
                if stays {
                    let _ = socket.read_to_end(&mut rest).await;
                }
            });
        }
    });
    root
}

/// An empty SETTINGS, as servers begin, and what follows it.
fn after_settings(rest: &[u8]) -> &'static [u8] {
    [b"\0\0\0\x04\0\0\0\0\0", rest].concat().leak()
}

/// What servers of other protocols say, and what in HTTP/2 nobody may say. Whether the connection stays is the last.
fn greetings() -> Vec<(&'static str, &'static [u8], bool)> {
    vec![
        ("nothing, and an end", b"", false),
        ("HTTP/1.1", b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", false),
        ("HTTP/1.1 that stays", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", true),
        ("SMTP", b"220 mail.example ESMTP\r\n", true),
        ("zeros", &[0; 4_096], true),
        ("ones", &[0xff; 4_096], true),
        ("a TLS alert", b"\x15\x03\x01\x00\x02\x02\x46", false),
        ("half a frame", after_settings(b"\0\0\x40\x01"), false),
        ("a frame that is too long", after_settings(b"\xff\xff\xff\0\0\0\0\0\x01"), true),
        ("DATA on stream 0", after_settings(b"\0\0\x01\0\0\0\0\0\0x"), true),
        ("HEADERS that are no HPACK", after_settings(b"\0\0\x03\x01\x05\0\0\0\x01\xff\xff\xff"), true),
        ("HEADERS without a status", after_settings(b"\0\0\x01\x01\x05\0\0\0\x01\x84"), true),
        ("an answer nobody asked for", after_settings(b"\0\0\x01\x01\x05\0\0\0\x7f\x88"), true),
        ("PUSH_PROMISE", after_settings(b"\0\0\x05\x05\x04\0\0\0\x01\0\0\0\x02\x88"), true),
        ("GOAWAY", after_settings(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01"), false),
    ]
}

/// A polite client: one request after the other to a good target, until `over`; how many it was answered.
async fn polite(lab: &Lab, good: &Stub, over: &Cell<bool>) -> usize {
    let mut connection = Connection::open(&lab.api_root("scp")).await;
    let mut answered = 0;
    while !over.get() || answered == 0 {
        let path = format!("/nudm-sdm/v2/imsi-{answered}/am-data");
        let answer = connection.answer(&call(lab, Method::GET, good.root(), &path).pair(0, "60000")).await;
        assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"{\"a\":1}"[..]), "{answered}");
        answered += 1;
    }
    answered
}

async fn beside_a_polite_client(lab: &Lab, hostile: impl Future<Output = ()>) {
    let good = Stub::start().await;
    good.on("GET", "/am-data", Reply::json(200, &json!({"a": 1})));
    let over = Cell::new(false);
    let hostile = async {
        hostile.await;
        over.set(true);
    };
    let ((), answered) = tokio::join!(hostile, polite(lab, &good, &over));
    assert!(answered > 0);
    crate::support::assert_no_panic(lab);
    lab.settle().await;
}

#[actix::test]
async fn a_target_that_speaks_no_http2_is_not_reachable_and_harms_nobody() {
    let lab = &impatient_scp().await;
    let mut targets = Vec::new();
    for (what, greeting, stays) in greetings() {
        targets.push((what, garbage(greeting, stays).await));
    }
    let every =
        targets.iter().flat_map(|target| [Method::GET, Method::POST, Method::DELETE].map(|m| (target, m)));
    let asked = every.map(async |((what, root), method)| {
        let what = format!("{method} to {what}");
        let answer = send(lab, call(lab, method, root, PATH)).await;
        expect_own(&answer, 504, "TARGET_NF_NOT_REACHABLE", &what);
    });
    beside_a_polite_client(lab, async { drop(join_all(asked).await) }).await;
}

/// The head has passed: the rest can only be cut off, which the client sees as the end of its stream alone.
#[actix::test]
async fn an_answer_that_breaks_off_midway_is_cut_off_and_harms_nobody() {
    let lab = &impatient_scp().await;
    let bad = &Stub::start().await;
    let whole = json!({"a": 1});
    bad.on("GET", "/stalls", Reply::json(200, &whole).without_end());
    bad.on("GET", "/longer", Reply::json(200, &whole).header("content-length", "1000"));
    bad.on("GET", "/shorter", Reply::json(200, &whole).header("content-length", "2"));
    bad.on("GET", "/no-length", Reply::json(200, &whole).header("content-length", "many"));
    let paths = ["/stalls", "/longer", "/shorter", "/no-length"];
    let asked = paths.map(async |path| {
        let mut connection = Connection::open(&lab.api_root("scp")).await;
        let sent = call(lab, Method::GET, bad.root(), &format!("/nudm-sdm/v2/imsi-1{path}")).pair(0, "500");
        match connection.send(&sent).await.answer().await {
            // Before its head has passed there is a clear answer.
            Ok(answer) => {
                expect_own(&answer, 504, "TARGET_NF_NOT_REACHABLE", path);
            }
            Err(cut_off) => assert!(cut_off.is_reset(), "{path}: {cut_off}"),
        }
        let next = call(lab, Method::GET, bad.root(), "/nudm-sdm/v2/imsi-1/nothing-there");
        assert_eq!(connection.answer(&next).await.status, 404, "{path}: the connection lives");
    });
    beside_a_polite_client(lab, async { drop(join_all(asked).await) }).await;
}

#[actix::test]
async fn a_target_that_resets_or_hangs_up_harms_nobody() {
    let lab = &impatient_scp().await;
    let bad = &Stub::start().await;
    let reasons = [
        Reason::NO_ERROR,
        Reason::PROTOCOL_ERROR,
        Reason::CANCEL,
        Reason::ENHANCE_YOUR_CALM,
        Reason::HTTP_1_1_REQUIRED,
    ];
    let hostile = async {
        for method in ["GET", "POST", "PUT"] {
            for reply in reasons.map(Reply::reset).into_iter().chain([Reply::hang_up()]) {
                bad.once(method, PATH, reply);
                let answer = send(lab, call(lab, method.parse().unwrap(), bad.root(), PATH)).await;
                expect_own(&answer, 504, "TARGET_NF_NOT_REACHABLE", method);
            }
        }
        bad.on("GET", "/silent", Reply::silence());
        let late = call(lab, Method::GET, bad.root(), "/silent").pair(0, "200");
        assert_504_t(&send(lab, late).await, false);
    };
    beside_a_polite_client(lab, hostile).await;
}

/// They are refused before anybody is called: many at once cost the others nothing.
#[actix::test]
async fn targets_that_are_none_are_refused_beside_a_polite_client() {
    let lab = &scp().start().await;
    let itself = lab.api_root("scp");
    let targets = [
        ("http://::1:80", "MANDATORY_IE_INCORRECT"),
        ("gopher://udm", "MANDATORY_IE_INCORRECT"),
        ("http://udm:0/", "MANDATORY_IE_INCORRECT"),
        (&itself, "MSG_LOOP_DETECTED"),
    ];
    let every = (0..50).flat_map(|_| targets);
    let asked = every.map(async |(target, cause)| {
        expect_own(&send(lab, call(lab, Method::GET, target, PATH)).await, 400, cause, target);
    });
    beside_a_polite_client(lab, async { drop(join_all(asked).await) }).await;
}
