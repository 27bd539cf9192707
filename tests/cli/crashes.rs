//! Four NFs in processes of their own, each killed with SIGKILL at each step that it takes for a PDU session, and started
//! again with its journal: nothing is left hanging. TS 29.500 §6.11.2.2 (Rel-17) asks for that of an NF that lives.

use super::support::{NfProcess, Protocol, SUPI, TempDir, request, try_request, wait_until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Short timers, in proportion: a create without an answer counts as lost after a second and a half.
const TIMERS: [(&str, &str); 6] = [
    // The UDR is one of ours, in another process.
    ("MOCK5G_RELEASE__SETTLE", "repeat"),
    ("MOCK5G_RELEASE__SETTLE_MS", "1500"),
    ("MOCK5G_RELEASE__BACKOFF_MS", "50"),
    ("MOCK5G_RELEASE__TIMER_MS", "500"),
    ("MOCK5G_RELEASE__WAIT_MS", "100"),
    ("MOCK5G_CLIENT__MAX_RSP_TIME_MS", "1000"),
];

/// Has a session all the time.
const BYSTANDER: &str = "imsi-001010000000002";

const NFS: [&str; 4] = ["udr", "udm", "smf", "amf"];

/// States of what is neither owned nor done with.
const UNSETTLED: [&str; 4] = ["intended", "in-flight", "held", "releasing"];

/// The four, with a directory for their journals and ports that they have again after a restart.
struct Network {
    directory: TempDir,
    ports: BTreeMap<&'static str, [u16; 2]>,
    running: BTreeMap<&'static str, NfProcess>,
}

impl Network {
    /// `first_port` is below those that the kernel gives to clients, which could take one while its NF is down.
    fn start(name: &str, first_port: u16) -> Self {
        let mut free = (first_port..).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
        let ports = NFS.map(|nf| (nf, [free.next().unwrap(), free.next().unwrap()])).into();
        let mut network = Network { directory: TempDir::new(name), ports, running: BTreeMap::new() };
        NFS.iter().for_each(|nf| network.run(nf, None));
        network
    }

    fn sbi(&self, nf: &str) -> String {
        format!("127.0.0.1:{}", self.ports[nf][0])
    }

    fn admin(&self, nf: &str, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[nf][1])
    }

    /// Starts an NF, which stands still at an event if one is named.
    fn run(&mut self, nf: &'static str, stop_at: Option<&str>) {
        let producers: &[&str] = match nf {
            "amf" => &["smf", "udm"],
            "smf" => &["udm", "amf"],
            "udm" => &["udr"],
            _ => &[],
        };
        let peers =
            producers.iter().flat_map(|p| ["--peer".to_owned(), format!("{p}=http://{}", self.sbi(p))]);
        let mut arguments = vec!["nf".to_owned(), nf.to_owned(), "--bind".into(), self.sbi(nf)];
        arguments.extend(["--admin".into(), format!("127.0.0.1:{}", self.ports[nf][1])]);
        arguments.extend(["--data-dir".into(), self.directory.path().display().to_string()]);
        arguments.extend(peers);
        arguments.extend(stop_at.into_iter().flat_map(|at| ["--stop-at".to_owned(), at.to_owned()]));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.running.insert(nf, NfProcess::spawn_with(&arguments, &TIMERS));
    }

    /// The lines that it had said, and nobody read.
    fn kill(&mut self, nf: &str) -> Vec<String> {
        self.running.remove(nf).unwrap().kill()
    }

    fn list(&self, nf: &str, path: &str) -> Vec<Value> {
        let answer = request(Protocol::H2c, "GET", &self.admin(nf, path), "", b"");
        answer.json().as_array().unwrap().clone()
    }

    fn in_state(&self, states: &[&str]) -> Vec<Value> {
        let all = NFS.iter().flat_map(|nf| self.list(nf, "/mock5g/v1/resources"));
        all.filter(|resource| states.contains(&resource["state"].as_str().unwrap())).collect()
    }

    fn settle(&self) {
        wait_until("every ledger is settled", || self.in_state(&UNSETTLED).is_empty());
    }

    /// Everything that is owned, and that is held, anywhere.
    fn there(&self) -> BTreeSet<String> {
        let uri = |what: &str, resource: &Value| format!("{what} {}", resource["uri"]);
        let owned = self.in_state(&["committed"]);
        let held = NFS.iter().flat_map(|nf| self.list(nf, "/mock5g/v1/held"));
        let held: Vec<_> = held.map(|held| uri("held", &held)).collect();
        owned.iter().map(|owned| uri("owned", owned)).chain(held).collect()
    }

    /// Each event of `nf` since it was started, as the how-manieth of its kind.
    fn steps(&self, nf: &str) -> Vec<String> {
        let mut seen = BTreeMap::<String, usize>::new();
        let steps = self.list(nf, "/mock5g/v1/events?after=0").into_iter().map(|event| {
            let kind = event["event"].as_str().unwrap().to_owned();
            let nth = seen.entry(kind.clone()).or_default();
            *nth += 1;
            format!("{kind}:{nth}")
        });
        steps.collect()
    }

    /// Kills `nf` at `step` of a session's life, starts it again, and sees that nothing is left hanging, and that another
    /// session lives on. Whether it came to that step.
    fn survive(&mut self, nf: &'static str, step: &str, bystander: &BTreeSet<String>) -> bool {
        self.kill(nf);
        self.run(nf, Some(step));
        let amf = self.admin("amf", "");
        let ledgers = NFS.map(|nf| self.admin(nf, "/mock5g/v1/resources"));
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let session = thread::spawn(move || {
            live(&amf, &over);
            come_to_rest(&ledgers, &over);
        });
        let mut said = None;
        wait_until("it stands still, or the session is over", || {
            said = self.running[nf].next_line();
            said.is_some() || session.is_finished()
        });
        is_over.store(true, Relaxed);
        let unread = self.kill(nf);
        let has_stopped = said.iter().chain(&unread).any(|line| line.contains("stopped_at"));
        let _ = session.join();
        self.run(nf, None);
        self.settle();
        // What the AMF still has is a session like any other.
        release(&self.admin("amf", ""), SUPI);
        self.settle();
        let what = format!("after {nf} was killed at {step}");
        assert_eq!(self.in_state(&["hanging"]), [Value::Null; 0], "{what}");
        assert_eq!(self.there(), *bystander, "{what}");
        has_stopped
    }
}

