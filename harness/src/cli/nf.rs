//! `mock5g nf TYPE`: one NF.

use super::Exit;
use crate::operator::{self, Operator};
use crate::process::{NfHandle, Process};
use crate::registry::{self, LOCAL_UDR, Started, Wiring};
use crate::subscribers;
use api::common::PlmnId;
use clap::Args;
use sbi::env::Env;
use sbi::net::Listen;
use sbi::party::{NfType, Party};
use sbi::policy::Policy;
use sbi::release::State;
use sbi::server::Workers;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Start one NF, until Ctrl-C or SIGTERM
///
/// When it is ready, it prints one JSON line that says where: SBI and operator plane.
///
/// It knows the default subscribers (imsi-001010000000001 and the 99 that follow, and imsi-999700000021309; slice 1,
/// data network internet) if it is a UDR, or a UDM without --peer udr=... It starts without its peers and asks them
/// when it needs them.
///
/// On SIGTERM or Ctrl-C it lets requests end, then releases what it still owns upstream, at most 5 s for each, and says
/// what it could not release; a second signal ends it at once. Stop consumers before their producers: who is gone cannot
/// be asked to release anything.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct NfArgs {
    /// amf, smf, udm or udr
    #[arg(value_name = "TYPE", value_parser = nf_type)]
    nf_type: NfType,
    /// Where the SBI listens; port 0 takes a free one [default: 127.0.0.1 and the lab's port: amf 7705, smf 7704,
    /// udm 7712, udr 7720]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    bind: Option<SocketAddr>,
    /// Scheme and authority that others shall use, in Location and callbacks [default: http:// and the bound address;
    /// for 0.0.0.0 and :: this machine's own address]
    #[arg(long, value_name = "APIROOT", value_parser = own_api_root)]
    advertise: Option<String>,
    /// A producer that this NF calls, e.g. udm=http://127.0.0.1:7712; may be repeated, once for each type
    #[arg(long = "peer", value_name = "TYPE=APIROOT", value_parser = peer)]
    peers: Vec<(NfType, String)>,
    /// Where the operator plane listens [default: 127.0.0.1 and the SBI port + 1000; a free port if the SBI port is 0 or
    /// above 64535]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    admin: Option<SocketAddr>,
}

const AFTER_HELP: &str = "\
Example, a UDM with its data in a UDR, and an SMF:
  mock5g nf udr &
  mock5g nf udm --peer udr=http://127.0.0.1:7720 &
  mock5g nf smf --peer udm=http://127.0.0.1:7712 &
  curl http://127.0.0.1:8704/readyz

Exit codes: 0 stopped by SIGTERM, 1 something may be left hanging upstream, 2 the command line is wrong, 3 a port is in
use or the like, 130 Ctrl-C";

fn nf_type(text: &str) -> Result<NfType, String> {
    let known = NfType::ALL.iter().find(|t| t.as_str().eq_ignore_ascii_case(text));
    known.copied().ok_or_else(|| "expected amf, smf, udm or udr".into())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDR:PORT, e.g. 127.0.0.1:7712 or [::1]:0".into())
}

fn api_root(text: &str) -> Result<String, String> {
    let expected = || format!("expected http://host[:port], but found {text:?}");
    let text = text.trim_end_matches('/');
    let uri: http::Uri = text.parse().map_err(|_| expected())?;
    let authority = uri.authority().ok_or_else(expected)?;
    let no_port = authority.as_str().ends_with(authority.host());
    let callable = no_port || authority.port_u16().is_some_and(|port| port > 0);
    let plain = text.is_ascii() && !authority.as_str().contains('@');
    if callable && plain && uri.scheme_str() == Some("http") && uri.query().is_none() {
        Ok(text.to_owned())
    } else {
        Err(expected())
    }
}

