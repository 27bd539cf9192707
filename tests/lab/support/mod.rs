//! What the scenarios share: the requests of the cases (BODY-A, REG-A ...), stubs, raw clients, and how answers are
//! judged.

pub mod frames;
pub mod raw;
pub mod stub;

use api::common::{Dnn, Snssai};
use api::nudm_sdm::{SessionManagementSubscriptionData, default_sm_data};
use http::{HeaderName, Method};
use mock5g::lab::{Builder, Lab, PduSession};
use sbi::client::{Answer, Call};
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::header::{SenderTimestamp, Timing};
use sbi::party::NfType;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stub::{Received, Stub};

/// The subscriber of the cases.
pub const SUPI: &str = "imsi-001010000000001";

/// An SMF that registers and subscribes at the UDM.
pub const SMF_A: &str = "22222222-2222-4222-8222-222222222222";

/// Another one.
pub const SMF_B: &str = "33333333-3333-4333-8333-333333333333";

/// What the subscriber of the cases may use: slice 1, and slice 1 with sd 0000a1 for `internet` and `ims`.
pub fn profile() -> Vec<SessionManagementSubscriptionData> {
    let dnn = |name: &str| -> Dnn { name.parse().unwrap() };
    let slice: Snssai = "1-0000a1".parse().unwrap();
    default_sm_data([(Snssai::sst(1), vec![dnn("internet")]), (slice, vec![dnn("internet"), dnn("ims")])])
}

/// A lab that knows the subscriber of the cases.
pub fn lab() -> Builder {
    Lab::builder().subscriber(SUPI.parse().unwrap(), profile())
}

/// The same, with `stub` as its UDM.
pub fn lab_with_udm(stub: &Stub) -> Builder {
    lab().peer(NfType::Udm, stub.root())
}

/// The same, with `stub` as its UDR.
pub fn lab_with_udr(stub: &Stub) -> Builder {
    lab().peer(NfType::Udr, stub.root())
}

/// So many milliseconds.
pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The machine's clock, in ms since the Unix epoch.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

/// BODY-A.
pub fn body_a(lab: &Lab) -> Value {
    json!({
        "supi": SUPI, "pduSessionId": 5, "dnn": "internet", "sNssai": {"sst": 1, "sd": "0000a1"},
        "servingNfId": "11111111-1111-4111-8111-111111111111", "servingNetwork": {"mcc": "001", "mnc": "01"},
        "anType": "3GPP_ACCESS", "requestType": "INITIAL_REQUEST",
        "smContextStatusUri": format!("{}/namf-callback/v1/sm-context-status/{SUPI}/5", lab.api_root("amf")),
    })
}

/// `value` with one attribute changed; null takes it away.
pub fn with(mut value: Value, name: &str, attribute: Value) -> Value {
    match attribute {
        Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
        attribute => value[name] = attribute,
    }
    value
}

/// A request to an NF of the lab.
pub fn request(lab: &Lab, method: Method, nf: &str, path: &str) -> Call {
    Call::new(method, format!("{}{path}", lab.api_root(nf)))
}

/// The creation of an SM context.
pub fn create(lab: &Lab, body: &Value) -> Call {
    request(lab, Method::POST, "smf", "/nsmf-pdusession/v1/sm-contexts").with_json(body)
}

/// CREATE-A.
pub fn create_a(lab: &Lab) -> Call {
    create(lab, &body_a(lab))
}

/// The path of a registration at the UDM.
pub const REGISTRATION: &str = "/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5";

/// The path of the same registration at the UDR.
pub const REGISTRATION_AT_UDR: &str =
    "/nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/smf-registrations/5";

/// The path of SDM subscriptions at the UDM.
pub const SUBSCRIPTIONS: &str = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";

/// The path of SDM subscriptions at the UDR.
pub const SUBSCRIPTIONS_AT_UDR: &str =
    "/nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/sdm-subscriptions";

/// The path of the registration of an AMF at the UDM.
pub const AMF_REGISTRATION: &str = "/nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access";

