//! How `mock5g nf` ends: nothing that it was asked is lost, nothing that it made is left.

use super::support::{
    Answer, Core, Gate, NfProcess, PATIENCE, Protocol, TempDir, json_create, request, try_request, wait_until,
};
use http::{Method, Request};
use std::thread::{self, JoinHandle};
use tokio::net::TcpStream;

fn create_in_background(smf: &NfProcess) -> JoinHandle<Answer> {
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let (content_type, body) = json_create("http://127.0.0.1:9");
    thread::spawn(move || request(Protocol::H2c, "POST", &uri, &content_type, &body))
}

/// A UDM, a gate before it, and an SMF that calls it through the gate.
fn smf_behind_gate() -> (NfProcess, Gate, NfProcess) {
    let udm = NfProcess::start("udm", &[]);
    let gate = Gate::before(udm.sbi());
    let smf = NfProcess::start("smf", &["--peer", &format!("udm={}", gate.api_root())]);
    (udm, gate, smf)
}

#[test]
fn sigterm_exits_0_and_ctrl_c_130() {
    for (signal, code) in [("TERM", 0), ("INT", 130)] {
        for nf_type in ["amf", "smf", "udm", "udr"] {
            let ended = NfProcess::start(nf_type, &[]).stop(signal);
            assert_eq!(ended.code, Some(code), "{signal} to {nf_type}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_request_that_is_being_served_gets_its_answer() {
    let (udm, gate, smf) = smf_behind_gate();
    let creating = create_in_background(&smf);
    wait_until("the SMF's first call is at the UDM", || udm.count("request.received") > 0);
    smf.signal("TERM");
    wait_until("the SMF is stopping", || smf.stderr().contains("stopping"));
    let readyz = request(Protocol::Http1, "GET", &format!("{}/readyz", smf.admin()), "", b"");
    assert_eq!(readyz.status, 503, "{readyz:?}");
    gate.open();
    let created = creating.join().unwrap();
    assert_eq!(created.status, 201, "{created:?}");
    let ended = smf.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(udm.held().is_empty(), "{:?}", udm.held());
}

/// Case 22: the request under way gets its answer, its connection a GOAWAY, and the process ends well.
#[test]
fn case_22_a_udm_that_is_stopped_answers_what_it_serves_and_says_goaway() {
    for (method, path, status) in [
        (Method::GET, "/nudm-sdm/v2/imsi-001010000000001/sm-data", 200),
        (Method::GET, "/nudm-sdm/v2/imsi-001010000000001/am-data", 200),
        (Method::DELETE, "/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5", 404),
    ] {
        let udm = NfProcess::start("udm", &[]);
        let slow = serde_json::json!({"at": "udm", "do": {"delay_ms": 500}}).to_string();
        let rule = format!("{}/mock5g/v1/faults/slow", udm.admin());
        let set = request(Protocol::H2c, "PUT", &rule, "application/json", slow.as_bytes());
        assert_eq!(set.status, 201, "{set:?}");
        let asking = ask_in_background(&udm, method, path);
        wait_until("the request is being served", || udm.count("fault.applied") > 0);
        udm.signal("TERM");
        let (answered, end) = asking.join().unwrap();
        assert_eq!(answered, status, "{path}");
        assert!(end.is_go_away() && end.is_remote(), "{path}: {end}");
        assert_eq!(end.reason(), Some(h2::Reason::NO_ERROR), "{path}");
        let ended = udm.ended();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// Sends a request, and another one once the connection has ended: what the first was answered, and why the other cannot
/// be sent.
fn ask_in_background(udm: &NfProcess, method: Method, path: &str) -> JoinHandle<(u16, h2::Error)> {
    let (root, uri) = (udm.sbi().trim_start_matches("http://").to_owned(), format!("{}{path}", udm.sbi()));
    let asked = async move {
        let request = || Request::builder().method(&method).uri(&uri).body(()).unwrap();
        let (client, connection) = h2::client::handshake(TcpStream::connect(root).await.unwrap()).await?;
        let connection = tokio::spawn(connection);
        let mut client = client.ready().await?;
        let (answer, _) = client.send_request(request(), true)?;
        let status = answer.await?.status().as_u16();
        connection.await.unwrap()?;
        let next = async { client.ready().await?.send_request(request(), true) };
        Ok((status, next.await.expect_err("the connection has ended")))
    };
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
        asked.unwrap().unwrap_or_else(|e: h2::Error| panic!("{e}"))
    })
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (udm, _gate, smf) = smf_behind_gate();
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let creating = thread::spawn(move || {
        let answer = try_request(Protocol::H2c, "POST", &uri, &content_type, &body);
        answer.map(|answer| answer.status).ok()
    });
    wait_until("the SMF's first call is at the UDM", || udm.count("request.received") > 0);
    smf.signal("TERM");
    wait_until("the SMF is stopping", || smf.stderr().contains("stopping"));
    let ended = smf.stop("INT");
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    // At the most it is told that the UDM has not answered: nobody has waited for that.
    let answered = creating.join().unwrap();
    assert!(answered.is_none_or(|status| status >= 500), "it was served to its end: {answered:?}");
}

#[test]
fn an_smf_that_is_stopped_releases_its_contexts_at_the_udm() {
    let core = Core::start();
    assert_eq!(create_in_background(&core.smf).join().unwrap().status, 201);
    assert_eq!(core.udm.held(), ["sdm-subscription", "smf-registration"]);
    let Core { udr, udm, smf, .. } = core;
    let ended = smf.stop("TERM");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(udm.held().is_empty() && udr.held().is_empty(), "{:?} {:?}", udm.held(), udr.held());
}

#[test]
fn what_cannot_be_released_is_named_and_exits_1() {
    let core = Core::start();
    assert_eq!(create_in_background(&core.smf).join().unwrap().status, 201);
    let Core { udm, smf, .. } = core;
    drop(udm);
    let ended = smf.stop("TERM");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for resource in ["sdm-subscription", "smf-registration"] {
        assert!(ended.stderr.contains(&format!("left at udm: {resource}")), "{}", ended.stderr);
    }
}

#[test]
fn a_second_signal_names_what_is_left_and_exits_1() {
    let (udm, gate, smf) = smf_behind_gate();
    gate.open();
    assert_eq!(create_in_background(&smf).join().unwrap().status, 201);
    udm.signal("STOP");
    smf.signal("TERM");
    wait_until("the SMF is stopping", || smf.stderr().contains("stopping"));
    let ended = smf.stop("TERM");
    udm.signal("CONT");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("left at "), "{}", ended.stderr);
}

/// What it owns upstream stays, and is its own again at its next start.
#[test]
fn with_a_journal_a_stop_releases_nothing_and_a_start_finds_it_again() {
    let directory = TempDir::new("stop");
    let data = ["--data-dir", directory.path().to_str().unwrap()];
    let udm = NfProcess::start("udm", &[]);
    let peer = format!("udm={}", udm.sbi());
    let smf = NfProcess::start("smf", &[&["--peer", &peer], &data[..]].concat());
    let bind = smf.sbi().strip_prefix("http://").unwrap().to_owned();
    let created = create_in_background(&smf).join().unwrap();
    assert_eq!(created.status, 201, "{created:?}");
    let held = udm.held();
    let ended = smf.stop("TERM");
    assert_eq!((ended.code, ended.stderr.contains("left at")), (Some(0), false), "{}", ended.stderr);
    assert_eq!(udm.held(), held);
    let smf = NfProcess::start_at(&bind, "smf", &[&["--peer", &peer], &data[..]].concat());
    assert_eq!(smf.held(), ["sm-context"]);
    let release = format!("{}/release", created.header("location"));
    let released = request(Protocol::H2c, "POST", &release, "application/json", b"{}");
    assert_eq!(released.status, 204, "{released:?}");
    assert_eq!((smf.held().len(), udm.held().len()), (0, 0));
}
