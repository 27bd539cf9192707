//! Processes of the binary under test.

use super::{PATIENCE, Protocol, request};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_mock5g");

/// A command that ends by itself.
pub fn mock5g(arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(BINARY);
    command.args(arguments).env_remove("RUST_LOG").timeout(PATIENCE);
    command
}

/// Asks until it is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A running `mock5g nf`; dropping it kills it.
pub struct NfProcess {
    child: Child,
    stdout: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    /// Its first line.
    pub ready: Value,
}

/// How a process ended.
pub struct Ended {
    /// Its exit code; none if a signal killed it.
    pub code: Option<i32>,
    /// What it said on stdout after the first line.
    pub stdout: Vec<String>,
    /// What it said on stderr.
    pub stderr: String,
}

impl NfProcess {
    /// Starts an NF on free ports of the loopback and waits for its first line.
    pub fn start(nf_type: &str, arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", nf_type, arguments)
    }

    /// The same, bound to `bind`.
    pub fn start_at(bind: &str, nf_type: &str, arguments: &[&str]) -> Self {
        // Its own operator plane's usual port may be another's here.
        let admin: &[&str] = if arguments.contains(&"--admin") { &[] } else { &["--admin", "127.0.0.1:0"] };
        Self::spawn(&[&["nf", nf_type, "--bind", bind], admin, arguments].concat())
    }

    /// Starts whatever says first where it is.
    pub fn spawn(arguments: &[&str]) -> Self {
        Self::spawn_with(arguments, &[])
    }

    /// The same, with variables in its environment.
    pub fn spawn_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(arguments).envs(variables.iter().copied());
        Self::of(command)
    }

    /// The same of a command that becomes one.
    pub fn of(mut command: Command) -> Self {
        command.env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = collected(child.stderr.take().unwrap());
        let mut nf = NfProcess { child, stdout, stderr, ready: Value::Null };
        let first = nf.stdout.recv_timeout(PATIENCE);
        let first = first.unwrap_or_else(|_| panic!("{command:?} said nothing; stderr: {}", nf.stderr()));
        nf.ready = serde_json::from_str(&first).unwrap_or_else(|e| panic!("{first:?} is no JSON: {e}"));
        nf
    }

    /// The next line on stdout, if it has said one that was not read yet.
    pub fn next_line(&self) -> Option<String> {
        self.stdout.try_recv().ok()
    }

    /// Kills it with SIGKILL, whatever it is at; the lines on stdout that were not read yet.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.ready = Value::Null;
        self.stdout.iter().collect()
    }

    /// The next lines on stdout.
    pub fn more_lines(&self, count: usize) -> Vec<Value> {
        let line = |_| serde_json::from_str(&self.stdout.recv_timeout(PATIENCE).unwrap()).unwrap();
        (0..count).map(line).collect()
    }

    fn said(&self, key: &str) -> &str {
        self.ready[key].as_str().unwrap_or_else(|| panic!("no {key} in {}", self.ready))
    }

    /// Scheme and authority of its SBI.
    pub fn sbi(&self) -> &str {
        self.said("sbi")
    }

    /// Scheme and authority of its operator plane.
    pub fn admin(&self) -> &str {
        self.said("admin")
    }

    /// What its operator plane answers to a GET, as JSON.
    pub fn tells(&self, path: &str) -> Value {
        let answer = request(Protocol::H2c, "GET", &format!("{}{path}", self.admin()), "", b"");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// The kinds of what it holds for others, sorted.
    pub fn held(&self) -> Vec<String> {
        let held = self.tells("/mock5g/v1/held");
        let mut kinds: Vec<_> = held.as_array().unwrap().iter().map(|h| text(h, "kind")).collect();
        kinds.sort();
        kinds
    }

    /// How often an event was seen.
    pub fn count(&self, event: &str) -> usize {
        let events = self.tells("/mock5g/v1/events");
        events.as_array().unwrap().iter().filter(|e| e["event"] == event).count()
    }

    /// Asserts that what it sent so far is as the OpenAPI files say, if it still runs.
    fn expect_schema_true(&self) {
        #[cfg(feature = "openapi")]
        if let Some(admin) = self.ready["admin"].as_str() {
            mock5g::oracle::expect_schema_true(&super::exchanges(admin));
        }
    }

    /// How many events of a kind there were since its start, as `/metrics` has it.
    pub fn events(&self, kind: &str) -> usize {
        let metrics = request(Protocol::H2c, "GET", &format!("{}/metrics", self.admin()), "", b"");
        let metrics = String::from_utf8(metrics.body).unwrap();
        let of_kind = metrics.lines().filter(|line| line.contains(&format!("\"{kind}\"")));
        of_kind.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many sockets it has open.
    pub fn sockets(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap().map_while(Result::ok);
        let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    /// What it said on stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Sends a signal (`TERM`, `INT`) to this process alone.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Ended {
        let mut status = None;
        wait_until("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        // The readers end with the pipes: what was said last is waited for.
        let stdout = std::iter::from_fn(|| self.stdout.recv_timeout(PATIENCE).ok()).collect();
        wait_until("stderr is read", || Arc::strong_count(&self.stderr) == 1);
        Ended { code: status.and_then(|s| s.code()), stdout, stderr: self.stderr() }
    }

    /// Signals it and waits for its end.
    pub fn stop(self, signal: &str) -> Ended {
        self.expect_schema_true();
        self.signal(signal);
        self.ended()
    }
}

impl Drop for NfProcess {
    fn drop(&mut self) {
        let judged =
            thread::panicking() || catch_unwind(AssertUnwindSafe(|| self.expect_schema_true())).is_ok();
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(judged, "what {} sent is not as the OpenAPI files say, see above", self.ready);
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}")).to_owned()
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    told
}

fn collected(pipe: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let all = Arc::new(Mutex::new(String::new()));
    let heard = all.clone();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut heard = heard.lock().unwrap();
            heard.push_str(&line);
            heard.push('\n');
        }
    });
    all
}
