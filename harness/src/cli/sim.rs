//! `mock5g sim`: many seeds under simulation.

use super::{Exit, Off};
use crate::simulation::{Campaign, Extra, Failed, Law, Plan, Played, Tally, panics, play};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Play random procedures with random faults under simulated time and network, and audit what is left
///
/// A seed means a world (one or two SMFs, shards, clocks that are wrong, NFs that do not look at deadlines or drop what is
/// late), what goes wrong in it (delays, losses, refusals, resets, lost answers, stalls, clock steps, crashes), and what its
/// UEs do (register, establish, modify, release, again and at once). The NFs are the real ones; time and network are
/// simulated, so a seed takes milliseconds and is the same each time, to the byte.
///
/// At the end every producer is asked what it holds. An orphan is held although no ledger lists it; a wrong release is gone
/// although its owner had its 2xx in time (TS 29.500 §6.11.2.2, and docs/release.md). There must be neither, and no other
/// law may be broken: nothing hanging, no resource committed twice, no success after its deadline, everything settles.
///
/// A seed that fails is made as small as it can be, and the line that plays the rest of it again is printed. A single seed
/// that fails prints every event as well, as JSON lines.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct SimArgs {
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,
    /// The grain of the network's time in milliseconds, at most 50: what is sent arrives at a multiple of it. A coarser one would
    /// be longer than the timers that it is to test
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=50))]
    tick_ms: u64,
    /// Only these parts of the plan of a single seed, by their numbers: 3,17
    #[arg(long, value_name = "PARTS", value_delimiter = ',', num_args = 0.., require_equals = true)]
    only: Option<Vec<usize>>,
    /// Let all NFs call through one or two SCPs, where more can go wrong: c, they name the target; d, the SCP finds it at an
    /// NRF; off, directly
    #[arg(long, value_name = "off|c|d", value_parser = super::indirect, default_value = "off", hide_default_value = true)]
    indirect: Off,
    /// Hold what the NFs send against the OpenAPI files in $MOCK5G_OPENAPI_DIR too: slower
    #[arg(long)]
    judged: bool,
    /// How many threads; by default one for each processor
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// The verdict as a JSON object on stdout, the last line of it; talk goes to stderr
    #[arg(long)]
    json: bool,
    /// Call every fault that is applied a broken law, to see how a failure is told
    #[arg(long, hide = true)]
    expect_no_trouble: bool,
}

/// How many threads may play: more of them would only take turns.
const MAX_THREADS: usize = 256;

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    threads.ok_or_else(|| format!("expected a number from 1 to {MAX_THREADS}"))
}

const AFTER_HELP: &str = "\
Examples:
  mock5g sim --seeds 2000
  mock5g sim --seeds 1 --from 17            # one seed; if it fails, with everything that happened
  mock5g sim --seeds 200000 --tick-ms 1

The last line on stdout:
  seeds 2000, procedures 16372, orphans 0, wrong releases 0

Exit codes: 0 no law was broken, 1 one was, 2 the command line is wrong, 130 interrupted";

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(5);

impl SimArgs {
    fn extra(&self) -> Extra {
        Extra { judged: self.judged, untroubled: self.expect_no_trouble }
    }

    /// What else a replay needs.
    fn replay(&self, seed: u64, failed: &Failed) -> String {
        let mut line = format!("mock5g sim --seeds 1 --from {seed}");
        if self.tick_ms != 5 {
            line += &format!(" --tick-ms {}", self.tick_ms);
        }
        if let Some(model) = self.indirect.0 {
            line += &format!(" --indirect {}", format!("{model:?}").to_lowercase());
        }
        if failed.plan.parts.len() < failed.whole {
            let numbers: Vec<_> = failed.plan.numbers().iter().map(usize::to_string).collect();
            line += " --only";
            line += &if numbers.is_empty() { String::new() } else { format!("={}", numbers.join(",")) };
        }
        for (option, is_set) in [(" --judged", self.judged), (" --expect-no-trouble", self.expect_no_trouble)]
        {
            line += if is_set { option } else { "" };
        }
        line
    }
}

pub(super) async fn run(args: SimArgs) -> Exit {
    let Some(end) = args.from.checked_add(args.seeds) else {
        eprintln!(
            "error: --from {} and --seeds {} lead beyond the last seed, {}",
            args.from,
            args.seeds,
            u64::MAX
        );
        return Exit::Usage;
    };
    if let Some(only) = &args.only {
        return run_part(&args, only.iter().copied().collect()).await;
    }
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let campaign = Campaign::new(args.from..end, args.tick_ms, args.extra()).through(args.indirect.0);
    let campaign = Arc::new(campaign);
    let (begin, played) = (Instant::now(), campaign.clone());
    let mut running = tokio::task::spawn_blocking(move || played.run(threads));
    let interrupted = watch(&campaign, &mut running).await;
    let tally = campaign.tally();
    tell_speed(&tally, begin.elapsed(), threads);
    if args.seeds == 1 && tally.failing > 0 {
        let plan = Plan::through(args.from, args.tick_ms, args.indirect.0);
        tell_events(&replayed(plan, args.extra()).await);
    }
    tell_failed(&args, &tally);
    told(&args, &tally, interrupted)
}

