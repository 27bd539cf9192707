//! The operator plane as a lab bench: faults, stimuli, what was on the wire, and back to the beginning.

use super::support::{Answer, Core, NfProcess, Protocol, request, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

const SUPI: &str = "imsi-001010000000001";

fn ask(nf: &NfProcess, method: &str, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    request(Protocol::H2c, method, &format!("{}{path}", nf.admin()), "application/json", body.as_bytes())
}

fn establish(core: &Core, max_rsp_time_ms: u64) -> (Answer, Value) {
    let stimulus = json!({"supi": SUPI, "pduSessionId": 5, "maxRspTimeMs": max_rsp_time_ms});
    let answer = ask(&core.amf, "POST", "/mock5g/v1/amf/pdu-sessions", &stimulus);
    assert_eq!(answer.status, 200, "{answer:?}");
    let ended = answer.json();
    (answer, ended)
}

fn settled(core: &Core) -> bool {
    core.all().iter().all(|nf| {
        let resources = nf.tells("/mock5g/v1/resources");
        let settled = |r: &Value| ["committed", "released", "void"].contains(&r["state"].as_str().unwrap());
        resources.as_array().unwrap().iter().all(settled)
    })
}

/// The demo's scenario, with four processes and nothing but curl's means.
#[test]
fn a_fault_rule_and_a_stimulus_show_the_release_on_timeout() {
    let core = Core::start();
    let late = json!({
        "at": "udm", "on": "response", "match": {"method": "PUT", "path": "^/nudm-uecm/"},
        "do": {"delay_past_deadline_ms": 300}, "times": 1,
    });
    let rule = "/mock5g/v1/faults/late";
    assert_eq!(ask(&core.udm, "PUT", rule, &late).status, 201);
    assert_eq!(ask(&core.udm, "PUT", rule, &late).status, 200, "the same name replaces it");
    let (_, ended) = establish(&core, 500);
    assert_eq!(ended["outcome"], "gave_up", "{ended}");
    wait_until("everything is released", || settled(&core));
    core.all().iter().for_each(|nf| assert_eq!(nf.held(), [""; 0], "{}", nf.ready));
    let told = core.udm.tells(rule);
    assert_eq!((&told["matched"], &told["applied"], &told["rule"]), (&json!(1), &json!(1), &late));
    assert_eq!(core.udm.tells("/mock5g/v1/faults").as_array().unwrap().len(), 1);
    assert_eq!(ask(&core.udm, "DELETE", rule, &Value::Null).status, 204);
    assert_eq!(ask(&core.udm, "GET", rule, &Value::Null).status, 404);
    assert_eq!(ask(&core.udm, "DELETE", rule, &Value::Null).status, 404);
}

#[test]
fn a_session_is_established_shown_and_released() {
    let core = Core::start();
    let (answer, ended) = establish(&core, 5_000);
    assert_eq!(ended["outcome"], "established", "{ended}");
    assert_eq!(ended["answers"][0]["status"], 201, "{ended}");
    let session = answer.header("location").to_owned();
    assert_eq!(ask(&core.amf, "DELETE", &session, &Value::Null).status, 204);
    assert_eq!(ask(&core.amf, "DELETE", &session, &Value::Null).status, 404);
    wait_until("the SM context is released", || settled(&core) && core.smf.held().is_empty());

    let requests = core.smf.tells("/mock5g/v1/requests?nf=smf");
    let requests = requests.as_array().unwrap();
    let is = |r: &&Value, direction: &str, method: &str, uri: &str| {
        r["direction"] == direction && r["method"] == method && r["uri"].as_str().unwrap().contains(uri)
    };
    let create = requests.iter().find(|r| is(r, "received", "POST", "/sm-contexts")).unwrap();
    assert!(create["body"]["base64"].is_string(), "the N1 part is no text: {create}");
    assert_eq!((&create["response"]["status"], &create["peer"]), (&json!(201), &json!("amf")));
    let put = requests.iter().find(|r| is(r, "sent", "PUT", "/smf-registrations/5")).unwrap();
    assert_eq!((&put["body"]["pduSessionId"], &put["peer"]), (&json!(5), &json!("udm")), "{put}");
    let names: Vec<_> = put["headers"].as_array().unwrap().iter().map(|h| h[0].as_str().unwrap()).collect();
    assert!(names.contains(&"3gpp-sbi-sender-timestamp") && names.contains(&"3gpp-sbi-max-rsp-time"));
    let last = requests.last().unwrap()["seq"].as_u64().unwrap();
    let none = core.smf.tells(&format!("/mock5g/v1/requests?after={last}"));
    assert_eq!(none, json!([]));
}

#[test]
fn a_stimulus_may_be_wrong_on_purpose() {
    let core = Core::start();
    let old =
        json!({"supi": SUPI, "pduSessionId": 5, "maxRspTimeMs": 500, "senderTimestampOffsetMs": -5_000});
    let ended = ask(&core.amf, "POST", "/mock5g/v1/amf/pdu-sessions", &old).json();
    assert_eq!(ended["outcome"], "gave_up", "{ended}");
    let silent = json!({"supi": SUPI, "pduSessionId": 5, "omitDeadline": true});
    let ended = ask(&core.amf, "POST", "/mock5g/v1/amf/pdu-sessions", &silent).json();
    assert_eq!(ended["outcome"], "established", "{ended}");
    let unknown = json!({"supi": "imsi-001019999999999", "pduSessionId": 5});
    let ended = ask(&core.amf, "POST", "/mock5g/v1/amf/pdu-sessions", &unknown).json();
    assert_eq!(
        (&ended["outcome"], &ended["answers"][0]["status"]),
        (&json!("refused"), &json!(404)),
        "{ended}"
    );
}

#[test]
fn a_ue_is_registered_and_deregistered_by_stimuli() {
    let core = Core::start();
    let ue = json!({"supi": SUPI, "maxRspTimeMs": 5_000});
    let answer = ask(&core.amf, "POST", "/mock5g/v1/amf/registrations", &ue);
    let ended = answer.json();
    assert_eq!((answer.status, &ended["outcome"]), (200, &json!("established")), "{ended}");
    let statuses: Vec<_> = ended["answers"].as_array().unwrap().iter().map(|a| &a["status"]).collect();
    assert_eq!(statuses, [201, 200, 200, 201], "{ended}");
    let registration = answer.header("location").to_owned();
    let (_, session) = establish(&core, 5_000);
    assert_eq!(session["outcome"], "established", "{session}");
    assert_eq!(ask(&core.amf, "DELETE", &registration, &Value::Null).status, 204);
    assert_eq!(ask(&core.amf, "DELETE", &registration, &Value::Null).status, 404);
    wait_until("session, subscription and registration are released", || {
        settled(&core) && core.all().iter().all(|nf| nf.held().is_empty())
    });
    let bad = ask(&core.amf, "POST", "/mock5g/v1/amf/registrations", &json!({"supi": "nobody"}));
    assert_eq!((bad.status, &bad.json()["invalidParams"][0]["param"]), (400, &json!("/supi")), "{bad:?}");
}

#[test]
fn every_effect_of_a_fault_rule_reaches_the_client() {
    let udm = NfProcess::start("udm", &[]);
    let sm_data = format!("{}/nudm-sdm/v2/{SUPI}/sm-data", udm.sbi());
    let get = |protocol| std::panic::catch_unwind(|| request(protocol, "GET", &sm_data, "", b"")).ok();
    let whole = get(Protocol::H2c).unwrap();
    for (on, what, status) in [
        ("request", json!({"status": 503, "headers": {"retry-after": "7"}}), Some(503)),
        ("request", json!({"status": 204}), Some(204)),
        ("response", json!({"status": 206, "body": {"altered": true}}), Some(206)),
        ("response", json!({"status": 204}), Some(204)),
        ("response", json!({"status": 504, "body": {"cause": "TIMED_OUT_REQUEST"}}), Some(504)),
        ("response", json!({"headers": {"x-fault": "seen", "server": null}}), Some(200)),
        ("response", json!({"trickle": {"bytes": 100, "every_ms": 1}}), Some(200)),
        ("response", json!({"goaway": true}), Some(200)),
        ("request", json!({"reset": "INTERNAL_ERROR"}), None),
        ("request", json!({"drop": true, "hold_ms": 50}), None),
        ("response", json!({"lose_response": true, "hold_ms": 50}), None),
    ] {
        let rule = json!({"on": on, "do": what, "times": 1});
        assert!(ask(&udm, "PUT", "/mock5g/v1/faults/x", &rule).status < 300, "{rule}");
        let answer = get(Protocol::H2c);
        assert_eq!(answer.as_ref().map(|a| a.status), status, "{rule}: {answer:?}");
        let Some(answer) = answer else { continue };
        match (&what["headers"], &what["body"]) {
            (Value::Object(headers), _) if headers.contains_key("x-fault") => {
                assert_eq!((answer.header("x-fault"), answer.header("server")), ("seen", ""));
            }
            (Value::Object(_), _) => assert_eq!(answer.header("retry-after"), "7"),
            (_, Value::Object(_)) => {
                assert_eq!(answer.header("server"), whole.header("server"), "other headers stay");
                let is_error = status == Some(504);
                let media_type = if is_error { "application/problem+json" } else { "application/json" };
                assert_eq!(
                    (answer.json(), answer.header("content-type")),
                    (what["body"].clone(), media_type)
                );
            }
            _ if status == Some(204) => {
                assert_eq!((&answer.body[..], answer.header("content-type")), (&b""[..], ""));
                assert_eq!(answer.header("content-length"), "", "a 204 has no body");
            }
            _ => assert_eq!(answer.body, whole.body),
        }
    }
    assert_eq!(get(Protocol::H2c).map(|a| a.status), Some(200), "each rule applied once");
    assert_eq!(udm.count("fault.applied"), 11);
}

#[test]
fn a_fault_rule_may_be_for_one_subscriber_or_one_peer_only() {
    let core = Core::start();
    let (content_type, body) = super::support::json_create(core.amf.sbi());
    let rule = |of: Value| json!({"match": of, "do": {"status": 429}});
    for (of, status) in [
        (json!({"supi": "imsi-001010000000002"}), 201),
        (json!({"supi": SUPI}), 429),
        (json!({"peer": "nobody"}), 201),
        (json!({"header": {"name": "content-type", "value": "^application/json$"}}), 429),
        (json!({"nth": 2}), 201),
    ] {
        assert!(ask(&core.smf, "PUT", "/mock5g/v1/faults/x", &rule(of.clone())).status < 300, "{of}");
        let answer = request(Protocol::H2c, "POST", &core.sm_contexts(), &content_type, &body);
        assert_eq!(answer.status, status, "{of}: {answer:?}");
    }
}

#[test]
fn a_wrong_fault_rule_is_named_by_its_pointer() {
    let udm = NfProcess::start("udm", &[]);
    let path = "/mock5g/v1/faults/x";
    for (rule, pointer) in [
        (json!({}), "/do"),
        (json!({"do": {"drop": "yes"}}), "/do/drop"),
        (json!({"on": "arrival", "do": {"drop": true}}), "/on"),
        (json!({"do": {"explode": true}}), "/do"),
        (json!({"at": "smf", "do": {"drop": true}}), "/at"),
        (json!({"match": {"path": "^/nsmf-pdusession/"}, "do": {"drop": true}}), "/match/path"),
    ] {
        let answer = ask(&udm, "PUT", path, &rule);
        assert_eq!(answer.status, 400, "{rule}: {answer:?}");
        let param = answer.json()["invalidParams"][0]["param"].clone();
        assert!(param.as_str().unwrap().starts_with(pointer), "{rule}: {param}");
    }
    assert_eq!(ask(&udm, "PUT", path, &Value::Null).status, 400);
    assert_eq!(udm.tells("/mock5g/v1/faults"), json!([]));
}

#[test]
fn nfs_and_metrics_tell_of_the_process() {
    let core = Core::start();
    establish(&core, 5_000);
    let nfs = core.udm.tells("/mock5g/v1/nfs");
    assert_eq!(
        (&nfs[0]["nf"], &nfs[0]["type"], &nfs[0]["state"]),
        (&json!("udm"), &json!("udm"), &json!("ready"))
    );
    assert_eq!(nfs[0]["sbi"], core.udm.sbi());
    let metrics = ask(&core.udm, "GET", "/metrics", &Value::Null);
    assert!(metrics.header("content-type").starts_with("application/openmetrics-text"), "{metrics:?}");
    let text = String::from_utf8(metrics.body).unwrap();
    for line in [
        "mock5g_events_total{nf=\"udm\",event=\"request.received\"} 3",
        "mock5g_held{nf=\"udm\",kind=\"sdm-subscription\"} 1",
        "mock5g_resources{nf=\"udm\",state=\"committed\"} 3",
        "# EOF",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in:\n{text}");
    }
}

#[test]
fn events_stream_as_they_happen() {
    let udm = NfProcess::start("udm", &[]);
    let mut socket = TcpStream::connect(udm.admin().trim_start_matches("http://")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(b"GET /mock5g/v1/events/stream?nf=udm HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut lines = BufReader::new(socket).lines().map(Result::unwrap);
    assert!(lines.by_ref().take_while(|line| !line.is_empty()).any(|l| l.contains("text/event-stream")));
    request(Protocol::H2c, "GET", &format!("{}/nudm-sdm/v2/{SUPI}/sm-data", udm.sbi()), "", b"");
    assert!(lines.by_ref().any(|line| line == "event: response.sent"), "the stream has it");
    let data = lines.find(|line| line.starts_with("data: ")).unwrap();
    let event: Value = serde_json::from_str(&data["data: ".len()..]).unwrap();
    assert_eq!((&event["nf"], &event["status"]), (&json!("udm"), &json!(200)));
}

#[test]
fn reset_releases_and_forgets_everything_and_goes_on() {
    let core = Core::start();
    establish(&core, 5_000);
    assert_eq!(ask(&core.amf, "PUT", "/mock5g/v1/faults/x", &json!({"do": {"drop": true}})).status, 201);
    for nf in [&core.amf, &core.smf, &core.udm, &core.udr] {
        assert_eq!(ask(nf, "POST", "/mock5g/v1/reset", &Value::Null).status, 204, "{}", nf.ready);
        assert_eq!(nf.held(), [""; 0], "{}", nf.ready);
        for empty in ["resources", "requests", "faults"] {
            assert_eq!(nf.tells(&format!("/mock5g/v1/{empty}")), json!([]), "{empty} of {}", nf.ready);
        }
    }
    let (_, ended) = establish(&core, 5_000);
    assert_eq!(ended["outcome"], "established", "{ended}");
}
