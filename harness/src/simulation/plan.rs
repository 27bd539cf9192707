//! What a seed means, as data: a world, what goes wrong in it and when, and what its UEs do. Every part has a number, and
//! can be left out.

use super::dice::Dice;
use super::medium::Medium;
use super::trouble::Trouble;
use crate::config::Indirect;
use sbi::journal::{Crash, SimulatedDisk, Sync};
use std::collections::BTreeSet;
use std::fmt;

/// How many subscribers a plan has at most.
pub const MAX_UES: u64 = 3;

/// The PDU sessions that each may have.
pub const SESSION_IDS: [u8; 2] = [5, 6];

/// What every subscriber may use.
pub const DNNS: [&str; 3] = ["internet", "ims", "edge"];

/// How much two clocks differ at most, where they do; every NF is told.
pub const MAX_SKEW_MS: u64 = 60;

/// Every NF that there always is.
const EVERYBODY: [&str; 4] = ["amf", "smf", "udm", "udr"];

/// What a seed means.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed; it is also that of the network and of the NFs.
    pub seed: u64,
    /// The grain of the network's time.
    pub tick_ms: u64,
    /// The longest that a message takes.
    pub max_latency_ms: u64,
    /// All that can be left out.
    pub parts: Vec<Part>,
}

/// A part of a plan.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its number within the whole plan.
    pub number: usize,
    /// What it is.
    pub what: What,
}

/// What a part may be.
#[derive(Clone, Debug)]
pub enum What {
    /// There is a second SMF.
    SecondSmf,
    /// Each NF has so many shards instead of one.
    Shards(usize),
    /// An NF does not look at deadlines.
    Careless(&'static str),
    /// An NF drops what is late.
    Terse(&'static str),
    /// A clock is wrong by so much.
    Skew(&'static str, i64),
    /// Every NF keeps a journal.
    Journals(Keep),
    /// The UDM asks its UDR to be notified of changes.
    HearsChanges,
    /// The SMFs tell UE and gNB through the AMF, which modifies the session then.
    ReachesUes,
    /// All call through SCPs.
    Through(Hops),
    /// Something goes wrong.
    Trouble(Trouble),
    /// A UE does something.
    Stimulus(Stimulus),
}

/// The SCPs of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// How many, one after the other.
    pub count: usize,
    /// Those whose bit is set stamp anew.
    pub restamping: u64,
    /// Whether the last one finds the producers.
    pub model: Indirect,
}

impl Hops {
    /// What they are called, the first one first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ["scp", "scp-2"].into_iter().take(self.count)
    }
}

/// What a journal is kept on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Memory that outlives its NF.
    Memory,
    /// A disk that keeps what it was given when an NF's process is killed.
    Disk,
    /// A disk that loses and tears what was not synchronised when the power goes.
    TornDisk,
}

impl Keep {
    /// How an NF with such a journal crashes.
    fn crash(self) -> Crash {
        match self {
            Keep::Memory | Keep::Disk => Crash::Process,
            Keep::TornDisk => Crash::Power,
        }
    }

    /// For one NF.
    pub(super) fn medium(self, dice: &Dice) -> Medium {
        let disk = |sync| Medium::disk(SimulatedDisk::new(sync, dice.another().entropy()), dice.another());
        match self {
            Keep::Memory => Medium::memory(dice.another()),
            Keep::Disk => disk(Sync::Process),
            Keep::TornDisk => disk(Sync::Disk),
        }
    }
}

/// What a UE does, so long after it has done what came before.
#[derive(Clone, Debug)]
pub struct Stimulus {
    /// Which UE.
    pub ue: u64,
    /// Which of its sessions; none if it is about the UE itself.
    pub session: Option<u8>,
    /// How long after the one before.
    pub after_ms: u64,
    /// What.
    pub does: Does,
}

/// What a UE may do.
#[derive(Clone, Debug)]
pub enum Does {
    /// Establishes the session.
    Establish(Establish),
    /// Releases it.
    Release,
    /// Establishes it twice at once.
    EstablishTwice(Establish, Establish),
    /// Establishes and releases it at once.
    EstablishAndRelease(Establish),
    /// The AMF lets the session's user plane rest, or asks for it again.
    Modify,
    /// Registers, within so many milliseconds for each answer.
    Register(u64),
    /// Registers twice at once.
    RegisterTwice(u64, u64),
    /// Deregisters: its sessions end too.
    Deregister,
}

/// How a session is established.
#[derive(Clone, Debug)]
pub struct Establish {
    /// To which data network.
    pub dnn: &'static str,
    /// Through which SMF.
    pub smf: &'static str,
    /// How long the AMF waits.
    pub max_rsp_time_ms: u64,
}

