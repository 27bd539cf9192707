//! Random procedures, deadlines, faults, delays, clocks and orders: whatever the seed, nothing is left behind and
//! nothing of others is lost.
//!
//! A seed that fails is named, and played alone with `MOCK5G_SEED=<it>`; `MOCK5G_SEEDS=<how many>` plays more or fewer.

use crate::world::{self, held, ms, registered_dnn, transcript};
use amf::Outcome;
use mock5g::lab::{Builder, Lab, PduSession, Simulated};
use mock5g::simulation::Weather;
use sbi::env::Entropy;
use sbi::fault::{Effect, Rule};
use sbi::policy::Mode;
use sbi::release::State;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tokio::time::sleep;

/// How many seeds are played: fewer where the code is not optimised.
const SEEDS: u64 = if cfg!(debug_assertions) { 50 } else { 1_000 };

/// The longest that a fault delays or holds a request whose producer looks at deadlines. With the longest deadline it
/// stays below `settle_ms`: of what is silent for longer nothing is ever known for sure, and the sweep has it.
const MAX_DELAY_MS: u64 = 900;

/// The same at a producer that does not: what it does after its consumer has stopped asking nobody can know.
const MAX_DELAY_UNHEEDED_MS: u64 = 200;

/// How much two clocks differ at most, where they do; every NF is told.
const MAX_SKEW_MS: u64 = 60;

const SESSION_IDS: [u8; 2] = [5, 6];

