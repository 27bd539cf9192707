//! The machine: ports, loopback, clock, files, tools.

use super::{Finding, Level, Questions, peers, sntp};
use actix_web::{App, web};
use sbi::client::Call;
use sbi::clock::Clock;
use sbi::party::Served;
use sbi::server::{self, Front, Reply};
use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Clocks of synchronised machines differ by less.
const USUAL_OFFSET_US: i64 = 100_000;
/// With more, requests are late that are not.
const BAD_OFFSET_US: i64 = 1_000_000;
/// Ports of a lab, connections, and some room.
const ENOUGH_FILES: u64 = 8_192;
/// How long another program may take.
const TOOL_PATIENCE: Duration = Duration::from_secs(2);

/// Whether a lab could listen. With a running lab named it is no fault that it does.
pub(super) async fn ports(questions: &Questions) -> Finding {
    let (mut free, mut taken) = (Vec::new(), Vec::new());
    for (at, key) in &questions.addresses {
        match tokio::net::TcpListener::bind(at).await {
            Ok(_) => free.push(at.to_string()),
            Err(error) => taken.push((at, key, error)),
        }
    }
    if taken.is_empty() {
        return Finding::ok("ports", format!("free: {}", free.join(", ")));
    }
    let is_running = |(_, _, error): &(&SocketAddr, &String, io::Error)| {
        error.kind() == io::ErrorKind::AddrInUse && !questions.admins.is_empty()
    };
    let level = if taken.iter().all(is_running) { Level::Ok } else { Level::Fail };
    let why = |(at, _, error): &(&SocketAddr, &String, io::Error)| format!("{at}: {error}");
    let seen = taken.iter().map(why).collect::<Vec<_>>().join("; ");
    let keys: Vec<_> = taken.iter().map(|(_, key, _)| key.as_str()).collect();
    let finding = Finding::new("ports", level, seen);
    match level {
        Level::Ok => finding,
        _ => finding.advise(format!("end what listens there, or choose others with {}", keys.join(", "))),
    }
}

/// HTTP/2 with prior knowledge to a port of our own, as NFs of a lab speak.
pub(super) async fn loopback() -> Finding {
    const TIMES: u32 = 20;
    let failed = |why: String| {
        let finding = Finding::new("loopback", Level::Fail, format!("no HTTP/2 over 127.0.0.1: {why}"));
        finding.advise("see whether a firewall or a container's network stands between")
    };
    let client = peers::client();
    let env = client.env().clone();
    let (listener, at) = match env.net.listen("127.0.0.1:0").await {
        Ok(listener) => match listener.local_addr() {
            Ok(at) => (listener, at),
            Err(error) => return failed(error.to_string()),
        },
        Err(error) => return failed(error.to_string()),
    };
    let app = App::new().default_service(web::to(|| async { Reply::no_content() }));
    let front = Front::new(client.party().clone(), server::handler(app).await, |_, _, _| false);
    let serve = move |connection| drop(tokio::task::spawn_local(front.clone().serve(connection)));
    let serving = tokio::task::spawn_local(server::accept(listener, serve));
    let begun = env.clock.now();
    for _ in 0..TIMES {
        let call = Call::get(format!("http://{at}/"));
        if let Err(error) = client.request_as_is(&Served::own(client.party()), call).await {
            serving.abort();
            return failed(error.to_string());
        }
    }
    serving.abort();
    let each_ms = begun.elapsed().as_secs_f64() * 1_000.0 / f64::from(TIMES);
    let seen = format!("HTTP/2 over 127.0.0.1, {each_ms:.2} ms for a request");
    match each_ms {
        ..10.0 => Finding::ok("loopback", seen),
        _ => Finding::new("loopback", Level::Warn, seen)
            .advise("the machine is busy: short deadlines will pass by themselves"),
    }
}