impl Plan {
    /// What `seed` means.
    pub fn of_seed(seed: u64, tick_ms: u64) -> Plan {
        Plan::through(seed, tick_ms, None)
    }

    /// The same, where all call through SCPs.
    pub fn through(seed: u64, tick_ms: u64, model: Option<Indirect>) -> Plan {
        let dice = Dice::of_seed(seed);
        let max_latency_ms = dice.between(5, 40);
        let mut whats = world(&dice);
        let hops = model.map(|model| Hops {
            count: usize::try_from(dice.between(1, 2)).unwrap_or(1),
            restamping: dice.between(0, 3),
            model,
        });
        let mut max_latency_ms = max_latency_ms;
        if let Some(hops) = hops {
            // A way of several hops takes as long as a direct one, so that what fits into the timers is the same.
            max_latency_ms = max_latency_ms.div_ceil(hops.count as u64 + 1);
            whats.push(What::Through(hops));
            // Whom an SCP finds is its choice: there is one of each.
            whats.retain(|what| hops.model == Indirect::C || !matches!(what, What::SecondSmf));
        }
        let smfs: &[_] = match whats.iter().any(|what| matches!(what, What::SecondSmf)) {
            true => &["smf", "smf-2"],
            false => &["smf"],
        };
        let careless = |nf: &str| whats.iter().any(|what| matches!(what, What::Careless(c) if *c == nf));
        let skewed = whats.iter().any(|what| matches!(what, What::Skew(..)));
        let troubles = Trouble::roll(&dice.another(), careless, skewed, &mortal(&whats, smfs));
        whats.extend(troubles.into_iter().map(What::Trouble));
        if let Some(hops) = hops {
            let names: Vec<_> = hops.names().collect();
            if skewed {
                whats.extend(names.iter().map(|scp| What::Skew(scp, wrong_by(&dice))));
            }
            whats.extend(Trouble::roll_at(&dice.another(), &names).into_iter().map(What::Trouble));
        }
        whats.extend(stimuli(&dice.another(), smfs).into_iter().map(What::Stimulus));
        let parts = whats.into_iter().enumerate().map(|(number, what)| Part { number, what }).collect();
        Plan { seed, tick_ms, max_latency_ms, parts }
    }

    /// The same with these parts alone.
    #[must_use]
    pub fn only(&self, numbers: &BTreeSet<usize>) -> Plan {
        let parts = self.parts.iter().filter(|part| numbers.contains(&part.number)).cloned().collect();
        Plan { parts, ..*self }
    }

    /// The numbers of its parts.
    pub fn numbers(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.number).collect()
    }

    pub(super) fn has(&self, wanted: impl Fn(&What) -> bool) -> bool {
        self.parts.iter().any(|part| wanted(&part.what))
    }

    pub(super) fn whats(&self) -> impl Iterator<Item = &What> {
        self.parts.iter().map(|part| &part.what)
    }

    /// What it wants done, in the order of each UE and session.
    pub(super) fn stimuli(&self) -> impl Iterator<Item = &Stimulus> {
        self.whats()
            .filter_map(|what| if let What::Stimulus(stimulus) = what { Some(stimulus) } else { None })
    }

    /// What goes wrong, with the number of each.
    pub(super) fn troubles(&self) -> impl Iterator<Item = (usize, &Trouble)> {
        self.parts.iter().filter_map(|part| match &part.what {
            What::Trouble(trouble) => Some((part.number, trouble)),
            _ => None,
        })
    }
}

