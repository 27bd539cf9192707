//! Our rule 5 to TS 29.500 §6.11.2.2 (Rel-17): a success that cannot be handed to its client any more is released, also
//! while a newer request for the same session is at work on what it would have replaced. Every moment of leaving x every
//! moment of coming.

use crate::world::{self, STRANGER, context_dnn, held, ms, one_session, registered_dnn, transcript};
use api::common::{NfInstanceId, PduSessionId, PlmnId, Snssai};
use api::nsmf_pdusession::{SM_CONTEXTS, Session, SmContextCreateData};
use http::Method;
use mock5g::lab::Lab;
use mock5g::simulation::Weather;
use mock5g::subscribers::{dnn, supi};
use sbi::client::Call;
use sbi::event::Kind;
use sbi::fault::Rule;
use sbi::header::{MaxRspTime, Pair, SenderTimestamp};
use std::collections::BTreeMap;
use tokio::time::sleep;

/// How long the first request's last upstream answer takes, in the middle of which its client leaves.
const SLOW_MS: u64 = 150;

/// A little longer than the whole of the first request.
const LATEST_MS: u64 = 220;

/// Creates the SM context of session 5, as an AMF that is none of the lab's.
fn create(lab: &Lab, name: &str) -> Call {
    let session =
        Session { supi: supi(0), pdu_session_id: PduSessionId(5), dnn: dnn(name), s_nssai: Snssai::sst(1) };
    let (nobody, plmn): (NfInstanceId, _) = (STRANGER.parse().unwrap(), PlmnId::new("001", "01").unwrap());
    let data = SmContextCreateData::new(session, nobody, plmn, "http://amf/nobody".into());
    Call::new(Method::POST, format!("{}{SM_CONTEXTS}", lab.api_root("smf"))).with_json(&data)
}

/// The client of a first request leaves at `leave_ms`, a second request for the same session comes at `come_ms`.
fn play(leave_ms: u64, come_ms: u64, second_fails: bool) {
    let lab = world::quick_lab(Lab::builder()).policies(|p| p.max_rsp_time = ms(5_000));
    world::play(lab, Weather::calm(1), move |lab| async move {
        let put = |delay_ms: u64| Rule::at("udm").on_response().matching("PUT", "").delay_ms(delay_ms).once();
        lab.fault(put(SLOW_MS));
        lab.fault(Rule { id: "the second on response".into(), ..put(if second_fails { 900 } else { 0 }) });
        let first = lab.client().send_and_leave(create(&lab, "ims"), sleep(ms(leave_ms)));
        let second = async {
            sleep(ms(come_ms)).await;
            let mut call = create(&lab, "edge");
            let stamp = SenderTimestamp::from_unix_ms(lab.client().now_unix_ms());
            Pair::new(stamp, MaxRspTime::from_ms(500).unwrap()).write(&mut call.headers);
            lab.client().send(call).await.unwrap().status
        };
        let ((), status) = tokio::join!(first, second);
        assert_eq!(status.is_success(), !second_fails, "{}", transcript(&lab));
        let what = format!("left at {leave_ms} ms, came at {come_ms} ms, {status}: {}", transcript(&lab));
        expect_whole_or_gone(&lab, &what, !second_fails).await;
    });
}

/// The session is the second request's, or, if that failed, the first one's, unless its client left; nothing else is
/// there.
async fn expect_whole_or_gone(lab: &Lab, what: &str, there: bool) {
    let verdict = lab.verdict().await;
    // The contexts are no AMF's of this lab.
    assert!(verdict.left.iter().all(|left| left.starts_with("sm-context")), "{verdict:?} {what}");
    assert_eq!(verdict.missing, [""; 0], "{what}");
    let contexts = lab.process().held(Some("smf")).await;
    let expected = if contexts.is_empty() { BTreeMap::new() } else { one_session("smf") };
    assert_eq!(held(lab).await, expected, "{what}");
    let left = lab.count("smf", Kind::ClientGone) > 0;
    assert_eq!(contexts.len(), usize::from(there || !left), "{what}");
    let expected = match contexts.first() {
        Some((_, context)) => context_dnn(lab, &context.uri).await,
        None => None,
    };
    assert_eq!(registered_dnn(lab, 0, 5).await, expected, "{what}");
    assert!(!there || expected.as_deref() == Some("edge"), "{expected:?} {what}");
    if let Some((_, context)) = contexts.first() {
        lab.client().send(Call::new(Method::POST, format!("{}/release", context.uri))).await.unwrap();
    }
    assert_eq!(lab.verdict().await.hanging, 0, "{what}");
    assert_eq!(held(lab).await, BTreeMap::new(), "{what}");
}

fn every_moment(second_fails: bool) {
    for leave_ms in (20..LATEST_MS).step_by(10) {
        for come_ms in (10..LATEST_MS).step_by(15) {
            play(leave_ms, come_ms, second_fails);
        }
    }
}

#[test]
fn a_client_that_leaves_takes_nothing_from_the_next() {
    every_moment(false);
}

#[test]
fn a_client_that_leaves_and_one_that_is_too_late_leave_nothing() {
    every_moment(true);
}
