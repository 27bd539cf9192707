//! `mock5g lab` and its configuration, and the commands that only tell something.

use super::support::{NfProcess, Protocol, mock5g, request, wait_until};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Output;

/// A file that is gone when this is.
struct File(PathBuf);

impl File {
    fn of(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mock5g-{}-{name}.yaml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A lab on free ports.
const ANYWHERE: &str = "\
admin: {bind: 127.0.0.1:0}
amf: {sbi: {bind: 127.0.0.1:0}}
smf: {sbi: {bind: 127.0.0.1:0}, deadline: {margin_ms: 50}}
udm: {sbi: {bind: 127.0.0.1:0}}
udr: {sbi: {bind: 127.0.0.1:0}}
";

fn established(lab: &NfProcess, max_rsp_time_ms: u64) -> Value {
    let stimulus =
        json!({"supi": "imsi-001010000000001", "pduSessionId": 5, "maxRspTimeMs": max_rsp_time_ms});
    let uri = format!("{}/mock5g/v1/amf/pdu-sessions", lab.admin());
    request(Protocol::H2c, "POST", &uri, "application/json", stimulus.to_string().as_bytes()).json()
}

#[test]
fn a_lab_says_where_each_nf_is_and_serves_one_operator_plane() {
    let file = File::of("lab", ANYWHERE);
    let lab = NfProcess::spawn(&["lab", "-c", file.path()]);
    let others = lab.more_lines(3);
    let mut names: Vec<_> = others.iter().chain([&lab.ready]).map(|line| line["nf"].clone()).collect();
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["amf", "smf", "udm", "udr"]);
    assert!(others.iter().all(|line| line["admin"] == lab.admin()), "{others:?}");
    assert_eq!(lab.tells("/mock5g/v1/nfs").as_array().unwrap().len(), 4);
    assert_eq!(established(&lab, 5_000)["outcome"], "established");
    assert_eq!(lab.tells("/mock5g/v1/held?nf=smf").as_array().unwrap().len(), 1);
    let health = mock5g(&["health", lab.admin()]).output().unwrap();
    assert_eq!(health.status.code(), Some(0), "{health:?}");
    let ended = lab.stop("TERM");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn the_file_and_the_environment_decide() {
    let file = File::of("policy", ANYWHERE);
    let lab = NfProcess::spawn_with(&["lab", "-c", file.path()], &[("MOCK5G_SMF__DEADLINE__MODE", "drop")]);
    let late = json!({"supi": "imsi-001010000000001", "pduSessionId": 5, "maxRspTimeMs": 500,
        "senderTimestampOffsetMs": -5_000});
    let uri = format!("{}/mock5g/v1/amf/pdu-sessions", lab.admin());
    request(Protocol::H2c, "POST", &uri, "application/json", late.to_string().as_bytes());
    wait_until("the SMF drops the request", || lab.count("request.dropped_late") > 0);
    assert_eq!(lab.count("request.refused_late"), 0);
    let margin = lab.tells("/mock5g/v1/events?nf=amf");
    assert!(!margin.as_array().unwrap().is_empty());
}

#[test]
fn an_nf_takes_its_peers_and_subscribers_from_the_file() {
    let subscribers =
        "subscribers: [{supi: imsi-001010000000777, slices: [{sst: 2, sd: 0000a1, dnns: [ims]}]}]\n";
    let file = File::of("udr", &format!("{subscribers}udr: {{sbi: {{bind: 127.0.0.1:0}}}}\n"));
    let udr = NfProcess::spawn(&["nf", "udr", "-c", file.path()]);
    let file =
        File::of("udm", &format!("udm: {{sbi: {{bind: 127.0.0.1:0}}, client: {{udr: '{}'}}}}\n", udr.sbi()));
    let udm = NfProcess::spawn(&["nf", "udm", "--config", file.path()]);
    for (supi, status) in [("imsi-001010000000777", 200), ("imsi-001010000000001", 404)] {
        let uri = format!("{}/nudm-sdm/v2/{supi}/sm-data", udm.sbi());
        let answer = request(Protocol::H2c, "GET", &uri, "", b"");
        assert_eq!(answer.status, status, "{supi}: {answer:?}");
        if status == 200 {
            let data = answer.json();
            assert_eq!(data[0]["singleNssai"], json!({"sst": 2, "sd": "0000a1"}));
            assert!(data[0]["dnnConfigurations"]["ims"].is_object(), "{data}");
        }
    }
    assert!(udr.count("request.received") > 0, "the UDM has asked the UDR");
}

#[test]
fn a_wrong_configuration_is_named_with_line_and_caret_before_any_port_opens() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bind = format!("smf: {{sbi: {{bind: {busy}}}}}\n");
    for (yaml, said) in [
        ("smf:\n  deadline:\n    marginn_ms: 5\n", &["line 3 column 5", "marginn_ms", "^", "margin_ms"][..]),
        ("drain_ms: soon\n", &["line 1", "^"]),
        ("udm:\n  client: {udr: 'udr:7720'}\n", &["line 2 column 17", "expected http://host[:port]", "^"]),
        ("amf: {sbi: {advertise: 'http://0.0.0.0:1'}}\n", &["line 1 column 24", "0.0.0.0", "^"]),
        (
            "subscribers:\n- {supi: imsi-999999999999999, count: 2}\n",
            &["line 2", "2 do not fit behind it", "^"],
        ),
        (
            "subscribers: [{supi: imsi-001010000000001, k: secret}]\n",
            &["line 1", "32 hexadecimal digits", "^"],
        ),
        ("subscribers: [{count: 2}]\n", &["line 1", "expected supi", "^"]),
        ("udm:\n  answer: early\n", &["line 2", "keys of an SMF", "^"]),
        ("udr: {type: udm}\n", &["line 1", "type: udm in the section of the udr", "^"]),
        ("instances: {smf-2: {}}\n", &["line 1", "expected type: one of amf, smf, udm, udr", "^"]),
        ("instances: {smf: {type: smf}}\n", &["line 1", "smf is the name of the first smf", "^"]),
        ("instances: {x: {type: xyz}}\n", &["line 1 column 23", "expected one of amf, smf, udm, udr", "^"]),
        ("deadline: {peers: {99-70: honour}}\n", &["line 1 column 20", "99-70", "^"]),
        ("smf: [\n", &["line"]),
        ("logger: {level: loud}\n", &["line 1 column 17", "trace", "^"]),
        ("release: {tries: 0}\n", &["line 1 column 11", "nonzero", "^"]),
        ("client: {udr: 'HTTP://127.0.0.1:1'}\n", &["line 1 column 15", "expected http://host[:port]", "^"]),
        (
            "client: {udr: 'http://127.0.0.1:1#x'}\n",
            &["line 1 column 15", "expected http://host[:port]", "^"],
        ),
    ] {
        let file = File::of("wrong", &format!("{bind}{yaml}").replace(&bind, ""));
        for command in [&["lab", "-c"][..], &["nf", "smf", "-c"], &["config", "-c"]] {
            let Output { status, stdout, stderr } =
                mock5g(&[command, &[file.path()]].concat()).output().unwrap();
            let stderr = String::from_utf8_lossy(&stderr);
            assert_eq!((status.code(), &*stdout), (Some(2), &b""[..]), "{yaml}: {stderr}");
            assert!(stderr.contains(file.path()), "{stderr}");
            said.iter().for_each(|said| assert!(stderr.contains(said), "{said}: {stderr}"));
        }
    }
    let missing = mock5g(&["lab", "-c", "/no/such/file.yaml"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/no/such/file.yaml"));
    let variable = mock5g(&["config"]).env("MOCK5G_SMF__DEADLINE__MODE", "never").output().unwrap();
    assert_eq!(variable.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&variable.stderr).contains("MOCK5G_SMF__DEADLINE__MODE"));
}

/// A second AMF and a second SMF: each procedure stays between those who began it.
#[test]
fn a_lab_can_have_more_than_one_nf_of_a_type() {
    let more = "instances: {amf-2: {type: amf}, smf-2: {type: smf, deadline: {mode: drop}}}\n";
    let file = File::of("instances", &format!("{ANYWHERE}{more}"));
    let lab = NfProcess::spawn(&["lab", "-c", file.path()]);
    lab.more_lines(5);
    let post = |path: &str, body: Value| {
        let uri = format!("{}/mock5g/v1/amf/{path}", lab.admin());
        request(Protocol::H2c, "POST", &uri, "application/json", body.to_string().as_bytes())
    };
    let supi = "imsi-001010000000001";
    let session = json!({"supi": supi, "pduSessionId": 5, "smf": "smf-2"});
    let answer = post("pdu-sessions?nf=amf-2", session.clone());
    assert_eq!(answer.json()["outcome"], "established");
    let held = |nf: &str| lab.tells(&format!("/mock5g/v1/held?nf={nf}")).as_array().unwrap().len();
    assert_eq!((held("smf"), held("smf-2")), (0, 1));
    let heard = |nf: &str| {
        let events = lab.tells(&format!("/mock5g/v1/events?nf={nf}"));
        events.as_array().unwrap().iter().filter(|e| e["event"] == "message.transferred").count()
    };
    wait_until("the accept is with the AMF that asked", || heard("amf-2") == 1);
    assert_eq!(heard("amf"), 0);
    for amf in ["amf", "amf-2"] {
        let ended = post(&format!("registrations?nf={amf}"), json!({"supi": supi})).json();
        assert_eq!(ended["outcome"], "established", "{amf}: {ended}");
    }
    wait_until("the first AMF hears that it was replaced", || {
        let received = lab.tells("/mock5g/v1/requests?nf=amf");
        received.as_array().unwrap().iter().any(|r| r["uri"].as_str().unwrap().contains("/dereg-notify"))
    });
    let unknown = with(session.clone(), "supi", json!("imsi-001019999999999"));
    let refused = post("pdu-sessions", unknown).json();
    let reason = refused["answers"][0]["reason"].as_str().unwrap_or_default();
    assert!(refused["outcome"] == "refused" && reason.starts_with("USER_NOT_FOUND: "), "{refused}");
    let nobody = post("pdu-sessions", with(session, "smf", json!("udm")));
    assert_eq!(nobody.status, 404, "{nobody:?}");
    let at = answer.header("location").to_owned();
    assert!(at.ends_with("?nf=amf-2"), "{at}");
    let released = request(Protocol::H2c, "DELETE", &format!("{}{at}", lab.admin()), "", b"");
    assert_eq!(released.status, 204, "{released:?}");
    let named = post("registrations?nf=amf-3", json!({"supi": supi})).json();
    assert!(named["detail"].as_str().unwrap().contains("amf, amf-2"), "{named}");
    let rule = json!({"at": "udm", "match": {"peer": "smf-2", "path": "sm-data"}, "do": {"status": 403}});
    let uri = format!("{}/mock5g/v1/faults/x", lab.admin());
    request(Protocol::H2c, "PUT", &uri, "application/json", rule.to_string().as_bytes());
    let refused = |smf: &str| {
        let session = json!({"supi": supi, "pduSessionId": 7, "smf": smf});
        post("pdu-sessions", session).json()["outcome"].clone()
    };
    assert_eq!((refused("smf-2"), refused("smf")), (json!("refused"), json!("established")), "by its name");
    let void = lab.tells("/mock5g/v1/resources?state=void&nf=amf");
    assert_eq!(void.as_array().unwrap().len(), 2, "two refusals: {void}");
    let ended = lab.stop("TERM");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn a_second_udr_has_data_of_its_own() {
    let file = File::of("udr-2", &format!("{ANYWHERE}instances: {{udr-2: {{type: udr}}}}\n"));
    let lab = NfProcess::spawn(&["lab", "-c", file.path()]);
    lab.more_lines(4);
    assert_eq!(established(&lab, 5_000)["outcome"], "established");
    let held = |nf: &str| lab.tells(&format!("/mock5g/v1/held?nf={nf}")).as_array().unwrap().len();
    assert_eq!((held("udr"), held("udr-2")), (3, 0));
}

/// `client` at the top names who stands in for the lab's own.
#[test]
fn an_nf_that_another_stands_in_for_is_not_started() {
    let udr = NfProcess::start("udr", &[]);
    let file = File::of("stand-in", &format!("{ANYWHERE}client: {{udr: '{}'}}\n", udr.sbi()));
    let lab = NfProcess::spawn(&["lab", "-c", file.path()]);
    lab.more_lines(2);
    assert_eq!(lab.tells("/mock5g/v1/nfs").as_array().unwrap().len(), 3);
    assert_eq!(established(&lab, 5_000)["outcome"], "established");
    assert!(udr.held().iter().any(|held| held.contains("smf-registration")), "{:?}", udr.held());
    assert_eq!(lab.stop("TERM").code, Some(0));
}

fn with(mut value: Value, name: &str, attribute: Value) -> Value {
    value[name] = attribute;
    value
}

#[test]
fn an_nf_takes_the_section_of_the_instance_that_it_is() {
    let yaml = "instances: {smf-2: {type: smf, sbi: {bind: 127.0.0.1:0}, nf_instance_id: \
        33333333-3333-4333-8333-333333333333}}\n";
    let file = File::of("named", yaml);
    let smf = NfProcess::spawn(&["nf", "smf", "--name", "smf-2", "-c", file.path()]);
    assert_eq!(smf.ready["nf"], "smf-2");
    let nfs = smf.tells("/mock5g/v1/nfs");
    assert_eq!(nfs[0]["nf"], "smf-2", "{nfs}");
    assert!(nfs.to_string().contains("33333333-3333-4333-8333-333333333333"), "{nfs}");
    let udm = mock5g(&["nf", "udm", "--name", "smf-2", "-c", file.path()]).output().unwrap();
    assert_eq!(udm.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&udm.stderr).contains("of type smf, not udm"));
}

#[test]
fn a_busy_port_of_a_lab_is_named_with_its_key() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = listener.local_addr().unwrap().to_string();
    let yaml =
        ANYWHERE.replacen("udm: {sbi: {bind: 127.0.0.1:0}}", &format!("udm: {{sbi: {{bind: '{busy}'}}}}"), 1);
    let file = File::of("busy", &yaml);
    let output = mock5g(&["lab", "-c", file.path()]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains(&busy) && stderr.contains("udm.sbi.bind"), "{stderr}");
}

#[test]
fn a_lab_in_which_others_stand_in_for_all_starts_nothing() {
    let all = ["amf", "smf", "udm", "udr"].map(|nf| format!("{nf}: 'http://127.0.0.1:9'")).join(", ");
    let file = File::of("none", &format!("client: {{{all}}}\n"));
    let output = mock5g(&["lab", "-c", file.path()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to start"));
}

#[test]
fn two_nfs_cannot_have_one_instance_id() {
    let id = "nf_instance_id: 11111111-1111-4111-8111-111111111111";
    let file = File::of("ids", &format!("amf: {{{id}}}\ninstances: {{amf-2: {{type: amf, {id}}}}}\n"));
    let output = mock5g(&["lab", "-c", file.path()]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("11111111-1111") && stderr.contains("amf-2"), "{stderr}");
}

#[test]
fn config_prints_every_default_too() {
    let printed = mock5g(&["config", "--json"]).output().unwrap();
    let config: Value = serde_json::from_slice(&printed.stdout).unwrap();
    for (pointer, value) in [
        ("/deadline/mode", json!("reject")),
        ("/release/settle", json!("report")),
        ("/client/max_rsp_time_ms", json!(10_000)),
        ("/smf/sbi/bind", json!("127.0.0.1:7704")),
        ("/udr/first_put", json!("created")),
        ("/subscribers/0/count", json!(100)),
        ("/logger/level", json!("warn")),
    ] {
        assert_eq!(config.pointer(pointer), Some(&value), "{pointer}: {config}");
    }
}

#[test]
fn config_prints_what_would_be_used() {
    let file = File::of("config", "plmn: {mcc: 999, mnc: 70}\n");
    let printed = mock5g(&["config", "-c", file.path()]).env("MOCK5G_UDR__DRAIN_MS", "70").output().unwrap();
    let yaml = String::from_utf8(printed.stdout).unwrap();
    assert!(yaml.contains("mcc: \"999\"") && yaml.contains("drain_ms: 70"), "{yaml}");
    let again = File::of("again", &yaml);
    let reprinted = mock5g(&["config", "-c", again.path()]).output().unwrap();
    assert_eq!(String::from_utf8(reprinted.stdout).unwrap(), yaml);
}

#[test]
fn every_cause_and_event_is_explained_with_its_clause() {
    let names = mock5g(&["explain"]).output().unwrap().stdout;
    let names = String::from_utf8(names).unwrap();
    assert!(names.lines().count() > 50);
    for name in ["TIMED_OUT_REQUEST", "timed_out_request", "response.late", "USER_NOT_FOUND"] {
        let said = String::from_utf8(mock5g(&["explain", name]).output().unwrap().stdout).unwrap();
        assert!(said.contains("TS 29.50"), "{name}: {said}");
    }
    let json = mock5g(&["explain", "--json", "TIMED_OUT_REQUEST"]).output().unwrap().stdout;
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap()["status"], 504);
    let unknown = mock5g(&["explain", "NO_SUCH_CAUSE"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn completions_and_health_answer() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = mock5g(&["completions", shell]).output().unwrap().stdout;
        assert!(String::from_utf8(script).unwrap().contains("mock5g"), "{shell}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let health = mock5g(&["health", &format!("http://{nobody}")]).output().unwrap();
    assert_eq!(health.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&health.stderr).contains("not ready"));
}

/// UDR to UDM to consumer: whoever subscribed to the session data hears that they have changed.
#[test]
fn a_subscriber_that_is_changed_is_told_of_to_who_subscribed() {
    let file = File::of("subscribers", ANYWHERE);
    let lab = NfProcess::spawn(&["lab", "-c", file.path()]);
    lab.more_lines(3);
    let at = format!("{}/mock5g/v1/subscribers/imsi-001010000000001", lab.admin());
    let ask =
        |method: &str, body: &str| request(Protocol::H2c, method, &at, "application/json", body.as_bytes());
    let before = ask("GET", "").json();
    assert_eq!(before["slices"], json!([{"sst": 1, "dnns": ["internet"]}]));
    assert_eq!(established(&lab, 5_000)["outcome"], "established");
    let other = json!({"slices": [{"sst": 1, "dnns": ["ims"]}], "k": "00112233445566778899aabbccddeeff"});
    assert_eq!(ask("PUT", &other.to_string()).status, 200, "internet is gone");
    wait_until("the SMF is told", || {
        let received = lab.tells("/mock5g/v1/requests?nf=smf");
        let told = |r: &Value| {
            r["uri"].as_str().unwrap().contains("/nsmf-callback/") && r["direction"] == "received"
        };
        received.as_array().unwrap().iter().any(told)
    });
    let now = ask("GET", "").json();
    assert_eq!((&now["slices"], &now["k"]), (&other["slices"], &other["k"]));
    assert_eq!(ask("PUT", &before.to_string()).status, 200, "what is read can be written back");
    assert_eq!(ask("GET", "").json()["slices"], before["slices"]);
    let another = ask("PUT", "{\"supi\": \"imsi-001010000000002\"}");
    assert_eq!(another.json()["invalidParams"][0]["param"], "/supi", "{another:?}");
    let wrong = ask("PUT", "{\"slice\": []}");
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert_eq!(ask("DELETE", "").status, 204);
    assert_eq!(ask("GET", "").status, 404);
    assert_eq!(ask("PUT", "{}").status, 201, "as the default subscribers are");
}
