//! Our choice where TS 29.500 §6.11.2 (Rel-17) is silent: malformed timing headers are ignored and counted, and
//! answered with 400 only where the operator wants it (`deadline.strict`).

use crate::support::{Headers, MAX, STAMP, create_a, lab, now_ms, problem, reg_a, request, send};
use http::Method;
use sbi::client::Call;
use sbi::event::Kind;
use sbi::header::SenderTimestamp;
use serde_json::json;

/// Values that break the grammar of Sender-Timestamp.
fn bad_stamps() -> Vec<String> {
    let now = SenderTimestamp::from_unix_ms(now_ms()).to_string();
    let long = "9".repeat(5_000);
    let bad = ["", "yesterday", "2026-11-30T10:00:00.123Z", "Mon, 30 Feb 2026 10:00:00.123 GMT", "-1", &long];
    let near = [
        now.replace("GMT", "UTC"),
        now.replace('.', ","),
        format!("{now}, {now}"),
        now.to_lowercase(),
        now.replace(".", ".0"),
    ];
    bad.into_iter().map(str::to_owned).chain(near).collect()
}

fn stamped(call: Call, stamp: &str, max: &str) -> Call {
    call.header(STAMP, stamp).header(MAX, max)
}

#[actix::test]
async fn a_malformed_stamp_is_ignored_and_counted() {
    let lab = lab().start().await;
    let stamps = bad_stamps();
    for stamp in &stamps {
        let answer = send(&lab, stamped(reg_a(&lab), stamp, "1")).await;
        assert!(answer.status.is_success(), "{stamp:?}: {answer:?}");
    }
    assert_eq!(lab.count("udm", Kind::TimingMalformed), stamps.len());
}

#[actix::test]
async fn a_strict_nf_answers_400_and_names_the_header() {
    let lab = lab().policies(|p| p.deadline.strict = true).start().await;
    let now = SenderTimestamp::from_unix_ms(now_ms()).to_string();
    let bad_stamps =
        bad_stamps().into_iter().map(|stamp| (stamp, "10000", "header 3gpp-Sbi-Sender-Timestamp"));
    let bad_limits =
        ["", "100000", "10s", "-1", "1.5"].map(|max| (now.clone(), max, "header 3gpp-Sbi-Max-Rsp-Time"));
    for (stamp, max, param) in bad_stamps.chain(bad_limits) {
        for (call, wrapped) in [(create_a(&lab), true), (reg_a(&lab), false)] {
            let problem = problem(&send(&lab, stamped(call, &stamp, max)).await, wrapped);
            assert_eq!(
                (&problem["status"], &problem["cause"]),
                (&json!(400), &json!("OPTIONAL_IE_INCORRECT"))
            );
            assert_eq!(problem["invalidParams"][0]["param"], param, "{problem}");
        }
    }
    assert!(!lab.events().iter().any(|e| e.event == Kind::UpstreamSent), "{}", lab.transcript());
}

#[actix::test]
async fn a_repeated_or_lonely_header_is_malformed() {
    let lab = lab().policies(|p| p.deadline.strict = true).start().await;
    let now = SenderTimestamp::from_unix_ms(now_ms()).to_string();
    let get = || request(&lab, Method::GET, "udr", crate::support::SUBSCRIPTIONS_AT_UDR);
    for call in [
        stamped(get(), &now, "5000").header(STAMP, &now),
        stamped(get(), &now, "5000").header(MAX, "5000"),
        get().header(MAX, "5000"),
    ] {
        assert_eq!(send(&lab, call).await.status, 400);
    }
    for call in [get(), get().header(STAMP, &now), stamped(get(), &now, "5000")] {
        assert_eq!(send(&lab, call).await.status, 200);
    }
}

#[actix::test]
async fn strictness_comes_before_lateness() {
    let lab = lab().policies(|p| p.deadline.strict = true).start().await;
    let no_milliseconds = "Tue, 03 Jun 2025 02:41:42 GMT";
    assert_eq!(send(&lab, stamped(reg_a(&lab), no_milliseconds, "1000")).await.status, 400);
}
