//! What these tests share: a lab with short timers, what producers say of a session, and the laws of every run.

use api::common::Snssai;
use api::nudm_sdm::default_sm_data;
use api::{nudm_uecm, nudr_dr};
use http::Method;
use mock5g::lab::{Builder, Lab, Simulated};
use mock5g::simulation::Weather;
use mock5g::subscribers::{dnn, supi};
use sbi::client::Call;
use sbi::event::{Event, Kind, RequestId};
use sbi::policy::Policy;
use sbi::server::RequestKind;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Once;
use std::time::Duration;

/// The SMF of the registration that another UDM wrote into the UDR.
pub const STRANGER: &str = "99999999-9999-4999-8999-999999999999";

/// What every subscriber may use.
pub const DNNS: [&str; 3] = ["internet", "ims", "edge"];

/// How many subscribers there are.
pub const UES: u64 = 3;

/// A tenth of the default times: the proportions stay, the runs are short.
fn quick(policy: &mut Policy) {
    let defaults = Policy::default();
    policy.release.settle = defaults.release.settle / 10;
    policy.release.wait = defaults.release.wait / 10;
    policy.release.timer = defaults.release.timer / 10;
    policy.release.backoff = defaults.release.backoff / 10;
    policy.max_rsp_time = defaults.max_rsp_time / 10;
}

/// A lab of these NFs with short timers, whose subscribers may use [`DNNS`].
pub fn quick_lab(nfs: Builder) -> Builder {
    let profile = default_sm_data([(Snssai::sst(1), DNNS.map(dnn).into())]);
    (0..UES).fold(nfs.policies(quick), |lab, n| lab.subscriber(supi(n), profile.clone()))
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Plays a scenario and holds the run to the laws.
pub fn play<S>(lab: Builder, weather: Weather, scenario: impl FnOnce(Rc<Lab>) -> S + 'static) -> Simulated
where
    S: Future<Output = ()> + 'static,
{
    let before = panics();
    let played = lab.simulate(weather, scenario);
    assert_eq!(panics(), before, "a task of the simulation panicked");
    obey(&played.events);
    played
}

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// How many panics this thread has seen, those in tasks included, which nobody else would notice.
fn panics() -> usize {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.set(PANICS.get() + 1);
            print(panic);
        }));
    });
    PANICS.get()
}

/// What holds in every run, whatever goes wrong in it. TS 29.500 §6.11.2.2 (Rel-17).
fn obey(events: &[Event]) {
    // What was served faultily: a fault on sending does not excuse the answer to the request behind it.
    let faulty = |e: &&Event| {
        e.event == Kind::FaultApplied && !e.detail.as_deref().unwrap_or_default().contains("on send")
    };
    let faulty: BTreeSet<RequestId> = events.iter().filter(faulty).filter_map(|e| e.request).collect();
    for event in events {
        let left = event.budget_left_ms;
        match event.event {
            Kind::ResponseSent if !event.request.is_some_and(|r| faulty.contains(&r)) => {
                let success = event.status.is_some_and(|status| status < 300);
                let over = left.is_some_and(|left| left <= 0.0);
                assert!(!(success && over && writes(event)), "a success after its deadline: {event:?}");
            }
            Kind::RequestRefusedLate | Kind::RequestDroppedLate => {
                assert!(left.is_some_and(|left| left <= 0.0), "refused before its deadline: {event:?}");
            }
            Kind::UpstreamSent => {
                assert!(left.is_some_and(|left| left > 0.0), "sent without time left: {event:?}");
            }
            Kind::RequestPanicked => panic!("a handler panicked: {event:?}"),
            _ => {}
        }
    }
}

fn writes(event: &Event) -> bool {
    let method: Method = event.method.as_deref().unwrap_or_default().parse().unwrap();
    RequestKind::of(&method, event.uri.as_deref().unwrap_or_default()) == RequestKind::Write
}

/// The DNN of the SM context at `location`, if its SMF still has it.
pub async fn context_dnn(lab: &Lab, location: &str) -> Option<String> {
    let retrieve = Call::new(Method::POST, format!("{location}/retrieve")).with_json(&json!({}));
    let context: Value = lab.client().send(retrieve).await.ok()?.json()?;
    Some(context["smContext"]["dnn"].as_str()?.to_owned())
}

/// The DNN of the registration of a session, as the UDM tells it from the UDR.
pub async fn registered_dnn(lab: &Lab, ue: u64, id: u8) -> Option<String> {
    let path = nudm_uecm::smf_registration(&supi(ue), api::common::PduSessionId(id));
    let answer = lab.client().send(Call::get(format!("{}{path}", lab.api_root("udm")))).await.ok()?;
    let registration: Value = answer.json()?;
    Some(registration["dnn"].as_str()?.to_owned())
}

/// Where the UDR keeps the registration of a session.
pub fn registration_at_udr(ue: u64, id: u8) -> String {
    format!("http://udr{}", nudr_dr::smf_registration(&supi(ue), api::common::PduSessionId(id)))
}

/// How much each NF holds, by NF and kind.
pub async fn held(lab: &Lab) -> BTreeMap<(String, &'static str), usize> {
    let mut count = BTreeMap::new();
    for (nf, held) in lab.process().held(None).await {
        *count.entry((nf, held.kind)).or_default() += 1;
    }
    count
}

/// What is held for one session at `smf`.
pub fn one_session(smf: &str) -> BTreeMap<(String, &'static str), usize> {
    let held = [
        (smf, "sm-context"),
        ("udm", "sdm-subscription"),
        ("udm", "smf-registration"),
        ("udr", "sdm-subscription"),
        ("udr", "smf-registration"),
    ];
    held.map(|(nf, kind)| ((nf.to_owned(), kind), 1)).into()
}

/// What happened, if a single run was asked for: the log of one among hundreds would bury the rest.
pub fn transcript(lab: &Lab) -> String {
    let single = ["MOCK5G_CELL", "MOCK5G_SEED"].iter().any(|name| std::env::var_os(name).is_some());
    if single { lab.transcript() } else { "(run it alone to see what happened)".into() }
}
