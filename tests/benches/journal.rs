//! What a journal costs: rounds of PDU sessions established and released at a lab of four NFs without journals, with journals
//! that survive the process, and with journals that survive a power loss, in turn.

mod stats;

use futures_util::stream::{self, StreamExt};
use mock5g::lab::{Lab, PduSession};
use sbi::journal::Sync;
use stats::median;
use std::path::PathBuf;
use std::time::Instant;

const AT_ONCE: u64 = 64;
const ROUNDS: u64 = 30;
const LABS: usize = 15;

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Of how many create rounds in memory a journal that survives the process takes the time of one, at least.
const MUST_HOLD: f64 = 0.7;

/// Which worker has which connection differs from lab to lab, and matters: every measurement has a lab of its own.
#[actix::main]
async fn main() {
    let directory = std::env::temp_dir().join(format!("mock5g-bench-{}", std::process::id()));
    let kinds = [None, Some(Sync::Process), Some(Sync::Disk)];
    let mut rates: [Vec<Rates>; 3] = Default::default();
    for n in 0..LABS {
        for (sync, rates) in kinds.into_iter().zip(&mut rates) {
            let lab = lab(sync.map(|sync| (directory.join(format!("{n}-{sync:?}")), sync))).await;
            measure(&lab, ROUNDS / 4).await;
            rates.push(measure(&lab, ROUNDS).await);
            lab.stop().await;
        }
        eprintln!("{} of {LABS} measured", n + 1);
    }
    let _ = std::fs::remove_dir_all(directory);
    report(&rates);
}

fn report(rates: &[Vec<Rates>; 3]) {
    let ratio = |n: usize, rate: fn(&Rates) -> f64| {
        median(rates[0].iter().zip(&rates[n]).map(|(memory, kept)| rate(kept) / rate(memory)))
    };
    let of_process = ratio(1, |rates| rates.created);
    let verdict = if of_process >= MUST_HOLD { "holds" } else { "MISSED" };
    println!(
        "create rounds with journals, sync: process / without: {of_process:.2} (must hold {MUST_HOLD}: {verdict})"
    );
    println!("create rounds with journals, sync: disk / without: {:.2}", ratio(2, |rates| rates.created));
    let (process, disk) = (ratio(1, |rates| rates.whole), ratio(2, |rates| rates.whole));
    println!("created and released: process {process:.2}, disk {disk:.2}");
    let (process, disk) = (ratio(1, |rates| rates.cpu_us), ratio(2, |rates| rates.cpu_us));
    let without = median(rates[0].iter().map(|rates| rates.cpu_us));
    println!(
        "CPU with / without: process {process:.2}, disk {disk:.2}; {without:.0} us for each session without"
    );
    let [memory, process, disk] = [0, 1, 2].map(|n| median(rates[n].iter().map(|rates| rates.created)));
    println!(
        "          {memory:.0}, {process:.0} and {disk:.0} sessions established a second by four NFs, {AT_ONCE} at a time; \
         medians of {LABS} labs with {ROUNDS} rounds each"
    );
}

async fn lab(journals: Option<(PathBuf, Sync)>) -> Lab {
    let lab = Lab::builder().subscribers((0..AT_ONCE).map(mock5g::subscribers::supi)).unjudged();
    match journals {
        Some((directory, sync)) => lab.data_dir(&directory, sync).start().await,
        None => lab.start().await,
    }
}

/// Sessions a second.
struct Rates {
    /// While they are established.
    created: f64,
    /// Established and released.
    whole: f64,
    /// CPU time of the process for each, us.
    cpu_us: f64,
}

async fn measure(lab: &Lab, rounds: u64) -> Rates {
    let (mut creating, mut releasing, cpu_before) = (0.0, 0.0, cpu_us());
    for _ in 0..rounds {
        let begin = Instant::now();
        for_each_ue(|ue| async move {
            let outcome = lab.establish(PduSession::of(ue).max_rsp_time_ms(60_000)).await;
            assert_eq!(outcome.as_str(), "established", "{outcome:?}");
        })
        .await;
        creating += begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        for_each_ue(|ue| async move {
            lab.release(&PduSession::of(ue)).await;
        })
        .await;
        releasing += begin.elapsed().as_secs_f64();
    }
    let sessions = (AT_ONCE * rounds) as f64;
    let cpu_us = (cpu_us() - cpu_before) / sessions;
    Rates { created: sessions / creating, whole: sessions / (creating + releasing), cpu_us }
}

/// CPU time of this process so far, us: a tick of Linux is 10 ms for all who ask.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().expect("a name");
    let ticks =
        after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks"));
    ticks.sum::<f64>() * 10_000.0
}

async fn for_each_ue<T: Future<Output = ()>>(work: impl Fn(u64) -> T) {
    stream::iter(0..AT_ONCE).map(work).buffer_unordered(AT_ONCE as usize).collect::<Vec<()>>().await;
}
