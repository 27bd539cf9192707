//! `mock5g doctor`: whether this machine is fit for a lab.

use super::Exit;
use crate::config::Config;
use crate::doctor::{Level, Questions, examine};
use clap::Args;
use sbi::party::NfType;
use std::io::{self, Write};
use std::path::PathBuf;

/// Look whether this machine is fit for a lab
///
/// Whether the ports of a lab are free, HTTP/2 over the loopback works, the clock is right (deadlines are worth as much as
/// the clocks that they are measured by), and files can be opened and written; and what running NFs measure of one
/// another's clocks. Each line says ok, warn or fail, what was seen, and what to do. Nothing is left running or written.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct DoctorArgs {
    /// A configuration file: it says where the lab would listen
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The operator plane of a running lab or NF: how far the clocks of its peers are off; may be repeated
    #[arg(long, value_name = "URL")]
    admin: Vec<String>,
    /// An NTP server to measure this machine's clock against
    #[arg(long, value_name = "HOST[:PORT]")]
    ntp: Option<String>,
    /// A directory that a journal is to be written to
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Example:
  mock5g doctor --ntp pool.ntp.org
  mock5g doctor --admin http://127.0.0.1:9091

Exit codes: 0 nothing has failed, 2 the command line or the configuration is wrong, 3 something has failed";

pub(super) async fn run(args: DoctorArgs) -> Exit {
    let config = match super::load(args.config.as_deref()) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let (addresses, json) = (addresses(&config), args.json);
    let questions = Questions { addresses, admins: args.admin, ntp: args.ntp, data_dir: args.data_dir };
    let findings = examine(&questions).await;
    let report = || -> io::Result<bool> {
        let mut out = io::stdout().lock();
        for finding in &findings {
            match json {
                true => writeln!(out, "{}", sbi::json::to_value(finding))?,
                false => writeln!(out, "{finding}")?,
            }
        }
        Ok(true)
    };
    match super::told(report()) {
        Exit::Well if findings.iter().any(|finding| finding.level == Level::Fail) => Exit::Environment,
        exit => exit,
    }
}

/// Where a lab listens. A port 0 is always to be had.
fn addresses(config: &Config) -> Vec<(std::net::SocketAddr, String)> {
    let of_nf = |(name, _): (String, NfType)| (config.bind(&name), format!("{name}.sbi.bind"));
    let mut all: Vec<_> = config.nfs().into_iter().map(of_nf).collect();
    all.push((config.lab_admin(), "admin.bind".into()));
    all
}
