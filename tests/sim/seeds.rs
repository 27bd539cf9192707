//! Random procedures, deadlines, faults, delays, clocks, crashes and orders: whatever the seed, nothing is left behind and
//! nothing of others is lost. `mock5g sim` plays more of them, and shrinks and replays what fails.

use mock5g::config::Indirect;
use mock5g::simulation::{Campaign, Extra, Law, Plan, play, shrunk};
use sbi::event::Kind;
use std::collections::BTreeSet;

/// How many seeds are played: fewer where the code is not optimised.
const SEEDS: u64 = if cfg!(debug_assertions) { 50 } else { 2_000 };

/// Of how many of them the messages are held against the OpenAPI files too.
const JUDGED: u64 = SEEDS / 10;

fn expect_all_well(campaign: &Campaign) {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let tally = campaign.run(threads);
    let replay = tally.failed.keys().next().map(|seed| {
        let through = campaign.indirect.map(|model| format!(" --indirect {model:?}").to_lowercase());
        let through = through.unwrap_or_default();
        format!("cargo run --release -- sim --seeds 1 --from {seed} --tick-ms {}{through}", campaign.tick_ms)
    });
    assert_eq!(
        tally.failing,
        0,
        "{:#?}\nplay one alone with\n  {}",
        tally.failed,
        replay.unwrap_or_default()
    );
    assert_eq!(tally.seeds, campaign.seeds.end - campaign.seeds.start);
    assert!(tally.procedures > 3 * tally.seeds, "{tally:?}");
}

#[test]
fn whatever_the_seed_nothing_is_left_behind() {
    expect_all_well(&Campaign::new(0..SEEDS, 5, Extra::default()));
}

/// More goes wrong on the way, and to find that out takes longer.
#[test]
fn nor_where_all_call_through_scps() {
    for model in [Indirect::C, Indirect::D] {
        expect_all_well(&Campaign::new(0..SEEDS / 8, 5, Extra::default()).through(Some(model)));
    }
}

#[test]
fn nor_where_time_is_finer() {
    expect_all_well(&Campaign::new(SEEDS..SEEDS + SEEDS / 4, 1, Extra::default()));
}

#[test]
fn what_the_nfs_send_is_as_their_apis_say() {
    expect_all_well(&Campaign::new(0..JUDGED, 5, Extra { judged: true, ..Extra::default() }));
}

/// Seeds that miss these would prove nothing about them.
#[test]
fn a_few_hundred_seeds_come_to_every_corner() {
    let kinds: BTreeSet<&str> = (0..300)
        .flat_map(|seed| play(&Plan::of_seed(seed, 5), Extra::default()).events)
        .map(|event| event.event.as_str())
        .collect();
    let corners = [
        Kind::ClientGone,
        Kind::FaultApplied,
        Kind::MessageTransferred,
        Kind::ProcedureFailed,
        Kind::RegistrationEnded,
        Kind::ReleaseFailed,
        Kind::ReleaseSettling,
        Kind::RequestDroppedLate,
        Kind::RequestRefusedLate,
        Kind::ResourceSuperseded,
        Kind::ResponseLate,
        Kind::ResponseUndeliverable,
        Kind::StatusNotified,
        Kind::UpstreamFailed,
        Kind::UpstreamTimedOut,
    ];
    let missed: Vec<_> = corners.iter().filter(|kind| !kinds.contains(kind.as_str())).collect();
    assert!(missed.is_empty(), "{missed:?} not among {kinds:?}");
}

/// With an audit that calls any trouble a broken law.
#[test]
fn a_plan_that_fails_is_made_smaller_until_nothing_can_be_left_out() {
    let extra = Extra { untroubled: true, ..Extra::default() };
    let fails = |plan: &Plan| play(plan, extra).findings.iter().any(|f| f.law == Law::Untroubled);
    let plan = (0..).map(|seed| Plan::of_seed(seed, 5)).find(fails).unwrap();
    let small = shrunk(&plan, fails);
    assert!(fails(&small) && small.parts.len() < plan.parts.len() / 2, "{small:#?}");
    for number in small.numbers() {
        let rest = small.numbers().into_iter().filter(|other| *other != number).collect();
        assert!(!fails(&small.only(&rest)), "{number} of {small:#?}");
    }
}
