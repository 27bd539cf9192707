//! `mock5g doctor`: what it finds of ports, clock, files and peers, and its exit code.

use super::support::{NfProcess, PATIENCE, mock5g};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A lab on free ports, so that no other one is in the way; `more` is added to its SMF.
fn config(name: &str, smf: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("mock5g-doctor-{}-{name}.yaml", std::process::id()));
    let free = "{sbi: {bind: \"127.0.0.1:0\"}}";
    let text = format!(
        "admin: {{bind: \"127.0.0.1:0\"}}\namf: {free}\nudm: {free}\nudr: {free}\nsmf: {{sbi: {{bind: \"{smf}\"}}}}\n"
    );
    std::fs::File::create(&file).unwrap().write_all(text.as_bytes()).unwrap();
    file
}

/// Exit code, and the findings of each check.
fn examined(name: &str, smf: &str, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let file = config(name, smf);
    let arguments = [&["doctor", "--json", "-c", file.to_str().unwrap()], more].concat();
    let output = mock5g(&arguments).timeout(PATIENCE).output().unwrap();
    std::fs::remove_file(file).unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let findings: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!findings.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), findings)
}

fn finding(findings: &[Value], check: &str) -> Value {
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no {check} in {findings:#?}")).clone()
}

const FREE: &str = "127.0.0.1:0";

#[test]
fn a_machine_that_is_well_exits_0_and_every_line_says_what_was_seen() {
    let (code, findings) = examined("well", FREE, &[]);
    assert_eq!(code, Some(0), "{findings:#?}");
    for check in ["ports", "loopback", "clock", "kernel", "open_files", "tools"] {
        assert_ne!(finding(&findings, check)["seen"], "", "{check}");
    }
    let clock = finding(&findings, "clock");
    assert!(clock["seen"].as_str().unwrap().contains("not measured"), "{clock}");
    assert!(clock["advice"].as_str().unwrap().contains("--ntp"), "{clock}");
}

#[test]
fn the_report_is_for_people_unless_json_is_asked_for() {
    let file = config("text", FREE);
    let output = mock5g(&["doctor", "-c", file.to_str().unwrap()]).timeout(PATIENCE).output().unwrap();
    std::fs::remove_file(file).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ok    ports") && text.contains("-> name an NTP server"), "{text}");
}

#[test]
fn a_port_in_use_fails_and_names_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let (code, findings) = examined("port", &at, &[]);
    let ports = finding(&findings, "ports");
    assert_eq!((code, &ports["level"]), (Some(3), &json!("fail")), "{ports}");
    assert!(ports["seen"].as_str().unwrap().contains(&at), "{ports}");
    assert!(ports["advice"].as_str().unwrap().contains("smf.sbi.bind"), "{ports}");
}

#[test]
fn a_data_directory_is_written_to_and_left_as_it_was() {
    let dir = std::env::temp_dir().join(format!("mock5g-doctor-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let (code, findings) = examined("dir", FREE, &["--data-dir", dir.to_str().unwrap()]);
    assert_eq!((code, finding(&findings, "data_dir")["level"].clone()), (Some(0), json!("ok")));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    std::fs::remove_dir(&dir).unwrap();
    let (code, findings) = examined("no-dir", FREE, &["--data-dir", dir.to_str().unwrap()]);
    let gone = finding(&findings, "data_dir");
    assert_eq!((code, &gone["level"]), (Some(3), &json!("fail")), "{gone}");
    assert!(gone["seen"].as_str().unwrap().contains(dir.to_str().unwrap()), "{gone}");
}

/// What an NTP server makes of a request; nothing if it is silent.
type Answer = fn(&[u8]) -> Option<Vec<u8>>;

/// An answer of a server whose clock is so far ahead.
fn true_answer(request: &[u8], ahead_ms: i64) -> Vec<u8> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap();
    let us = now + ahead_ms * 1_000 + 2_208_988_800 * 1_000_000;
    let stamp = ((us / 1_000_000) << 32) | (((us % 1_000_000) << 32) / 1_000_000);
    let mut answer = vec![0; 48];
    (answer[0], answer[1]) = (0x24, 2);
    answer[24..32].copy_from_slice(&request[40..48]);
    answer[32..40].copy_from_slice(&stamp.to_be_bytes());
    answer[40..48].copy_from_slice(&stamp.to_be_bytes());
    answer
}

fn kiss(request: &[u8]) -> Vec<u8> {
    let mut answer = true_answer(request, 0);
    answer[1] = 0;
    answer[12..16].copy_from_slice(b"RATE");
    answer
}

fn clock_by(answer: Answer, name: &str) -> (Option<i32>, Value) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = socket.local_addr().unwrap().to_string();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let serving = thread::spawn(move || {
        let mut request = [0; 512];
        let (length, client) = socket.recv_from(&mut request).unwrap();
        assert_eq!((length, request[0]), (48, 0x23), "version 4, from a client");
        if let Some(answer) = answer(&request[..length]) {
            socket.send_to(&answer, client).unwrap();
        }
        socket
    });
    let (code, findings) = examined(name, FREE, &["--ntp", &server]);
    drop(serving.join().unwrap());
    (code, finding(&findings, "clock"))
}

