//! The laws: what holds in every run, and what is asked of every producer when it is over.

use super::ue::Established;
use crate::lab::Lab;
use crate::verdict::Comparison;
use http::Method;
use sbi::client::{Answer, Call};
use sbi::event::{Event, Kind, RequestId};
use sbi::release::{Resource, State};
use sbi::server::RequestKind;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How long, in simulated time, it may take until nothing is left to do. All tries of a release and the settling of a
/// lost create fit in, several after one another.
const LIVELINESS: Duration = Duration::from_secs(60);

/// A law of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Whatever a producer holds is in a ledger.
    Orphan,
    /// What had its 2xx in time lives until its owner ends it.
    WrongRelease,
    /// All that could not be released is asked for until it is known to be gone.
    Hanging,
    /// A resource has one owner, and gets it once.
    DoubleCommit,
    /// TS 29.500 §6.11.2.2 (Rel-17): after its deadline no create or update is answered with success, and before it none is
    /// refused for being late.
    Deadline,
    /// What an attempt has made is released newest first.
    Order,
    /// Everything settles, and every table is empty then.
    Liveness,
    /// Nothing panics.
    Panic,
    /// Nothing goes wrong at all: kept by no plan with trouble. It is there to try the audit itself.
    Untroubled,
}

impl Law {
    /// All of them.
    pub const ALL: &[Law] = &[
        Law::Orphan,
        Law::WrongRelease,
        Law::Hanging,
        Law::DoubleCommit,
        Law::Deadline,
        Law::Order,
        Law::Liveness,
        Law::Panic,
        Law::Untroubled,
    ];

    /// What is found where it is broken.
    pub const fn as_str(self) -> &'static str {
        match self {
            Law::Orphan => "orphan",
            Law::WrongRelease => "wrong release",
            Law::Hanging => "hanging",
            Law::DoubleCommit => "double commit",
            Law::Deadline => "deadline missed",
            Law::Order => "released out of order",
            Law::Liveness => "never settled",
            Law::Panic => "panic",
            Law::Untroubled => "trouble",
        }
    }
}

/// A law that was broken, and by what.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Which.
    pub law: Law,
    /// By what.
    pub what: String,
}

impl Finding {
    pub(super) fn new(law: Law, what: impl Into<String>) -> Self {
        Finding { law, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law.as_str(), self.what)
    }
}

/// What of the laws can be seen in the events of a run.
pub fn broken_by(events: &[Event]) -> Vec<Finding> {
    let faulty = served_faultily(events);
    let mut committed = BTreeSet::new();
    let broken = events.iter().filter_map(|event| look_at(event, &faulty, &mut committed));
    broken.chain(outlasting(events)).collect()
}

/// Only what the network does to an answer excuses it: not that the request came late, nor that another one was not sent.
fn served_faultily(events: &[Event]) -> BTreeSet<RequestId> {
    let on_response = |e: &Event| e.detail.as_deref().unwrap_or_default().contains("on response");
    let faulty = events.iter().filter(|e| e.event == Kind::FaultApplied && on_response(e));
    faulty.filter_map(|e| e.request).collect()
}

/// How much events are rounded, in ms.
const ROUNDING_MS: f64 = 0.2;

/// Upstream calls for a request that would go on after its client has stopped waiting.
fn outlasting(events: &[Event]) -> Vec<Finding> {
    let mut until = BTreeMap::new();
    let mut broken = Vec::new();
    for event in events {
        let Some((request, left)) = event.request.zip(event.budget_left_ms) else { continue };
        match event.event {
            Kind::RequestReceived if kind_of(event) != RequestKind::Release => {
                until.insert(request, event.at_ms + left);
            }
            Kind::UpstreamSent
                if until.get(&request).is_some_and(|until| event.at_ms + left > until + ROUNDING_MS) =>
            {
                let what = format!("an upstream call that outlasts its client's deadline: {event:?}");
                broken.push(Finding::new(Law::Deadline, what));
            }
            _ => {}
        }
    }
    broken
}

