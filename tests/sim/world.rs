//! What these tests share: a lab with short timers, what producers say of a session, and the laws of every run.

use api::nudr_dr;
use mock5g::lab::{Builder, Lab, Simulated};
use mock5g::simulation::{Weather, broken_by, panics};
use mock5g::subscribers::supi;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

pub use mock5g::simulation::{MAX_UES as UES, context_dnn, quick_lab, registered_dnn};

/// The SMF of the registration that another UDM wrote into the UDR.
pub const STRANGER: &str = "99999999-9999-4999-8999-999999999999";

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Plays a scenario and holds the run to the laws.
pub fn play<S>(lab: Builder, weather: Weather, scenario: impl FnOnce(Rc<Lab>) -> S + 'static) -> Simulated
where
    S: Future<Output = ()> + 'static,
{
    let before = panics::count();
    let played = lab.simulate(weather, scenario);
    assert_eq!(panics::count(), before, "a task of the simulation panicked: {}", panics::newest());
    let broken = broken_by(&played.events);
    assert!(broken.is_empty(), "{broken:#?}");
    played
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
