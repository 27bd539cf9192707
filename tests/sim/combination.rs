//! An upstream call of the establishment of a PDU session, what goes wrong with it, how PUTs are answered, and what the slot
//! held before: one combination of these, played under simulation.

use crate::world::{self, STRANGER, held, ms, one_session, registered_dnn, registration_at_udr, transcript};
use amf::Outcome;
use http::Method;
use mock5g::lab::{Lab, PduSession};
use mock5g::simulation::Weather;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::{Effect, Rule};
use sbi::policy::Mode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How long the AMF waits.
const PATIENCE_MS: u64 = 400;

/// A delay beyond that.
const LATE_MS: u64 = 700;

/// An upstream call of the procedure.
#[derive(Debug)]
pub struct UpstreamCall {
    pub name: &'static str,
    consumer: &'static str,
    producer: &'static str,
    method: &'static str,
    path: &'static str,
}

const fn call(
    name: &'static str,
    [consumer, producer]: [&'static str; 2],
    method: &'static str,
    path: &'static str,
) -> UpstreamCall {
    UpstreamCall { name, consumer, producer, method, path }
}

pub static AMF_CREATE: UpstreamCall = call("amf-create-context", ["amf", "smf"], "POST", "/sm-contexts$");
pub static SMF_READ: UpstreamCall = call("smf-read-data", ["smf", "udm"], "GET", "/sm-data");
pub static SMF_SUBSCRIBE: UpstreamCall = call("smf-subscribe", ["smf", "udm"], "POST", "/sdm-subscriptions$");
pub static SMF_REGISTER: UpstreamCall = call("smf-register", ["smf", "udm"], "PUT", "/smf-registrations/");
pub static UDM_READ: UpstreamCall = call("udm-read-data", ["udm", "udr"], "GET", "/sm-data");
pub static UDM_SUBSCRIBE: UpstreamCall = call("udm-subscribe", ["udm", "udr"], "POST", "/sdm-subscriptions$");
pub static UDM_ASK: UpstreamCall = call("udm-ask-for-changes", ["udm", "udr"], "POST", "/subs-to-notify$");
pub static UDM_READ_SLOT: UpstreamCall = call("udm-read-slot", ["udm", "udr"], "GET", "/smf-registrations/");
pub static UDM_REGISTER: UpstreamCall = call("udm-register", ["udm", "udr"], "PUT", "/smf-registrations/");

/// What goes wrong with the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is done in time, its answer comes late.
    Late,
    /// It arrives after its deadline.
    LateRequest,
    /// The same at a producer that does not look at deadlines, and so does it.
    LateRequestUnheeded,
    /// 403.
    Forbidden,
    /// 503.
    Unavailable,
    /// Its stream is reset before it is done.
    ResetBefore,
    /// Its stream is reset after it was done.
    ResetAfter,
    /// No connection.
    ConnectionRefused,
    /// It is never done; its stream is reset after a while.
    RequestLost,
    /// It is done; its stream is reset after a while.
    AnswerLost,
    /// It is done; nothing more is ever heard of it.
    AnswerLostForLong,
}

const FAULTS: [Fault; 11] = [
    Fault::Late,
    Fault::LateRequest,
    Fault::LateRequestUnheeded,
    Fault::Forbidden,
    Fault::Unavailable,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::ConnectionRefused,
    Fault::RequestLost,
    Fault::AnswerLost,
    Fault::AnswerLostForLong,
];

impl Fault {
    /// As a rule: where the call goes, or at an SCP on the way.
    fn rule(self, call: &UpstreamCall, hop: Option<&str>) -> Rule {
        let producer = Rule::at(hop.unwrap_or(call.producer));
        let rule = match self {
            Fault::Late => producer.on_response().delay_ms(LATE_MS),
            Fault::LateRequest | Fault::LateRequestUnheeded => producer.delay_ms(LATE_MS),
            Fault::Forbidden => producer.effect(Effect::status(403)),
            Fault::Unavailable => producer.effect(Effect::status(503)),
            Fault::ResetBefore => producer.effect(Effect::Reset(h2::Reason::INTERNAL_ERROR.into())),
            Fault::ResetAfter => producer.on_response().effect(Effect::Reset(h2::Reason::CANCEL.into())),
            Fault::ConnectionRefused => Rule::at(call.consumer).on_send().effect(Effect::RefuseConnection),
            Fault::RequestLost => Rule { hold: ms(200), ..producer.effect(Effect::Drop) },
            Fault::AnswerLost => {
                Rule { hold: ms(200), ..producer.on_response().effect(Effect::LoseResponse) }
            }
            Fault::AnswerLostForLong => producer.on_response().effect(Effect::LoseResponse),
        };
        rule.matching(call.method, call.path).once()
    }
}

