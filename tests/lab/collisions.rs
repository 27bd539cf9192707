//! TS 29.502 §5.2.3.3.1 (Rel-17): of two creates for one PDU session the one whose procedure began later, as
//! `3gpp-Sbi-Origination-Timestamp` says, has the session, in whatever order they arrive.

use crate::support::stub::{Gate, Reply, Stub};
use crate::support::{
    AMF_A, AMF_B, Headers, REGISTRATION, assert_504_t, body_a, create, create_a, held, is, is_about, lab,
    lab_with_udm, ms, problem, request, send, status_uri, with,
};
use http::Method;
use mock5g::lab::{Lab, PduSession};
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::fault::{Effect, Rule};
use sbi::header::{OriginationTimestamp, SenderTimestamp};
use sbi::party::NfType;
use sbi::release::State;
use serde_json::{Value, json};
use smf::Collisions;

const ORIGINATION: &str = "3gpp-Sbi-Origination-Timestamp";
const SLOT: &str = "/smf-registrations/";

/// An arbitrary moment: the clock of an SMF plays no part.
const T: i64 = 1_564_908_577_845;

/// The create of an AMF for session 5; each has an address of its own for what it wants to hear.
fn create_of(amf: &Stub, instance: &str, lab: &Lab) -> Call {
    let body = with(body_a(lab), "servingNfId", json!(instance));
    create(lab, &with(body, "smContextStatusUri", json!(format!("{}/status", amf.root()))))
}

fn began(call: Call, at_ms: i64) -> Call {
    call.header(ORIGINATION, &OriginationTimestamp::from_unix_ms(at_ms).to_string())
}

fn assert_overlapping(answer: &Answer) {
    let problem = problem(answer, true);
    assert_eq!((answer.status.as_u16(), &problem["cause"]), (403, &json!("LATE_OVERLAPPING_REQUEST")));
}

/// The only context of the SMF is `context`, and it lives.
async fn expect_only(lab: &Lab, context: &Answer) {
    let context = context.location().unwrap();
    assert!(held(lab, "smf").await.iter().all(|held| context.ends_with(held)), "{}", lab.transcript());
    let retrieved = send(lab, Call::new(Method::POST, format!("{context}/retrieve"))).await;
    assert_eq!(retrieved.status, 200, "{}", lab.transcript());
}

#[actix::test]
async fn the_more_recent_create_replaces_the_context_and_its_amf_is_told() {
    let (lab, old, new) = (lab().start().await, Stub::start().await, Stub::start().await);
    assert_eq!(send(&lab, began(create_of(&old, AMF_A, &lab), T)).await.status, 201);
    let newer = send(&lab, began(create_of(&new, AMF_B, &lab), T + 1)).await;
    assert_eq!(newer.status, 201, "{}", lab.transcript());
    let told = old.wait("POST", "/status").await.json();
    let expected = json!({"resourceStatus": "RELEASED", "cause": "REL_DUE_TO_DUPLICATE_SESSION_ID"});
    assert_eq!(told["statusInfo"], expected);
    lab.settle().await;
    expect_only(&lab, &newer).await;
    assert_eq!(new.journal().len(), 0, "its own AMF hears nothing");
}

#[actix::test]
async fn an_older_create_that_was_overtaken_is_refused_without_a_call() {
    let (udm, amf) = (Stub::start().await, Stub::start().await);
    let lab = lab_with_udm(&udm).start().await;
    let newer = send(&lab, began(create_of(&amf, AMF_B, &lab), T)).await;
    assert_eq!(newer.status, 201);
    let calls = udm.journal().len();
    for earlier in [1, 7_200_000] {
        assert_overlapping(&send(&lab, began(create_of(&amf, AMF_A, &lab), T - earlier)).await);
    }
    lab.settle().await;
    assert_eq!((udm.journal().len(), lab.count("smf", Kind::CollisionRefused)), (calls, 2));
    expect_only(&lab, &newer).await;
    assert_eq!(amf.journal().len(), 0, "nobody lost anything");
}