fn look_at<'a>(
    event: &'a Event,
    faulty: &BTreeSet<RequestId>,
    committed: &mut BTreeSet<(&'a str, &'a str)>,
) -> Option<Finding> {
    let left = event.budget_left_ms;
    let over = left.is_some_and(|left| left <= 0.0);
    let broken = |law, what: &str| Some(Finding::new(law, format!("{what}: {event:?}")));
    match event.event {
        Kind::ResponseSent if event.request.is_some_and(|request| faulty.contains(&request)) => None,
        // It passes late answers on to those who take them, and late releases to those who end something.
        Kind::ResponseSent | Kind::UpstreamSent if event.nf.starts_with("scp") => None,
        Kind::ResponseSent if over && is_success(event) && writes(event) => {
            broken(Law::Deadline, "a success after its deadline")
        }
        Kind::RequestRefusedLate | Kind::RequestDroppedLate if !over => {
            broken(Law::Deadline, "refused before its deadline")
        }
        Kind::UpstreamSent if !left.is_some_and(|left| left > 0.0) => {
            broken(Law::Deadline, "sent without time left")
        }
        Kind::RequestPanicked => broken(Law::Panic, "a handler panicked"),
        Kind::ResourceCommitted => {
            let uri = event.uri.as_deref().unwrap_or_default();
            // At a fixed URI each attempt has a resource of its own.
            let fixed = event.detail.as_deref().is_some_and(|kind| FIXED.contains(&kind));
            let first = fixed || committed.insert((&event.nf, uri));
            if first { None } else { broken(Law::DoubleCommit, "committed before") }
        }
        _ => None,
    }
}

/// What is made at a URI that is the same each time.
const FIXED: [&str; 2] = ["smf-registration", "amf-3gpp-access"];

fn is_success(event: &Event) -> bool {
    event.status.is_some_and(|status| status < 300)
}

fn writes(event: &Event) -> bool {
    kind_of(event) == RequestKind::Write
}

fn kind_of(event: &Event) -> RequestKind {
    let method = event.method.as_deref().and_then(|method| method.parse().ok()).unwrap_or(Method::GET);
    RequestKind::of(&method, event.uri.as_deref().unwrap_or_default())
}