/// What the slot holds before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Empty,
    /// An older session of the same UE and id, at the same SMF.
    Own,
    /// One at another SMF.
    OtherSmf,
    /// A registration in the UDR that this UDM did not write.
    Stranger,
}

const SLOTS: [Slot; 4] = [Slot::Empty, Slot::Own, Slot::OtherSmf, Slot::Stranger];

/// How many registrations the UDM has answered with success.
fn handed_over_by_udm(lab: &Lab) -> usize {
    let committed = |e: &&Event| &*e.nf == "udm" && e.event == Kind::ResourceCommitted;
    let registration = |e: &&Event| e.detail.as_deref() == Some("smf-registration");
    lab.events().iter().filter(committed).filter(registration).count()
}

/// One combination.
#[derive(Clone, Copy)]
pub struct Combination {
    call: &'static UpstreamCall,
    fault: Fault,
    put_answer: u16,
    slot: Slot,
    /// The SCP of a chain of two where it strikes; without one the NFs call one another directly.
    hop: Option<&'static str>,
}

impl Combination {
    /// Those of a call that passes two SCPs.
    pub fn at_hops(call: &'static UpstreamCall) -> impl Iterator<Item = Combination> {
        FAULTS.into_iter().flat_map(move |fault| {
            ["scp", "scp-2"].into_iter().flat_map(move |hop| {
                let of = move |slot| Combination { call, fault, put_answer: 201, slot, hop: Some(hop) };
                [Slot::Empty, Slot::Own].map(of)
            })
        })
    }

    /// All of a call.
    pub fn of(call: &'static UpstreamCall) -> impl Iterator<Item = Combination> {
        FAULTS.into_iter().flat_map(move |fault| {
            [200, 201, 204].into_iter().flat_map(move |put_answer| {
                SLOTS.into_iter().map(move |slot| Combination { call, fault, put_answer, slot, hop: None })
            })
        })
    }