#[actix::test]
async fn an_older_create_that_arrives_while_the_newer_one_runs_waits_and_is_refused() {
    let (udm, gate, amf) = (Stub::start().await, Gate::closed(), Stub::start().await);
    udm.once("PUT", SLOT, Reply::status(201).behind(&gate));
    let lab = lab_with_udm(&udm).start().await;
    let (newer, older) = (began(create_of(&amf, AMF_B, &lab), T), began(create_of(&amf, AMF_A, &lab), T - 1));
    let after = async {
        udm.wait("PUT", SLOT).await;
        let open = async {
            lab.wait_for("the older one arrives", |e| {
                is("smf", Kind::RequestReceived)(e) && lab.count("smf", Kind::RequestReceived) == 2
            })
            .await;
            gate.open();
        };
        tokio::join!(send(&lab, older), open).0
    };
    let (newer, older) = tokio::join!(send(&lab, newer), after);
    assert_eq!(newer.status, 201, "{}", lab.transcript());
    assert_overlapping(&older);
    lab.settle().await;
    expect_only(&lab, &newer).await;
    assert_eq!((udm.count("PUT", SLOT), udm.count("DELETE", "/")), (1, 0));
}

/// A newer create that fails leaves no context to collide with.
#[actix::test]
async fn an_older_create_is_accepted_if_the_newer_one_came_to_nothing() {
    let (udm, amf) = (Stub::start().await, Stub::start().await);
    udm.once("PUT", SLOT, Reply::status(500));
    let lab = lab_with_udm(&udm).start().await;
    assert_eq!(send(&lab, began(create_of(&amf, AMF_B, &lab), T)).await.status, 500);
    let older = send(&lab, began(create_of(&amf, AMF_A, &lab), T - 1)).await;
    assert_eq!(older.status, 201, "{}", lab.transcript());
    lab.settle().await;
    expect_only(&lab, &older).await;
}

#[actix::test]
async fn of_two_that_began_together_the_one_that_is_there_stays_unless_it_is_the_same_attempt() {
    let (lab, amf, elsewhere) = (lab().start().await, Stub::start().await, Stub::start().await);
    assert_eq!(send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await.status, 201);
    assert_overlapping(&send(&lab, began(create_of(&amf, AMF_B, &lab), T)).await);
    assert_overlapping(&send(&lab, began(create_of(&elsewhere, AMF_A, &lab), T)).await);
    let again = send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await;
    assert_eq!(again.status, 201, "the same attempt, sent again\n{}", lab.transcript());
    lab.settle().await;
    expect_only(&lab, &again).await;
    assert_eq!(amf.journal().len() + elsewhere.journal().len(), 0);
}

#[actix::test]
async fn without_a_stamp_on_either_side_the_new_one_counts_as_more_recent() {
    for (old, new) in [(None, None), (Some(T), None), (None, Some(0))] {
        let (lab, amf) = (lab().start().await, Stub::start().await);
        let call = |instance, at| {
            let call = create_of(&amf, instance, &lab);
            if let Some(at) = at { began(call, at) } else { call }
        };
        assert_eq!(send(&lab, call(AMF_A, old)).await.status, 201);
        let newer = send(&lab, call(AMF_B, new)).await;
        assert_eq!(newer.status, 201, "{old:?} {new:?}");
        lab.settle().await;
        expect_only(&lab, &newer).await;
    }
}

#[actix::test]
async fn another_session_or_subscriber_collides_with_nobody() {
    let (lab, amf) = (lab().start().await, Stub::start().await);
    assert_eq!(send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await.status, 201);
    let other = with(body_a(&lab), "pduSessionId", json!(6));
    assert_eq!(send(&lab, began(create(&lab, &other), T - 1)).await.status, 201);
    let other = with(with(body_a(&lab), "supi", json!("imsi-001010000000002")), "sNssai", json!({"sst": 1}));
    assert_eq!(send(&lab, began(create(&lab, &other), T - 1)).await.status, 201, "{}", lab.transcript());
    assert_eq!(held(&lab, "smf").await.len(), 3);
}

