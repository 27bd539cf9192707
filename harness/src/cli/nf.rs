//! `mock5g nf TYPE`: one NF.

use super::host::{Place, Plan, host};
use super::{Exit, Off};
use crate::api_root::{OwnRoot, PeerRoot};
use crate::config::{Config, Indirect, InstanceName};
use crate::registry;
use clap::Args;
use sbi::env::Env;
use sbi::event::Kind;
use sbi::party::NfType;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Start one NF, until Ctrl-C or SIGTERM
///
/// When it is ready, it prints one JSON line that says where: SBI and operator plane.
///
/// It knows the default subscribers (imsi-001010000000001 and the 99 that follow, and imsi-999700000021309; slice 1,
/// data network internet) if it is a UDR, or a UDM without --peer udr=... It starts without its peers and asks them
/// when it needs them.
///
/// On SIGTERM or Ctrl-C it lets requests end, then releases what it still owns upstream, at most 5 s for each, and says
/// what it could not release; with --data-dir it keeps what it owns instead, for its next start. A second signal ends it at once. Stop consumers before their producers: who is gone cannot
/// be asked to release anything.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct NfArgs {
    /// A configuration file; see `mock5g config`
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// amf, smf, udm, udr, nrf or scp
    #[arg(value_name = "TYPE")]
    nf_type: NfType,
    /// What it is called in events, and below `instances` in the configuration [default: its type]
    #[arg(long)]
    name: Option<InstanceName>,
    /// Where the SBI listens; port 0 takes a free one [default: 127.0.0.1 and the lab's port: amf 7705, smf 7704,
    /// nrf 7710, udm 7712, udr 7720, scp 7900; with --name a free port]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    bind: Option<SocketAddr>,
    /// Scheme and authority that others shall use, in Location and callbacks [default: http:// and the bound address;
    /// for 0.0.0.0 and :: this machine's own address]
    #[arg(long, value_name = "APIROOT")]
    advertise: Option<OwnRoot>,
    /// A producer that this NF calls, e.g. udm=http://127.0.0.1:7712; may be repeated, once for each type
    #[arg(long = "peer", value_name = "TYPE=APIROOT", value_parser = peer)]
    peers: Vec<(NfType, String)>,
    /// The NRF: register there, and find there whom no --peer names
    #[arg(long, value_name = "APIROOT")]
    nrf: Option<PeerRoot>,
    /// The SCP: call through it. An SCP's is the next SCP
    #[arg(long, value_name = "APIROOT")]
    scp: Option<PeerRoot>,
    /// With --scp: c, this NF names the target (by --peer, or found at the NRF); d, the SCP finds it [default: d without --nrf,
    /// else c]
    #[arg(long, value_name = "c|d", value_parser = super::indirect, requires = "scp")]
    indirect: Option<Off>,
    /// Where the operator plane listens [default: 127.0.0.1 and the SBI port + 1000; a free port if the SBI port is 0 or
    /// above 64535]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    admin: Option<SocketAddr>,
    /// Hold what others send against the OpenAPI files of 3GPP in this directory: what is not as they say is told, as an
    /// event and in the log; openapi.mode in the configuration says whether it is also refused
    #[arg(long, value_name = "DIR")]
    openapi: Option<PathBuf>,
    /// Keep a journal of each NF in this directory: after a crash or a stop it has its contexts again, and what it owed is
    /// released. `journal.sync` in the configuration says whether it survives a power loss too (disk) or the end of the process
    /// only (process, the default)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// For tests: say so on stdout and stand still at this event, or at the N-th of its kind, so that the process can be killed
    /// at a certain step
    #[arg(long, value_name = "EVENT[:N]", value_parser = stop_point, hide = true)]
    stop_at: Option<StopPoint>,
}

/// An event, and the how-manieth of its kind.
#[derive(Clone, Copy)]
struct StopPoint {
    kind: Kind,
    nth: u64,
}

fn stop_point(text: &str) -> Result<StopPoint, String> {
    let (name, nth) = text.split_once(':').unwrap_or((text, "1"));
    let kind = Kind::named(name).ok_or("expected the name of an event, e.g. resource.created:2")?;
    let nth = nth.parse().map_err(|_| "expected a number after the colon, e.g. resource.created:2")?;
    Ok(StopPoint { kind, nth })
}

impl StopPoint {
    fn stop_there(self, env: &Env) {
        env.events.at(self.kind, self.nth, || {
            println!("{{\"stopped_at\":\"an event\"}}");
            loop {
                std::thread::park();
            }
        });
    }
}

const AFTER_HELP: &str = "\
Example, a UDM with its data in a UDR, and an SMF:
  mock5g nf udr &
  mock5g nf udm --peer udr=http://127.0.0.1:7720 &
  mock5g nf smf --peer udm=http://127.0.0.1:7712 --peer amf=http://127.0.0.1:7705 &
  curl http://127.0.0.1:8704/readyz

