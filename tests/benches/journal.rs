//! What a journal costs: PDU sessions established and released at a lab of four NFs without journals, with journals that
//! survive the process, and with journals that survive a power loss, in turn.

mod stats;

use futures_util::stream::{self, StreamExt};
use mock5g::lab::{Lab, PduSession};
use sbi::journal::Sync;
use stats::median;
use std::path::PathBuf;
use std::time::Instant;

const AT_ONCE: u64 = 64;
const SESSIONS: u64 = 2_000;
const ROUNDS: usize = 5;

/// That of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Of how many rounds in memory a journal that survives the process takes the time of one, at least.
const MUST_HOLD: f64 = 0.7;

#[actix::main]
async fn main() {
    let directory = std::env::temp_dir().join(format!("mock5g-bench-{}", std::process::id()));
    let labs = [
        lab(None).await,
        lab(Some((directory.join("process"), Sync::Process))).await,
        lab(Some((directory.join("disk"), Sync::Disk))).await,
    ];
    for lab in &labs {
        rate(lab, SESSIONS / 4).await;
    }
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (lab, rates) in labs.iter().zip(&mut rates) {
            rates.push(rate(lab, SESSIONS).await);
        }
    }
    let ratio = |n: usize| median(rates[0].iter().zip(&rates[n]).map(|(memory, kept)| kept / memory));
    let [memory, process, disk] = [0, 1, 2].map(|n| median(rates[n].clone()));
    let (of_process, of_disk) = (ratio(1), ratio(2));
    let verdict = if of_process >= MUST_HOLD { "holds" } else { "MISSED" };
    println!(
        "rate with journals, sync: process / without: {of_process:.2} (must hold {MUST_HOLD}: {verdict})"
    );
    println!("rate with journals, sync: disk / without: {of_disk:.2}");
    println!(
        "          {memory:.0}, {process:.0} and {disk:.0} sessions a second, {AT_ONCE} at a time, each established and released \
         again by four NFs; median of {ROUNDS} rounds of {SESSIONS}"
    );
    for lab in labs {
        lab.stop().await;
    }
    let _ = std::fs::remove_dir_all(directory);
}

async fn lab(journals: Option<(PathBuf, Sync)>) -> Lab {
    let lab = Lab::builder().subscribers((0..AT_ONCE).map(mock5g::subscribers::supi)).unjudged();
    match journals {
        Some((directory, sync)) => lab.data_dir(&directory, sync).start().await,
        None => lab.start().await,
    }
}

/// Sessions a second.
async fn rate(lab: &Lab, sessions: u64) -> f64 {
    let begin = Instant::now();
    let of_ue = |ue| async move {
        for _ in 0..sessions / AT_ONCE {
            let outcome = lab.establish(PduSession::of(ue).max_rsp_time_ms(60_000)).await;
            assert_eq!(outcome.as_str(), "established", "{outcome:?}");
            lab.release(&PduSession::of(ue)).await;
        }
    };
    stream::iter(0..AT_ONCE).map(of_ue).buffer_unordered(AT_ONCE as usize).collect::<Vec<()>>().await;
    sessions as f64 / begin.elapsed().as_secs_f64()
}