const MALFORMED: [&str; 6] = [
    "",
    "now",
    "Sun, 04 Aug 2019 08:49:37 GMT",
    "SUN, 04 Aug 2019 08:49:37.845 GMT",
    "Sun, 04 Aug 2019 08:49:37.84 GMT",
    "Sun, 04 Aug 2019 08:49:37.845 UTC",
];

#[actix::test]
async fn a_malformed_stamp_counts_as_none_and_is_told() {
    let (lab, amf) = (lab().start().await, Stub::start().await);
    assert_eq!(send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await.status, 201);
    for malformed in MALFORMED {
        let call = create_of(&amf, AMF_B, &lab).header(ORIGINATION, malformed);
        assert_eq!(send(&lab, call).await.status, 201, "{malformed:?}");
    }
    let twice = began(began(create_of(&amf, AMF_B, &lab), T), T);
    assert_eq!(send(&lab, twice).await.status, 201);
    let told = lab.events().into_iter().filter(is("smf", Kind::TimingMalformed));
    let told: Vec<_> = told.filter_map(|e| e.detail).collect();
    assert!(told.iter().all(|what| what.contains(ORIGINATION)), "{told:?}");
    assert_eq!(told.len(), MALFORMED.len() + 1);
}

#[actix::test]
async fn a_strict_smf_refuses_a_malformed_stamp_before_any_call() {
    let (udm, amf) = (Stub::start().await, Stub::start().await);
    let lab = lab_with_udm(&udm).policy("smf", |p| p.deadline.strict = true).start().await;
    for malformed in MALFORMED {
        let answer = send(&lab, create_of(&amf, AMF_B, &lab).header(ORIGINATION, malformed)).await;
        let problem = problem(&answer, true);
        assert_eq!((answer.status.as_u16(), &problem["cause"]), (400, &json!("OPTIONAL_IE_INCORRECT")));
        assert_eq!(problem["invalidParams"][0]["param"], format!("header {ORIGINATION}"));
    }
    assert_eq!(udm.journal().len(), 0);
    assert_eq!(send(&lab, began(create_of(&amf, AMF_B, &lab), T)).await.status, 201);
}

#[actix::test]
async fn an_operator_may_accept_every_create() {
    let (lab, amf) =
        (lab().smf(|smf| smf.collisions = Collisions::Accept).start().await, Stub::start().await);
    assert_eq!(send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await.status, 201);
    let older = send(&lab, began(create_of(&amf, AMF_B, &lab), T - 1)).await;
    assert_eq!(older.status, 201);
    let malformed = create_of(&amf, AMF_A, &lab).header(ORIGINATION, "now");
    assert_eq!(send(&lab, malformed).await.status, 201, "nobody looks at it");
    assert_eq!(lab.count("smf", Kind::TimingMalformed), 0);
}

/// The moment that a create received by a stub says.
fn origination(received: &crate::support::stub::Received) -> i64 {
    SenderTimestamp::parse_exact(received.headers[ORIGINATION].as_bytes()).unwrap().unix_ms()
}

#[actix::test]
async fn our_amf_says_when_its_procedure_began_and_the_next_one_began_later() {
    let smf = Stub::start().await;
    let lab = lab().peer(NfType::Smf, smf.root()).start().await;
    lab.establish(PduSession::default()).await;
    lab.step_clock("amf", -7_200_000);
    lab.establish(PduSession::default()).await;
    let [first, second] = smf.received("POST", "/sm-contexts").try_into().unwrap();
    let sent = first.pair().unwrap().stamp.unix_ms();
    assert!((sent - 5_000..=sent).contains(&origination(&first)), "{first:#?}");
    assert!(origination(&second) > origination(&first), "its clock was set back between them");
}