#[test]
fn whatever_the_seed_nothing_is_left_behind() {
    let one = number("MOCK5G_SEED");
    let seeds = one.map_or(0..number("MOCK5G_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let failed: Vec<u64> = std::thread::scope(|scope| {
        let play =
            |worker| seeds.clone().filter(move |seed| seed % workers == worker).filter(|seed| fails(*seed));
        let threads: Vec<_> =
            (0..workers).map(|w| scope.spawn(move || play(w).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        failed.is_empty(),
        "{} seeds failed: {failed:?}\nplay one alone with\n  \
         MOCK5G_SEED={} cargo test --release -p tests --test sim seeds",
        failed.len(),
        failed[0]
    );
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn fails(seed: u64) -> bool {
    let failed = catch_unwind(AssertUnwindSafe(|| play(seed))).is_err();
    if failed {
        eprintln!("FAILED seed {seed}");
    }
    failed
}

/// Plays a seed to its end.
pub fn play(seed: u64) -> Simulated {
    let dice = Dice(Entropy::from_seed(seed));
    let weather = Weather { max_latency: ms(dice.between(5, 40)), ..Weather::rough(seed) };
    let plan = Plan::roll(&dice);
    world::play(plan.lab(), weather, move |lab| async move { plan.scenario(lab, dice).await })
}

/// Random numbers, by the seed alone.
#[derive(Clone)]
struct Dice(Entropy);

impl Dice {
    fn between(&self, least: u64, most: u64) -> u64 {
        least + self.0.up_to(most - least)
    }

    fn one_in(&self, n: u64) -> bool {
        self.between(1, n) == 1
    }

    fn of<'a, T>(&self, all: &'a [T]) -> &'a T {
        &all[self.between(0, all.len() as u64 - 1) as usize]
    }

    fn another(&self) -> Dice {
        Dice(Entropy::from_seed(self.0.u64()))
    }
}

/// What kind of network a seed has.
struct Plan {
    smfs: Vec<&'static str>,
    shards: usize,
    /// The NFs that do not look at deadlines.
    careless: Vec<&'static str>,
    /// Those that drop what is late.
    terse: Vec<&'static str>,
    /// By how much each clock is wrong, if the clocks differ.
    skews: Vec<(&'static str, i64)>,
    /// Whether the UDM asks its UDR to be notified of changes.
    hears_changes: bool,
    faults: u64,
    stalls: u64,
}

impl Plan {
    fn roll(dice: &Dice) -> Plan {
        let producers = ["smf", "udm", "udr"];
        let some = |n| producers.into_iter().filter(|_| dice.one_in(n)).collect::<Vec<_>>();
        let clocks: &[_] = if dice.one_in(4) { &["amf", "smf", "udm", "udr"] } else { &[] };
        let skew = |nf: &&'static str| (*nf, dice.between(0, MAX_SKEW_MS) as i64 - MAX_SKEW_MS as i64 / 2);
        Plan {
            smfs: if dice.one_in(4) { vec!["smf", "smf-2"] } else { vec!["smf"] },
            shards: dice.between(1, 3) as usize,
            careless: some(8),
            terse: some(6),
            skews: clocks.iter().map(skew).collect(),
            hears_changes: dice.one_in(3),
            faults: dice.between(0, 14),
            stalls: dice.between(0, 2),
        }
    }

    fn lab(&self) -> Builder {
        let nfs = if self.smfs.len() > 1 { Lab::builder().with_smf("smf-2") } else { Lab::builder() };
        let mut lab = world::quick_lab(nfs.workers(self.shards));
        if !self.skews.is_empty() {
            lab = lab.policies(|p| p.deadline.skew_tolerance_ms = MAX_SKEW_MS);
        }
        lab = lab.policy("udm", |p| p.hear_changes = self.hears_changes);
        for nf in &self.terse {
            lab = lab.policy(nf, |p| p.deadline.mode = Mode::Drop);
        }
        for nf in &self.careless {
            lab = lab.policy(nf, |p| p.deadline.mode = Mode::Off);
        }
        lab
    }

    async fn scenario(self, lab: Rc<Lab>, dice: Dice) {
        self.skews.iter().for_each(|(nf, by_ms)| lab.step_clock(nf, *by_ms));
        let plan = Rc::new(self);
        let mut tasks = Vec::new();
        for ue in 0..world::UES {
            for id in SESSION_IDS {
                let session = Session { lab: lab.clone(), plan: plan.clone(), dice: dice.another(), ue, id };
                tasks.push(tokio::task::spawn_local(session.live()));
            }
        }
        let trouble = tokio::task::spawn_local(plan.clone().make_trouble(lab.clone(), dice.another()));
        let mut known = Vec::new();
        for task in tasks {
            known.push(task.await.unwrap());
        }
        trouble.await.unwrap();
        lab.clear_faults();
        plan.expect_no_loss(&lab, known.into_iter().flatten().collect()).await;
        release_all(&lab).await;
    }

    /// Sets a rule now and then, and holds messages back between two hosts.
    async fn make_trouble(self: Rc<Self>, lab: Rc<Lab>, dice: Dice) {
        for n in 0..self.faults {
            sleep(ms(dice.between(0, 400))).await;
            lab.fault(self.fault(&dice, n));
        }
        for _ in 0..self.stalls {
            let (a, b) = *dice.of(&[("amf", "smf"), ("smf", "udm"), ("udm", "udr")]);
            lab.network().hold(a, b);
            sleep(ms(dice.between(20, MAX_DELAY_UNHEEDED_MS))).await;
            lab.network().release(a, b);
        }
    }

    /// A random fault at a random call, creates and releases alike. None lies: an error is one that passes, and means
    /// that nothing was done.
    fn fault(&self, dice: &Dice, n: u64) -> Rule {
        let (consumer, producer, method, path) = *dice.of(&[
            ("amf", "smf", "POST", "/sm-contexts$"),
            ("amf", "smf", "POST", "/release$"),
            ("smf", "udm", "GET", "/sm-data"),
            ("smf", "udm", "POST", "/sdm-subscriptions$"),
            ("smf", "udm", "DELETE", "/sdm-subscriptions/"),
            ("smf", "udm", "PUT", "/smf-registrations/"),
            ("smf", "udm", "DELETE", "/smf-registrations/"),
            ("udm", "udr", "GET", ""),
            ("udm", "udr", "POST", "/sdm-subscriptions$"),
            ("udm", "udr", "DELETE", "/sdm-subscriptions/"),
            ("udm", "udr", "POST", "/subs-to-notify$"),
            ("udm", "udr", "DELETE", "/subs-to-notify/"),
            ("udm", "udr", "PUT", "/smf-registrations/"),
            ("udm", "udr", "DELETE", "/smf-registrations/"),
        ]);
        let longest = if self.careless.contains(&producer) { MAX_DELAY_UNHEEDED_MS } else { MAX_DELAY_MS };
        let delay = dice.between(1, longest);
        let at = Rule::at(producer);
        let error = *dice.of(&[429, 500, 503, 504]);
        let reset = Effect::Reset(h2::Reason::CANCEL.into());
        let rule = match dice.between(0, 7) {
            0 => at.delay_ms(delay),
            1 => at.on_response().delay_ms(dice.between(1, MAX_DELAY_MS)),
            2 => at.effect(Effect::status(error)),
            3 => at.effect(reset),
            4 => at.on_response().effect(reset),
            5 => Rule::at(consumer).on_send().effect(Effect::RefuseConnection),
            6 => Rule { hold: ms(delay), ..at.effect(Effect::Drop) },
            _ => Rule { hold: ms(delay), ..at.on_response().effect(Effect::LoseResponse) },
        };
        let times = Some(dice.between(1, 2) as u32);
        Rule { id: n.to_string(), times, skip: dice.between(0, 2) as u32, ..rule.matching(method, path) }
    }

    /// Nothing is left, and every session that was established, and neither released nor replaced, is whole.
    async fn expect_no_loss(&self, lab: &Lab, known: Vec<Established>) {
        let verdict = lab.verdict().await;
        let what = format!("{verdict:#?}\n{}", transcript(lab));
        assert!(verdict.left.is_empty(), "{what}");
        // A session's registration is lost if an attempt at another SMF, made after all, has replaced it.
        let by_other_smf = |m: &String| self.smfs.len() > 1 && m.starts_with("smf-registration");
        assert!(verdict.missing.iter().all(by_other_smf), "{what}");
        let resources = lab.process().resources().await;
        for session in known {
            let owned = |uri: &str| {
                resources.iter().any(|r| r.by == "amf" && r.uri == uri && r.state == State::Owned)
            };
            assert!(owned(&session.location), "{session:?} has no owner: {what}");
            let dnn = world::context_dnn(lab, &session.location).await;
            assert_eq!(dnn.as_deref(), Some(session.dnn), "{session:?}: {what}");
            if self.smfs.len() == 1 {
                let dnn = registered_dnn(lab, session.ue, session.id).await;
                assert_eq!(dnn.as_deref(), Some(session.dnn), "the registration of {session:?}: {what}");
            }
        }
    }
}

/// A session that the AMF knows to be established.
#[derive(Debug)]
struct Established {
    ue: u64,
    id: u8,
    location: String,
    dnn: &'static str,
}

/// The life of one PDU session: established, released, established again, at times twice at once.
struct Session {
    lab: Rc<Lab>,
    plan: Rc<Plan>,
    dice: Dice,
    ue: u64,
    id: u8,
}

impl Session {
    /// What is known of it in the end, if anything is.
    async fn live(self) -> Option<Established> {
        let mut known = None;
        for _ in 0..self.dice.between(2, 5) {
            sleep(ms(self.dice.between(0, 500))).await;
            known = match self.dice.between(0, 9) {
                0..=5 => self.establish().await,
                6..=7 => {
                    self.lab.release(&self.session()).await;
                    None
                }
                8 => {
                    tokio::join!(self.establish(), self.establish());
                    None
                }
                _ => {
                    let session = self.session();
                    tokio::join!(self.establish(), self.lab.release(&session));
                    None
                }
            };
        }
        known
    }

    fn session(&self) -> PduSession {
        PduSession::of(self.ue).id(self.id)
    }

    async fn establish(&self) -> Option<Established> {
        let (dnn, smf) = (*self.dice.of(&world::DNNS), *self.dice.of(&self.plan.smfs));
        let session = self.session().dnn(dnn).at(smf).max_rsp_time_ms(self.dice.between(50, 2_000));
        match self.lab.establish(session).await {
            Outcome::Established { location, .. } => {
                Some(Established { ue: self.ue, id: self.id, location, dnn })
            }
            _ => None,
        }
    }
}

/// Releases every session; then nobody holds or owes anything.
async fn release_all(lab: &Lab) {
    for ue in 0..world::UES {
        for id in SESSION_IDS {
            lab.release(&PduSession::of(ue).id(id)).await;
        }
    }
    let verdict = lab.verdict().await;
    let what = format!("after all releases: {verdict:#?}\n{}", transcript(lab));
    assert!(verdict.is_clean() && verdict.committed == 0, "{what}");
    assert_eq!(held(lab).await, BTreeMap::new(), "{what}");
}
