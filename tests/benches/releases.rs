//! How long after a client's deadline the last release of what its request had made is confirmed, on an idle loopback: a
//! registration at the UDM that comes too late for its AMF, over and over.

use mock5g::lab::{Lab, PduSession};
use sbi::event::{Event, Kind};
use sbi::fault::Rule;

const SESSIONS: u64 = 300;
const PATIENCE_MS: u64 = 100;
const MUST_HOLD_MS: f64 = 50.0;

#[actix::main]
async fn main() {
    let lab =
        Lab::builder().subscribers((0..SESSIONS).map(mock5g::subscribers::supi)).unjudged().start().await;
    lab.fault(Rule::at("udm").on_response().matching("PUT", "/smf-registrations/").delay_ms(PATIENCE_MS + 1));
    let mut late = Vec::new();
    for ue in 0..SESSIONS {
        let before = lab.process().env.events.last_seq();
        let outcome = lab.establish(PduSession::of(ue).max_rsp_time_ms(PATIENCE_MS)).await;
        assert_eq!(outcome.as_str(), "gave_up", "{outcome:?}");
        lab.settle().await;
        let events = lab.process().env.events.after(before, usize::MAX);
        late.push(last_release(&events) - deadline(&events));
    }
    lab.expect_nothing_hanging().await;
    let (median, p99) = (percentile(&late, 0.5), percentile(&late, 0.99));
    let verdict = if p99 <= MUST_HOLD_MS { "holds" } else { "MISSED" };
    println!(
        "from deadline to the last release confirmed: p99 {p99:.1} ms (must hold {MUST_HOLD_MS}: {verdict})"
    );
    println!(
        "          median {median:.1} ms, of {SESSIONS} sessions with a deadline of {PATIENCE_MS} ms, one after the other"
    );
    lab.stop().await;
}

/// When the AMF's time was over, ms since the process started.
fn deadline(events: &[Event]) -> f64 {
    let sent =
        events.iter().find(|e| &*e.nf == "amf" && e.event == Kind::UpstreamSent).expect("the AMF has asked");
    sent.at_ms + sent.budget_left_ms.expect("it said how long it waits")
}

fn percentile(measured: &[f64], share: f64) -> f64 {
    let mut sorted = measured.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn last_release(events: &[Event]) -> f64 {
    let released = events.iter().filter(|e| e.event == Kind::ReleaseConfirmed).map(|e| e.at_ms);
    released.fold(f64::NEG_INFINITY, f64::max)
}