#[actix::test]
async fn a_create_that_is_repeated_to_find_a_lost_one_is_of_the_same_moment() {
    let smf = Stub::start().await;
    smf.once("POST", "/sm-contexts", Reply::hang_up());
    let lab = lab().peer(NfType::Smf, smf.root()).start().await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "gave_up");
    lab.settle().await;
    let creates = smf.journal().into_iter().filter(|r| r.path.ends_with("/sm-contexts"));
    let [lost, repeated] = creates.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(origination(&lost), origination(&repeated));
    assert_eq!(status_uri(&lost), status_uri(&repeated));
}

/// The repeated create is the same attempt: our SMF lets it replace the lost one, and the AMF releases what it found.
#[actix::test]
async fn a_lost_create_is_found_at_an_smf_that_compares() {
    for effect in [Effect::Reset(2), Effect::LoseResponse] {
        let lab = lab().policy("amf", |p| {
            p.release.settle = ms(300);
            p.max_rsp_time = ms(1_000);
        });
        let lab = lab.start().await;
        lab.fault(Rule::at("smf").on_response().matching("POST", "/sm-contexts").effect(effect).once());
        assert_eq!(lab.establish(PduSession::default()).await.as_str(), "gave_up");
        lab.expect_nothing_hanging().await;
        assert_eq!(lab.count("smf", Kind::CollisionRefused), 0, "{}", lab.transcript());
        assert_eq!((held(&lab, "smf").await.len(), held(&lab, "udr").await.len()), (0, 0));
    }
}

/// What another AMF has meanwhile is not taken from it by the search for a lost create.
#[actix::test]
async fn the_search_for_a_lost_create_does_not_end_the_newer_session_of_another_amf() {
    let lab = lab().policy("amf", |p| p.release.backoff = ms(2_000)).start().await;
    lab.fault(Rule::at("smf").on_response().matching("POST", "/sm-contexts").effect(Effect::Reset(2)).once());
    let search = Rule::at("smf").matching("POST", "/sm-contexts").effect(Effect::status(503)).once();
    lab.fault(Rule { skip: 1, ..search });
    let amf = Stub::start().await;
    assert_eq!(lab.establish(PduSession::default()).await.as_str(), "gave_up");
    lab.wait_for("the first search fails", is("amf", Kind::ReleaseFailed)).await;
    let mut body = body_a(&lab);
    (body["sNssai"], body["smContextStatusUri"]) =
        (json!({"sst": 1}), json!(format!("{}/status", amf.root())));
    let newer = began(create(&lab, &body), crate::support::now_ms());
    let newer = send(&lab, newer).await;
    assert_eq!(newer.status, 201, "{}", lab.transcript());
    lab.settle().await;
    assert_eq!(lab.count("smf", Kind::CollisionRefused), 1, "{}", lab.transcript());
    expect_only(&lab, &newer).await;
    assert_eq!(amf.journal().len(), 0);
}

