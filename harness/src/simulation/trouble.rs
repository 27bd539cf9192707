//! What goes wrong in a plan. Nothing lies: an error is one that passes, and means that nothing was done.

use super::dice::Dice;
use super::plan::wrong_by;
use sbi::fault::{Effect, Rule};
use sbi::journal::Crash;
use std::fmt;
use std::time::Duration;

/// The longest that a fault delays or holds a request whose producer looks at deadlines. With the longest deadline it
/// stays below `settle_ms`: of what is silent for longer nothing is ever known for sure, and the sweep has it.
const MAX_DELAY_MS: u64 = 900;

/// The same at a producer that does not: what it does after its consumer has stopped asking nobody can know.
const MAX_DELAY_UNHEEDED_MS: u64 = 200;

/// When the last trouble begins.
const LAST_MS: u64 = 2_500;

/// Who calls whom, and with what: every create and release, and what is read for them.
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("amf", "smf", "POST", "/sm-contexts$"),
    ("amf", "smf", "POST", "/release$"),
    ("amf", "udm", "PUT", "/amf-3gpp-access$"),
    ("amf", "udm", "PATCH", "/amf-3gpp-access$"),
    ("amf", "udm", "GET", "/am-data$"),
    ("amf", "udm", "POST", "/sdm-subscriptions$"),
    ("amf", "smf", "POST", "/modify$"),
    ("smf", "amf", "POST", "/n1-n2-messages$"),
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
    ("udm", "udr", "PUT", "/amf-3gpp-access$"),
    ("udm", "udr", "PATCH", "/amf-3gpp-access$"),
];

/// Links between NFs.
const LINKS: &[(&str, &str)] = &[("amf", "smf"), ("amf", "udm"), ("smf", "udm"), ("udm", "udr")];

/// Something that goes wrong, and when.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// In milliseconds since the beginning.
    pub at_ms: u64,
    /// What.
    pub what: Kind,
}