/// Plays some parts of one seed, and does not try to leave out more.
async fn run_part(args: &SimArgs, only: BTreeSet<usize>) -> Exit {
    let whole = Plan::through(args.from, args.tick_ms, args.indirect.0);
    if args.seeds != 1 {
        eprintln!(
            "error: --only names parts of one seed: expected --seeds 1, but found --seeds {}",
            args.seeds
        );
        return Exit::Usage;
    }
    if let Some(number) = only.iter().find(|number| **number >= whole.parts.len()) {
        let parts = whole.parts.len();
        eprintln!("error: the plan of seed {} has {parts} parts, from 0; there is no {number}", args.from);
        return Exit::Usage;
    }
    let plan = whole.only(&only);
    let played = replayed(plan.clone(), args.extra()).await;
    let mut tally = Tally { seeds: 1, procedures: played.procedures, ..Tally::default() };
    if !played.findings.is_empty() {
        tell_events(&played);
        tally.failing = 1;
        played.findings.iter().for_each(|finding| *tally.broken.entry(finding.law).or_default() += 1);
        let failed = Failed { whole: whole.parts.len(), plan, findings: played.findings };
        tally.failed.insert(args.from, failed);
        tell_failed(args, &tally);
    }
    told(args, &tally, false)
}

/// Plays a plan on a thread of its own: this one has a runtime already.
async fn replayed(plan: Plan, extra: Extra) -> Played {
    let played = tokio::task::spawn_blocking(move || panics::quietly(|| play(&plan, extra))).await;
    played.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Tells how far it is, until it has ended or is interrupted: whether it was.
async fn watch(campaign: &Campaign, running: &mut tokio::task::JoinHandle<Tally>) -> bool {
    let mut progress = tokio::time::interval(PROGRESS);
    progress.tick().await;
    loop {
        tokio::select! {
            biased;
            _ = &mut *running => return false,
            _ = tokio::signal::ctrl_c() => {
                campaign.stop.store(true, Relaxed);
                let _ = running.await;
                return true;
            }
            _ = progress.tick() => {
                let Tally { seeds, failing, .. } = campaign.tally();
                eprintln!("{seeds} of {} seeds, {failing} failed", campaign.seeds.end - campaign.seeds.start);
            }
        }
    }
}

fn tell_speed(tally: &Tally, took: Duration, threads: usize) {
    let a_second = tally.seeds as f64 / took.as_secs_f64().max(0.001);
    let a_core = a_second / threads as f64;
    eprintln!(
        "{} seeds in {:.1} s: {a_second:.0} a second, {a_core:.0} a second and core ({threads} threads)",
        tally.seeds,
        took.as_secs_f64()
    );
}

/// Everything that happened, as data.
fn tell_events(played: &Played) {
    // A reader that has seen enough is no error.
    let _ = io::stdout().lock().write_all(played.log().as_bytes());
}

fn tell_failed(args: &SimArgs, tally: &Tally) {
    for (seed, failed) in &tally.failed {
        eprintln!("\nseed {seed} failed:");
        for finding in &failed.findings {
            eprintln!("  {finding}");
        }
        eprintln!("  what is left of its {} parts, of which it fails without the others:", failed.whole);
        for part in &failed.plan.parts {
            eprintln!("    {:>3}  {}", part.number, part.what);
        }
        eprintln!("  replay: {}", args.replay(*seed, failed));
    }
    let more = tally.failing - tally.failed.len() as u64;
    if more > 0 {
        eprintln!("\n{more} seeds more failed");
    }
}

fn told(args: &SimArgs, tally: &Tally, interrupted: bool) -> Exit {
    let of = |law: &Law| tally.broken.get(law).copied().unwrap_or(0);
    let others = Law::ALL.iter().filter(|law| !matches!(law, Law::Orphan | Law::WrongRelease));
    let others: Vec<_> = others.filter(|law| of(law) > 0).collect();
    for law in others {
        eprintln!("{} {}", law.as_str(), of(law));
    }
    let last = format!(
        "seeds {}, procedures {}, orphans {}, wrong releases {}",
        tally.seeds,
        tally.procedures,
        of(&Law::Orphan),
        of(&Law::WrongRelease)
    );
    let written = match args.json {
        true => {
            eprintln!("{last}");
            writeln!(io::stdout(), "{}", verdict(args, tally))
        }
        false => writeln!(io::stdout(), "{last}"),
    };
    if interrupted {
        return Exit::Interrupted;
    }
    super::told(written.map(|()| tally.failing == 0))
}

fn verdict(args: &SimArgs, tally: &Tally) -> Value {
    let of = |law: Law| tally.broken.get(&law).copied().unwrap_or(0);
    let failed = tally.failed.iter().map(|(seed, failed)| {
        json!({"seed": seed, "findings": failed.findings, "replay": args.replay(*seed, failed)})
    });
    json!({
        "seeds": tally.seeds,
        "procedures": tally.procedures,
        "orphans": of(Law::Orphan),
        "wrongReleases": of(Law::WrongRelease),
        "broken": tally.broken.iter().map(|(law, count)| (law.as_str(), count)).collect::<std::collections::BTreeMap<_, _>>(),
        "failing": tally.failing,
        "failed": failed.collect::<Vec<_>>(),
    })
}
