//! Foreign intermediaries between our NFs: nghttpx and HAProxy of Debian, cleartext HTTP/2 on both sides. Nothing of TS 29.500
//! §6.10 (Rel-17) is known to them, and no Sbi header: sessions begin and end through them, what is given up is released
//! through them, and what they say when they have no answer is not taken for the word of the producer.

use super::support::{
    Answer, NfProcess, Protocol, SUPI, Service, TempDir, free_address, request, wait_until,
};
use serde_json::{Value, json};
use std::net::TcpStream;

/// Longer than any answer here takes.
const PATIENT_MS: u64 = 20_000;

/// Shorter than the client waits, and than its slow producer takes.
const IMPATIENT_MS: u64 = 300;

/// How long the slow producer takes.
const SLOW_MS: u64 = 1_000;

/// How long its client waits then.
const CLIENT_MS: u64 = 2_500;

const FILE: &str = "proxy.conf";

#[derive(Clone, Copy, Debug)]
enum Kind {
    Nghttpx,
    HaProxy,
}

impl Kind {
    /// One that listens at `front`, passes on to `back`, and waits `timeout_ms` for its answers.
    fn configuration(self, front: &str, back: &str, timeout_ms: u64) -> String {
        let (front_at, back_at) = (front.replace(':', ","), back.replace(':', ","));
        match self {
            Kind::Nghttpx => format!(
                "frontend={front_at};no-tls\nbackend={back_at};;proto=h2\nworkers=1\nsingle-process=yes\n\
                 add-x-forwarded-for=yes\nbackend-read-timeout={timeout_ms}ms\nerrorlog-file=/dev/stderr\n\
                 accesslog-file=/dev/null\n"
            ),
            Kind::HaProxy => format!(
                "defaults\n  mode http\n  option forwardfor\n  retries 0\n  timeout connect 1s\n  timeout client 60s\n  \
                 timeout server {timeout_ms}ms\nfrontend sbi\n  bind {front} proto h2\n  default_backend udm\n\
                 backend udm\n  server udm {back} proto h2\n"
            ),
        }
    }

    /// Starts it as `folder` says, if it is installed.
    fn start(self, folder: &TempDir) -> Option<Service> {
        let file = folder.path().join(FILE).display().to_string();
        match self {
            Kind::Nghttpx => Service::start("nghttpx", "nghttp2-proxy", &[format!("--conf={file}")]),
            Kind::HaProxy => Service::start("haproxy", "haproxy", &["-db".into(), "-f".into(), file]),
        }
    }
}

/// An NF that waits for late answers no longer than a second after its client's deadline.
fn start(nf_type: &str, bind: &str, arguments: &[&str]) -> NfProcess {
    let arguments = [&["nf", nf_type, "--bind", bind], arguments].concat();
    NfProcess::spawn_with(&arguments, &[("MOCK5G_RELEASE__SETTLE_MS", "1000")])
}

/// The four NFs; whatever the SMF and the AMF ask of the UDM passes the proxy.
struct Behind {
    amf: NfProcess,
    smf: NfProcess,
    udm: NfProcess,
    udr: NfProcess,
    kind: Kind,
    proxy: Option<Service>,
    folder: TempDir,
}

impl Behind {
    /// Starts them, or says that the proxy is not installed.
    fn start(kind: Kind, timeout_ms: u64) -> Option<Self> {
        let (front, back) = (free_address(), free_address());
        let folder = TempDir::new(&format!("proxy-{}", front.rsplit(':').next()?));
        std::fs::write(folder.path().join(FILE), kind.configuration(&front, &back, timeout_ms)).unwrap();
        let proxy = Some(kind.start(&folder)?);
        wait_until("the proxy listens", || TcpStream::connect(&front).is_ok());
        let root = format!("http://{front}");
        let udr = start("udr", "127.0.0.1:0", &[]);
        let to_udr = format!("udr={}", udr.sbi());
        // What it makes is released where it says: through the proxy too.
        let udm = start("udm", &back, &["--peer", &to_udr, "--advertise", &root, "--admin", "127.0.0.1:0"]);
        let to_udm = format!("udm={root}");
        let smf = start("smf", "127.0.0.1:0", &["--peer", &to_udm]);
        let to_smf = format!("smf={}", smf.sbi());
        let amf = start("amf", "127.0.0.1:0", &["--peer", &to_smf, "--peer", &to_udm]);
        Some(Behind { amf, smf, udm, udr, kind, proxy, folder })
    }