/// An apiRoot to hand out: others cannot call 0.0.0.0.
fn own_api_root(text: &str) -> Result<String, String> {
    let root = api_root(text)?;
    if root.split('/').count() > 3 {
        return Err(format!("expected http://host[:port] without a path, but found {text:?}"));
    }
    let uri: http::Uri = root.parse().map_err(|_| "expected a URI")?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => {
            Err(format!("nobody can call {ip}; expected an address of this machine"))
        }
        _ => Ok(root),
    }
}

fn peer(text: &str) -> Result<(NfType, String), String> {
    let (name, root) = text.split_once('=').ok_or("expected TYPE=APIROOT, e.g. udm=http://127.0.0.1:7712")?;
    Ok((nf_type(name)?, api_root(root)?))
}

fn default_port(nf_type: NfType) -> u16 {
    match nf_type {
        NfType::Amf => 7705,
        NfType::Smf => 7704,
        NfType::Udm => 7712,
        NfType::Udr => 7720,
    }
}

/// Where the NF listens, once it does.
struct Places {
    sbi: Box<dyn Listen>,
    admin: Box<dyn Listen>,
    api_root: String,
    admin_root: String,
}

/// The first line on stdout.
#[derive(Serialize)]
struct Ready<'a> {
    nf: &'a str,
    sbi: &'a str,
    admin: &'a str,
}

impl Ready<'_> {
    fn tell(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(self)?)?;
        out.flush()
    }
}

pub(super) async fn run(args: NfArgs) -> Exit {
    if let Some(twice) = named_twice(&args.peers) {
        eprintln!("error: --peer names more than one {twice}; an NF calls one producer of each type");
        return Exit::Usage;
    }
    warn_of_peers(&args);
    match serve(&args).await {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
}

fn named_twice(peers: &[(NfType, String)]) -> Option<NfType> {
    let mut seen = BTreeSet::new();
    peers.iter().map(|(nf_type, _)| *nf_type).find(|nf_type| !seen.insert(*nf_type))
}

/// Says which peers are missing and which are never called. A UDM without a UDR keeps its data itself.
fn warn_of_peers(args: &NfArgs) {
    let (this, calls) = (args.nf_type, registry::calls(args.nf_type));
    let given = |wanted: NfType| args.peers.iter().any(|(nf_type, _)| *nf_type == wanted);
    for missing in calls.iter().filter(|called| !given(**called) && this != NfType::Udm) {
        eprintln!("note: no --peer {}=...: what needs a {missing} is answered 504", missing.name());
    }
    for (unused, _) in args.peers.iter().filter(|(given, _)| !calls.contains(given)) {
        eprintln!("note: a mock {this} calls no {unused}: --peer {}=... changes nothing", unused.name());
    }
}

/// From the first socket to the last release; an error is the environment's fault.
async fn serve(args: &NfArgs) -> Result<Exit, String> {
    let mut signals = Signals::listen().map_err(|e| format!("cannot listen for signals: {e}"))?;
    let env = Env::system();
    let Places { sbi, admin, api_root, admin_root } = listen(args, &env).await?;
    let name = args.nf_type.name();
    let wiring = wiring(args, &env);
    let workers = Workers::threads(std::thread::available_parallelism().map_or(1, usize::from));
    env.directory.add(&api_root, name);
    let party = Party {
        name: name.into(),
        nf_type: args.nf_type,
        instance_id: env.entropy.uuid(),
        api_root: api_root.as_str().into(),
        env: env.clone(),
        policy: Policy::default(),
    };
    let started = registry::start(party, &wiring, sbi, &workers).await;
    let operator = operator_of(&env, &started, &wiring);
    actix::spawn(operator::serve(operator.clone(), admin));
    let ready = Ready { nf: name, sbi: &api_root, admin: &admin_root };
    ready.tell().map_err(|e| format!("cannot say on stdout where this NF listens: {e}"))?;
    let first = signals.next().await;
    operator.ready.store(false, Relaxed);
    let handle = started.handle.clone();
    let (left, last) = tokio::select! {
        left = drain(started) => (left, first),
        second = signals.next() => (tell_left(&handle).await, second),
    };
    workers.stop();
    Ok(match (left, last) {
        (0, Stop::Terminate) => Exit::Well,
        (0, Stop::Interrupt) => Exit::Interrupted,
        _ => Exit::VerdictFailed,
    })
}

async fn listen(args: &NfArgs, env: &Env) -> Result<Places, String> {
    let bind = args.bind.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], default_port(args.nf_type))));
    let (sbi, bound) = listen_at(env, bind, "--bind").await?;
    let admin_port = if bind.port() == 0 { 0 } else { bind.port().checked_add(1000).unwrap_or(0) };
    let admin = args.admin.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], admin_port)));
    let (admin, admin_bound) = listen_at(env, admin, "--admin").await?;
    let api_root = args.advertise.clone().unwrap_or_else(|| format!("http://{}", reachable(bound)));
    Ok(Places { sbi, admin, api_root, admin_root: format!("http://{}", reachable(admin_bound)) })
}