/// An entry's number in its ledger: newer ones have higher numbers.
fn number(resource: &Resource) -> u64 {
    resource.id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Of two things that one request had made and held, the newer one is released first.
fn out_of_order(resources: &[Resource]) -> Vec<Finding> {
    let at = |r: &Resource, state: State| r.history.iter().find(|(_, s)| *s == state).map(|(at, _)| *at);
    let released = |r: &Resource| Some((at(r, State::Held)?, at(r, State::Releasing)?));
    let mut broken = Vec::new();
    for newer in resources {
        let with_it = |older: &&Resource| older.request == newer.request && older.by == newer.by;
        for older in resources.iter().filter(with_it).filter(|older| number(older) < number(newer)) {
            let (Some((held, newer_at)), Some((_, older_at))) = (released(newer), released(older)) else {
                continue;
            };
            if held < older_at && older_at < newer_at {
                let what = format!("{} {} before {} {}", older.kind, older.uri, newer.kind, newer.uri);
                broken.push(Finding::new(Law::Order, what));
            }
        }
    }
    broken
}

/// Waits until everything is settled; what is not in time is a finding.
pub(super) async fn settle(lab: &Lab) -> Vec<Finding> {
    match lab.try_settle(LIVELINESS).await {
        Ok(()) => Vec::new(),
        Err(open) if open.is_empty() => {
            vec![Finding::new(Law::Liveness, "a procedure, a slot or a create in flight is left in a table")]
        }
        Err(open) => open.into_iter().map(|open| Finding::new(Law::Liveness, open)).collect(),
    }
}

/// Once nothing goes wrong any more: nothing is left, and every session that was established, and neither released nor
/// replaced, is whole.
pub(super) async fn expect_no_loss(lab: &Lab, known: &[Established], one_smf: bool) -> Vec<Finding> {
    let mut findings = settle(lab).await;
    let (resources, compared) = compared(lab).await;
    findings.extend(left_behind(&compared));
    findings.extend(owned_twice(&resources));
    findings.extend(out_of_order(&resources));
    // A session's registration is lost if an attempt at another SMF, made after all, has replaced it.
    let excused = |missing: &&String| !one_smf && missing.starts_with("smf-registration");
    let missing = compared.missing.iter().filter(|missing| !excused(missing));
    findings.extend(missing.map(|missing| Finding::new(Law::WrongRelease, missing)));
    for session in known {
        let lost = whole(lab, session, &resources, one_smf).await.err();
        findings.extend(lost.map(|why| Finding::new(Law::WrongRelease, format!("{session:?}: {why}"))));
    }
    findings
}

/// After every release: nobody holds or owes anything.
pub(super) async fn expect_nothing(lab: &Lab) -> Vec<Finding> {
    let mut findings = settle(lab).await;
    let (resources, compared) = compared(lab).await;
    findings.extend(left_behind(&compared));
    let on_record = lab.open_records().await.into_iter();
    findings.extend(on_record.map(|open| Finding::new(Law::Liveness, format!("still on record at {open}"))));
    let owned = resources.iter().filter(|r| r.state == State::Owned);
    findings.extend(owned.map(|r| {
        Finding::new(
            Law::Orphan,
            format!("{} {} (still owned by {} after every release)", r.kind, r.uri, r.by),
        )
    }));
    findings
}

/// Whether the AMF was told that this very SM context is released, and took it.
fn is_told_released(events: &[Event], session: &Established) -> bool {
    let about = |e: &Event| e.uri.as_deref() == Some(&session.location);
    let released = |e: &Event| e.detail.as_deref().is_some_and(|detail| detail.ends_with("RELEASED"));
    events.iter().any(|e| e.event == Kind::StatusNotified && about(e) && released(e))
}

async fn compared(lab: &Lab) -> (Vec<Resource>, Comparison) {
    let process = lab.process();
    let held: Vec<_> = process.held(None).await.into_iter().map(|(_, held)| held).collect();
    let resources = process.resources().await;
    let compared = Comparison::of(&resources, &held);
    (resources, compared)
}

fn left_behind(compared: &Comparison) -> Vec<Finding> {
    let found = |law: Law, all: &[String]| all.iter().map(|what| Finding::new(law, what)).collect::<Vec<_>>();
    [
        found(Law::Orphan, &compared.orphans),
        found(Law::Hanging, &compared.reported),
        found(Law::Liveness, &compared.unsettled),
    ]
    .concat()
}

fn owned_twice(resources: &[Resource]) -> Vec<Finding> {
    let mut once = BTreeSet::new();
    let owned = resources.iter().filter(|r| r.state == State::Owned);
    let again = owned.filter(|r| !once.insert(&r.uri));
    again.map(|r| Finding::new(Law::DoubleCommit, format!("{} {} has two owners", r.kind, r.uri))).collect()
}

/// Whether a session that the AMF knows is owned, is at its SMF as it was asked for, and registered.
async fn whole(
    lab: &Lab,
    session: &Established,
    resources: &[Resource],
    one_smf: bool,
) -> Result<(), String> {
    let at_amf = resources.iter().find(|r| r.by == "amf" && r.uri == session.location);
    match at_amf.map(|r| r.state) {
        Some(State::Owned) => {}
        // What follows its 201 has failed, and the AMF was told that it is released.
        // (An AMF that was started anew has forgotten what is settled.)
        Some(State::Released) | None if is_told_released(&lab.events(), session) => return Ok(()),
        state => return Err(format!("it has no owner: {state:?}")),
    }
    let as_asked = |what: &str, found: Option<String>| match found.as_deref() == Some(session.dnn) {
        true => Ok(()),
        false => Err(format!("{what} is for {found:?}")),
    };
    as_asked("its SM context", context_dnn(lab, &session.location).await)?;
    let subscription = resources.iter().find(|r| {
        let supi = crate::subscribers::supi(session.ue);
        r.kind == "sdm-subscription"
            && r.by.starts_with("smf")
            && r.uri.contains(supi.as_str())
            && r.state == State::Owned
    });
    subscription.ok_or_else(|| "its SMF hears of no changes".to_owned())?;
    if one_smf {
        as_asked("its registration", registered_dnn(lab, session.ue, session.id).await)?;
    }
    Ok(())
}

/// The answer to a question: it is asked again if the connection was one to an NF that has been started anew since.
async fn asked(lab: &Lab, call: Call) -> Option<Answer> {
    match lab.client().send(call.clone()).await {
        Ok(answer) => Some(answer),
        Err(_) => lab.client().send(call).await.ok(),
    }
}

/// The DNN of the SM context at `location`, if its SMF still has it.
pub async fn context_dnn(lab: &Lab, location: &str) -> Option<String> {
    let retrieve = Call::new(Method::POST, format!("{location}/retrieve")).with_json(&json!({}));
    let context: Value = asked(lab, retrieve).await?.json()?;
    Some(context["smContext"]["dnn"].as_str()?.to_owned())
}

/// The DNN of the registration of a session, as the UDM tells it from the UDR.
pub async fn registered_dnn(lab: &Lab, ue: u64, id: u8) -> Option<String> {
    let supi = crate::subscribers::supi(ue);
    let path = api::nudm_uecm::smf_registration(&supi, api::common::PduSessionId(id));
    let registration: Value =
        asked(lab, Call::get(format!("{}{path}", lab.api_root("udm")))).await?.json()?;
    Some(registration["dnn"].as_str()?.to_owned())
}
