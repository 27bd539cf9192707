//! Playing a plan from beginning to end, and asking what became of it.

use super::audit::{self, Finding, Law};
use super::dice::Dice;
use super::panics;
use super::plan::{DNNS, Hops, Keep, MAX_SKEW_MS, MAX_UES, Plan, SESSION_IDS, What};
use super::trouble::{Kind, Trouble};
use super::ue::{Deregistrations, Known, Life};
use super::weather::Weather;
use crate::config::Indirect;
use crate::lab::{Builder, Lab, PduSession};
use crate::subscribers::{dnn, supi};
use api::common::Snssai;
use api::nudm_sdm::default_sm_data;
use nrf::HeartBeats;
use sbi::event::{Event, Kind as EventKind};
use sbi::policy::{Forward, LostCreates, Mode, Policy};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

/// What became of a plan.
pub struct Played {
    /// Everything that happened.
    pub events: Vec<Event>,
    /// How many stimuli were played.
    pub procedures: u64,
    /// The laws that were broken.
    pub findings: Vec<Finding>,
}

impl Played {
    /// The events as JSON lines: the same plan gives the same bytes.
    pub fn log(&self) -> String {
        let line = |event: &Event| serde_json::to_string(event).unwrap_or_default() + "\n";
        self.events.iter().map(line).collect()
    }
}

/// What is looked at beside the laws of every run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// What the NFs send is held against the OpenAPI files, if there are any: half as long again.
    pub judged: bool,
    /// [`Law::Untroubled`].
    pub untroubled: bool,
}

/// Plays a plan.
pub fn play(plan: &Plan, extra: Extra) -> Played {
    let (before, weather) = (panics::count(), weather(plan));
    let lab = if extra.judged { lab(plan) } else { lab(plan).unjudged() };
    let scenario = plan.clone();
    let played = catch_unwind(AssertUnwindSafe(|| {
        lab.try_simulate(weather, move |lab| async move { follow(&scenario, lab).await })
    }));
    let (events, mut findings) = match played {
        Ok((events, Ok(findings))) => (events, findings),
        Ok((events, Err(stuck))) => (events, vec![Finding::new(Law::Liveness, stuck.to_string())]),
        Err(_) => (Vec::new(), Vec::new()),
    };
    if panics::count() > before {
        findings.push(Finding::new(Law::Panic, panics::newest()));
    }
    findings.extend(audit::broken_by(&events));
    if extra.untroubled {
        let trouble = events.iter().filter(|event| event.event == EventKind::FaultApplied);
        let told = |event: &Event| Finding::new(Law::Untroubled, event.detail.clone().unwrap_or_default());
        findings.extend(trouble.map(told));
    }
    let procedures = plan.stimuli().count() as u64;
    Played { events, procedures, findings }
}

fn weather(plan: &Plan) -> Weather {
    let ms = Duration::from_millis;
    Weather { tick: ms(plan.tick_ms), max_latency: ms(plan.max_latency_ms), ..Weather::rough(plan.seed) }
}

/// A tenth of the default times: the proportions stay, the runs are short.
pub fn quick(policy: &mut Policy) {
    let defaults = Policy::default();
    policy.release.settle = defaults.release.settle / 10;
    policy.release.wait = defaults.release.wait / 10;
    policy.release.timer = defaults.release.timer / 10;
    policy.release.backoff = defaults.release.backoff / 10;
    policy.max_rsp_time = defaults.max_rsp_time / 10;
}

/// A lab of these NFs with short timers, whose only subscribers may use [`DNNS`].
pub fn quick_lab(nfs: Builder) -> Builder {
    let profile = default_sm_data([(Snssai::sst(1), DNNS.map(dnn).into())]);
    let lab = nfs.policies(quick).without_default_subscribers();
    (0..MAX_UES).fold(lab, |lab, n| lab.subscriber(supi(n), profile.clone()))
}

fn lab(plan: &Plan) -> Builder {
    let nfs = match plan.has(|what| matches!(what, What::SecondSmf)) {
        true => Lab::builder().with_smf("smf-2"),
        false => Lab::builder(),
    };
    let nfs = plan.whats().fold(nfs, |nfs, what| match what {
        What::Through(Hops { count, model: Indirect::C, .. }) => nfs.through_scps(*count, false),
        What::Through(Hops { count, model: Indirect::D, .. }) => {
            nfs.with_nrf(HeartBeats::default()).through_scps(*count, true)
        }
        _ => nfs,
    });
    plan.whats().fold(quick_lab(nfs.workers(1)), |lab, what| match what {
        What::Shards(shards) => lab.workers(*shards),
        What::Careless(nf) => lab.policy(nf, |p| p.deadline.mode = Mode::Off),
        What::Terse(nf) => lab.policy(nf, |p| p.deadline.mode = Mode::Drop),
        What::Skew(..) => lab.policies(|p| p.deadline.skew_tolerance_ms = MAX_SKEW_MS),
        What::Journals(keep) => with_journals(lab, *keep, plan.seed),
        What::HearsChanges => lab.policy("udm", |p| p.hear_changes = true),
        What::ReachesUes => lab.reaching_ues(),
        What::Through(hops) => through(lab, *hops),
        What::SecondSmf | What::Trouble(_) | What::Stimulus(_) => lab,
    })
}

