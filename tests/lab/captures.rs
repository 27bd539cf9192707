//! What a real core sent for the operations that the mocks serve, replayed over real HTTP/2 in captured order.
//!
//! The files are measurement data beside this project, never copied into it: `MOCK5G_CAPTURES`, or
//! `../../shared/captures/open5gs` from here. The requests go out with the headers that were captured, the timing headers
//! included, since exactly these bytes shall be understood; so the clocks of the lab are set to the time of the capture.
//! References and subscription ids are those that our NFs hand out; instance ids stay.

use crate::support::Headers;
use crate::support::raw::Connection;
use api::common::Supi;
use api::decode::decode;
use api::nsmf_pdusession::SmContextCreatedData;
use api::nudm_sdm::{SdmSubscription, SmData, default_sm_data};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, Method};
use mock5g::lab::{Builder, Lab, PduSession};
use nrf::HeartBeats;
use regex_lite::Regex;
use sbi::client::{Answer, Call};
use sbi::event::Kind;
use sbi::party::NfType;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A request that was captured, and the answer that the real NF gave.
pub struct Capture {
    /// The name of its file.
    pub name: String,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
    at_ms: i64,
    status: u16,
    location: Option<String>,
    answer: Value,
}

fn folder() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures/open5gs");
    std::env::var_os("MOCK5G_CAPTURES").map_or_else(|| PathBuf::from(default), PathBuf::from)
}

/// The captures of `run` for an NF whose method and path match, in captured order; none if there are no files here.
pub fn captures(run: &str, to: &str, operations: &str) -> Vec<Capture> {
    let folder = folder();
    let Ok(files) = std::fs::read_dir(&folder) else {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "no captures in {}: set MOCK5G_CAPTURES", folder.display());
        println!("skipped: no captures in {} (MOCK5G_CAPTURES says where they are)", folder.display());
        return Vec::new();
    };
    let mut names: Vec<_> = files.map(|f| f.unwrap().path()).collect();
    names.sort();
    let wanted = Regex::new(operations).unwrap();
    let named = names.iter().filter(|p| p.file_name().unwrap().to_string_lossy().starts_with(run));
    let read = named.map(|p| (p, serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap()));
    let read = read
        .map(|(p, json): (_, Value)| Capture::read(p.file_name().unwrap().to_string_lossy().into(), &json));
    let found: Vec<_> = read
        .filter(|c| {
            c.name.contains(&format!("-to-{to}-")) && wanted.is_match(&format!("{} {}", c.method, c.path))
        })
        .collect();
    assert!(!found.is_empty(), "{} has no {run} requests to {to} for {operations}", folder.display());
    found
}

impl Capture {
    fn read(name: String, json: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pairs = |headers: &Value| -> Vec<(String, String)> {
            headers.as_array().unwrap().iter().map(|h| (text(&h[0]), text(&h[1]))).collect()
        };
        let body = match (&json["body_base64"], &json["body"]) {
            (Value::String(base64), _) => from_base64(base64),
            (_, Value::Null) => Bytes::new(),
            (_, body) => body.to_string().into(),
        };
        let response = pairs(&json["response"]["headers"]);
        Capture {
            name,
            method: text(&json["method"]),
            path: text(&json["path"]),
            headers: pairs(&json["headers"]),
            body,
            at_ms: (json["meta"]["time"].as_f64().unwrap() * 1_000.0) as i64,
            status: json["response"]["status"].as_u64().unwrap().try_into().unwrap(),
            answer: json["response"]["body"].clone(),
            location: response.into_iter().find(|(name, _)| name == "location").map(|(_, value)| value),
        }
    }

    /// The request for an NF of ours.
    pub fn call(&self, root: &str, path: &str) -> Call {
        let mut call = Call::new(self.method.parse::<Method>().unwrap(), format!("{root}{path}"));
        for (name, value) in self.headers.iter().filter(|(name, _)| !name.starts_with(':')) {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            match name {
                // The bodies that are JSON were captured as values, so their length may differ.
                CONTENT_LENGTH => {}
                CONTENT_TYPE => call.content_type = Some(value.clone()),
                name => {
                    call.headers.append(name, value.parse().unwrap());
                }
            }
        }
        Call { body: self.body.clone(), ..call }
    }
}