/// A session from its establishment to its release; whether all of it went well. Whoever is asked may be gone, or stand
/// still: then `is_over`.
fn live(amf: &str, is_over: &AtomicBool) -> bool {
    let is_established = establish(amf, SUPI, is_over);
    let is_released = release(amf, SUPI);
    is_established && is_released
}

/// How often the AMF has told an SMF that the gNB has its resources, the last that it does for an establishment.
fn modified(amf: &str) -> Option<usize> {
    let answer = try_request(Protocol::H2c, "GET", &format!("{amf}/mock5g/v1/events?after=0"), "", b"");
    let events = answer.ok()?.json();
    let is_modified = |event: &&Value| {
        event["event"] == "upstream.answered"
            && event["uri"].as_str().is_some_and(|uri| uri.ends_with("/modify"))
    };
    Some(events.as_array()?.iter().filter(is_modified).count())
}

/// What a session leaves to be done may go on after it; if an NF stands still or is killed meanwhile, this is given up.
fn come_to_rest(ledgers: &[String], is_over: &AtomicBool) {
    let is_settled = |ledger: &String| -> Option<bool> {
        let answer = try_request(Protocol::H2c, "GET", ledger, "", b"").ok()?;
        let resources = answer.json();
        let state = |resource: &Value| resource["state"].as_str().unwrap_or_default().to_owned();
        Some(!resources.as_array()?.iter().any(|resource| UNSETTLED.contains(&&*state(resource))))
    };
    let settled = || ledgers.iter().map(is_settled).collect::<Option<Vec<_>>>();
    while !is_over.load(Relaxed) && settled().is_some_and(|all| all.contains(&false)) {
        thread::yield_now();
    }
}

/// Establishes a session, up to what follows the answer.
fn establish(amf: &str, supi: &str, is_over: &AtomicBool) -> bool {
    let before = modified(amf).unwrap_or_default();
    let session = json!({"supi": supi, "pduSessionId": 5, "maxRspTimeMs": 1000}).to_string();
    let sessions = format!("{amf}/mock5g/v1/amf/pdu-sessions");
    let answer = try_request(Protocol::H2c, "POST", &sessions, "application/json", session.as_bytes());
    let is_established = answer.is_ok_and(|answer| answer.status < 300);
    while is_established && !is_over.load(Relaxed) && modified(amf) == Some(before) {
        thread::yield_now();
    }
    is_established
}

fn release(amf: &str, supi: &str) -> bool {
    let session = format!("{amf}/mock5g/v1/amf/pdu-sessions/{supi}/5");
    let answer = try_request(Protocol::H2c, "DELETE", &session, "", b"");
    answer.is_ok_and(|answer| answer.status < 300)
}

fn kill_at_every_step(nf: &'static str, first_port: u16) {
    let mut network = Network::start(&format!("crashes-{nf}"), first_port);
    let amf = network.admin("amf", "");
    assert!(establish(&amf, BYSTANDER, &AtomicBool::new(false)));
    let bystander = network.there();
    assert!(bystander.len() >= 10, "{bystander:?}");
    wait_until("a session lives from beginning to end after a restart", || {
        network.kill(nf);
        network.run(nf, None);
        let all_is_well = live(&amf, &AtomicBool::new(false));
        network.settle();
        all_is_well
    });
    let mut steps = network.steps(nf);
    // It comes before the line that says where the NF is.
    steps.retain(|step| !step.starts_with("journal.recovered"));
    let journaled = steps.iter().filter(|step| step.starts_with("journal.written")).count();
    assert!(journaled >= usize::from(nf != "udr") * 3, "{steps:?}");
    let missed: Vec<_> = steps.iter().filter(|step| !network.survive(nf, step, &bystander)).collect();
    // What happens at once differs from run to run.
    assert!(missed.len() * 10 <= steps.len(), "of {} steps these were not reached: {missed:?}", steps.len());
}

#[test]
fn an_amf_killed_at_any_step_leaves_nothing_hanging() {
    kill_at_every_step("amf", 20_100);
}

#[test]
fn an_smf_killed_at_any_step_leaves_nothing_hanging() {
    kill_at_every_step("smf", 20_200);
}

#[test]
fn a_udm_killed_at_any_step_leaves_nothing_hanging() {
    kill_at_every_step("udm", 20_300);
}

#[test]
fn a_udr_killed_at_any_step_leaves_nothing_hanging() {
    kill_at_every_step("udr", 20_400);
}
