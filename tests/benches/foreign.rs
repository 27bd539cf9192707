//! Other people's servers and proxies, to compare with. Those that are not installed are left out.

use super::measured::cpu_time_of;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long one may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that serves HTTP/2 on the loopback, with one thread for it.
pub struct Foreign {
    pub name: &'static str,
    pub port: u16,
    child: Child,
}

impl Foreign {
    /// nghttpd, before the files in `directory`.
    pub fn nghttpd(directory: &Path) -> Option<Foreign> {
        Foreign::start("nghttpd", "nghttpd", |port| {
            let directory = directory.display().to_string();
            let port = port.to_string();
            ["--no-tls", "-n1", "-a", "127.0.0.1", "-d", &directory, &port].map(str::to_owned).to_vec()
        })
    }

    /// nghttpx, before what listens at `producer`.
    pub fn nghttpx(producer: u16) -> Option<Foreign> {
        Foreign::start("nghttpx", "nghttpx", |port| {
            let front = format!("--frontend=127.0.0.1,{port};no-tls");
            let back = format!("--backend=127.0.0.1,{producer};;proto=h2");
            let rest = ["--conf=/dev/null", "--workers=1", "--single-process", "--log-level=FATAL"];
            [&front, &back].into_iter().cloned().chain(rest.map(str::to_owned)).collect()
        })
    }

    /// HAProxy, the same.
    pub fn haproxy(producer: u16, scratch: &Path) -> Option<Foreign> {
        Foreign::start("HAProxy", "haproxy", |port| {
            let config = format!(
                "global\n nbthread 1\ndefaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
                 frontend front\n bind 127.0.0.1:{port} proto h2\n default_backend back\n\
                 backend back\n http-reuse always\n server producer 127.0.0.1:{producer} proto h2\n"
            );
            ["-f".to_owned(), written(&scratch.join("haproxy.cfg"), &config), "-q".to_owned()].to_vec()
        })
    }

    /// Envoy, the same. `MOCK5G_ENVOY` says where its binary is, if not in the `PATH`.
    pub fn envoy(producer: u16, scratch: &Path) -> Option<Foreign> {
        let binary = std::env::var("MOCK5G_ENVOY").unwrap_or_else(|_| "envoy".to_owned());
        Foreign::start("Envoy", &binary, |port| {
            let config = written(&scratch.join("envoy.yaml"), &envoy_config(port, producer));
            let rest = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "off"];
            ["-c".to_owned(), config].into_iter().chain(rest.map(str::to_owned)).collect()
        })
    }

    /// None if there is no such program, or it does not listen in time.
    fn start(
        name: &'static str,
        binary: &str,
        arguments: impl FnOnce(u16) -> Vec<String>,
    ) -> Option<Foreign> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
        let port = free.port();
        let mut command = Command::new(found(binary)?);
        command.args(arguments(port)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let foreign = Foreign { name, port, child: command.spawn().ok()? };
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begin.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(foreign)
    }

    /// Its apiRoot.
    pub fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The CPU time that all its threads have used.
    pub fn cpu_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let of_task = |task: fs::DirEntry| cpu_time_of(&task.path().join("schedstat").display().to_string());
        tasks.map(|task| of_task(task.expect("a thread"))).sum()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a program is: Debian has some that not everybody's `PATH` leads to.
fn found(binary: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let places = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
    places.map(|place| Path::new(place).join(binary)).find(|at| at.is_file())
}

fn written(file: &Path, text: &str) -> String {
    fs::write(file, text).expect("a directory to write to");
    file.display().to_string()
}

fn envoy_config(port: u16, producer: u16) -> String {
    const EXTENSIONS: &str = "type.googleapis.com/envoy.extensions";
    let at = |port| format!("{{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}");
    format!(
        r#"
static_resources:
  listeners:
  - address: {front}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: sbi
          codec_type: HTTP2
          route_config:
            virtual_hosts: [{{name: all, domains: ["*"], routes: [{{match: {{prefix: /}}, route: {{cluster: producer}}}}]}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": {EXTENSIONS}.filters.http.router.v3.Router}}
  clusters:
  - name: producer
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": {EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{max_concurrent_streams: 100}}}}
    load_assignment:
      cluster_name: producer
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {back}}}}}]}}]
"#,
        front = at(port),
        back = at(producer),
    )
}