/// The path of the registration of an AMF at the UDR.
pub const AMF_REGISTRATION_AT_UDR: &str =
    "/nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/amf-3gpp-access";

/// The path of the outcome of an authentication at the UDR.
pub const AUTHENTICATION_STATUS: &str =
    "/nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data/authentication-status";

/// The path of the wishes to be notified at the UDR.
pub const SUBS_TO_NOTIFY: &str = "/nudr-dr/v2/subscription-data/subs-to-notify";

/// An AMF.
pub const AMF_A: &str = "11111111-1111-4111-8111-111111111111";

/// Another one.
pub const AMF_B: &str = "55555555-5555-4555-8555-555555555555";

/// The registration of this AMF, which wants to hear of its end at `root`; each AMF has a guami of its own.
pub fn amf_registration_of(amf: &str, root: &str) -> Value {
    json!({
        "amfInstanceId": amf, "ratType": "NR", "guami": guami_of(amf), "initialRegistrationInd": true,
        "deregCallbackUri": format!("{root}/namf-callback/v1/{SUPI}/dereg-notify"),
    })
}

/// What ends the registration of this AMF.
pub fn purge_of(amf: &str) -> Value {
    json!({"guami": guami_of(amf), "purgeFlag": true})
}

/// The guami of this AMF.
pub fn guami_of(amf: &str) -> Value {
    json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": &amf[..6]})
}

/// The registration of REG-A, by this SMF.
pub fn registration_of(smf: &str) -> Value {
    json!({
        "smfInstanceId": smf, "pduSessionId": 5, "dnn": "internet",
        "singleNssai": {"sst": 1, "sd": "0000a1"}, "plmnId": {"mcc": "001", "mnc": "01"},
    })
}

/// A registration at the UDM by this SMF.
pub fn register(lab: &Lab, smf: &str) -> Call {
    request(lab, Method::PUT, "udm", REGISTRATION).with_json(&registration_of(smf))
}

/// REG-A.
pub fn reg_a(lab: &Lab) -> Call {
    register(lab, SMF_A)
}

/// An SDM subscription of SMF A.
pub fn subscription() -> Value {
    json!({
        "nfInstanceId": SMF_A, "callbackReference": "http://127.0.0.1:9/changed",
        "monitoredResourceUris": [format!("/nudm-sdm/v2/{SUPI}/sm-data")],
    })
}

/// That data have changed, as a UDM tells it.
pub fn changed_data() -> Value {
    json!({"notifyItems": [{"resourceId": "am-data", "changes": [{"op": "ADD", "path": "/x"}]}]})
}

/// The creation of an SDM subscription.
pub fn subscribe(lab: &Lab, body: &Value) -> Call {
    request(lab, Method::POST, "udm", SUBSCRIPTIONS).with_json(body)
}

/// A lab whose AMF has session 5 at `smf`, and where it wants to hear of its SM context.
pub async fn established_at(smf: &Stub) -> (Lab, String) {
    let lab = lab().peer(NfType::Smf, smf.root()).start().await;
    let outcome = lab.establish(PduSession::default()).await;
    assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
    (lab, status_uri(&smf.received("POST", "/sm-contexts")[0]))
}

/// Where the AMF that sent this wants to hear of the SM context.
pub fn status_uri(create: &Received) -> String {
    let body = String::from_utf8_lossy(&create.body);
    let (_, uri) = body.split_once(r#""smContextStatusUri":""#).unwrap();
    uri.split('"').next().unwrap().to_owned()
}

/// What an SMF tells of an SM context.
pub fn notification(status_uri: &str, status: &str) -> Call {
    Call::new(Method::POST, status_uri).with_json(&json!({"statusInfo": {"resourceStatus": status}}))
}

/// The header that says when a request was sent.
pub const STAMP: &str = "3gpp-Sbi-Sender-Timestamp";

/// The header that says how long its client waits.
pub const MAX: &str = "3gpp-Sbi-Max-Rsp-Time";

/// What every test adds to a call.
pub trait Headers: Sized {
    /// The same, with a header.
    fn header(self, name: &str, value: &str) -> Self;

    /// The same, stamped so many milliseconds from now, with this Max-Rsp-Time.
    fn pair(self, offset_ms: i64, max: &str) -> Self {
        let stamp = SenderTimestamp::from_unix_ms(now_ms() + offset_ms);
        self.header(STAMP, &stamp.to_string()).header(MAX, max)
    }
}

impl Headers for Call {
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        self
    }
}

