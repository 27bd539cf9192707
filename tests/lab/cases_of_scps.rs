//! Cases 20 and 26 of the case collection: what an SCP answers for a target that is dead or slow, and how it reads
//! Target-apiRoot.

use crate::support::raw::Connection;
use crate::support::stub::{Reply, Stub};
use crate::support::{Headers, assert_504_t, problem, send};
use crate::through_scp::{call, scp};
use futures_util::future::join_all;
use h2::Reason;
use http::Method;
use mock5g::lab::{Builder, Lab};
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::party::NfType;
use sbi::policy::Policy;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::Duration;

const PATH: &str = "/nudm-sdm/v2/imsi-001010000000001/am-data";

/// How long the SCPs here wait if their client does not say.
const OWN_TIMER: Duration = Duration::from_secs(1);

fn impatient(policy: &mut Policy) {
    policy.max_rsp_time = OWN_TIMER;
    policy.release.settle = OWN_TIMER;
}

/// An error of the SCP itself.
#[track_caller]
pub fn expect_own(answer: &Answer, status: u16, cause: &str, what: &str) -> Value {
    let said = problem(answer, false);
    assert_eq!((answer.status.as_u16(), &said["cause"]), (status, &json!(cause)), "{what}: {said}");
    assert!(answer.headers["server"].to_str().unwrap().starts_with("SCP-"), "{what}: {answer:?}");
    said
}

/// An SCP that finds producers at `nrf`.
fn delegate(nrf: &str) -> Builder {
    Lab::builder().nrf(nrf).through_scps(1, true).only(&[NfType::Scp])
}

fn find(lab: &Lab, method: &str, nf_type: &str) -> Call {
    Call::new(method.parse().unwrap(), format!("{}{PATH}", lab.api_root("scp")))
        .header("3gpp-Sbi-Discovery-target-nf-type", nf_type)
        .header("3gpp-Sbi-Discovery-requester-nf-type", "AMF")
}

/// Every kind of request: one that reads, creates, updates, and ends.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

#[actix::test]
async fn case_20_a_target_that_is_dead_or_silent_is_not_reachable() {
    let lab = &scp().policies(impatient).start().await;
    let stub = Stub::start().await;
    for method in METHODS {
        stub.on(method, "/silent", Reply::silence());
        stub.on(method, "/resets", Reply::reset(Reason::INTERNAL_ERROR));
        stub.on(method, "/refuses", Reply::reset(Reason::REFUSED_STREAM));
        stub.on(method, "/hangs-up", Reply::hang_up());
    }
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}", deaf.local_addr().unwrap());
    let targets = [
        ("http://127.0.0.1:9", "/refused"),
        (stub.root(), "/silent"),
        (stub.root(), "/resets"),
        (stub.root(), "/refuses"),
        (stub.root(), "/hangs-up"),
        (&deaf, "/deaf"),
    ];
    let every = targets.iter().flat_map(|target| METHODS.map(|method| (*target, method)));
    let asked = every.map(async |((target, path), method)| {
        let sent = call(lab, method.parse().unwrap(), target, path);
        let what = format!("{} {target}{path}", sent.method);
        let said = expect_own(&send(lab, sent).await, 504, "TARGET_NF_NOT_REACHABLE", &what);
        assert!(said["detail"].as_str().unwrap().contains(path), "{what}: {said}");
    });
    join_all(asked).await;
    lab.settle().await;
}

/// The client's deadline has passed before anything else was known.
#[actix::test]
async fn case_20_a_target_that_is_slower_than_the_client_waits_is_a_timeout() {
    let lab = &scp().policies(impatient).start().await;
    let stub = Stub::start().await;
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}", deaf.local_addr().unwrap());
    METHODS.iter().for_each(|method| stub.on(method, PATH, Reply::silence()));
    let every = [stub.root(), &deaf].into_iter().flat_map(|target| METHODS.map(|method| (target, method)));
    let asked = every.map(async |(target, method)| {
        let answer = send(lab, call(lab, method.parse().unwrap(), target, PATH).pair(0, "300")).await;
        assert_504_t(&answer, false);
        let signature = answer.headers["server"].to_str().unwrap();
        assert!(signature.starts_with("SCP-"), "{answer:?}");
        let said = problem(&answer, false);
        assert!(said["detail"].as_str().unwrap().starts_with(signature), "{said}");
    });
    join_all(asked).await;
    lab.settle().await;
}