async fn listen_at(env: &Env, at: SocketAddr, option: &str) -> Result<(Box<dyn Listen>, SocketAddr), String> {
    let failed = |error| format!("cannot listen on {at}: {error}; choose another address with {option}");
    let listener = env.net.listen(&at.to_string()).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// An address that others can use: 0.0.0.0 and :: are never handed out.
fn reachable(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    SocketAddr::new(own_address().unwrap_or(IpAddr::from([127, 0, 0, 1])), bound.port())
}

/// The address of the interface that a packet to elsewhere would leave by. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    const ELSEWHERE: &str = "192.0.2.1:9";
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(ELSEWHERE).ok()?;
    socket.local_addr().ok().map(|at| at.ip()).filter(|ip| !ip.is_unspecified())
}

fn wiring(args: &NfArgs, env: &Env) -> Wiring {
    let repository = Arc::default();
    subscribers::provision_defaults(&repository);
    for (nf_type, root) in &args.peers {
        env.directory.add(root, nf_type.name());
    }
    env.directory.add(LOCAL_UDR, "udr");
    let peers: BTreeMap<_, _> = args.peers.iter().cloned().collect();
    Wiring { peers, repository, plmn: PlmnId::new("001", "01").expect("the home PLMN") }
}

fn operator_of(env: &Env, started: &Started, wiring: &Wiring) -> Operator {
    let keeps_own_data = started.handle.party.nf_type == NfType::Udm && wiring.has_local_udr();
    let local_udr = keeps_own_data.then(|| (LOCAL_UDR.to_owned(), wiring.repository.clone()));
    let process = Process { env: env.clone(), nfs: vec![started.handle.clone()], local_udr };
    Operator::of(process)
}

/// Who wants the NF to stop.
#[derive(Clone, Copy)]
enum Stop {
    /// SIGTERM: a container runtime, a service manager, a script.
    Terminate,
    /// Ctrl-C.
    Interrupt,
}

/// The signals that stop an NF, from the first moment on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Signals { terminate: signal(terminate)?, interrupt: signal(interrupt)? })
    }

    async fn next(&mut self) -> Stop {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Stop::Terminate,
            _ = self.interrupt.recv() => Stop::Interrupt,
        }
    }
}

/// Lets requests end, releases what is still owned, and says what could not be released. How many that are.
async fn drain(mut started: Started) -> usize {
    eprintln!("stopping");
    let grace = started.handle.party.policy.drain;
    started.port.stop().await;
    let released = async {
        started.handle.close().await;
        while started.handle.unsettled().await > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let _ = tokio::time::timeout(grace, released).await;
    tell_left(&started.handle).await
}

async fn tell_left(handle: &NfHandle) -> usize {
    let resources = handle.resources().await;
    let left: Vec<_> =
        resources.iter().filter(|r| !matches!(r.state, State::Released | State::Void)).collect();
    for resource in &left {
        let state = resource.state.as_str();
        eprintln!("left at {}: {} {} ({state})", resource.at, resource.kind, resource.uri);
    }
    left.len()
}