/// The answers to what was captured, by the names of the files.
pub type Answers = BTreeMap<String, Answer>;

/// How a request comes to its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its client calls it.
    Direct,
    /// Through an SCP that is told where it is: model C, TS 29.500 §6.10.2 (Rel-17).
    Target,
    /// Through an SCP that finds it at an NRF: model D, TS 29.500 §6.10.3 (Rel-17).
    Search,
}

impl Way {
    /// What was captured, for the NF `nf` of a lab, at `path`.
    fn call(self, lab: &Lab, nf: &str, capture: &Capture, path: &str) -> Call {
        let root = lab.api_root(if self == Way::Direct { nf } else { "scp" });
        let call = capture.call(&root, path);
        match self {
            Way::Direct => call,
            Way::Target => call.header("3gpp-Sbi-Target-apiRoot", &lab.api_root(nf)),
            Way::Search => {
                let sender = capture.headers.iter().find(|(name, _)| name == "user-agent").unwrap();
                call.header("3gpp-Sbi-Discovery-target-nf-type", &nf.to_uppercase())
                    .header("3gpp-Sbi-Discovery-requester-nf-type", &sender.1)
                    .header("3gpp-Sbi-Discovery-service-names", path.split('/').nth(1).unwrap())
            }
        }
    }
}

/// Replays what was captured at an NF of a lab of its own.
async fn replay(lab: Builder, nf: &str, captures: &[Capture]) -> (Lab, Answers) {
    replay_at(lab.start().await, nf, captures, Way::Direct).await
}

/// Replays what was captured at an NF.
pub async fn replay_at(lab: Lab, nf: &str, captures: &[Capture], way: Way) -> (Lab, Answers) {
    replay_with(lab, nf, captures, way, BTreeMap::new()).await
}

/// The same, with `ids` of ours for some of the real ones.
async fn replay_with(
    lab: Lab,
    nf: &str,
    captures: &[Capture],
    way: Way,
    mut ids: BTreeMap<String, String>,
) -> (Lab, Answers) {
    let first_hop = if way == Way::Direct { nf } else { "scp" };
    let mut connection = Connection::open(&lab.api_root(first_hop)).await;
    let mut answers = BTreeMap::new();
    for capture in captures {
        let by_ms = capture.at_ms - lab.process().nf(nf).unwrap().party.env.clock.stamp().unix_ms();
        lab.process().nfs.iter().for_each(|nf| lab.step_clock(&nf.party.name, by_ms));
        let call = way.call(&lab, nf, capture, &renamed(&capture.path, &ids));
        let answer = connection.answer(&call).await;
        let (ours, real) = (answer.status.as_u16(), capture.status);
        assert_eq!(ours / 100, real / 100, "{}: {answer:?}\n{}", capture.name, lab.transcript());
        if let (Some(real), Some(ours)) = (&capture.location, answer.location()) {
            ids.insert(path_of(real).to_owned(), path_of(ours).to_owned());
        }
        judge(capture, &answer);
        answers.insert(capture.name.clone(), answer);
    }
    let unhappy =
        [Kind::SkewObserved, Kind::TimingMalformed, Kind::RequestRefusedLate, Kind::RequestPanicked];
    assert!(!lab.events().iter().any(|e| unhappy.contains(&e.event)), "{}", lab.transcript());
    lab.settle().await;
    (lab, answers)
}

