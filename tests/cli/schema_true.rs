//! The OpenAPI files of each API, and the binary: what its NFs send, and what they do about what others send.

use super::support::{Core, Protocol, exchanges, json_create, request};
use bytes::Bytes;
use sbi::traffic::Direction;
use std::panic::catch_unwind;

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