    fn all(&self) -> [&NfProcess; 4] {
        [&self.amf, &self.smf, &self.udm, &self.udr]
    }

    /// Makes the UDM slow once: before it does what it is asked for (`request`), or after (`response`).
    fn slow(&self, on: &str, method: &str, path: &str) {
        let rule = json!({
            "at": "udm", "on": on, "match": {"method": method, "path": path}, "do": {"delay_ms": SLOW_MS}, "times": 1,
        });
        assert_eq!(ask(&self.udm, "PUT", "/mock5g/v1/faults/slow", &rule).status, 201);
    }

    /// Lets the AMF start a session, and wait so long for it.
    fn establish(&self, max_rsp_time_ms: u64) -> (Answer, Value) {
        let session = json!({"supi": SUPI, "pduSessionId": 5, "maxRspTimeMs": max_rsp_time_ms});
        let answer = ask(&self.amf, "POST", "/mock5g/v1/amf/pdu-sessions", &session);
        let ended = answer.json();
        (answer, ended)
    }

    /// What the UDM was asked for with this method, and what it answered; all of it passed the proxy.
    fn asked(&self, method: &str) -> Vec<(String, u64)> {
        let requests = self.udm.tells("/mock5g/v1/requests?nf=udm");
        let received = requests.as_array().unwrap().iter().filter(|r| r["direction"] == "received");
        let passed = |r: &Value| {
            let headers = r["headers"].as_array().unwrap();
            assert!(headers.iter().any(|header| header[0] == "x-forwarded-for"), "it passed no proxy: {r}");
            (r["uri"].as_str().unwrap().to_owned(), r["response"]["status"].as_u64().unwrap_or_default())
        };
        received.filter(|r| r["method"] == method).map(passed).collect()
    }

    fn states(&self) -> Vec<String> {
        let of = |nf: &&NfProcess| nf.tells("/mock5g/v1/resources").as_array().unwrap().clone();
        let states = self.all().iter().flat_map(of).collect::<Vec<_>>();
        states.iter().map(|r| r["state"].as_str().unwrap().to_owned()).collect()
    }

    /// Whatever was made is gone, at whom it was made and by the word of who made it.
    fn expect_nothing_left(&self, what: &str) {
        let is_settled = |state: &String| ["released", "void", "hanging"].contains(&state.as_str());
        wait_until(&format!("everything is settled: {what}"), || self.states().iter().all(is_settled));
        assert!(!self.states().contains(&"hanging".to_owned()), "{what}: {:?}", self.states());
        wait_until("nothing is held", || self.all().iter().all(|nf| nf.held().is_empty()));
    }
}

fn ask(nf: &NfProcess, method: &str, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    request(Protocol::H2c, method, &format!("{}{path}", nf.admin()), "application/json", body.as_bytes())
}

fn for_each(play: impl Fn(Kind, Behind)) {
    for kind in [Kind::Nghttpx, Kind::HaProxy] {
        if let Some(behind) = Behind::start(kind, PATIENT_MS) {
            play(kind, behind);
        }
    }
}

#[test]
fn a_session_begins_and_ends_through_a_proxy() {
    for_each(|kind, behind| {
        let (answer, ended) = behind.establish(CLIENT_MS);
        assert_eq!(ended["outcome"], "established", "{kind:?}: {ended}");
        assert_eq!(behind.udm.held(), ["sdm-subscription", "smf-registration"], "{kind:?}");
        assert_eq!(ask(&behind.amf, "DELETE", answer.header("location"), &Value::Null).status, 204);
        behind.expect_nothing_left(&format!("{kind:?}"));
        let statuses: Vec<_> = behind.asked("DELETE").into_iter().map(|(_, status)| status).collect();
        assert_eq!(statuses, [204, 204], "{kind:?}");
        assert!(behind.asked("PUT").len() == 1 && behind.asked("POST").len() == 1, "{kind:?}");
    });
}