/// `path` with the id that we handed out where the real NF had handed out its own.
fn renamed(path: &str, ids: &BTreeMap<String, String>) -> String {
    let below = |real: &String| {
        path.strip_prefix(real.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let ours = ids.iter().find_map(|(real, ours)| below(real).map(|rest| format!("{ours}{rest}")));
    ours.unwrap_or_else(|| path.to_owned())
}

fn path_of(uri: &str) -> &str {
    uri.splitn(4, '/').nth(3).map_or(uri, |path| &uri[uri.len() - path.len() - 1..])
}

/// The answer has what its schema makes mandatory.
fn judge(capture: &Capture, answer: &Answer) {
    let what = || format!("{}: {answer:?}", capture.name);
    // RFC 9110 §8.6.
    let says_length = answer.headers.contains_key(CONTENT_LENGTH);
    assert!(answer.status != 204 || !says_length, "{}", what());
    if answer.status == 201 {
        assert!(answer.location().is_some_and(|l| l.starts_with("http://127.0.0.1:")), "{}", what());
    }
    let last = capture.path.split('?').next().unwrap().rsplit('/').next().unwrap();
    match (&*capture.method, last) {
        _ if capture.path.starts_with("/nnrf-nfm/") => judge_at_nrf(capture, answer),
        ("GET", "sm-data") if capture.path.starts_with("/nudm-sdm/") => {
            let data = SmData::decode(&answer.body).unwrap_or_else(|p| panic!("{p:?}: {}", what()));
            let (slice, dnn) = ("1".parse().unwrap(), "internet".parse().unwrap());
            assert!(data.dnn(&slice, &dnn).is_some(), "{}", what());
        }
        ("POST", "sm-contexts") => drop(decode::<SmContextCreatedData>(&answer.body).unwrap()),
        ("POST", "sdm-subscriptions") => {
            let (sent, kept): (SdmSubscription, SdmSubscription) =
                (decode(&capture.body).unwrap(), decode(&answer.body).unwrap());
            let kept = SdmSubscription { subscription_id: sent.subscription_id.clone(), ..kept };
            assert_eq!(kept, sent, "{}", what());
        }
        ("POST", "n1-n2-messages") | ("POST", "modify") if answer.status == 200 => {
            assert_eq!(answer.json::<Value>().as_ref(), Some(&capture.answer), "{}", what());
        }
        ("GET", _) => expect_alike(&capture.answer, &answer.json().unwrap(), &what()),
        ("PUT", _) if answer.status == 201 => {
            let sent: Value = serde_json::from_slice(&capture.body).unwrap();
            assert_eq!(answer.json::<Value>(), Some(sent), "{}", what());
        }
        _ => assert_eq!((answer.status.as_u16(), answer.body.len()), (204, 0), "{}", what()),
    }
}

/// The NRF keeps what an NF says of itself, and says how often it wants to hear of it.
fn judge_at_nrf(capture: &Capture, answer: &Answer) {
    let what = format!("{}: {answer:?}", capture.name);
    let sent = || serde_json::from_slice::<Value>(&capture.body).unwrap();
    let ours = || answer.json::<Value>().unwrap_or_else(|| panic!("{what}"));
    let expect_kept = || {
        let (sent, ours) = (sent(), ours());
        let kept = sent.as_object().unwrap().iter().all(|(name, value)| ours.get(name) == Some(value));
        assert!(kept, "{sent} is not in {what}");
    };
    match (&*capture.method, &*capture.path) {
        ("PUT", _) => {
            expect_kept();
            assert_eq!(ours()["heartBeatTimer"], capture.answer["heartBeatTimer"], "{what}");
        }
        ("POST", _) => {
            expect_kept();
            assert!(ours()["validityTime"].is_string() && ours()["subscriptionId"].is_string(), "{what}");
        }
        ("GET", "/nnrf-nfm/v1/nf-instances") => {
            assert_eq!(answer.headers[CONTENT_TYPE], "application/3gppHal+json", "{what}");
            let listed = |list: &Value| list["_links"]["item"].as_array().unwrap().len();
            assert_eq!(listed(&ours()), listed(&capture.answer), "{what}");
        }
        ("GET", _) => {
            let said = ["nfInstanceId", "nfType", "nfStatus", "heartBeatTimer", "plmnList"];
            assert!(said.iter().all(|name| ours().get(name).is_some()), "{what}");
            assert_eq!(ours()["nfType"], capture.answer["nfType"], "{what}");
        }
        _ => assert_eq!((answer.status.as_u16(), answer.body.len()), (204, 0), "{what}"),
    }
}

/// Where the real NRF sent its notifications in a run.
fn told(run: &str) -> Vec<String> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let is_told = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(run) && name.contains("-nrf-to-")
    };
    let uri = |path: PathBuf| {
        let json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let headers = json["headers"].as_array().unwrap();
        let authority = headers.iter().find(|header| header[0] == ":authority").unwrap();
        format!("http://{}{}", authority[1].as_str().unwrap(), json["path"].as_str().unwrap())
    };
    paths.filter(is_told).map(uri).collect()
}