#[actix::test]
async fn a_refused_amf_has_nothing_to_release() {
    let (lab, amf) = (lab().start().await, Stub::start().await);
    let mut body = body_a(&lab);
    (body["sNssai"], body["smContextStatusUri"]) =
        (json!({"sst": 1}), json!(format!("{}/status", amf.root())));
    let ahead = began(create(&lab, &body), crate::support::now_ms() + 3_600_000);
    assert_eq!(send(&lab, ahead).await.status, 201);
    let outcome = lab.establish(PduSession::default()).await;
    let amf::Outcome::Refused { status, cause, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((status, cause.as_deref()), (Some(403), Some("LATE_OVERLAPPING_REQUEST")));
    lab.settle().await;
    let made = lab.process().resources().await.into_iter().filter(|r| r.by == "amf");
    assert_eq!(made.map(|r| r.state).collect::<Vec<_>>(), [State::Void]);
    assert_eq!((held(&lab, "smf").await.len(), amf.journal().len()), (1, 0));
}

/// Late, or late by the time its turn comes: it does not matter how recent its procedure is.
#[actix::test]
async fn an_expired_create_never_touches_a_live_context() {
    let (udm, gate, amf) = (Stub::start().await, Gate::closed(), Stub::start().await);
    let lab = lab_with_udm(&udm).start().await;
    let live = send(&lab, began(create_of(&amf, AMF_A, &lab), T)).await;
    let calls = udm.journal().len();
    let expired = began(create_of(&amf, AMF_B, &lab), T + 1_000);
    assert_504_t(&send(&lab, expired.clone().pair(-9_000, "1000")).await, true);
    assert_504_t(&send(&lab, expired.clone().pair(0, "0")).await, true);
    assert_eq!(udm.journal().len(), calls);
    udm.on("GET", "/sm-data", Reply::problem(403, "X").behind(&gate));
    let slow = began(create_of(&amf, AMF_B, &lab), T + 1).pair(0, "10000");
    let behind = async {
        udm.wait_for("the slow one", |_| udm.journal().len() > calls).await;
        let answer = send(&lab, expired.pair(0, "150")).await;
        gate.open();
        answer
    };
    let (slow, behind) = tokio::join!(send(&lab, slow), behind);
    assert_504_t(&behind, true);
    assert_eq!(slow.status, 403);
    lab.settle().await;
    expect_only(&lab, &live).await;
    assert_eq!((udm.count("DELETE", "/"), amf.journal().len()), (0, 0));
}

/// The AMF's first attempt is answered late and being released while it tries again: the release ends the first one's
/// context, never the second's.
#[actix::test]
async fn a_retry_while_the_release_of_the_first_attempt_still_runs_keeps_its_own() {
    for slow in [Rule::at("smf"), Rule::at("smf").on_response()] {
        let lab = lab().start().await;
        lab.fault(Rule::at("smf").on_response().matching("POST", "/sm-contexts$").delay_ms(500).once());
        lab.fault(slow.matching("POST", "/release").delay_ms(600).once());
        let impatient = PduSession::default().max_rsp_time_ms(350);
        assert_eq!(lab.establish(impatient).await.as_str(), "gave_up");
        lab.wait_for("its release", is_about("amf", Kind::ReleaseSent, "POST", "/release")).await;
        let retry = lab.establish(PduSession::default()).await;
        assert_eq!(retry.as_str(), "established", "{}", lab.transcript());
        lab.settle().await;
        assert_eq!(held(&lab, "smf").await.len(), 1, "{}", lab.transcript());
        let registered = send(&lab, request(&lab, Method::GET, "udm", REGISTRATION)).await;
        assert_eq!(registered.json::<Value>().unwrap()["dnn"], "internet");
        lab.release(&PduSession::default()).await;
        assert_eq!(lab.expect_nothing_hanging().await.committed, 0);
    }
}

#[actix::test]
async fn a_second_create_for_a_live_session_replaces_it_once_it_is_answered() {
    let lab = lab().start().await;
    for _ in 0..3 {
        assert_eq!(lab.establish(PduSession::default()).await.as_str(), "established");
    }
    assert_eq!(lab.count("smf", Kind::CollisionRefused), 0);
    lab.settle().await;
    let held = [held(&lab, "smf").await.len(), held(&lab, "udm").await.len(), held(&lab, "udr").await.len()];
    assert_eq!(held, [1, 2, 2], "{}", lab.transcript());
    let created = send(&lab, create_a(&lab)).await;
    assert_eq!(created.status, 201, "without a stamp, by another AMF");
    lab.wait_for("the AMF is told", is("amf", Kind::StatusNotified)).await;
    lab.settle().await;
    expect_only(&lab, &created).await;
}
