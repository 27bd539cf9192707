//! What a real core sent to UDM and SMF, sent through our SCP: TS 29.500 §6.10 (Rel-17), models C and D, and both ways of
//! forwarding a deadline, §6.11.2.2. The answers are those that the same requests get without an SCP.

use crate::captures::{
    AT_SMF, Answers, Capture, Way, captures, lab_of_the_flows, replay_at, served_captures,
};
use crate::support::{MAX, STAMP};
use http::{HeaderMap, Method};
use mock5g::lab::{Builder, Lab};
use nrf::HeartBeats;
use regex_lite::Regex;
use sbi::client::Answer;
use sbi::header::Timing;
use sbi::policy::Forward;
use sbi::traffic::{Direction, Exchange};
use std::collections::BTreeMap;

/// What an SCP adds, and what differs from one run to the next.
const NOT_COMPARED: [&str; 4] = ["via", "3gpp-sbi-target-apiroot", "3gpp-sbi-producer-id", "date"];

/// Replays the captures at an NF without and with an SCP, in both models and both ways of forwarding.
async fn compare(lab: fn() -> Builder, nf: &str, captures: &[Capture]) {
    if captures.is_empty() {
        return;
    }
    let (direct, expected) = replay_at(lab().start().await, nf, captures, Way::Direct).await;
    let expected = comparable(&direct, &expected);
    for way in [Way::Target, Way::Search] {
        for forward in [Forward::Unmodified, Forward::Restamp] {
            let through = lab().with_nrf(HeartBeats::default()).through_scps(1, way == Way::Search);
            let through = through.policy("scp", |policy| policy.deadline.forward = forward).start().await;
            through.until_registered().await;
            let (through, answers) = replay_at(through, nf, captures, way).await;
            for (name, answer) in comparable(&through, &answers) {
                assert_eq!(answer, expected[&name], "{way:?} {forward:?}: {name}");
            }
            assert_eq!(answers.len(), expected.len());
            expect_the_deadlines(&through, nf, captures, forward);
            through.stop().await;
        }
    }
    direct.stop().await;
}

/// Status, headers and body of each answer, with the same words for what each lab names in its own way.
fn comparable(lab: &Lab, answers: &Answers) -> BTreeMap<String, (u16, Vec<String>, String)> {
    let id = Regex::new("([0-9]+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    let plain = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        let name = |text: String, nf: &mock5g::process::NfHandle| {
            text.replace(&*nf.party.api_root, &format!("http://{}", nf.party.name))
        };
        let text = lab.process().nfs.iter().fold(text.into_owned(), name);
        id.replace_all(&text, "ID").into_owned()
    };
    let headers = |answer: &Answer| {
        let compared = answer.headers.iter().filter(|(name, _)| !NOT_COMPARED.contains(&name.as_str()));
        let mut headers: Vec<_> =
            compared.map(|(name, value)| format!("{name}: {}", plain(value.as_bytes()))).collect();
        headers.sort();
        headers
    };
    let compared = |answer: &Answer| (answer.status.as_u16(), headers(answer), plain(&answer.body));
    answers.iter().map(|(name, answer)| (name.clone(), compared(answer))).collect()
}

/// What the producer was told of each deadline: byte for byte the same, or another pair with the same sum.
fn expect_the_deadlines(lab: &Lab, nf: &str, captures: &[Capture], forward: Forward) {
    let told = |method: &Method, headers: &HeaderMap| {
        let until = Timing::read_strict(headers).pair().unwrap().expires_at_unix_ms();
        let bytes = [STAMP, MAX].map(|name| headers[name].clone());
        (method.clone(), until, (forward == Forward::Unmodified).then_some(bytes))
    };
    let received = lab.process().env.traffic.after(Some(nf), 0).into_iter().map(|(_, exchange)| exchange);
    let by_scp = |e: &Exchange| e.direction == Direction::Received && e.request.headers.contains_key("via");
    let received: Vec<_> = received.filter(by_scp).map(|e| told(&e.method, &e.request.headers)).collect();
    for capture in captures {
        let sent = capture.call("http://nf", "/");
        let sent = told(&sent.method, &sent.headers);
        assert!(received.contains(&sent), "{sent:?} of {} is not in {received:?}", capture.name);
    }
}

#[actix::test]
async fn the_udm_answers_a_real_smf_and_amf_through_an_scp_as_without_one() {
    compare(Lab::builder, "udm", &served_captures("e2e", "udm")).await;
}

#[actix::test]
async fn each_operation_of_the_udm_is_answered_through_an_scp_as_without_one() {
    compare(lab_of_the_flows, "udm", &served_captures("udm-flows", "udm")).await;
}

#[actix::test]
async fn the_smf_answers_a_real_amf_through_an_scp_as_without_one() {
    compare(Lab::builder, "smf", &captures("e2e", "smf", AT_SMF)).await;
}
