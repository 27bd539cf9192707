//! The command line.
//!
//! Data go to stdout, talk goes to stderr. Exit codes: 0 all well, 1 a verdict failed, 2 usage, 3 the environment is
//! at fault, 130 interrupted.

mod doctor;
mod host;
mod journals;
mod lab;
mod nf;
mod sim;
mod small;

use crate::config::{Config, Indirect, Level};
use crate::demo::{self, Format, SCENARIOS, Scenario};

use clap::{Args, Parser, Subcommand};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All well.
    Well,
    /// A resource was left hanging, or an expectation was not met.
    VerdictFailed,
    /// The command line is wrong.
    Usage,
    /// A port is in use, or the like.
    Environment,
    /// Ctrl-C.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Well => 0,
            Exit::VerdictFailed => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// A testbed of mock 5G core network functions that behave in time.
///
/// A request on the service based interface can say until when its client waits: 3gpp-Sbi-Sender-Timestamp plus
/// 3gpp-Sbi-Max-Rsp-Time (TS 29.500 §6.11.2). The mocks stop when that moment has passed, answer 504
/// TIMED_OUT_REQUEST, and release whatever they had already created further upstream.
#[derive(Parser)]
#[command(name = "mock5g", version, after_help = "Begin with: mock5g demo; then: mock5g lab")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What each does is said at its arguments: a word here would hide that from its `--help`.
#[derive(Subcommand)]
enum Command {
    Demo(DemoArgs),
    Lab(lab::LabArgs),
    Nf(nf::NfArgs),
    Sim(sim::SimArgs),
    Config(small::ConfigArgs),
    Explain(small::ExplainArgs),
    Health(small::HealthArgs),
    Doctor(doctor::DoctorArgs),
    Completions(small::CompletionsArgs),
}

/// Play a built-in scenario on a fresh lab over real HTTP/2, and show what happened
///
/// The lab is an AMF, an SMF, a UDM and a UDR in this process, each behind its own HTTP/2 port on the loopback. Prints the ladder (when, how much was left of the request's budget, from whom to whom, what), the ledger of every
/// resource that was created upstream, and the verdict: what creators say they made, compared with what producers say
/// they hold. The last line is the verdict; with --json it is the last object, and the line goes to stderr.
#[derive(Args)]
#[command(after_long_help = DEMO_EXIT_CODES)]
struct DemoArgs {
    /// Which scenario; see --list
    #[arg(default_value = SCENARIOS[0].name)]
    name: String,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    /// Let all NFs call through an SCP: c, they name the target; d, the SCP finds it at an NRF; off, directly
    #[arg(long, value_name = "off|c|d", value_parser = indirect, default_value = "off", hide_default_value = true)]
    indirect: Off,
    /// Print events, resources and verdict as one JSON object per line
    #[arg(long)]
    json: bool,
}

const DEMO_EXIT_CODES: &str = "\
Exit codes: 0 nothing is left hanging, 1 something is or the scenario did not go as it should, 2 the command line is
wrong, 3 the report cannot be written";

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Well.into() };
        }
    };
    if !matches!(cli.command, Command::Lab(_) | Command::Nf(_) | Command::Doctor(_)) {
        log(Level::default().as_str());
    }
    let system = actix::System::new();
    let exit = match cli.command {
        Command::Demo(args) => system.block_on(run_demo(args)),
        Command::Lab(args) => system.block_on(lab::run(args)),
        Command::Nf(args) => system.block_on(nf::run(args)),
        Command::Sim(args) => system.block_on(sim::run(args)),
        Command::Config(args) => small::config(&args),
        Command::Explain(args) => small::explain(&args),
        Command::Health(args) => system.block_on(small::health(args)),
        Command::Doctor(args) => system.block_on(doctor::run(args)),
        Command::Completions(args) => small::completions(&args),
    };
    exit.into()
}

/// Logs what `level` says, unless RUST_LOG says otherwise; the first call counts.
fn log(level: &str) {
    let said = std::env::var(tracing_subscriber::EnvFilter::DEFAULT_ENV).ok().filter(|said| !said.is_empty());
    let filter = tracing_subscriber::EnvFilter::new(said.as_deref().unwrap_or(level));
    let ansi = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(ansi);
    // A second one is refused.
    let _ = log.try_init();
}

async fn run_demo(args: DemoArgs) -> Exit {
    if args.list {
        return told(list(args.json).map(|()| true));
    }
    let Some(scenario) = demo::find(&args.name) else {
        eprintln!("error: there is no scenario {:?}; see `mock5g demo --list`", args.name);
        return Exit::Usage;
    };
    let format = if args.json { Format::Json } else { Format::Text };
    told(demo::play(scenario, args.indirect.0, format).await)
}

/// The configuration of this process.
fn load(file: Option<&Path>) -> Result<Config, Exit> {
    let variables = std::env::vars_os();
    let text =
        variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config = Config::load(file, text).map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    log(config.log_level().as_str());
    Ok(config)
}

fn told_by_host(ended: Result<Exit, String>) -> Exit {
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        Exit::Environment
    })
}

/// What a report, and whether it could be written, mean for the exit code. A reader that has seen enough, as in
/// `mock5g demo | head`, is no error.
fn told(report: io::Result<bool>) -> Exit {
    match report {
        Ok(true) => Exit::Well,
        Ok(false) => Exit::VerdictFailed,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Well,
        Err(error) => {
            eprintln!("error: the report cannot be written: {error}");
            Exit::Environment
        }
    }
}

fn list(json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for Scenario { name, title, .. } in SCENARIOS {
        match json {
            true => writeln!(out, "{}", serde_json::json!({"name": name, "title": title}))?,
            false => writeln!(out, "{name:<20} {title}")?,
        }
    }
    Ok(())
}

/// Whether calls go through an SCP, as `--indirect` says it.
#[derive(Clone, Copy)]
struct Off(Option<Indirect>);

fn indirect(text: &str) -> Result<Off, String> {
    match text {
        "off" => Ok(Off(None)),
        "c" => Ok(Off(Some(Indirect::C))),
        "d" => Ok(Off(Some(Indirect::D))),
        _ => Err("expected off, c or d".into()),
    }
}
