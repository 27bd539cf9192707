//! Case 1 of the case collection, all of it: cleartext HTTP/2 with prior knowledge on every port and on every outgoing
//! call, and HTTP/1.1, with the tools that engineers have at hand: curl, nghttp and h2load of Debian.

use super::four_nfs::session;
use super::support::{
    Answer, Core, Curl, Gate, NfProcess, Protocol, json_create, multipart_create, request, tool, wait_until,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A resource on every port, and the status of a GET on it.
fn everywhere(core: &Core) -> Vec<(String, u16)> {
    let supi = "imsi-001010000000001";
    let sbi = [
        (&core.udm, format!("/nudm-sdm/v2/{supi}/sm-data"), 200),
        (&core.udm, format!("/nudm-sdm/v2/{supi}/sms-data"), 404),
        (&core.udr, format!("/nudr-dr/v2/subscription-data/{supi}/00101/provisioned-data/sm-data"), 200),
        (&core.smf, "/nsmf-pdusession/v1/sm-contexts".to_owned(), 405),
        (&core.amf, "/namf-loc/v1/imsi-1".to_owned(), 400),
    ];
    let sbi = sbi.into_iter().map(|(nf, path, status)| (format!("{}{path}", nf.sbi()), status));
    sbi.chain(core.all().map(|nf| (format!("{}/readyz", nf.admin()), 200))).collect()
}

#[test]
fn curl_gets_answers_from_every_port_over_http2_and_http1() {
    let Some(curl) = Curl::find() else { return };
    let core = Core::start();
    for (uri, status) in everywhere(&core) {
        for (protocol, version) in [(Protocol::H2c, "2"), (Protocol::Http1, "1.1")] {
            let answer = curl.request(protocol, "GET", &uri, "", b"");
            assert_eq!((answer.status, answer.version.as_str()), (status, version), "{uri}: {answer:?}");
            let problem = answer.header("content-type") == "application/problem+json";
            assert_eq!(problem, status >= 400, "{uri}: {answer:?}");
        }
    }
}

#[test]
fn curl_creates_retrieves_and_releases_a_session() {
    let Some(curl) = Curl::find() else { return };
    let core = Core::start();
    let amf = core.amf.sbi().to_owned();
    for protocol in [Protocol::H2c, Protocol::Http1] {
        let send = |method: &str, uri: &str, content_type: &str, body: &[u8]| -> Answer {
            curl.request(protocol, method, uri, content_type, body)
        };
        session(&core, &send, &multipart_create(&amf));
        session(&core, &send, &json_create(&amf));
    }
}

/// curl goes on sending a body that nobody will read; a stream that is cut off meanwhile takes the answer with it.
#[test]
fn curl_sees_an_answer_that_comes_before_its_body_was_read() {
    let Some(curl) = Curl::find() else { return };
    let core = Core::start();
    let body = vec![b' '; 3 << 20];
    for protocol in [Protocol::H2c, Protocol::Http1] {
        for (method, status) in [("PUT", 405), ("POST", 413)] {
            let answer = curl.request(protocol, method, &core.sm_contexts(), "application/json", &body);
            assert_eq!(answer.status, status, "{answer:?}");
        }
    }
}

/// curl's `--http2` begins with HTTP/1.1 and offers an upgrade, which nobody has to take.
#[test]
fn curl_that_offers_an_upgrade_is_served() {
    let Some(mut curl) = tool("curl", "curl") else { return };
    let udm = NfProcess::start("udm", &[]);
    let uri = format!("{}/nudm-sdm/v2/imsi-001010000000001/sm-data", udm.sbi());
    let format = "%{http_code}";
    let output =
        curl.args(["-sS", "--noproxy", "*", "--http2", "-o", "/dev/null", "-w", format, &uri]).output();
    assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout), "200");
}

#[test]
fn nghttp_gets_answers_from_every_port() {
    let core = Core::start();
    for (uri, status) in everywhere(&core) {
        let Some(mut nghttp) = tool("nghttp", "nghttp2-client") else { return };
        let output = nghttp.args(["-nv", "--no-dep", &uri]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains(&format!(":status: {status}")), "{uri}: {said}");
        assert!(!said.contains("RST_STREAM") && said.contains("NO_ERROR"), "{uri}: {said}");
    }
}

#[test]
fn h2load_gets_every_answer_from_every_port() {
    let core = Core::start();
    for (uri, status) in everywhere(&core) {
        let Some(mut h2load) = tool("h2load", "nghttp2-client") else { return };
        let output = h2load.args(["-n2000", "-c4", "-m50", &uri]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("2000 done") && said.contains("0 errored, 0 timeout"), "{uri}: {said}");
        assert!(said.contains(&format!("2000 {}xx", status / 100)), "{uri}: {said}");
    }
}

/// RFC 9113 §3.4: the server answers the preface with SETTINGS, and acknowledges the client's.
#[test]
fn a_bare_preface_is_answered_with_settings_and_their_acknowledgement() {
    const SETTINGS: u8 = 4;
    const ACK: u8 = 1;
    let core = Core::start();
    for root in core.all().into_iter().flat_map(|nf| [nf.sbi(), nf.admin()]) {
        let mut stream = TcpStream::connect(root.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        stream.write_all(PREFACE).unwrap();
        stream.write_all(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]).unwrap();
        let (mut settings, mut acknowledged) = (false, false);
        while !(settings && acknowledged) {
            let (kind, flags) = next_frame(&mut stream);
            settings |= kind == SETTINGS && flags & ACK == 0;
            acknowledged |= kind == SETTINGS && flags & ACK != 0;
        }
    }
}

/// Type and flags of the next frame.
fn next_frame(stream: &mut TcpStream) -> (u8, u8) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    stream.read_exact(&mut vec![0; length as usize]).unwrap();
    (head[3], head[4])
}

/// Calls and their releases, of every consumer: AMF to SMF is the lab's business, which has the stimulus.
#[test]
fn every_outgoing_call_begins_with_the_http2_preface() {
    let udr = NfProcess::start("udr", &[]);
    let to_udr = Gate::before(udr.sbi());
    let udm = NfProcess::start("udm", &["--peer", &format!("udr={}", to_udr.api_root())]);
    let to_udm = Gate::before(udm.sbi());
    let smf = NfProcess::start("smf", &["--peer", &format!("udm={}", to_udm.api_root())]);
    to_udr.open();
    to_udm.open();
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(smf.stop("TERM").code, Some(0));
    wait_until("the UDM has released", || udr.held().is_empty());
    for gate in [to_udr, to_udm] {
        let connections = gate.began_with();
        assert!(!connections.is_empty());
        connections.iter().for_each(|first| assert_eq!(first, PREFACE));
    }
}