The same with an NRF, in any order:
  mock5g nf nrf &
  for nf in udr udm smf amf; do mock5g nf $nf --nrf http://127.0.0.1:7710 & done

Exit codes: 0 stopped by SIGTERM, 1 something may be left hanging upstream, 2 the command line or the configuration is wrong, 3 a port is in
use or the like, 130 Ctrl-C";

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDR:PORT, e.g. 127.0.0.1:7712 or [::1]:0".into())
}

fn peer(text: &str) -> Result<(NfType, String), String> {
    let (name, root) = text.split_once('=').ok_or("expected TYPE=APIROOT, e.g. udm=http://127.0.0.1:7712")?;
    Ok((name.parse()?, root.parse::<PeerRoot>()?.into()))
}

pub(super) async fn run(mut args: NfArgs) -> Exit {
    if let Some(twice) = named_twice(&args.peers) {
        eprintln!("error: --peer names more than one {twice}; an NF calls one producer of each type");
        return Exit::Usage;
    }
    let config = match super::load(args.config.as_deref()) {
        Ok(config) => config.with_openapi(args.openapi.take()).with_data_dir(args.data_dir.take()),
        Err(exit) => return exit,
    };
    let stop_at = args.stop_at;
    let (plan, admin) = match args.plan(&config) {
        Ok(planned) => planned,
        Err(error) => {
            eprintln!("error: {error}");
            return Exit::Usage;
        }
    };
    warn_of_peers(&plan);
    let env = Env::system();
    stop_at.into_iter().for_each(|point| point.stop_there(&env));
    super::told_by_host(host(env, vec![plan], admin, &config).await)
}

impl NfArgs {
    /// What the flags say, then the file; then the defaults.
    fn plan(self, config: &Config) -> Result<(Plan, Place), String> {
        let nf_type = self.nf_type;
        let name = self.name.map_or_else(|| nf_type.name().to_owned(), String::from);
        let section = config.section(&name);
        if let Some(said) = section.and_then(|nf| nf.nf_type).filter(|said| *said != nf_type) {
            return Err(format!(
                "the configuration says that {name} is of type {}, not {}",
                said.name(),
                nf_type.name()
            ));
        }
        let sbi = section.and_then(|nf| nf.sbi.clone()).unwrap_or_default();
        let at = self.bind.unwrap_or_else(|| config.bind(&name));
        let admin_port = if at.port() == 0 { 0 } else { at.port().checked_add(1000).unwrap_or(0) };
        let admin = self.admin.or_else(|| section.and_then(|nf| nf.admin.as_ref()?.bind));
        let admin = admin.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], admin_port)));
        let said =
            NfType::ALL.iter().filter_map(|called| Some((*called, config.peer(&name, *called)?.to_owned())));
        let nrf = self.nrf.map(|root| (NfType::Nrf, String::from(root)));
        let scp = self.scp.map(|root| (NfType::Scp, String::from(root)));
        let peers: BTreeMap<_, _> = said.chain(self.peers).chain(nrf).chain(scp).collect();
        let usual = if peers.contains_key(&NfType::Nrf) { Indirect::C } else { Indirect::D };
        let indirect = self.indirect.and_then(|said| said.0).or_else(|| config.indirect(&name));
        let indirect = peers.contains_key(&NfType::Scp).then(|| indirect.unwrap_or(usual));
        let bind = Place { at, option: "--bind".into() };
        let plan = Plan {
            name,
            nf_type,
            bind,
            advertise: self.advertise.or(sbi.advertise).map(String::from),
            peers,
            indirect,
        };
        Ok((plan, Place { at: admin, option: "--admin".into() }))
    }
}

fn named_twice(peers: &[(NfType, String)]) -> Option<NfType> {
    let mut seen = BTreeSet::new();
    peers.iter().map(|(nf_type, _)| *nf_type).find(|nf_type| !seen.insert(*nf_type))
}

/// Says which peers are missing and which are never called. A UDM without a UDR keeps its data itself.
fn warn_of_peers(plan: &Plan) {
    let (this, calls) = (plan.nf_type, registry::calls(plan.nf_type));
    let has_nrf = plan.peers.contains_key(&NfType::Nrf) || plan.indirect == Some(Indirect::D);
    let missing = |needed: &NfType| !plan.peers.contains_key(needed) && !has_nrf;
    if let Some(missing) = registry::needs(this).filter(missing) {
        eprintln!(
            "note: no --peer {}=... and no --nrf: what needs a {missing} is answered 504",
            missing.name()
        );
    }
    for unused in plan
        .peers
        .keys()
        .filter(|given| !calls.contains(given) && !matches!(given, NfType::Nrf | NfType::Scp))
    {
        eprintln!("note: a mock {this} calls no {unused}: --peer {}=... changes nothing", unused.name());
    }
}
