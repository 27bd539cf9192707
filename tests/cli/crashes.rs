//! Four NFs in processes of their own, each killed with SIGKILL at each step that it takes for a PDU session, and started
//! again with its journal: nothing is left hanging. TS 29.500 §6.11.2.2 (Rel-17) asks for that of an NF that lives.

use super::support::{NfProcess, Protocol, SUPI, TempDir, request, try_request, wait_until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
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

    fn kill(&mut self, nf: &str) {
        self.running.remove(nf).unwrap().kill();
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
        let session = thread::spawn(move || live(&amf));
        let mut has_stopped = false;
        wait_until("it stands still, or the session is over", || {
            has_stopped |= self.running[nf].is_stopped();
            has_stopped || session.is_finished()
        });
        self.kill(nf);
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

/// A session from its establishment to its release. Whoever is asked may be gone.
fn live(amf: &str) {
    establish(amf, SUPI);
    release(amf, SUPI);
}

fn establish(amf: &str, supi: &str) {
    let session = json!({"supi": supi, "pduSessionId": 5, "maxRspTimeMs": 1000}).to_string();
    let sessions = format!("{amf}/mock5g/v1/amf/pdu-sessions");
    let _ = try_request(Protocol::H2c, "POST", &sessions, "application/json", session.as_bytes());
}

fn release(amf: &str, supi: &str) {
    let session = format!("{amf}/mock5g/v1/amf/pdu-sessions/{supi}/5");
    let _ = try_request(Protocol::H2c, "DELETE", &session, "", b"");
}

fn kill_at_every_step(nf: &'static str, first_port: u16) {
    let mut network = Network::start(&format!("crashes-{nf}"), first_port);
    let amf = network.admin("amf", "");
    establish(&amf, BYSTANDER);
    let bystander = network.there();
    assert!(bystander.len() >= 10, "{bystander:?}");
    network.kill(nf);
    network.run(nf, None);
    live(&amf);
    network.settle();
    let mut steps = network.steps(nf);
    // It comes before the line that says where the NF is.
    steps.retain(|step| !step.starts_with("journal.recovered"));
    let journaled = steps.iter().filter(|step| step.starts_with("journal.written")).count();
    assert!(journaled >= usize::from(nf != "udr") * 3, "{steps:?}");
    let reached = steps.iter().filter(|step| network.survive(nf, step, &bystander)).count();
    // What happens at once, and on a busy machine what is heard of it, differs from run to run.
    assert!(reached * 2 > steps.len(), "only {reached} of {} steps were reached", steps.len());
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
