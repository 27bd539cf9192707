//! The commands that only tell something.

use super::Exit;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use sbi::client::{Call, Client};
use sbi::env::Env;
use sbi::event::Kind;
use sbi::party::{NfType, Party, Served};
use sbi::policy::Policy;
use sbi::problem::Cause;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Print the configuration that would be used
///
/// What the file and the environment say, and the default of everything else, as YAML. A variable is named after the
/// keys, two underscores between them: MOCK5G_SMF__DEADLINE__MODE=drop.
#[derive(Args)]
#[command(after_long_help = CONFIG_HELP)]
pub(super) struct ConfigArgs {
    /// A configuration file
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// JSON instead of YAML
    #[arg(long)]
    json: bool,
}

const CONFIG_HELP: &str = "\
Example of a file, each key with its default:
  plmn: {mcc: \"001\", mnc: \"01\"}
  addresses: loopback              # or open5gs: 127.0.0.5:7777 and so on
  logger: {level: warn}
  admin: {bind: 127.0.0.1:9091}    # of a lab
  openapi: {mode: warn}            # or refuse; dir: where 3GPP's OpenAPI files are
  deadline: {mode: reject, late_release: perform, on_client_gone: release, skew_tolerance_ms: 0, margin_ms: 5,
             strict: false, peers: {},   # {999-70: honour, amf: ignore}: foreign networks are ignored unless honoured
             forward: unmodified}        # or restamp: an SCP's
  release: {settle_ms: 30000, wait_ms: 500, timer_ms: 3000, tries: 9, backoff_ms: 200, settle: report}   # or repeat
  client: {max_rsp_time_ms: 10000} # nrf: http://..., scp: http://..., indirect: c (or d): where all NFs register, and call
  journal: {sync: process}         # or disk; dir: where journals are, --data-dir says the same
  drain_ms: 5000
  subscribers:
    - {supi: imsi-001010000000001, count: 100, slices: [{sst: 1, dnns: [internet]}]}    # k, opc: 32 hex digits
  smf:                             # and amf, udm, udr: the same keys for one NF, and those of its type
    sbi: {bind: 127.0.0.1:7704, max_pending_resets: 1024}    # advertise: http://...
    client: {udm: http://127.0.0.1:7712}
    nf_instance_id: 11111111-2222-4333-8444-555555555555
    answer: after_upstream         # or early; of an SMF, like collisions: compare (or accept), procedure_timer_ms: 10000
  udm: {hear_changes: true}
  udr: {first_put: created}        # or no_content
  nrf: {heart_beat_s: 10}          # with this section a lab has an NRF
  scp: {release_late: false}       # and an SCP with this one, which is called through if client.indirect says so; client: {scp: ...}
                                   # in it is the next SCP
  instances:                       # more NFs, on free ports unless sbi.bind says otherwise
    smf-2: {type: smf}             # and the keys of one NF

Exit codes: 0 it can be used, 2 it cannot";

pub(super) fn config(args: &ConfigArgs) -> Exit {
    let config = match super::load(args.config.as_deref()) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let config = config.effective();
    if args.json {
        return say(&sbi::json::to_value(&config).to_string());
    }
    match serde_saphyr::to_string(&config) {
        Ok(yaml) => super::told(write!(io::stdout(), "{yaml}").map(|()| true)),
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Usage
        }
    }
}

/// Print completions for a shell
#[derive(Args)]
#[command(
    after_long_help = "Example:\n  source <(mock5g completions bash)\n\nExit codes: 0 printed, 2 no such shell"
)]
pub(super) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "mock5g", &mut script);
    super::told(io::stdout().write_all(&script).map(|()| true))
}

/// Say what a cause or an event means, and where the standard speaks of it
#[derive(Args)]
#[command(
    after_long_help = "Example:\n  mock5g explain TIMED_OUT_REQUEST\n\nExit codes: 0 explained, 2 unknown"
)]
pub(super) struct ExplainArgs {
    /// A cause, as TIMED_OUT_REQUEST, or an event, as response.late; without one, all their names
    name: Option<String>,
    /// JSON
    #[arg(long)]
    json: bool,
}

/// A name, and what there is to say of it.
#[derive(Serialize)]
struct Explained {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    meaning: &'static str,
    clause: &'static str,
}

pub(super) fn explain(args: &ExplainArgs) -> Exit {
    let Some(name) = &args.name else {
        let causes = Cause::ALL.iter().map(|cause| cause.as_str());
        let names: Vec<_> = causes.chain(Kind::ALL.iter().map(|kind| kind.as_str())).collect();
        return say(&if args.json { sbi::json::to_value(&names).to_string() } else { names.join("\n") });
    };
    let cause = Cause::named(name).map(|cause| Explained {
        name: cause.as_str(),
        status: Some(cause.status()),
        meaning: cause.meaning().trim(),
        clause: cause.clause(),
    });
    let event = |kind: Kind| Explained {
        name: kind.as_str(),
        status: None,
        meaning: kind.meaning().trim(),
        clause: kind.clause(),
    };
    let Some(explained) = cause.or_else(|| Kind::named(name).map(event)) else {
        eprintln!("error: no cause and no event is called {name:?}; `mock5g explain` lists them");
        return Exit::Usage;
    };
    if args.json {
        return say(&sbi::json::to_value(&explained).to_string());
    }
    let Explained { name, status, meaning, clause } = explained;
    let what = status.map_or("an event".into(), |status| format!("with status {status}"));
    say(&format!("{name}, {what}\n{meaning}\n{clause}"))
}

fn say(text: &str) -> Exit {
    super::told(writeln!(io::stdout(), "{text}").map(|()| true))
}

/// Ask whether an NF or a lab is ready
///
/// For HEALTHCHECK where there is no curl.
#[derive(Args)]
#[command(after_long_help = "Exit codes: 0 it is ready, 1 it is not, or does not answer")]
pub(super) struct HealthArgs {
    /// The operator plane
    #[arg(default_value = "http://127.0.0.1:9091")]
    url: String,
    /// Say so on stdout, as JSON: {"ready": true}
    #[arg(long)]
    json: bool,
}

pub(super) async fn health(args: HealthArgs) -> Exit {
    const PATIENCE: Duration = Duration::from_secs(3);
    let env = Env::system();
    let party = Party {
        name: "health".into(),
        nf_type: NfType::Amf,
        instance_id: env.entropy.uuid(),
        api_root: "http://health".into(),
        env,
        policy: Policy { max_rsp_time: PATIENCE, ..Policy::default() },
        journal: None,
        nrf: None,
        scp: None,
    };
    let url = args.url.trim_end_matches('/').trim_end_matches("/readyz");
    let client = Client::new(party);
    let answer = client.request_as_is(&Served::own(client.party()), Call::get(format!("{url}/readyz"))).await;
    let why = match answer {
        Ok(answer) if answer.status.is_success() => None,
        Ok(answer) => Some(format!("it answers {}", answer.status)),
        Err(error) => Some(error.to_string()),
    };
    if args.json {
        say(&serde_json::json!({"ready": why.is_none(), "reason": why}).to_string());
    }
    let Some(why) = why else { return Exit::Well };
    eprintln!("not ready: {why}");
    Exit::VerdictFailed
}
