//! What deadline handling costs: GET sm-data at a UDM that checks deadlines against one that does not look at them,
//! the same requests with both headers to both, over HTTP/2 on the loopback.

mod aims;
mod load;
mod measured;
mod stats;

use aims::verdict;
use load::{Asked, Load};
use measured::{Measured, at_deadlines};
use sbi::net::Tcp;
use sbi::party::NfType;
use sbi::policy::Mode;
use stats::{median, quartiles};
use std::sync::Arc;

const MUST_HOLD: f64 = 1.05;
const AIM: f64 = 1.02;
const CONNECTIONS: usize = 4;
const STREAMS: usize = 25;
const PAIRS: usize = 300;
const REQUESTS: usize = 1_000;
/// So many requests fill the ring of kept events; before that, an event costs less.
const WARM_UP: usize = 20_000;

/// One of the two UDMs, and who asks it.
struct Side {
    udm: Measured,
    load: Load,
    rounds: Vec<Round>,
}

#[derive(Clone, Copy)]
struct Round {
    cpu_us: f64,
    per_second: f64,
}

impl Side {
    async fn start(mode: Mode) -> Side {
        let udm = Measured::start(NfType::Udm, Arc::new(Tcp), at_deadlines(mode)).await;
        let load = Load::connect(&*udm.net, &udm.api_root, CONNECTIONS, Asked::sm_data()).await;
        load.run(WARM_UP, STREAMS).await;
        Side { udm, load, rounds: Vec::new() }
    }

    async fn round(&mut self) {
        let before = self.udm.cpu_time().await;
        let took = self.load.run(REQUESTS, STREAMS).await;
        let cpu = self.udm.cpu_time().await - before;
        let requests = REQUESTS as f64;
        let (cpu_us, per_second) = (cpu.as_secs_f64() * 1e6 / requests, requests / took.as_secs_f64());
        self.rounds.push(Round { cpu_us, per_second });
    }

    fn tell(&self, name: &str) {
        let cpu_us = quartiles(self.rounds.iter().map(|r| r.cpu_us));
        let per_second = median(self.rounds.iter().map(|r| r.per_second));
        println!(
            "          {name}  CPU of the UDM {:.1} us per request ({:.1} to {:.1}), {per_second:.0} requests/s",
            cpu_us[1], cpu_us[0], cpu_us[2],
        );
    }
}

#[actix::main]
async fn main() {
    let (mut on, mut off) = (Side::start(Mode::Reject).await, Side::start(Mode::Off).await);
    for pair in 0..PAIRS {
        // Each side goes first in turn, so that a machine that slows down favours neither.
        let (first, second) = if pair % 2 == 0 { (&mut on, &mut off) } else { (&mut off, &mut on) };
        first.round().await;
        second.round().await;
    }
    tell(&on, &off);
    on.udm.stop().await;
    off.udm.stop().await;
}

fn tell(on: &Side, off: &Side) {
    let pairs = || on.rounds.iter().zip(&off.rounds);
    let cpu = quartiles(pairs().map(|(on, off)| on.cpu_us / off.cpu_us));
    let per_second = median(pairs().map(|(on, off)| on.per_second / off.per_second));
    println!(
        "deadline  CPU per request, on/off {:.3} (must hold {MUST_HOLD}, aim {AIM}: {}); requests/s, on/off {per_second:.3}",
        cpu[1],
        verdict(cpu[1], MUST_HOLD, AIM),
    );
    on.tell("on ");
    off.tell("off");
    println!(
        "          ratio {:.3} to {:.3} in the middle half of {PAIRS} pairs of rounds of {REQUESTS} requests each, \
         {CONNECTIONS} connections x {STREAMS} streams",
        cpu[0], cpu[2],
    );
}
