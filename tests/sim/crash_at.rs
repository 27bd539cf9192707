//! One NF crashes at one moment of a UE's life, from its registration to its deregistration. Its journal is slow, those of
//! the others are quick: what should have waited for the record has got around by then.

use crate::world::{self, held, ms, transcript};
use amf::RegisterUe;
use mock5g::lab::{Lab, PduSession};
use mock5g::simulation::{Dice, Medium, Weather};
use mock5g::subscribers::supi;
use sbi::client::TimingMode;
use sbi::event::Kind;
use sbi::journal::Crash;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tokio::time::{Instant, sleep, timeout};

const NFS: [&str; 4] = ["amf", "smf", "udm", "udr"];

/// How long the journal of the NF that crashes takes for a batch.
const SLOW_MS: u64 = 40;

/// How far two moments, or two deadlines, are apart; the last moment is after a life that nothing disturbs.
const STEP_MS: u64 = 2;
const LAST_MS: u64 = 600;

/// The longest of the deadlines that are too short; the shortest is the first step.
const SHORT_MS: u64 = 320;

/// What an answer takes at most to arrive.
const ARRIVES_MS: u64 = 3;

/// How long the NF is down.
const DOWN_MS: u64 = 60;

/// Which NF crashes, and when.
#[derive(Clone, Copy)]
pub struct CrashAt {
    nf: &'static str,
    when: When,
}

#[derive(Clone, Copy)]
enum When {
    /// So long after the beginning.
    At(u64),
    /// When it has refused a request as late, of a life whose deadlines are so short.
    Refused(u64),
}

/// All of them.
pub fn all() -> impl Iterator<Item = CrashAt> {
    let moments = (0..=LAST_MS / STEP_MS).map(|n| When::At(n * STEP_MS));
    let deadlines = (1..=SHORT_MS / STEP_MS).map(|n| When::Refused(n * STEP_MS));
    NFS.into_iter()
        .flat_map(move |nf| moments.clone().chain(deadlines.clone()).map(move |when| CrashAt { nf, when }))
}

impl CrashAt {
    /// What it is called.
    pub fn name(&self) -> String {
        match self.when {
            When::At(at_ms) => format!("{}/at-{at_ms}", self.nf),
            When::Refused(within_ms) => format!("{}/refused-within-{within_ms}", self.nf),
        }
    }

    /// Plays it; whether it left something behind, or took something from others.
    pub fn fails(self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.play())).is_err()
    }

    fn play(self) {
        let lab = NFS.into_iter().fold(world::quick_lab(Lab::builder()), |lab, nf| {
            let latency_ms = if nf == self.nf { SLOW_MS } else { 0 };
            lab.journal(nf, Medium::memory(Dice::of_seed(1)).taking(latency_ms..=latency_ms))
        });
        world::play(lab, Weather::calm(1), move |lab| async move { self.scenario(lab).await });
    }

    async fn scenario(self, lab: Rc<Lab>) {
        let begin = Instant::now();
        let life = async {
            live(&lab, self.within_ms()).await;
            begin.elapsed()
        };
        let (life, ()) = tokio::join!(life, self.crash(&lab));
        let is_last = matches!(self.when, When::At(LAST_MS));
        assert!(!is_last || life < ms(LAST_MS), "it takes {life:?}: LAST_MS is too early");
        let verdict = lab.verdict().await;
        assert!(verdict.is_clean(), "{verdict:#?}\n{}", transcript(&lab));
        // Whoever was down has missed it.
        end(&lab).await;
        lab.settle().await;
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
        assert_eq!(lab.open_records().await, [""; 0], "{}", transcript(&lab));
    }

    fn within_ms(self) -> Option<u64> {
        if let When::Refused(within_ms) = self.when { Some(within_ms) } else { None }
    }

    async fn crash(self, lab: &Lab) {
        match self.when {
            When::At(at_ms) => sleep(ms(at_ms)).await,
            When::Refused(_) => {
                let refused =
                    lab.wait_for("a refusal", |e| &*e.nf == self.nf && e.event == Kind::RequestRefusedLate);
                if timeout(ms(LAST_MS), refused).await.is_err() {
                    return;
                }
                sleep(ms(ARRIVES_MS)).await;
            }
        }
        lab.crash(self.nf, Crash::Process).await;
        sleep(ms(DOWN_MS)).await;
        lab.restart(self.nf).await;
    }
}

/// A UE registers, has a session, and is gone again. Whoever is asked may be down.
async fn live(lab: &Lab, within_ms: Option<u64>) {
    let register = RegisterUe { supi: supi(0), max_rsp_time: None, timing: TimingMode::True };
    lab.try_register(register).await;
    let session = PduSession::default();
    let session = within_ms.map_or(session.clone(), |within_ms| session.max_rsp_time_ms(within_ms));
    lab.try_establish(session).await;
    end(lab).await;
}

async fn end(lab: &Lab) {
    lab.try_release(&PduSession::default()).await;
    lab.try_deregister(&supi(0)).await;
}