/// What may go wrong.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A call fails.
    Fault(Fault),
    /// Messages between two hosts are held back for so many milliseconds.
    Stall(&'static str, &'static str, u64),
    /// The connections between two hosts are reset: clients hang up, answers are lost.
    Reset(&'static str, &'static str),
    /// The clock of an NF steps, and is wrong by so many milliseconds then.
    ClockStep(&'static str, i64),
    /// An NF that keeps a journal crashes, and is started again after so many milliseconds.
    Crash(&'static str, Crash, u64),
}

/// What becomes of a call.
#[derive(Clone, Debug)]
pub struct Fault {
    /// At an SCP on the way, instead of at its producer.
    at: Option<&'static str>,
    call: (&'static str, &'static str, &'static str, &'static str),
    does: FaultKind,
    times: u32,
    skip: u32,
}

#[derive(Clone, Debug)]
enum FaultKind {
    LateRequest(u64),
    LateAnswer(u64),
    Status(u16),
    ResetRequest,
    ResetAnswer,
    Refuse,
    LoseRequest(u64),
    LoseAnswer(u64),
    /// It is done, and a gateway on the way says that it was not answered in time.
    GatewayTimeout,
}

impl Trouble {
    /// All the trouble of a seed: `careless` producers do not look at deadlines; where clocks are `skewed`, they also step;
    /// `mortal` NFs crash.
    pub(super) fn roll(
        dice: &Dice,
        careless: impl Fn(&str) -> bool,
        skewed: bool,
        mortal: &[(&'static str, Crash)],
    ) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        let mut add = |what| troubles.push(Trouble { at_ms: dice.between(0, LAST_MS), what });
        for _ in 0..dice.between(0, 10) {
            add(Kind::Fault(Fault::roll(dice, &careless)));
        }
        for _ in 0..dice.between(0, 2) {
            let (a, b) = *dice.of(LINKS);
            add(Kind::Stall(a, b, dice.between(20, MAX_DELAY_UNHEEDED_MS)));
        }
        if dice.one_in(3) {
            let (a, b) = *dice.of(LINKS);
            add(Kind::Reset(a, b));
        }
        for _ in 0..if skewed { dice.between(0, 4) } else { 0 } {
            let nf = *dice.of(&["amf", "smf", "udm", "udr"]);
            add(Kind::ClockStep(nf, wrong_by(dice)));
        }
        for _ in 0..if mortal.is_empty() { 0 } else { dice.between(1, 3) } {
            let (nf, how) = *dice.of(mortal);
            add(Kind::Crash(nf, how, dice.between(0, 400)));
        }
        troubles
    }
}

impl Trouble {
    /// The trouble at SCPs and on the way to and from them, beside all the other. Of what a producer does long after its
    /// consumer's time nobody would know.
    pub(super) fn roll_at(dice: &Dice, scps: &[&'static str]) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        let mut add = |what| troubles.push(Trouble { at_ms: dice.between(0, LAST_MS), what });
        for _ in 0..dice.between(0, 5) {
            let at = Some(*dice.of(scps));
            add(Kind::Fault(Fault { at, ..Fault::roll(dice, |_| false) }));
        }
        let ends = ["amf", "smf", "udm", "udr"];
        for _ in 0..dice.between(0, 2) {
            add(Kind::Stall(
                dice.of::<&str>(&ends),
                dice.of::<&str>(scps),
                dice.between(20, MAX_DELAY_UNHEEDED_MS),
            ));
        }
        if dice.one_in(3) {
            add(Kind::Reset(dice.of::<&str>(&ends), dice.of::<&str>(scps)));
        }
        troubles
    }
}

impl Fault {
    fn roll(dice: &Dice, careless: impl Fn(&str) -> bool) -> Fault {
        let call = *dice.of(CALLS);
        let longest = if careless(call.1) { MAX_DELAY_UNHEEDED_MS } else { MAX_DELAY_MS };
        let delay = dice.between(1, longest);
        // Of a create without a URI of its own a gateway's word would be a lie.
        let is_fixed = call.2 == "PUT";
        let does = match dice.between(0, 7) {
            2 if is_fixed && dice.one_in(3) => FaultKind::GatewayTimeout,
            0 => FaultKind::LateRequest(delay),
            1 => FaultKind::LateAnswer(dice.between(1, MAX_DELAY_MS)),
            2 => FaultKind::Status(*dice.of(&[429, 500, 503, 504])),
            3 => FaultKind::ResetRequest,
            4 => FaultKind::ResetAnswer,
            5 => FaultKind::Refuse,
            6 => FaultKind::LoseRequest(delay),
            _ => FaultKind::LoseAnswer(delay),
        };
        let few = |least, most| u32::try_from(dice.between(least, most)).unwrap_or(1);
        Fault { at: None, call, does, times: few(1, 2), skip: few(0, 2) }
    }

    /// As a rule of this name.
    pub(super) fn rule(&self, id: usize) -> Rule {
        let (consumer, producer, method, path) = self.call;
        let at = Rule::at(self.at.unwrap_or(producer));
        let reset = Effect::Reset(h2::Reason::CANCEL.into());
        let rule = match self.does {
            FaultKind::LateRequest(ms) => at.delay_ms(ms),
            FaultKind::LateAnswer(ms) => at.on_response().delay_ms(ms),
            FaultKind::Status(status) => at.effect(Effect::status(status)),
            FaultKind::ResetRequest => at.effect(reset),
            FaultKind::ResetAnswer => at.on_response().effect(reset),
            FaultKind::Refuse => Rule::at(consumer).on_send().effect(Effect::RefuseConnection),
            FaultKind::GatewayTimeout => at.on_response().effect(Effect::status(504)),
            FaultKind::LoseRequest(ms) => Rule { hold: Duration::from_millis(ms), ..at.effect(Effect::Drop) },
            FaultKind::LoseAnswer(ms) => {
                Rule { hold: Duration::from_millis(ms), ..at.on_response().effect(Effect::LoseResponse) }
            }
        };
        let rule = rule.matching(method, path);
        Rule { id: format!("{id}, {}", rule.id), times: Some(self.times), skip: self.skip, ..rule }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} ms: ", self.at_ms)?;
        match &self.what {
            Kind::Fault(fault) => write!(f, "{fault}"),
            Kind::Stall(a, b, for_ms) => write!(f, "nothing passes between {a} and {b} for {for_ms} ms"),
            Kind::Reset(a, b) => write!(f, "the connections between {a} and {b} are reset"),
            Kind::ClockStep(nf, to_ms) => write!(f, "the clock of {nf} steps and is wrong by {to_ms} ms"),
            Kind::Crash(nf, Crash::Process, for_ms) => {
                write!(f, "{nf} is killed, and back after {for_ms} ms")
            }
            Kind::Crash(nf, Crash::Power, for_ms) => {
                write!(f, "{nf} loses its power, and is back after {for_ms} ms")
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (consumer, producer, method, path) = self.call;
        let Fault { at, does, times, skip, .. } = self;
        let what = match does {
            FaultKind::LateRequest(ms) => format!("arrives {ms} ms late"),
            FaultKind::LateAnswer(ms) => format!("is answered {ms} ms late"),
            FaultKind::Status(status) => format!("gets {status}"),
            FaultKind::ResetRequest => "is reset, not done".into(),
            FaultKind::ResetAnswer => "is done and reset".into(),
            FaultKind::GatewayTimeout => "is done, and a gateway answers 504".into(),
            FaultKind::Refuse => "finds the connection refused".into(),
            FaultKind::LoseRequest(ms) => format!("is lost, its stream ends after {ms} ms"),
            FaultKind::LoseAnswer(ms) => format!("is done, its answer lost, its stream ends after {ms} ms"),
        };
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        write!(f, "{method} {path} from {consumer} to {producer} {what}{at} ({times} times, after {skip})")
    }
}
