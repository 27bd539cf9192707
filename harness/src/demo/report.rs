//! Playing a scenario and telling of it.

use super::ladder::{self, Tone, short};
use super::scenario::Scenario;
use crate::config::Indirect;
use crate::lab::Lab;
use crate::verdict::Verdict;
use sbi::release::{Resource, State};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// For whom the report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person.
    Text,
    /// For a program: events, then resources, then the verdict, a JSON object each.
    Json,
}

/// The last JSON object of a report.
#[derive(Serialize)]
struct Conclusion<'a> {
    scenario: &'a str,
    ok: bool,
    #[serde(flatten)]
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    unmet: Option<&'a str>,
}

/// Plays a scenario on a fresh lab, its NFs calling directly or through an SCP; whether all went as it should.
///
/// # Errors
///
/// If the report cannot be written.
pub async fn play(scenario: &Scenario, indirect: Option<Indirect>, format: Format) -> io::Result<bool> {
    let lab = (scenario.lab)().indirect(indirect).unjudged().start().await;
    lab.until_registered().await;
    let begin_ms = lab.process().env.clock.elapsed().as_secs_f64() * 1000.0;
    let played = (scenario.play)(&lab).await;
    let verdict = lab.verdict().await;
    let resources = lab.process().resources().await;
    let unmet = played.err();
    let ok = unmet.is_none() && verdict.is_clean();
    let conclusion = Conclusion { scenario: scenario.name, ok, verdict: &verdict, unmet: unmet.as_deref() };
    match format {
        Format::Json => tell_program(&lab, &resources, &conclusion)?,
        Format::Text => tell_person(&lab, scenario, &resources, &conclusion, begin_ms)?,
    }
    lab.stop().await;
    Ok(ok)
}

fn tell_program(lab: &Lab, resources: &[Resource], conclusion: &Conclusion<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for event in lab.events() {
        writeln!(out, "{}", serde_json::to_string(&event)?)?;
    }
    for resource in resources {
        writeln!(out, "{}", serde_json::to_string(resource)?)?;
    }
    writeln!(out, "{}", serde_json::to_string(conclusion)?)?;
    writeln!(io::stderr(), "{}", conclusion.verdict)
}

fn tell_person(
    lab: &Lab,
    scenario: &Scenario,
    resources: &[Resource],
    conclusion: &Conclusion<'_>,
    begin_ms: f64,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    writeln!(out, "{}: {}\n", scenario.name, scenario.title)?;
    writeln!(out, "{}", ladder::head())?;
    let process = lab.process();
    let names: Vec<&str> = process.nfs.iter().map(|nf| &*nf.party.name).collect();
    for rung in ladder::ladder(&lab.events(), &names, begin_ms) {
        writeln!(out, "{}", painted(&rung.text, rung.tone, colour))?;
    }
    writeln!(out, "\nledger")?;
    write_ledger(&mut out, resources, begin_ms)?;
    for left in &conclusion.verdict.left {
        writeln!(out, "left: {left}")?;
    }
    for missing in &conclusion.verdict.missing {
        writeln!(out, "missing: {missing}")?;
    }
    if let Some(unmet) = conclusion.unmet {
        writeln!(out, "not met: {unmet}")?;
    }
    writeln!(out, "\n{}", conclusion.verdict)
}

fn painted(text: &str, tone: Tone, colour: bool) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Late => "31",
        Tone::Release => "32",
        Tone::Quiet => "2",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

fn write_ledger(out: &mut impl Write, resources: &[Resource], begin_ms: f64) -> io::Result<()> {
    let at = |resource: &Resource, states: &[State]| {
        let entered = resource.history.iter().find(|(_, state)| states.contains(state));
        entered.map_or(String::new(), |(ms, _)| format!("{:.1}", ms - begin_ms))
    };
    writeln!(
        out,
        "  {:<17} {:<4} at {:<4} {:>9} {:>9}  {:<10} uri",
        "resource", "by", "", "created", "released", "state"
    )?;
    let never_made = |r: &&Resource| r.state != State::Void;
    for resource in resources.iter().filter(never_made) {
        let (created, released) =
            (at(resource, &[State::Held, State::Releasing]), at(resource, &[State::Released]));
        let Resource { kind, by, at, uri, .. } = resource;
        let state = resource.state.as_str();
        writeln!(
            out,
            "  {kind:<17} {by:<4} at {at:<4} {created:>9} {released:>9}  {state:<10} {}",
            short(uri)
        )?;
    }
    Ok(())
}