    /// Plays it; whether it left something behind, or took something from others.
    pub fn fails(self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.play())).is_err()
    }

    /// What it is called.
    pub fn name(&self) -> String {
        let hop = self.hop.map(|hop| format!("/{hop}")).unwrap_or_default();
        format!("{}/{:?}/{}/{:?}{hop}", self.call.name, self.fault, self.put_answer, self.slot)
    }

    /// Whether the producer does what it is asked for and hands its success over.
    fn is_done(self) -> bool {
        match self.fault {
            // A producer behind an SCP that lets late requests through looks itself.
            Fault::LateRequestUnheeded => self.hop.is_none(),
            Fault::Late | Fault::ResetAfter | Fault::AnswerLost | Fault::AnswerLostForLong => true,
            _ => false,
        }
    }

    /// Whether the UDM asks its UDR to be notified of changes.
    fn hears_changes(self) -> bool {
        self.call.name == UDM_ASK.name
    }

    /// What is held for one session.
    fn one_session(self) -> BTreeMap<(String, &'static str), usize> {
        let mut held = one_session("smf");
        if self.hears_changes() {
            held.insert(("udr".to_owned(), "subs-to-notify"), 1);
        }
        held
    }

    fn play(self) {
        let nfs = match self.slot {
            Slot::OtherSmf => Lab::builder().with_smf("smf-2"),
            _ => Lab::builder(),
        };
        let nfs = if self.hop.is_some() { nfs.through_scps(2, false) } else { nfs };
        // A retry may have to wait until the answer of the older attempt counts as lost.
        let mut lab = world::quick_lab(nfs).policies(|p| p.max_rsp_time = p.release.settle + ms(1_000));
        lab = lab.policy("udm", |p| p.hear_changes = self.hears_changes());
        if self.fault == Fault::LateRequestUnheeded {
            lab = lab.policy(self.hop.unwrap_or(self.call.producer), |p| p.deadline.mode = Mode::Off);
        }

        world::play(lab, Weather::calm(1), move |lab| async move { self.scenario(&lab).await });
    }

    async fn scenario(self, lab: &Lab) {
        let older = self.fill_the_slot(lab).await;
        self.fail(lab).await;
        self.expect_clean_slate(lab, older.as_deref()).await;

        self.fail(lab).await;
        let retry = lab.establish(PduSession::default().dnn("edge").max_rsp_time_ms(8_000)).await;
        let Outcome::Established { location, .. } = retry else {
            panic!("the retry: {retry:?}\n{}", transcript(lab));
        };
        self.expect_retry(lab, &location).await;

        lab.release(&PduSession::default()).await;
        lab.settle().await;
        assert_eq!(held(lab).await, BTreeMap::new(), "after the release\n{}", transcript(lab));
    }

    async fn fill_the_slot(self, lab: &Lab) -> Option<String> {
        let older = match self.slot {
            Slot::Empty => return None,
            Slot::Own => PduSession::default(),
            Slot::OtherSmf => PduSession::default().at("smf-2"),
            Slot::Stranger => {
                let registration = json!({
                    "smfInstanceId": STRANGER, "pduSessionId": 5, "singleNssai": {"sst": 1}, "dnn": "internet",
                    "plmnId": {"mcc": "001", "mnc": "01"}
                });
                let put = Call::new(Method::PUT, registration_at_udr(0, 5)).with_json(&registration);
                lab.client().send(put).await.unwrap();
                return None;
            }
        };
        let Outcome::Established { location, .. } = lab.establish(older.dnn("internet")).await else {
            panic!("the older session\n{}", transcript(lab));
        };
        Some(location)
    }

    /// The AMF starts the session, the fault strikes, and so there is no session.
    async fn fail(self, lab: &Lab) {
        lab.clear_faults();
        lab.fault(self.fault.rule(self.call, self.hop));
        for nf in ["udm", "udr"] {
            let answer =
                Rule::at(nf).on_response().matching("PUT", "").effect(Effect::status(self.put_answer));
            lab.fault(answer);
        }
        let attempt = PduSession::default().dnn("ims").max_rsp_time_ms(PATIENCE_MS);
        let outcome = lab.establish(attempt).await;
        assert_ne!(outcome.as_str(), "established", "{}", transcript(lab));
    }

    /// Nothing of the attempt is left, and the older session lives on, unless it was replaced by all rules.
    async fn expect_clean_slate(self, lab: &Lab, older: Option<&str>) {
        let verdict = lab.verdict().await;
        let registered = self.registered_smf(lab).await;
        let handed_over = handed_over_by_udm(lab) > usize::from(self.slot == Slot::OtherSmf);
        let what = format!("{verdict:#?}\n{}", transcript(lab));
        let (left, missing) = (verdict.left.as_slice(), verdict.missing.as_slice());
        match (self.slot, older) {
            (Slot::Own, Some(older)) => {
                // An SMF that has handed over its 201 has replaced the older context.
                let lives = !(self.call.name == AMF_CREATE.name && self.is_done());
                let (expected, dnn) = match lives {
                    true => (self.one_session(), Some("internet".to_owned())),
                    false => (BTreeMap::new(), None),
                };
                assert_eq!(world::context_dnn(lab, older).await, dnn, "the older context: {what}");
                assert_eq!(registered_dnn(lab, 0, 5).await, dnn, "its registration: {what}");
                assert_eq!(held(lab).await, expected, "{what}");
                assert!(verdict.is_clean(), "{what}");
            }
            (Slot::OtherSmf, Some(older)) => {
                assert_eq!(world::context_dnn(lab, older).await.as_deref(), Some("internet"), "{what}");
                assert_eq!(left, [""; 0], "{what}");
                // Once the UDM has handed over the newer registration there is no way back to the older one.
                let replaced = handed_over && registered.is_none();
                let lost =
                    missing.iter().all(|m| m.starts_with("smf-registration") && m.contains("by smf-2"));
                assert!(if replaced { lost } else { missing.is_empty() }, "{what}");
            }
            (Slot::Stranger, _) => {
                let there = registered.as_deref() == Some(STRANGER);
                assert!(there || handed_over && registered.is_none(), "{registered:?} {what}");
                let strangers = left.iter().all(|l| l.contains("http://udr") && l.contains("(in no ledger)"));
                assert!(missing.is_empty() && strangers && left.len() == usize::from(there), "{what}");
            }
            _ => {
                assert!(verdict.is_clean(), "{what}");
                assert_eq!(held(lab).await, BTreeMap::new(), "{what}");
            }
        }
    }

    async fn registered_smf(self, lab: &Lab) -> Option<String> {
        let registration: Value =
            lab.client().send(Call::get(registration_at_udr(0, 5))).await.ok()?.json()?;
        Some(registration["smfInstanceId"].as_str()?.to_owned())
    }

    /// The retry has its session, and nothing else is there.
    async fn expect_retry(self, lab: &Lab, location: &str) {
        let verdict = lab.verdict().await;
        let what = format!("{verdict:#?}\n{}", transcript(lab));
        assert!(verdict.is_clean(), "{what}");
        assert_eq!(world::context_dnn(lab, location).await.as_deref(), Some("edge"), "{what}");
        assert_eq!(registered_dnn(lab, 0, 5).await.as_deref(), Some("edge"), "{what}");
        assert_eq!(held(lab).await, self.one_session(), "{what}");
    }
}
