//! The OpenAPI files of each API, and the binary: what its NFs send, and what they do about what others send.

use super::support::{Answer, Core, NfProcess, Protocol, exchanges, json_create, mock5g, request};
use bytes::Bytes;
use sbi::traffic::Direction;
use serde_json::{Value, json};
use std::panic::catch_unwind;
use std::path::PathBuf;

/// Whether there are files; `.cargo/config.toml` says where.
fn has_files() -> bool {
    let dir = std::env::var_os("MOCK5G_OPENAPI_DIR").expect("cargo sets MOCK5G_OPENAPI_DIR");
    std::path::Path::new(&dir).is_dir()
}

#[test]
fn a_wrong_body_in_what_a_process_sent_is_found() {
    let core = Core::start();
    let (content_type, body) = json_create(core.amf.sbi());
    assert_eq!(request(Protocol::H2c, "POST", &core.sm_contexts(), &content_type, &body).status, 201);
    let mut seen = exchanges(core.smf.admin());
    mock5g::oracle::expect_schema_true(&seen);
    let sent = seen.iter_mut().find(|e| e.direction == Direction::Sent && e.method == "PUT");
    sent.expect("the registration").request.body = Bytes::from_static(b"{}");
    let judged = catch_unwind(|| mock5g::oracle::expect_schema_true(&seen));
    assert_eq!(judged.is_err(), has_files(), "a planted body is found where there are files");
}

/// Files of our own: a registration needs a DNN, a creation is multipart, and sm-data are never as they should be.
const UECM: &str = "
servers:
  - url: '{apiRoot}/nudm-uecm/v1'
paths:
  /{ueId}/registrations/smf-registrations/{id}:
    put:
      requestBody: {content: {application/json: {schema: {type: object, required: [dnn]}}}}
      responses: {default: {description: x, content: {application/json: {}}}}
";
const SMF: &str = "
servers:
  - url: '{apiRoot}/nsmf-pdusession/v1'
paths:
  /sm-contexts: {post: {requestBody: {content: {multipart/related: {}}}, responses: {default: {description: x}}}}
";
const SDM: &str = "
servers:
  - url: '{apiRoot}/nudm-sdm/v2'
paths:
  /{supi}/sm-data:
    get:
      parameters: [{name: dnn, in: query, schema: {}}, {name: single-nssai, in: query, schema: {}}]
      responses: {'200': {description: x, content: {application/json: {schema: {type: array, maxItems: 0}}}}}
";

/// A directory with these files, gone with this.
struct Files(PathBuf);

impl Files {
    fn of(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("mock5g-openapi-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in [("uecm.yaml", UECM), ("smf.yaml", SMF), ("sdm.yaml", SDM)] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        Files(dir)
    }

    fn dir(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn register(udm: &NfProcess, id: u8, more: Value) -> Answer {
    let mut body = json!({
        "smfInstanceId": "22222222-2222-4222-8222-222222222222", "pduSessionId": id,
        "singleNssai": {"sst": 1}, "plmnId": {"mcc": "001", "mnc": "01"},
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let uri = format!("{}/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/{id}", udm.sbi());
    request(Protocol::H2c, "PUT", &uri, "application/json", body.to_string().as_bytes())
}

/// The details of the violations that were told.
fn violations(nf: &NfProcess) -> Vec<String> {
    let events = nf.tells("/mock5g/v1/events");
    let told = events.as_array().unwrap().iter().filter(|e| e["event"] == "schema.violated");
    told.map(|e| e["detail"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_violation_is_told_each_time_logged_once_and_served() {
    let files = Files::of("warn");
    let udm = NfProcess::start("udm", &["--openapi", files.dir()]);
    for (id, more) in [(5, json!({})), (6, json!({})), (7, json!({"dnn": "internet"}))] {
        assert_eq!(register(&udm, id, more).status, 201, "{id}");
    }
    assert_eq!(violations(&udm), ["/dnn: missing", "/dnn: missing"]);
    let ended = udm.stop("TERM");
    let logged: Vec<_> = ended.stderr.lines().filter(|line| line.contains("schema.violated")).collect();
    assert!(logged.len() == 1 && logged[0].contains("/dnn: missing"), "{}", ended.stderr);
}

#[test]
fn a_violation_is_refused_before_the_handler_runs_if_the_operator_wants_so() {
    let files = Files::of("refuse");
    let variables = [("MOCK5G_OPENAPI__MODE", "refuse"), ("MOCK5G_OPENAPI__DIR", files.dir())];
    let udm = NfProcess::spawn_with(&["nf", "udm", "--bind", "127.0.0.1:0"], &variables);
    let refused = register(&udm, 5, json!({}));
    assert_eq!((refused.status, refused.header("content-type")), (400, "application/problem+json"));
    let problem = refused.json();
    assert_eq!(problem["cause"], "MANDATORY_IE_MISSING");
    assert_eq!(problem["invalidParams"], json!([{"param": "/dnn", "reason": "missing"}]));
    assert_eq!(udm.held(), [""; 0]);
    assert_eq!(register(&udm, 5, json!({"dnn": "internet"})).status, 201, "its body was read ahead");
}

#[test]
fn what_real_nfs_are_known_to_send_and_answers_are_never_refused() {
    let files = Files::of("tolerated");
    let udm = NfProcess::start("udm", &[]);
    let arguments = ["nf", "smf", "--bind", "127.0.0.1:0", "--openapi", files.dir()];
    let peer = format!("udm={}", udm.sbi());
    let smf = NfProcess::spawn_with(
        &[&arguments[..], &["--peer", &peer]].concat(),
        &[("MOCK5G_OPENAPI__MODE", "refuse")],
    );
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    assert_eq!(request(Protocol::H2c, "POST", &uri, &content_type, &body).status, 201);
    let told = violations(&smf);
    assert!(told[0].starts_with("header Content-Type: expected multipart/related"), "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("the whole body: it has more than 0 items")), "{told:?}");
}

#[test]
fn a_directory_without_openapi_files_is_named() {
    for command in [&["lab"][..], &["nf", "udm"]] {
        let output = mock5g(&[command, &["--openapi", "/no/such/directory"]].concat()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("openapi.dir: /no/such/directory"), "{stderr}");
    }
}