/// Until when the client of a call waits, in ms since the Unix epoch.
pub fn deadline_ms(call: &Call) -> i64 {
    Timing::read(&call.headers).pair().unwrap().expires_at_unix_ms()
}

/// How an authentication of the subscriber ended.
pub fn auth_event() -> Value {
    json!({
        "nfInstanceId": "44444444-4444-4444-8444-444444444444", "success": true, "authType": "5G_AKA",
        "timeStamp": "2026-11-30T01:25:02Z", "servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org",
    })
}

/// The wish to hear at `root` when the subscriber's access and mobility data change.
pub fn to_notify(root: &str) -> Value {
    let monitored = format!("/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data/am-data");
    json!({
        "ueId": SUPI, "callbackReference": format!("{root}/data-change"), "monitoredResourceUris": [monitored],
    })
}

/// Sends a request as the lab's client.
pub async fn send(lab: &Lab, call: Call) -> Answer {
    let what = format!("{} {}", call.method, call.uri);
    lab.client().send(call).await.unwrap_or_else(|e| panic!("{what}: {e}\n{}", lab.transcript()))
}

/// The problem of an answer: plain, or wrapped as TS 29.502 §6.1.3.2.3.1 (Rel-17) wants it.
pub fn problem(answer: &Answer, wrapped: bool) -> Value {
    let body: Value = answer.json().unwrap_or_else(|| panic!("{answer:?} has no JSON"));
    let expected = if wrapped { "application/json" } else { "application/problem+json" };
    assert_eq!(answer.headers["content-type"], expected, "{body}");
    let problem = if wrapped { body["error"].clone() } else { body };
    assert_eq!(problem["status"], answer.status.as_u16(), "{problem}");
    problem
}

/// Asserts 504-T of the cases.
pub fn assert_504_t(answer: &Answer, wrapped: bool) {
    assert_504(answer, wrapped, "TIMED_OUT_REQUEST");
}

/// Asserts a 504 with this cause.
pub fn assert_504(answer: &Answer, wrapped: bool, cause: &str) {
    let problem = problem(answer, wrapped);
    assert_eq!((answer.status.as_u16(), &problem["cause"]), (504, &json!(cause)), "{problem}");
}

/// Whether `event` is one of this kind at this NF.
pub fn is(nf: &str, kind: Kind) -> impl Fn(&Event) -> bool {
    move |event| &*event.nf == nf && event.event == kind
}

/// Whether `event` is one of this kind at this NF, about this method and a URI with `uri` in it.
pub fn is_about<'a>(nf: &'a str, kind: Kind, method: &'a str, uri: &'a str) -> impl Fn(&Event) -> bool + 'a {
    let about = move |e: &Event| e.uri.as_ref().is_some_and(|u| u.contains(uri));
    move |event| is(nf, kind)(event) && event.method.as_deref() == Some(method) && about(event)
}

/// The place in the event stream of the first event that `wanted` accepts.
pub fn place(lab: &Lab, what: &str, wanted: impl Fn(&Event) -> bool) -> u64 {
    let found = lab.events().into_iter().find(wanted);
    found.unwrap_or_else(|| panic!("no {what} in:\n{}", lab.transcript())).seq
}

/// What an NF holds: the paths of the URIs.
pub async fn held(lab: &Lab, nf: &str) -> Vec<String> {
    let root = lab.api_root(nf);
    lab.held(nf).await.into_iter().map(|h| h.uri.strip_prefix(&root).unwrap_or(&h.uri).to_owned()).collect()
}

