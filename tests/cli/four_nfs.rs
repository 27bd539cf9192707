//! Four NFs in four processes, wired by `--peer`: a PDU session, as an AMF asks for it.

use super::support::{Answer, Core, Protocol, json_create, multipart_create, request};
use serde_json::json;

/// Sends a request: method, URI, content type, body.
type Send<'a> = &'a dyn Fn(&str, &str, &str, &[u8]) -> Answer;

/// Creates, retrieves and releases an SM context; who holds what is asked in between.
pub fn session(core: &Core, send: Send<'_>, create: &(String, Vec<u8>)) {
    let created = send("POST", &core.sm_contexts(), &create.0, &create.1);
    assert_eq!(created.status, 201, "{created:?}");
    let location = created.header("location").to_owned();
    assert!(location.starts_with(&format!("{}/", core.sm_contexts())), "{location}");
    assert_eq!(core.smf.held(), ["sm-context"]);
    assert_eq!(core.udm.held(), ["sdm-subscription", "smf-registration"]);
    assert_eq!(core.udr.held(), ["sdm-subscription", "smf-registration", "subs-to-notify"]);
    let retrieved = send("POST", &format!("{location}/retrieve"), "application/json", b"{}");
    assert_eq!(retrieved.status, 200, "{retrieved:?}");
    let cause = json!({"cause": "REL_DUE_TO_UNSPECIFIED_REASON"}).to_string();
    let released = send("POST", &format!("{location}/release"), "application/json", cause.as_bytes());
    assert_eq!(released.status, 204, "{released:?}");
    core.all().iter().for_each(|nf| assert_eq!(nf.held(), [""; 0], "{}", nf.ready));
    let gone = send("POST", &format!("{location}/retrieve"), "application/json", b"{}");
    assert_eq!((gone.status, &gone.json()["cause"]), (404, &"CONTEXT_NOT_FOUND".into()));
}

#[test]
fn a_session_is_held_at_smf_udm_and_udr_until_it_is_released() {
    let core = Core::start();
    let amf = core.amf.sbi().to_owned();
    for protocol in [Protocol::H2c, Protocol::Http1] {
        let send = |method: &str, uri: &str, content_type: &str, body: &[u8]| {
            request(protocol, method, uri, content_type, body)
        };
        session(&core, &send, &json_create(&amf));
        session(&core, &send, &multipart_create(&amf));
    }
}