/// Who may crash, and how.
fn mortal(whats: &[What], smfs: &[&'static str]) -> Vec<(&'static str, Crash)> {
    let keep = whats.iter().find_map(|what| if let What::Journals(keep) = what { Some(*keep) } else { None });
    let all = ["amf", "udm", "udr"].into_iter().chain(smfs.iter().copied());
    keep.into_iter().flat_map(|keep| all.clone().map(move |nf| (nf, keep.crash()))).collect()
}

fn world(dice: &Dice) -> Vec<What> {
    let mut whats = Vec::new();
    if dice.one_in(4) {
        whats.push(What::SecondSmf);
    }
    let shards = usize::try_from(dice.between(1, 3)).unwrap_or(1);
    if shards > 1 {
        whats.push(What::Shards(shards));
    }
    for nf in ["smf", "udm", "udr"] {
        if dice.one_in(8) {
            whats.push(What::Careless(nf));
        } else if dice.one_in(6) {
            whats.push(What::Terse(nf));
        }
    }
    if dice.one_in(4) {
        whats.extend(EVERYBODY.map(|nf| What::Skew(nf, wrong_by(dice))));
    }
    if dice.one_in(3) {
        whats.push(What::HearsChanges);
    }
    if dice.one_in(4) {
        whats.push(What::ReachesUes);
    }
    if dice.one_in(3) {
        // A simulated disk takes its time.
        let keep = match dice.between(1, 10) {
            1 => Keep::Disk,
            2 => Keep::TornDisk,
            _ => Keep::Memory,
        };
        whats.push(What::Journals(keep));
    }
    whats
}

/// How wrong a clock is.
pub(super) fn wrong_by(dice: &Dice) -> i64 {
    let by = i64::try_from(dice.between(0, MAX_SKEW_MS)).unwrap_or(0);
    by - i64::try_from(MAX_SKEW_MS / 2).unwrap_or(0)
}

fn stimuli(dice: &Dice, smfs: &[&'static str]) -> Vec<Stimulus> {
    let mut stimuli = Vec::new();
    // Small plans are quick: more of them find more than fewer large ones. Large ones there are all the same.
    let ues = dice.between(1, MAX_UES).min(dice.between(1, MAX_UES));
    for ue in 0..ues {
        let sessions = usize::try_from(dice.between(1, 2)).unwrap_or(1);
        for id in SESSION_IDS.into_iter().take(sessions) {
            for _ in 0..dice.between(2, 4) {
                let after_ms = dice.between(0, 500);
                stimuli.push(Stimulus { ue, session: Some(id), after_ms, does: of_session(dice, smfs) });
            }
        }
        let of_ue = if dice.one_in(3) { dice.between(1, 4) } else { 0 };
        for _ in 0..of_ue {
            let after_ms = dice.between(0, 900);
            stimuli.push(Stimulus { ue, session: None, after_ms, does: of_ue_itself(dice) });
        }
    }
    stimuli
}

fn of_session(dice: &Dice, smfs: &[&'static str]) -> Does {
    let establish = || Establish {
        dnn: dice.of::<&str>(&DNNS),
        smf: dice.of::<&str>(smfs),
        max_rsp_time_ms: dice.between(50, 2_000),
    };
    match dice.between(0, 10) {
        0..=5 => Does::Establish(establish()),
        6..=7 => Does::Release,
        8 => Does::EstablishTwice(establish(), establish()),
        9 => Does::EstablishAndRelease(establish()),
        _ => Does::Modify,
    }
}

fn of_ue_itself(dice: &Dice) -> Does {
    match dice.between(0, 6) {
        0..=3 => Does::Register(dice.between(50, 2_000)),
        4 => Does::RegisterTwice(dice.between(50, 2_000), dice.between(50, 2_000)),
        _ => Does::Deregister,
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::SecondSmf => write!(f, "a second SMF, smf-2"),
            What::Shards(shards) => write!(f, "{shards} shards of each NF"),
            What::Careless(nf) => write!(f, "{nf} does not look at deadlines"),
            What::Terse(nf) => write!(f, "{nf} drops what is late"),
            What::Skew(nf, by_ms) => write!(f, "the clock of {nf} is wrong by {by_ms} ms"),
            What::Journals(keep) => write!(f, "every NF keeps a journal ({keep:?})"),
            What::HearsChanges => write!(f, "udm asks udr to be notified of changes"),
            What::ReachesUes => write!(f, "the SMFs tell UE and gNB through the AMF"),
            What::Through(Hops { count, restamping, model }) => {
                write!(f, "all call through {count} SCPs, model {model:?}, stamping anew: {restamping:02b}")
            }
            What::Trouble(trouble) => write!(f, "{trouble}"),
            What::Stimulus(Stimulus { ue, session, after_ms, does }) => {
                let session = session.map_or(String::new(), |id| format!(", session {id}"));
                write!(f, "UE {ue}{session}, after {after_ms} ms: {does}")
            }
        }
    }
}

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Does::Establish(one) => write!(f, "establish {one}"),
            Does::Release => write!(f, "release"),
            Does::EstablishTwice(one, other) => write!(f, "establish {one} and at once {other}"),
            Does::EstablishAndRelease(one) => write!(f, "establish {one} and at once release"),
            Does::Modify => write!(f, "modify"),
            Does::Register(ms) => write!(f, "register within {ms} ms each"),
            Does::RegisterTwice(one, other) => write!(f, "register within {one} and at once {other} ms each"),
            Does::Deregister => write!(f, "deregister"),
        }
    }
}

impl fmt::Display for Establish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to {} at {} within {} ms", self.dnn, self.smf, self.max_rsp_time_ms)
    }
}