#[actix::test]
async fn case_20_a_search_that_finds_nobody_is_no_dead_nrf() {
    let nrf = Stub::start().await;
    let lab = &delegate(nrf.root()).policies(impatient).start().await;
    let result = |body: Value| Reply::json(200, &body);
    nrf.on("GET", "target-nf-type=LMF", result(json!({"validityPeriod": 1, "nfInstances": []})));
    nrf.on("GET", "target-nf-type=GMLC", Reply::problem(404, "CONTEXT_NOT_FOUND"));
    nrf.on("GET", "target-nf-type=PCF", Reply::problem(500, "SYSTEM_FAILURE"));
    nrf.on("GET", "target-nf-type=BSF", Reply::json(200, &json!("no object")));
    nrf.on("GET", "target-nf-type=NEF", Reply::reset(Reason::INTERNAL_ERROR));
    nrf.on("GET", "target-nf-type=CHF", Reply::silence());
    let cases = [
        ("LMF", 400, "NF_DISCOVERY_FAILURE"),
        ("GMLC", 400, "NF_DISCOVERY_FAILURE"),
        ("PCF", 504, "NRF_NOT_REACHABLE"),
        ("NEF", 504, "NRF_NOT_REACHABLE"),
        ("CHF", 504, "NRF_NOT_REACHABLE"),
    ];
    let every = cases.into_iter().flat_map(|case| METHODS.map(|method| (case, method)));
    let asked = every.map(async |((nf_type, status, cause), method)| {
        expect_own(&send(lab, find(lab, method, nf_type)).await, status, cause, nf_type);
    });
    join_all(asked).await;
    assert_504_t(&send(lab, find(lab, "GET", "CHF").pair(0, "300")).await, false);

    let without = Lab::builder().through_scps(1, true).only(&[NfType::Scp]).start().await;
    let dead = delegate("http://127.0.0.1:9").start().await;
    for lab in [&without, &dead] {
        let answer = send(lab, find(lab, "GET", "UDM")).await;
        expect_own(&answer, 504, "NRF_NOT_REACHABLE", "no NRF");
    }
}