/// The clock against an NTP server.
pub(super) async fn clock(ntp: Option<&str>) -> Finding {
    let Some(host) = ntp else {
        let finding = Finding::ok("clock", "its offset was not measured");
        return finding.advise("name an NTP server: mock5g doctor --ntp HOST[:PORT]");
    };
    let measured = match sntp::measure(host, &Clock::system()).await {
        Ok(measured) => measured,
        Err(why) => {
            let finding = Finding::new("clock", Level::Warn, format!("not measured against {host}: {why}"));
            return finding.advise("name another NTP server, or let UDP through to it");
        }
    };
    let sntp::Measured { offset_us, delay_us, stratum } = measured;
    let (by_ms, within_ms) = (offset_us as f64 / 1_000.0, delay_us as f64 / 2_000.0);
    let way = if offset_us > 0 { "behind" } else { "ahead of" };
    let seen = format!("{:.1} ms {way} {host} (stratum {stratum}), right to {within_ms:.1} ms", by_ms.abs());
    let advice = "synchronise it: systemctl start systemd-timesyncd, or chronyd; in a container, on its host";
    match offset_us.abs() {
        off if off <= USUAL_OFFSET_US => Finding::ok("clock", seen),
        off if off <= BAD_OFFSET_US => Finding::new("clock", Level::Warn, seen).advise(advice),
        _ => Finding::new("clock", Level::Fail, seen).advise(advice),
    }
}

/// What the system says of its own synchronisation.
pub(super) fn kernel() -> Finding {
    let asked = [
        ("timedatectl", &["show", "-p", "NTPSynchronized", "--value"][..], "yes", "no"),
        ("chronyc", &["-n", "tracking"], "Leap status     : Normal", "Not synchronised"),
    ];
    for (tool, arguments, yes, no) in asked {
        let Some(said) = told_by(tool, arguments) else { continue };
        if said.contains(yes) {
            return Finding::ok("kernel", format!("{tool} says that the clock is synchronised"));
        }
        if said.contains(no) {
            let finding = Finding::new(
                "kernel",
                Level::Warn,
                format!("{tool} says that the clock is not synchronised"),
            );
            return finding.advise("start systemd-timesyncd or chronyd; in a container, on its host");
        }
    }
    Finding::ok(
        "kernel",
        "whether the clock is synchronised is not known: timedatectl and chronyc are absent or say nothing",
    )
}

/// What a program says within its time, if it is there and ends well.
fn told_by(tool: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let begun = Clock::system().now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) if begun.elapsed() < TOOL_PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let mut said = String::new();
    child.stdout.take()?.take(4_096).read_to_string(&mut said).ok()?;
    Some(said)
}

/// Whether a journal could be written there.
pub(super) fn data_dir(dir: &Path) -> Finding {
    let file = dir.join(format!(".mock5g-doctor-{}", std::process::id()));
    let begun = Clock::system().now();
    let written = fs::File::create_new(&file).and_then(|mut file| {
        file.write_all(&[0; 4_096])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&file);
    match written.and(removed) {
        Ok(()) => {
            let ms = begun.elapsed().as_secs_f64() * 1_000.0;
            Finding::ok("data_dir", format!("{}: written and synced in {ms:.1} ms", dir.display()))
        }
        Err(error) => {
            let finding = Finding::new("data_dir", Level::Fail, format!("{}: {error}", dir.display()));
            finding
                .advise("name a directory that exists and that this user may write to, on a disk with room")
        }
    }
}

/// How many files and sockets a process may have open.
pub(super) fn open_files() -> Finding {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft.map(|soft| (soft, soft.parse::<u64>().unwrap_or(u64::MAX))) {
        None => Finding::ok("open_files", "their limit is not known here"),
        Some((soft, limit)) if limit >= ENOUGH_FILES => Finding::ok("open_files", format!("limit {soft}")),
        Some((soft, _)) => Finding::new("open_files", Level::Warn, format!("limit {soft}"))
            .advise(format!("for many connections: ulimit -n {ENOUGH_FILES}")),
    }
}

/// What is at hand beside the mocks; none is needed.
pub(super) fn tools() -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &str| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file());
    let told = ["curl", "nghttp", "docker"].map(|tool| match is_there(tool) {
        true => format!("{tool} is there"),
        false => format!("{tool} is not"),
    });
    Finding::ok("tools", told.join(", "))
}