#[test]
fn the_clock_is_measured_against_an_ntp_server() {
    let cases: [(&str, Answer, i32, &str, &str); 5] = [
        ("right", |r| Some(true_answer(r, 0)), 0, "ok", "stratum 2"),
        ("a-little", |r| Some(true_answer(r, 500)), 0, "warn", "ms behind"),
        ("behind", |r| Some(true_answer(r, 5_000)), 3, "fail", "ms behind"),
        ("ahead", |r| Some(true_answer(r, -5_000)), 3, "fail", "ms ahead of"),
        ("years", |r| Some(true_answer(r, -1_000_000_000_000)), 3, "fail", "ms ahead of"),
    ];
    for (name, answer, code, level, seen) in cases {
        let (exit, clock) = clock_by(answer, name);
        assert_eq!((exit, &clock["level"]), (Some(code), &json!(level)), "{name}: {clock}");
        assert!(clock["seen"].as_str().unwrap().contains(seen), "{name}: {clock}");
    }
}

#[test]
fn a_server_that_cannot_be_used_is_a_warning_with_its_reason() {
    let cases: [(&str, Answer, &str); 8] = [
        ("silent", |_| None, "no usable answer within 2 s"),
        ("kiss", |r| Some(kiss(r)), "RATE"),
        ("short", |_| Some(b"hello".to_vec()), "too short"),
        ("empty", |_| Some(Vec::new()), "too short"),
        ("noise", |_| Some(vec![0xff; 48]), "none of NTP"),
        ("another", |r| Some([&true_answer(r, 0)[..24], &[7; 24]].concat()), "another request"),
        ("echo", |r| Some(r.to_vec()), "none of NTP"),
        ("unsynchronised", |r| Some([&[0xe4], &true_answer(r, 0)[1..]].concat()), "not synchronised itself"),
    ];
    for (name, answer, why) in cases {
        let (exit, clock) = clock_by(answer, name);
        assert_eq!((exit, &clock["level"]), (Some(0), &json!("warn")), "{name}: {clock}");
        assert!(clock["seen"].as_str().unwrap().contains(why), "{name}: {clock}");
    }
}

#[test]
fn a_name_that_cannot_be_resolved_is_a_warning() {
    let (code, findings) = examined("name", FREE, &["--ntp", "ntp.invalid"]);
    assert_eq!((code, finding(&findings, "clock")["level"].clone()), (Some(0), json!("warn")));
}

#[test]
fn what_a_running_nf_measures_of_its_peers_is_told() {
    let udm = NfProcess::start("udm", &[]);
    let (_, findings) = examined("quiet", FREE, &["--admin", udm.admin()]);
    assert!(finding(&findings, "peers")["seen"].as_str().unwrap().contains("no NF there"), "{findings:#?}");
    let ahead = SystemTime::now() + Duration::from_secs(5);
    let ahead = ahead.duration_since(UNIX_EPOCH).unwrap().as_millis();
    let stamp = sbi::header::SenderTimestamp::from_unix_ms(i64::try_from(ahead).unwrap()).to_string();
    ask(udm.sbi(), "AMF-of-tomorrow", &stamp);
    let (code, findings) = examined("skew", FREE, &["--admin", udm.admin()]);
    let peers = finding(&findings, "peers");
    assert_eq!((code, &peers["level"]), (Some(0), &json!("warn")), "{peers}");
    let seen = peers["seen"].as_str().unwrap();
    assert!(seen.contains("AMF-of-tomorrow") && seen.contains("ahead"), "{seen}");
    assert_eq!(udm.count("skew.measured"), 1);
    assert!(udm.stderr().contains("skew.measured"), "{}", udm.stderr());
    let clocks = udm.tells("/mock5g/v1/clocks");
    assert!(clocks[0]["offsetAtLeastMs"].as_i64().unwrap() > 1_000, "{clocks}");
    drop(udm);
    let (code, findings) = examined("gone", FREE, &["--admin", "http://127.0.0.1:9"]);
    assert_eq!((code, finding(&findings, "peers")["level"].clone()), (Some(3), json!("fail")));
}

/// One request over HTTP/1.1, from who signs so.
fn ask(root: &str, signature: &str, stamp: &str) {
    use std::io::Read;
    let mut socket = std::net::TcpStream::connect(root.trim_start_matches("http://")).unwrap();
    let path = "/nudm-sdm/v2/imsi-001010000000001/am-data";
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: udm\r\nuser-agent: {signature}\r\n3gpp-sbi-sender-timestamp: {stamp}\r\n\
         connection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let (mut answer, begun) = (String::new(), Instant::now());
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && begun.elapsed() < PATIENCE, "{answer}");
}

#[test]
fn a_wrong_command_line_exits_2() {
    let output = mock5g(&["doctor", "--ntp"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
