//! TS 29.502 §6.1.2.4 (Rel-17): the creation of an SM context is multipart/related, its root part JSON. What cannot be
//! read is 400, wrapped; what RFC 2046 and RFC 2387 allow is read.

use crate::support::raw::Connection;
use crate::support::{Headers, assert_504_t, assert_no_panic, body_a, create, held, lab, problem, with};
use mock5g::lab::Lab;
use sbi::client::Call;
use sbi::event::Kind;
use serde_json::json;

const TYPE: &str = "multipart/related; boundary=b";
const N1: &str =
    "--b\r\nContent-Id: n1\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x05\x01\x41\r\n";

/// BODY-A as the root part.
fn root(lab: &Lab) -> String {
    let json = with(body_a(lab), "n1SmMsg", json!({"contentId": "n1"}));
    format!("--b\r\nContent-Type: application/json\r\n\r\n{json}\r\n")
}

fn multipart(lab: &Lab, content_type: &str, body: impl Into<Vec<u8>>) -> Call {
    create(lab, &json!({})).with_body(content_type, body.into())
}

#[actix::test]
async fn what_is_no_multipart_body_is_400_and_nothing_is_asked_upstream() {
    let lab = lab().start().await;
    let (root, whole) = (root(&lab), format!("{}{N1}--b--\r\n", root(&lab)));
    let flood = "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n".repeat(2_000);
    let many_headers = format!("--b\r\n{}\r\n{{}}\r\n--b--\r\n", "X: y\r\n".repeat(1_000));
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for (content_type, body) in [
        (TYPE, ""),
        (TYPE, "garbage"),
        (TYPE, &*root),
        (TYPE, &whole[..whole.len() / 2]),
        (TYPE, "--b--\r\n"),
        (TYPE, "--b\r\n\r\n--b--\r\n"),
        (TYPE, &format!("{N1}--b--\r\n")),
        (TYPE, &format!("{root}{flood}--b--\r\n")),
        (TYPE, &many_headers),
        ("multipart/related", &whole),
        ("multipart/related; boundary=", &whole),
        ("multipart/related; boundary=other", &whole),
        ("multipart/related; boundary=\"b", &whole),
        ("multipart/related; boundary=b; boundary=b", &whole),
        (TYPE, "--b\r\nContent-Type: application/json\r\n\r\n{\"supi\":\r\n--b--\r\n"),
        (TYPE, "--b\r\nContent-Type: application/json\r\n\r\n[]\r\n--b--\r\n"),
    ] {
        let problem = problem(&connection.answer(&multipart(&lab, content_type, body)).await, true);
        let what = format!("{content_type} {:?}: {problem}", body.chars().take(60).collect::<String>());
        assert_eq!(
            (&problem["status"], &problem["cause"]),
            (&json!(400), &json!("INVALID_MSG_FORMAT")),
            "{what}"
        );
    }
    assert_eq!((lab.count("smf", Kind::UpstreamSent), held(&lab, "smf").await.len()), (0, 0));
    assert_eq!(connection.answer(&multipart(&lab, TYPE, whole)).await.status, 201, "the connection goes on");
    assert_no_panic(&lab);
}

#[actix::test]
async fn a_reference_to_a_part_that_is_not_there_is_named() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for others in ["", &N1.replace("n1", "n2"), &N1.replace("Content-Id: n1\r\n", "")] {
        let call = multipart(&lab, TYPE, format!("{}{others}--b--\r\n", root(&lab)));
        let problem = problem(&connection.answer(&call).await, true);
        assert_eq!((&problem["status"], &problem["cause"]), (&json!(400), &json!("OPTIONAL_IE_INCORRECT")));
        assert_eq!(problem["invalidParams"][0]["param"], "/n1SmMsg/contentId");
    }
    assert_eq!(lab.count("smf", Kind::UpstreamSent), 0);
}

#[actix::test]
async fn a_part_whose_json_has_a_hole_is_judged_like_plain_json() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let body = root(&lab).replace("\"servingNetwork\"", "\"x\"");
    let answer = connection.answer(&multipart(&lab, TYPE, format!("{body}{N1}--b--\r\n"))).await;
    let problem = problem(&answer, true);
    assert_eq!(
        (&problem["cause"], &problem["invalidParams"][0]["param"]),
        (&json!("MANDATORY_IE_MISSING"), &json!("/servingNetwork"))
    );
}

#[actix::test]
async fn what_the_rfcs_allow_is_read() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    let (root, odd) = (root(&lab), "b=_1/2");
    let renamed = |text: &str| text.replace("--b", &format!("--{odd}"));
    let with_id = root.replace("Content-Type", "Content-Id: <j>\r\nContent-Type");
    for (content_type, body) in [
        (TYPE.to_owned(), format!("{root}{N1}--b--\r\n")),
        (TYPE.to_owned(), format!("\r\n{root}{N1}--b--\r\n")),
        (TYPE.to_owned(), format!("a preamble\r\n{root}{N1}--b--\r\nan epilogue")),
        (
            format!("Multipart/Related; start=\"<j>\"; type=application/json; boundary={odd}"),
            renamed(&format!("\r\n{with_id}{N1}--b--\r\n")),
        ),
        (format!("multipart/related;boundary=\"{odd}\""), renamed(&format!("{root}{N1}--b--\r\n"))),
        (format!("{TYPE}; start=\"<j>\""), format!("{N1}{with_id}--b--\r\n")),
    ] {
        let answer = connection.answer(&multipart(&lab, &content_type, body)).await;
        assert_eq!(answer.status, 201, "{content_type}: {answer:?}");
    }
}

#[actix::test]
async fn lateness_is_told_from_the_headers_before_the_body_is_read() {
    let lab = lab().start().await;
    let mut connection = Connection::open(&lab.api_root("smf")).await;
    for body in ["", "garbage", "--b\r\n"] {
        let late = multipart(&lab, TYPE, body).pair(-9_000, "1000");
        assert_504_t(&connection.answer(&late).await, true);
    }
}

#[path = "../fuzz/multipart.rs"]
mod property;

/// Everything that fuzzing has found worth keeping; `tests/fuzz` says how to look for more.
#[test]
fn the_corpus_of_the_fuzzer_keeps_the_property() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/multipart");
    let inputs: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() > 7, "the corpus is not there");
    inputs.iter().for_each(|input| property::holds(&std::fs::read(input).unwrap()));
}