/// Byte for byte, body and media type, whatever it says.
#[actix::test]
async fn case_20_an_error_of_the_producer_passes_untouched() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let errors = [
        (404, "application/problem+json", r#"{"cause":"USER_NOT_FOUND","status":404}"#),
        (
            404,
            "application/problem+json; charset=utf-8",
            "{ \"status\" : 404,\r\n \"cause\":\"USER_NOT_FOUND\" }",
        ),
        (504, "application/problem+json", r#"{"cause":"TARGET_NF_NOT_REACHABLE","status":504}"#),
        (504, "application/problem+json", r#"{"cause":"TIMED_OUT_REQUEST","status":504}"#),
        (502, "text/html", "<html><body>Bad Gateway</body></html>"),
        (503, "application/json", "{\"error\":{\"status\":503}}"),
        (500, "application/problem+json", "not JSON at all \u{e9}"),
        (429, "", ""),
    ];
    for (status, media_type, body) in errors {
        let reply =
            Reply::text(status, media_type, body).header("retry-after", "3").header("server", "UDM-7");
        stub.once("GET", PATH, reply);
        let sent = call(&lab, Method::GET, stub.root(), PATH);
        let answer = Connection::open(&lab.api_root("scp")).await.answer(&sent).await;
        assert_eq!((answer.status.as_u16(), &answer.body[..]), (status, body.as_bytes()));
        let said = |name| answer.headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap());
        assert_eq!(said("content-type"), (!media_type.is_empty()).then_some(media_type));
        assert_eq!((said("retry-after"), said("server")), (Some("3"), Some("UDM-7")), "{answer:?}");
        assert!(said("via").unwrap().contains(" SCP-"), "{answer:?}");
    }
}

/// Which port is called: the detail of an error says it.
#[actix::test]
async fn case_26_a_target_without_a_port_is_called_at_that_of_http() {
    let lab = scp().policies(impatient).start().await;
    for (target, called) in [
        ("http://127.0.0.77", "127.0.0.77:80"),
        ("HTTP://127.0.0.77:80/", "127.0.0.77:80"),
        ("http://127.0.0.77:81/a", "127.0.0.77:81"),
    ] {
        let answer = send(&lab, call(&lab, Method::GET, target, PATH)).await;
        let said = expect_own(&answer, 504, "TARGET_NF_NOT_REACHABLE", target);
        assert!(said["detail"].as_str().unwrap().contains(called), "{target}: {said}");
    }
}

#[actix::test]
async fn case_26_an_ipv6_target_is_called_and_answered_in_brackets() {
    if TcpListener::bind("[::1]:0").is_err() {
        return; // a machine without IPv6
    }
    let (lab, stub) = (scp().start().await, Stub::start_at("[::1]:0").await);
    assert!(stub.root().starts_with("http://[::1]:"), "{}", stub.root());
    stub.on("POST", "/sdm-subscriptions", Reply::json(201, &json!({})).header("location", "/nudm-sdm/v2/7"));
    let sent = call(&lab, Method::POST, stub.root(), "/nudm-sdm/v2/sdm-subscriptions").with_json(&json!({}));
    let answer = send(&lab, sent).await;
    assert_eq!(answer.location(), Some(&*format!("{}/nudm-sdm/v2/7", stub.root())));
    let seen = stub.wait("POST", "/sdm-subscriptions").await;
    assert_eq!(format!("http://{}", seen.authority), stub.root());
}

#[actix::test]
async fn case_26_a_prefix_goes_before_the_path_and_the_header_ends_here() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let root = stub.root();
    let upper = root.replace("http", "HTTP");
    for (n, (target, prefix)) in [
        (root.to_owned(), ""),
        (format!("{root}/"), ""),
        (upper, ""),
        (format!("{root}/site-a"), "/site-a"),
        (format!("{root}/site-a/"), "/site-a"),
        (format!("{root}/site-a/b%2Fc"), "/site-a/b%2Fc"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/nudm-sdm/v2/imsi-{n}/am-data?x=%2F");
        stub.once("GET", "/am-data", Reply::json(200, &json!({})));
        assert_eq!(send(&lab, call(&lab, Method::GET, &target, &path)).await.status, 200, "{target}");
        let seen = stub.wait_for("it", |r| r.path.contains(&format!("imsi-{n}/"))).await;
        assert_eq!(seen.path, format!("{prefix}{path}"), "{target}");
        assert_eq!(format!("http://{}", seen.authority), root, "{target}");
        assert_eq!(seen.headers.get("3gpp-sbi-target-apiroot"), None);
    }
}

#[actix::test]
async fn case_26_what_is_no_target_is_refused_and_says_why() {
    let (lab, stub) = (scp().start().await, Stub::start().await);
    let authority = stub.root().strip_prefix("http://").unwrap();
    let targets = [
        "ftp://x".to_owned(),
        "gopher://udm".into(),
        "https://udm".into(),
        "udm.lab".into(),
        authority.into(),
        format!("//{authority}"),
        "http://".into(),
        "http:///nudm-sdm".into(),
        "http://::1:80".into(),
        "http://::1".into(),
        "http://[::1".into(),
        "http://udm:0".into(),
        "http://udm:port".into(),
        "http://udm:65536".into(),
        "http://user@udm".into(),
        format!("{}?x=1", stub.root()),
        format!("{}#x", stub.root()),
        format!("{}/a b", stub.root()),
        format!("{0}, {0}", stub.root()),
        String::new(),
    ];
    for target in &targets {
        let answer = send(&lab, call(&lab, Method::GET, target, PATH)).await;
        let said = expect_own(&answer, 400, "MANDATORY_IE_INCORRECT", target);
        assert_eq!(said["invalidParams"][0]["param"], "header 3gpp-Sbi-Target-apiRoot", "{said}");
    }
    let twice = call(&lab, Method::GET, stub.root(), PATH).header("3gpp-sbi-target-apiroot", stub.root());
    expect_own(&send(&lab, twice).await, 400, "MANDATORY_IE_INCORRECT", "two targets");
    assert_eq!(stub.journal().len(), 0);
}

/// However the SCP is named, and whoever leads back to it: one error, and not a storm.
#[actix::test]
async fn case_26_a_target_that_leads_back_is_a_loop_that_ends_at_once() {
    let lab = scp().start().await;
    let other = scp().start().await;
    let (root, other_root) = (lab.api_root("scp"), other.api_root("scp"));
    let port = root.rsplit(':').next().unwrap();
    let itself = [root.clone(), format!("{root}/"), format!("{root}/prefix"), root.replace("http", "HTTP")];
    for target in itself {
        let before = lab.events().len();
        let answer = send(&lab, call(&lab, Method::GET, &target, PATH)).await;
        expect_own(&answer, 400, "MSG_LOOP_DETECTED", &target);
        assert!(lab.events().len() <= before + 4, "{}", lab.transcript());
    }
    // It does not know these names as its own, but what it has signed.
    let by_another_name = format!("http://localhost:{port}");
    let answer = send(&lab, call(&lab, Method::GET, &by_another_name, PATH)).await;
    expect_own(&answer, 400, "MSG_LOOP_DETECTED", &by_another_name);
    // Two that name one another: the second is told nothing of where to go on.
    let answer = send(&lab, call(&lab, Method::GET, &other_root, PATH)).await;
    expect_own(&answer, 400, "MANDATORY_IE_MISSING", "another SCP");
    lab.settle().await;
    assert!(lab.events().len() < 60, "a storm:\n{}", lab.transcript());
}

/// A chain whose last SCP is led back to the first.
#[actix::test]
async fn case_26_a_chain_that_is_led_back_to_its_begin_ends_at_once() {
    let lab = Lab::builder().through_scps(3, false).only(&[NfType::Scp]).start().await;
    for back in ["scp", "scp-2", "scp-3"] {
        let sent = call(&lab, Method::GET, &lab.api_root(back), PATH);
        expect_own(&send(&lab, sent).await, 400, "MSG_LOOP_DETECTED", back);
    }
    lab.settle().await;
    let passed = lab.events().iter().filter(|e| e.event == Kind::UpstreamSent).count();
    assert!(passed <= 3 * 3, "{passed} hops:\n{}", lab.transcript());
}
