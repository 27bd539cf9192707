//! Tools of Debian, as engineers have them at hand.

use super::{Answer, PATIENCE, Protocol};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A tool of the Debian package `package`. Where it is not installed, this is said and the test skipped; with CI=true
/// it fails.
pub fn tool(name: &str, package: &str) -> Option<assert_cmd::Command> {
    let mut command = assert_cmd::Command::new(installed(name, package)?);
    command.timeout(PATIENCE);
    Some(command)
}

fn installed(name: &str, package: &str) -> Option<PathBuf> {
    let path = found(name);
    if path.is_none() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "{name} is not installed: apt-get install {package}"
        );
        // Past the test runner, which would swallow it.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {name} is not installed; with the Debian package {package} this runs"
        );
    }
    path
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Where servers are, which not everybody has in the path.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A tool that serves until it is dropped.
pub struct Service(Child);

impl Service {
    /// Starts it, if it is installed here.
    pub fn start(name: &str, package: &str, arguments: &[String]) -> Option<Self> {
        let mut command = Command::new(installed(name, package)?);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Service(command.spawn().unwrap()))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// curl, as a client.
pub struct Curl;

impl Curl {
    /// curl, if it is installed here.
    pub fn find() -> Option<Curl> {
        tool("curl", "curl").map(|_| Curl)
    }

    /// Sends one request; headers go to stderr and the body to stdout.
    pub fn request(
        &self,
        protocol: Protocol,
        method: &str,
        uri: &str,
        content_type: &str,
        body: &[u8],
    ) -> Answer {
        let protocol = match protocol {
            Protocol::Http1 => "--http1.1",
            Protocol::H2c => "--http2-prior-knowledge",
        };
        let mut curl = tool("curl", "curl").expect("curl was found before");
        curl.args(["-sS", "--noproxy", "*", "-D", "/dev/stderr", protocol, "-X", method, uri]);
        if !content_type.is_empty() {
            curl.args(["-H", &format!("content-type: {content_type}"), "--data-binary", "@-"]);
            curl.write_stdin(body);
        }
        let output = curl.output().unwrap();
        let head = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "curl {protocol} {method} {uri}: {head}");
        answer_of(&head, output.stdout)
    }
}

/// The last head that curl wrote: `HTTP/2 201`, and headers.
fn answer_of(head: &str, body: Vec<u8>) -> Answer {
    let begin = head.rfind("HTTP/").unwrap_or_else(|| panic!("no head in {head:?}"));
    let mut lines = head[begin..].lines();
    let mut first = lines.next().unwrap_or_default().split_whitespace();
    let version = first.next().unwrap_or_default().trim_start_matches("HTTP/").to_owned();
    let status = first.next().and_then(|status| status.parse().ok()).unwrap_or_default();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Answer { version, status, headers: lines.filter_map(header).collect(), body }
}
