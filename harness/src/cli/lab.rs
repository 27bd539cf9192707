//! `mock5g lab`: all NFs of a lab in one process.

use super::host::{Place, Plan, host};
use super::{Exit, Off};
use crate::config::Config;
use clap::Args;
use sbi::env::Env;
use sbi::party::NfType;
use std::path::PathBuf;

/// Start a whole lab, until Ctrl-C or SIGTERM
///
/// An AMF, an SMF, a UDM and a UDR in this process, wired to one another, each behind its own port (amf 7705, smf 7704,
/// udm 7712, udr 7720), and one operator plane for all of them on 127.0.0.1:9091. One JSON line for each NF says where it
/// is. With --indirect an SCP is among them, and an NRF if that finds the producers. A configuration says otherwise, also that another NF stands in for one of them (`client: {smf: http://...}` at the top:
/// the lab then starts none), or that there are more (a second SMF); see `mock5g config`.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct LabArgs {
    /// A configuration file
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Let all NFs call through an SCP: c, they name the target; d, the SCP finds it at an NRF; off, directly
    #[arg(long, value_name = "off|c|d", value_parser = super::indirect, default_value = "off", hide_default_value = true)]
    indirect: Off,
    /// Hold what others send against the OpenAPI files of 3GPP in this directory: what is not as they say is told, as an
    /// event and in the log; openapi.mode in the configuration says whether it is also refused
    #[arg(long, value_name = "DIR")]
    openapi: Option<PathBuf>,
    /// Keep a journal of each NF in this directory: after a crash or a stop it has its contexts again, and what it owed is
    /// released. `journal.sync` in the configuration says whether it survives a power loss too (disk) or the end of the process
    /// only (process, the default)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Example, a session whose registration comes too late:
  mock5g lab &
  curl -X PUT http://127.0.0.1:9091/mock5g/v1/faults/late -d '{\"at\": \"udm\", \"on\": \"response\",
    \"match\": {\"method\": \"PUT\"}, \"do\": {\"delay_past_deadline_ms\": 300}, \"times\": 1}'
  curl http://127.0.0.1:9091/mock5g/v1/amf/pdu-sessions -d '{\"supi\": \"imsi-001010000000001\", \"pduSessionId\": 5,
    \"maxRspTimeMs\": 500}'
  curl http://127.0.0.1:9091/mock5g/v1/resources

Exit codes: 0 stopped by SIGTERM, 1 something may be left hanging upstream, 2 the configuration is wrong, 3 a port is in
use or the like, 130 Ctrl-C";

pub(super) async fn run(args: LabArgs) -> Exit {
    let config = match super::load(args.config.as_deref()) {
        Ok(config) => {
            config.with_indirect(args.indirect.0).with_openapi(args.openapi).with_data_dir(args.data_dir)
        }
        Err(exit) => return exit,
    };
    if let Some((id, name)) = config.instance_id_of_two() {
        eprintln!("error: nf_instance_id {id} of {name} is another NF's too: they could not be told apart");
        return Exit::Usage;
    }
    if config.nfs().is_empty() {
        eprintln!("error: client names another NF for each of the lab's own, so there is nothing to start");
        return Exit::Usage;
    }
    let plans = config.nfs().into_iter().map(|(name, nf_type)| plan(name, nf_type, &config)).collect();
    let admin = Place { at: config.lab_admin(), option: "admin.bind in the configuration".into() };
    super::told_by_host(host(Env::system(), plans, admin, &config).await)
}

fn plan(name: String, nf_type: NfType, config: &Config) -> Plan {
    let told = |called: &NfType| Some((*called, config.peer(&name, *called)?.to_owned()));
    let sbi = config.section(&name).and_then(|nf| nf.sbi.clone()).unwrap_or_default();
    let below = if name == nf_type.name() { "" } else { "instances." };
    let option = format!("{below}{name}.sbi.bind in the configuration");
    Plan {
        nf_type,
        bind: Place { at: config.bind(&name), option },
        advertise: sbi.advertise.map(String::from),
        peers: NfType::ALL.iter().filter_map(told).collect(),
        indirect: config.indirect(&name),
        name,
    }
}