/// Whoever has lost an SCP does not know whom it has asked; there is only one producer of each type here.
fn through(lab: Builder, hops: Hops) -> Builder {
    let lab = lab.policies(|p| p.release.lost = LostCreates::Repeat);
    let stamps = hops.names().enumerate().filter(|(n, _)| hops.restamping >> n & 1 == 1);
    stamps.fold(lab, |lab, (_, scp)| lab.policy(scp, |p| p.deadline.forward = Forward::Restamp))
}

fn with_journals(lab: Builder, keep: Keep, seed: u64) -> Builder {
    let dice = Dice::of_seed(seed);
    ["amf", "smf", "smf-2", "udm", "udr"].into_iter().fold(lab, |lab, nf| lab.journal(nf, keep.medium(&dice)))
}

async fn follow(plan: &Plan, lab: Rc<Lab>) -> Vec<Finding> {
    lab.until_registered().await;
    for what in plan.whats() {
        if let What::Skew(nf, by_ms) = what {
            lab.step_clock(nf, *by_ms);
        }
    }
    let (lives, troubles) = (begin(plan, &lab), make_trouble(plan, &lab));
    let mut known = Vec::new();
    for life in lives {
        known.extend(life.await.ok().flatten());
    }
    for trouble in troubles {
        let _ = trouble.await;
    }
    lab.clear_faults();
    let known: Vec<_> = known.into_iter().filter_map(Known::still).collect();
    let one_smf = !plan.has(|what| matches!(what, What::SecondSmf));
    let mut findings = audit::expect_no_loss(&lab, &known, one_smf).await;
    release_all(&lab).await;
    findings.extend(audit::expect_nothing(&lab).await);
    findings
}

/// What is asked to be established where there is one SMF only goes there.
fn begin(plan: &Plan, lab: &Rc<Lab>) -> Vec<JoinHandle<Option<Known>>> {
    let mut lives = Vec::new();
    for ue in 0..MAX_UES {
        let deregistrations = Deregistrations::default();
        for session in [None, Some(SESSION_IDS[0]), Some(SESSION_IDS[1])] {
            let of_it = plan.stimuli().filter(|stimulus| (stimulus.ue, stimulus.session) == (ue, session));
            let (lab, deregistrations) = (lab.clone(), deregistrations.clone());
            let life = Life { lab, stimuli: of_it.cloned().collect(), deregistrations };
            lives.push(spawn_local(life.live()));
        }
    }
    lives
}

fn make_trouble(plan: &Plan, lab: &Rc<Lab>) -> Vec<JoinHandle<()>> {
    let one = |(number, trouble): (usize, &Trouble)| {
        let (lab, trouble) = (lab.clone(), trouble.clone());
        spawn_local(async move {
            sleep(Duration::from_millis(trouble.at_ms)).await;
            happen(&lab, number, &trouble.what).await;
        })
    };
    plan.troubles().map(one).collect()
}

async fn happen(lab: &Lab, number: usize, what: &Kind) {
    match what {
        Kind::Fault(fault) => lab.fault(fault.rule(number)),
        Kind::Stall(a, b, for_ms) => {
            lab.network().hold(a, b);
            sleep(Duration::from_millis(*for_ms)).await;
            lab.network().release(a, b);
        }
        Kind::Reset(a, b) => lab.network().reset(a, b),
        Kind::ClockStep(nf, to_ms) => lab.set_clock(nf, *to_ms),
        Kind::Crash(nf, _, _) if !lab.keeps_journal(nf) || !lab.is_running(nf) => {}
        Kind::Crash(nf, how, for_ms) => {
            lab.crash(nf, *how).await;
            sleep(Duration::from_millis(*for_ms)).await;
            lab.restart(nf).await;
        }
    }
}

async fn release_all(lab: &Lab) {
    for ue in 0..MAX_UES {
        for id in SESSION_IDS {
            lab.try_release(&PduSession::of(ue).id(id)).await;
        }
        lab.try_deregister(&supi(ue)).await;
    }
}