/// A session whose registration comes too late: the AMF gives up, and everything is released.
pub async fn give_up_and_release(lab: &Lab) {
    lab.fault(Rule::at("udr").matching("PUT", "/smf-registrations/").delay_ms(800).once());
    let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
    assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
    let verdict = lab.expect_nothing_hanging().await;
    assert!(verdict.released > 0, "{verdict:?}");
}

/// Asserts that nothing panicked anywhere.
pub fn assert_no_panic(lab: &Lab) {
    let panicked: Vec<_> = lab.events().into_iter().filter(|e| e.event == Kind::RequestPanicked).collect();
    assert!(panicked.is_empty(), "{panicked:#?}");
}

/// Every operation that reads, creates or updates.
pub fn every_read_and_write(lab: &Lab) -> Vec<Call> {
    let get = |nf, path: &str| request(lab, Method::GET, nf, path);
    let provisioned = format!("/nudr-dr/v2/subscription-data/{SUPI}/00101/provisioned-data");
    let policy = format!("/nudr-dr/v2/policy-data/ues/{SUPI}");
    let amf_registration = amf_registration_of(AMF_A, lab.api_root("amf").as_str());
    let registrations = REGISTRATION.strip_suffix("/5").unwrap();
    let registrations_at_udr = REGISTRATION_AT_UDR.strip_suffix("/5").unwrap();
    vec![
        create_a(lab),
        request(lab, Method::POST, "smf", "/nsmf-pdusession/v1/sm-contexts/0-1/retrieve"),
        request(lab, Method::POST, "smf", "/nsmf-callback/v1/sdm-subscriptions/0-1"),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}?dataset-names=AM,UEC_SMF")),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/am-data")),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/smf-select-data")),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/nssai")),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/sm-data")),
        get("udm", &format!("/nudm-sdm/v2/{SUPI}/ue-context-in-smf-data")),
        request(lab, Method::PATCH, "udm", &format!("{SUBSCRIPTIONS}/1"))
            .with_json(&json!({"expires": null})),
        subscribe(lab, &subscription()),
        reg_a(lab),
        request(lab, Method::PUT, "udm", AMF_REGISTRATION).with_json(&amf_registration),
        get("udm", AMF_REGISTRATION),
        get("udm", REGISTRATION),
        get("udm", registrations),
        get("udr", &provisioned),
        get("udr", &format!("{provisioned}/am-data")),
        get("udr", &format!("{provisioned}/smf-selection-subscription-data")),
        get("udr", &format!("{provisioned}/sm-data")),
        get("udr", &AUTHENTICATION_STATUS.replace("-status", "-subscription")),
        get("udr", AUTHENTICATION_STATUS),
        request(lab, Method::PUT, "udr", AUTHENTICATION_STATUS).with_json(&auth_event()),
        get("udr", AMF_REGISTRATION_AT_UDR),
        request(lab, Method::PUT, "udr", AMF_REGISTRATION_AT_UDR).with_json(&amf_registration),
        request(lab, Method::POST, "udr", SUBS_TO_NOTIFY).with_json(&to_notify("http://127.0.0.1:9")),
        get("udr", &format!("{SUBS_TO_NOTIFY}/1")),
        get("udr", &format!("{policy}/am-data")),
        get("udr", &format!("{policy}/sm-data")),
        get("udr", registrations_at_udr),
        get("udr", REGISTRATION_AT_UDR),
        request(lab, Method::PUT, "udr", REGISTRATION_AT_UDR).with_json(&registration_of(SMF_A)),
        get("udr", SUBSCRIPTIONS_AT_UDR),
        request(lab, Method::POST, "udr", SUBSCRIPTIONS_AT_UDR).with_json(&subscription()),
        get("udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")),
        request(lab, Method::PUT, "udr", &format!("{SUBSCRIPTIONS_AT_UDR}/1")).with_json(&subscription()),
    ]
}