/// The rule of this project, with a foreigner in between: the client gives up, and all is released through the proxy.
#[test]
fn release_on_timeout_works_through_a_proxy() {
    for_each(|kind, behind| {
        for on in ["response", "request"] {
            behind.slow(on, "PUT", "^/nudm-uecm/");
            let (_, ended) = behind.establish(500);
            assert_eq!(ended["outcome"], "gave_up", "{kind:?} {on}: {ended}");
            behind.expect_nothing_left(&format!("{kind:?} {on}"));
            assert_eq!(ask(&behind.udm, "DELETE", "/mock5g/v1/faults/slow", &Value::Null).status, 204);
        }
        let (answer, ended) = behind.establish(CLIENT_MS);
        assert_eq!(ended["outcome"], "established", "{kind:?}, the next one: {ended}");
        assert_eq!(ask(&behind.amf, "DELETE", answer.header("location"), &Value::Null).status, 204);
        behind.expect_nothing_left(&format!("{kind:?}"));
        assert!(behind.asked("DELETE").len() >= 5, "{kind:?}: {:?}", behind.asked("DELETE"));
    });
}

/// The proxy stops waiting before anybody else. HAProxy answers 504 in HTML, nghttpx resets the stream. Neither says what the
/// producer did, and may still do: it made it and answers too late, or begins only then.
fn give_up_first(kind: Kind, method: &str, path: &str) {
    let Some(behind) = Behind::start(kind, IMPATIENT_MS) else { return };
    for on in ["response", "request"] {
        let what = format!("{kind:?} {on} {method}");
        behind.slow(on, method, path);
        let (_, ended) = behind.establish(CLIENT_MS);
        assert_eq!(ended["outcome"], "refused", "{what}: {ended}");
        assert_eq!(ended["answers"][0]["status"], 504, "{what}: {ended}");
        behind.expect_nothing_left(&what);
        assert_eq!(ask(&behind.udm, "DELETE", "/mock5g/v1/faults/slow", &Value::Null).status, 204);
    }
}

#[test]
fn a_registration_that_a_proxy_gave_up_is_released() {
    for kind in [Kind::Nghttpx, Kind::HaProxy] {
        give_up_first(kind, "PUT", "^/nudm-uecm/");
    }
}

/// Where it is nobody has said: it is looked for.
#[test]
fn a_subscription_that_a_proxy_gave_up_is_looked_for_and_released() {
    for kind in [Kind::Nghttpx, Kind::HaProxy] {
        give_up_first(kind, "POST", "/sdm-subscriptions$");
    }
}

/// The proxy dies while a create is under way, and is there again: what the producer did is looked for and released.
#[test]
fn what_was_under_way_when_a_proxy_died_is_released_by_the_next_one() {
    for_each(|kind, mut behind| {
        behind.slow("response", "PUT", "^/nudm-uecm/");
        let amf = format!("{}/mock5g/v1/amf/pdu-sessions", behind.amf.admin());
        let session = json!({"supi": SUPI, "pduSessionId": 5, "maxRspTimeMs": CLIENT_MS}).to_string();
        let client = std::thread::spawn(move || {
            request(Protocol::H2c, "POST", &amf, "application/json", session.as_bytes()).json()
        });
        wait_until("the create is under way", || behind.udm.tells("/mock5g/v1/faults/slow")["matched"] == 1);
        behind.proxy = None;
        behind.proxy = behind.kind.start(&behind.folder);
        let ended = client.join().unwrap();
        assert_eq!(ended["outcome"], "refused", "{kind:?}: {ended}");
        behind.expect_nothing_left(&format!("{kind:?}"));
    });
}