/// A real core's NRF, and ours in its place: each NF registers, subscribes, looks who is there, reads the NRF's own profile, and
/// says that it is alive.
async fn replay_at_nrf(run: &str) {
    let captures = captures(run, "nrf", EVERYTHING);
    let Some(list) = captures.iter().find(|c| c.method == "GET") else { return };
    let lab = Lab::builder().with_nrf(HeartBeats::default()).only(&[NfType::Nrf]).start().await;
    let first = list.answer["_links"]["item"][0]["href"].as_str().unwrap();
    let ours = format!("/nnrf-nfm/v1/nf-instances/{}", lab.process().nf("nrf").unwrap().party.instance_id);
    let ids = BTreeMap::from([(path_of(first).to_owned(), ours)]);
    let (lab, answers) = replay_with(lab, "nrf", &captures, Way::Direct, ids).await;
    assert_eq!(answers.len(), captures.len());
    let mut ours: Vec<_> =
        lab.events().into_iter().filter(|e| e.event == Kind::UpstreamSent && &*e.nf == "nrf").collect();
    // The real one left some of its SCP's subscriptions unheeded.
    for uri in told(run) {
        let at = ours.iter().position(|e| e.uri.as_deref() == Some(&*uri));
        ours.remove(at.unwrap_or_else(|| panic!("{uri} was not told:\n{}", lab.transcript())));
    }
}

#[actix::test]
async fn the_nrf_takes_what_a_real_core_sends_at_its_start() {
    replay_at_nrf("startup").await;
}

#[actix::test]
async fn the_nrf_takes_what_a_real_core_sends_during_a_session() {
    replay_at_nrf("e2e").await;
}

/// Attributes that a real core's subscribers have, and ours have not: they have no phone numbers.
const NOT_OURS: [&str; 1] = ["gpsis"];

/// Our answer has every attribute that the real one has, each with a value of the same type.
fn expect_alike(real: &Value, ours: &Value, what: &str) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            for (name, value) in real.iter().filter(|(name, _)| !NOT_OURS.contains(&name.as_str())) {
                let there = ours.get(name).unwrap_or_else(|| panic!("no {name} in {what}"));
                expect_alike(value, there, what);
            }
        }
        (Value::Array(real), Value::Array(ours)) => {
            assert_eq!(real.is_empty(), ours.is_empty(), "{what}");
            real.iter().zip(ours).for_each(|(real, ours)| expect_alike(real, ours, what));
        }
        _ => assert_eq!(std::mem::discriminant(real), std::mem::discriminant(ours), "{real} {what}"),
    }
}

/// What the SMF has an operation for.
pub const AT_SMF: &str = r"^POST /nsmf-pdusession/v1/sm-contexts(/[^/]+/(modify|release))?$";
const AT_AMF: &str = r"^POST /namf-comm/v1/ue-contexts/[^/]+/n1-n2-messages$";
const EVERYTHING: &str = "";

/// What was captured and has no operation at our UDM and UDR, and why.
const NO_OPERATION: [(&str, &str); 1] =
    [("/nudm-ueau/", "authentication needs an AUSF, and there is none here yet")];

/// Everything that was captured of `run` for an NF, but for [`NO_OPERATION`]; the rest says so.
pub fn served_captures(run: &str, to: &str) -> Vec<Capture> {
    let reason = |c: &Capture| NO_OPERATION.iter().find(|(path, _)| c.path.starts_with(path));
    let (left_out, served): (Vec<_>, Vec<_>) =
        captures(run, to, EVERYTHING).into_iter().partition(|c| reason(c).is_some());
    for capture in left_out {
        println!("left out: {}: {}", capture.name, reason(&capture).unwrap().1);
    }
    served
}

