//! The tools that people have: `curl`, `nghttp`, `h2load` and plain HTTP/1.1 work against every port. Debian has them
//! in `curl` and `nghttp2-client`.

use crate::support::raw::{http1, tcp, to_the_end};
use crate::support::{Headers, REGISTRATION, SMF_A, SUPI, lab, reg_a, registration_of, request};
use http::Method;
use mock5g::lab::Lab;
use std::process::Command;

const ALL: [&str; 4] = ["amf", "smf", "udm", "udr"];

/// What a tool printed; `None` if this machine has no such tool, which CI has to have.
async fn run(tool: &'static str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(tool);
    command.args(arguments).env_remove("http_proxy").env("no_proxy", "*");
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let Ok(output) = output else {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "{tool} is not installed");
        println!("skipped: {tool} is not installed");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A path of each NF that is answered in JSON.
fn uri(lab: &Lab, nf: &str) -> String {
    let path = if nf == "udm" { format!("/nudm-sdm/v2/{SUPI}/sm-data") } else { "/nothing".into() };
    format!("{}{path}", lab.api_root(nf))
}

#[actix::test]
async fn curl_speaks_http2_and_http1_to_every_port() {
    let lab = lab().start().await;
    for nf in ALL {
        for (version, flag) in [("2", "--http2-prior-knowledge"), ("1.1", "--http1.1")] {
            let arguments = ["-sS", flag, "-w", "\n%{http_version} %{http_code}", &*uri(&lab, nf)];
            let Some(said) = run("curl", &arguments).await else { return };
            let expected = format!("{version} {}", if nf == "udm" { 200 } else { 400 });
            assert!(said.trim_end().ends_with(&expected), "{nf} {flag}: {said}");
        }
    }
}

#[actix::test]
async fn curl_can_register_and_deregister() {
    let lab = lab().start().await;
    let (uri, body) = (format!("{}{REGISTRATION}", lab.api_root("udm")), registration_of(SMF_A).to_string());
    let code = ["-sS", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}"];
    let put = [&code[..], &["-X", "PUT", "-H", "content-type: application/json", "-d", &body, &uri]].concat();
    let Some(first) = run("curl", &put).await else { return };
    let second = run("curl", &put).await;
    let deleted = run("curl", &[&code[..], &["-X", "DELETE", &uri]].concat()).await;
    assert_eq!((&*first, second.as_deref(), deleted.as_deref()), ("201", Some("204"), Some("204")));
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn nghttp_and_h2load_work_against_every_port() {
    let lab = lab().start().await;
    for nf in ALL {
        let uri = uri(&lab, nf);
        let Some(said) = run("nghttp", &["-nv", &uri]).await else { return };
        let status = if nf == "udm" { ":status: 200" } else { ":status: 400" };
        assert!(said.contains(status), "{nf}: {said}");
        let Some(said) = run("h2load", &["-n", "200", "-c", "2", "-m", "20", &uri]).await else { return };
        assert!(said.contains("200 total, 200 started, 200 done"), "{nf}: {said}");
        assert!(said.contains("0 errored, 0 timeout"), "{nf}: {said}");
    }
}

#[actix::test]
async fn http1_is_served_on_every_port_with_deadlines_and_all() {
    let lab = lab().start().await;
    for nf in ALL {
        let plain =
            to_the_end(tcp(&lab.api_root(nf), &http1(&request(&lab, Method::GET, nf, "/x"))).await).await;
        assert!(plain.starts_with("HTTP/1.1 400") && plain.contains("INVALID_API"), "{nf}: {plain}");
        let late = request(&lab, Method::GET, nf, "/x").pair(-3_000, "1000");
        let late = to_the_end(tcp(&lab.api_root(nf), &http1(&late)).await).await;
        assert!(late.starts_with("HTTP/1.1 504") && late.contains("TIMED_OUT_REQUEST"), "{nf}: {late}");
    }
    let registered = to_the_end(tcp(&lab.api_root("udm"), &http1(&reg_a(&lab))).await).await;
    assert!(registered.starts_with("HTTP/1.1 201"), "{registered}");
}
