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
use sbi::server::Workers;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::signal::unix::{SignalKind, signal};

/// Starts one NF and prints, when it is ready, one JSON line that says where: SBI and operator plane.
///
/// It knows the default subscribers (imsi-001010000000001 and the 99 that follow, and imsi-999700000021309; slice 1,
/// data network internet) if it is a UDR, or a UDM without --peer udr=... On SIGTERM or Ctrl-C it releases what it
/// still owns upstream, at most 5 s, and says what it could not release.
#[derive(Args)]
pub(super) struct NfArgs {
    /// amf, smf, udm or udr
    #[arg(value_name = "TYPE", value_parser = nf_type)]
    nf_type: NfType,
    /// Where the SBI listens; port 0 takes a free one [default: 127.0.0.1 and the lab's port: amf 7705, smf 7704,
    /// udm 7712, udr 7720]
    #[arg(long, value_name = "ADDR:PORT")]
    bind: Option<SocketAddr>,
    /// Scheme and authority that others shall use, in Location and callbacks [default: http:// and the bound address;
    /// for 0.0.0.0 and :: this machine's own address]
    #[arg(long, value_name = "APIROOT", value_parser = api_root)]
    advertise: Option<String>,
    /// A producer that this NF calls, e.g. udm=http://127.0.0.1:7712; may be repeated
    #[arg(long = "peer", value_name = "TYPE=APIROOT", value_parser = peer)]
    peers: Vec<(NfType, String)>,
    /// Where the operator plane listens [default: 127.0.0.1 and the SBI port + 1000; a free port if that is 0]
    #[arg(long, value_name = "ADDR:PORT")]
    admin: Option<SocketAddr>,
}

fn nf_type(text: &str) -> Result<NfType, String> {
    let known = NfType::ALL.iter().find(|t| t.as_str().eq_ignore_ascii_case(text));
    known.copied().ok_or_else(|| "expected amf, smf, udm or udr".into())
}

fn api_root(text: &str) -> Result<String, String> {
    let expected = || format!("expected http://host[:port], but found {text:?}");
    let text = text.trim_end_matches('/');
    let uri: http::Uri = text.parse().map_err(|_| expected())?;
    let usable = uri.scheme_str() == Some("http") && uri.authority().is_some_and(|a| a.port_u16() != Some(0));
    if usable && uri.query().is_none() { Ok(text.to_owned()) } else { Err(expected()) }
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

pub(super) async fn run(args: NfArgs) -> Exit {
    let env = Env::system();
    let places = match listen(&args, &env).await {
        Ok(places) => places,
        Err(error) => {
            eprintln!("error: {error}");
            return Exit::Environment;
        }
    };
    let name = args.nf_type.as_str().to_lowercase();
    let ready = serde_json::json!({"nf": name, "sbi": places.api_root, "admin": places.admin_root});
    let Places { sbi, admin, api_root, .. } = places;
    let wiring = wiring(&args, &env);
    let workers = Workers::threads(std::thread::available_parallelism().map_or(1, usize::from));
    env.directory.add(&api_root, &name);
    let party = Party {
        name: name.into(),
        nf_type: args.nf_type,
        instance_id: env.entropy.uuid(),
        api_root: api_root.into(),
        env: env.clone(),
        policy: Policy::default(),
    };
    let started = registry::start(party, &wiring, sbi, &workers).await;
    let operator = operator_of(&env, &started, &wiring);
    actix::spawn(operator::serve(operator.clone(), admin));
    println!("{ready}");
    let _ = std::io::stdout().flush();
    let interrupted = stop_signal().await;
    operator.ready.store(false, Relaxed);
    let left = drain(started).await;
    workers.stop();
    match (left, interrupted) {
        (0, false) => Exit::Well,
        (0, true) => Exit::Interrupted,
        _ => Exit::VerdictFailed,
    }
}

async fn listen(args: &NfArgs, env: &Env) -> Result<Places, String> {
    let bind = args.bind.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], default_port(args.nf_type))));
    let (sbi, bound) = listen_at(env, bind, "--bind").await?;
    let admin_port = if bind.port() == 0 { 0 } else { bind.port().saturating_add(1000) };
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
        env.directory.add(root, &nf_type.as_str().to_lowercase());
    }
    env.directory.add(LOCAL_UDR, "udr");
    let peers: BTreeMap<_, _> = args.peers.iter().cloned().collect();
    Wiring { peers, repository, plmn: PlmnId::new("001", "01").expect("the home PLMN") }
}

fn operator_of(env: &Env, started: &Started, wiring: &Wiring) -> Operator {
    let keeps_own_data = started.handle.party.nf_type == NfType::Udm && wiring.has_local_udr();
    let local_udr = keeps_own_data.then(|| (LOCAL_UDR.to_owned(), wiring.repository.clone()));
    let process = Process { env: env.clone(), nfs: vec![started.handle.clone()], local_udr };
    Operator { process, ready: Arc::new(AtomicBool::new(true)) }
}

/// Waits for a signal; whether it was Ctrl-C.
async fn stop_signal() -> bool {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return true;
    };
    tokio::select! {
        biased;
        _ = terminate.recv() => false,
        _ = tokio::signal::ctrl_c() => true,
    }
}

/// Lets requests end, releases what is still owned, and says what could not be released. How many that are.
async fn drain(mut started: Started) -> usize {
    eprintln!("stopping");
    let grace = started.handle.party.policy.drain;
    started.port.stop().await;
    let released = async {
        started.handle.release_all().await;
        while started.handle.open().await > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let _ = tokio::time::timeout(grace, released).await;
    tell_left(&started.handle).await
}

async fn tell_left(handle: &NfHandle) -> usize {
    let settled = ["released", "void"];
    let resources = handle.resources().await;
    let left: Vec<_> = resources.iter().filter(|r| !settled.contains(&r.state)).collect();
    for resource in &left {
        eprintln!("left at {}: {} {} ({})", resource.at, resource.kind, resource.uri, resource.state);
    }
    left.len()
}