#[actix::test]
async fn the_smf_takes_what_a_real_amf_sends() {
    let captures = captures("e2e", "smf", AT_SMF);
    let (lab, answers) = replay(Lab::builder(), "smf", &captures).await;
    if captures.is_empty() {
        return;
    }
    assert_eq!(answers.values().map(|a| a.status.as_u16()).collect::<Vec<_>>(), [201, 204, 200, 204]);
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn the_amf_takes_what_a_real_smf_sends() {
    let captures = captures("e2e", "amf", AT_AMF);
    let Some(first) = captures.first() else { return };
    let supi: Supi = first.path.split('/').nth(4).unwrap().parse().unwrap();
    let profile = default_sm_data([("1".parse().unwrap(), vec!["internet".parse().unwrap()])]);
    let lab = Lab::builder().subscriber(supi.clone(), profile).start().await;
    assert_eq!(
        lab.establish(PduSession::default().ue(supi)).await.as_str(),
        "established",
        "{}",
        lab.transcript()
    );
    let (lab, answers) = replay_at(lab, "amf", &captures, Way::Direct).await;
    assert_eq!(answers.values().map(|a| a.status.as_u16()).collect::<Vec<_>>(), [200]);
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn the_udm_takes_what_a_real_smf_and_amf_send() {
    let captures = served_captures("e2e", "udm");
    let (lab, answers) = replay(Lab::builder(), "udm", &captures).await;
    assert!(captures.is_empty() || answers.len() == 11, "{:?}", answers.keys());
    lab.expect_nothing_hanging().await;
}

#[actix::test]
async fn the_udr_takes_what_a_real_udm_sends() {
    let captures = served_captures("e2e", "udr");
    let (lab, answers) = replay(Lab::builder(), "udr", &captures).await;
    assert!(captures.is_empty() || answers.len() == 11, "{:?}", answers.keys());
    lab.expect_nothing_hanging().await;
}

/// The subscriber of the runs in which each operation of the UDM was tried on its own.
pub fn lab_of_the_flows() -> Builder {
    let profile = default_sm_data([("1".parse().unwrap(), vec!["internet".parse().unwrap()])]);
    Lab::builder().subscriber("imsi-999700000000001".parse().unwrap(), profile)
}

#[actix::test]
async fn each_operation_of_the_udm_on_its_own_gets_the_real_status_class() {
    let captures = served_captures("udm-flows", "udm");
    let (lab, answers) = replay(lab_of_the_flows(), "udm", &captures).await;
    assert!(captures.is_empty() || answers.len() == 11, "{:?}", answers.keys());
    let left = lab.held("udm").await.into_iter().map(|held| held.kind).collect::<Vec<_>>();
    let of_the_amf = ["amf-3gpp-access", "sdm-subscription"];
    assert!(captures.is_empty() || left == of_the_amf, "what the AMF made is never ended there: {left:?}");
}

#[actix::test]
async fn what_a_real_udm_then_sends_gets_the_real_status_class_at_the_udr() {
    let captures = served_captures("udm-flows", "udr");
    let (lab, answers) = replay(lab_of_the_flows(), "udr", &captures).await;
    assert!(captures.is_empty() || answers.len() == 9, "{:?}", answers.keys());
    let left = lab.held("udr").await.into_iter().map(|held| held.kind).collect::<Vec<_>>();
    assert!(captures.is_empty() || left == ["amf-3gpp-access"], "the AMF never purges there: {left:?}");
}

/// RFC 4648 §4, as the captures use it.
fn from_base64(text: &str) -> Bytes {
    let sextet = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| !matches!(c, b'=' | b'\n')).map(sextet).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits =
            four.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect::<Vec<_>>().into()
}

#[test]
fn base64_is_read_to_the_byte() {
    for (text, bytes) in
        [("", &b""[..]), ("TQ==", b"M"), ("TWE=", b"Ma"), ("TWFu", b"Man"), ("/+4B", b"\xff\xee\x01")]
    {
        assert_eq!(from_base64(text), bytes, "{text}");
    }
}
