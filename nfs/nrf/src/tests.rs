//! What an NRF knows and finds, without I/O.

use crate::{HeartBeats, Registry, Search};
use api::common::{NfInstanceId, PlmnId};
use api::nnrf_nfm::{NfEvent, NfProfile, NfStatus, NrfSubscription};
use sbi::clock::Instant;
use sbi::event::RequestId;
use sbi::server::Failure;
use serde_json::{Value, json};
use std::time::Duration;

const NRF: u32 = 0;

fn id(n: u32) -> NfInstanceId {
    format!("{n:08x}-0000-4000-8000-000000000000").parse().expect("an id")
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("what is written here is right")
}

fn with(mut value: Value, more: &Value) -> Value {
    let (value_of, more) = (value.as_object_mut().expect("an object"), more.as_object().expect("an object"));
    value_of.extend(more.clone());
    value
}

/// An instance with one service, and more.
fn profile(n: u32, nf_type: &str, more: &Value) -> NfProfile {
    let service = json!({
        "serviceInstanceId": "1", "serviceName": "nudm-sdm", "scheme": "http", "nfServiceStatus": "REGISTERED",
        "versions": [{"apiVersionInUri": "v2", "apiFullVersion": "2.0.0"}],
    });
    let usual = json!({
        "nfInstanceId": id(n).to_string(), "nfType": nf_type, "nfStatus": "REGISTERED", "fqdn": format!("nf{n}.lab"),
        "nfServices": [service],
    });
    read(with(usual, more))
}

struct Nrf {
    registry: Registry,
    now: Instant,
}

impl Nrf {
    fn new() -> Self {
        let now = Instant::now();
        let plmns = vec![PlmnId::new("001", "01").expect("a PLMN")];
        let registry =
            Registry::new(profile(NRF, "NRF", &json!({})), plmns, HeartBeats { interval_s: 10 }, now);
        Nrf { registry, now }
    }

    fn of(profiles: impl IntoIterator<Item = NfProfile>) -> Self {
        let mut nrf = Nrf::new();
        for profile in profiles {
            nrf.register(profile).expect("registered");
        }
        nrf
    }

    fn register(&mut self, profile: NfProfile) -> Result<bool, Failure> {
        self.registry.register(profile, RequestId(7), self.now).map(|registered| registered.is_new)
    }

    fn after(&mut self, seconds: u64) -> Vec<(NfEvent, NfInstanceId)> {
        self.now += Duration::from_secs(seconds);
        let changes = self.registry.expire(self.now, 0);
        changes.into_iter().map(|change| (change.event, change.profile.nf_instance_id)).collect()
    }

    fn beat(&mut self, n: u32) -> bool {
        let as_registered =
            |there: &NfProfile| Ok(NfProfile { nf_status: NfStatus::REGISTERED, ..there.clone() });
        let change = self.registry.update(id(n), self.now, as_registered).expect("it is known");
        change.is_some()
    }

    /// The numbers of the instances that a query finds, best first.
    fn find(&self, query: &str) -> Vec<u32> {
        let query = format!("target-nf-type=UDM&requester-nf-type=SMF{query}");
        let search = Search::parse(&query).unwrap_or_else(|problem| panic!("{query}: {problem:?}"));
        let number = |id: NfInstanceId| u32::from_str_radix(&id.to_string()[..8], 16).expect("a number");
        self.registry.find(&search).into_iter().map(|profile| number(profile.nf_instance_id)).collect()
    }
}

#[test]
fn who_is_not_heard_of_is_suspended_then_gone() {
    let mut nrf = Nrf::of([profile(1, "UDM", &json!({})), profile(2, "UDM", &json!({"heartBeatTimer": 60}))]);
    assert_eq!(nrf.after(19), []);
    assert_eq!(nrf.after(1), [(NfEvent::NF_PROFILE_CHANGED, id(1))]);
    assert_eq!(nrf.find(""), [2], "who is suspended is not found");
    assert_eq!(nrf.after(10), [], "that is told once");
    assert!(nrf.beat(1), "that it is there again is told");
    assert_eq!(nrf.find(""), [1, 2]);
    assert!(!nrf.beat(1), "that it still is, is not");
    assert_eq!(nrf.after(49), [(NfEvent::NF_PROFILE_CHANGED, id(1))]);
    assert_eq!(nrf.after(1), [(NfEvent::NF_DEREGISTERED, id(1))]);
    let gone = nrf.registry.profile(id(1)).expect_err("it is gone");
    assert_eq!(gone.into_answer().status, 404);
    assert_eq!(nrf.after(100_000).len(), 1, "the other one, after its own interval; never the NRF itself");
    assert!(nrf.registry.profile(id(NRF)).is_ok());
}

#[test]
fn a_registration_whose_answer_was_not_heard_is_undone() {
    let mut nrf = Nrf::of([profile(1, "UDM", &json!({"priority": 1}))]);
    nrf.registry.keep(id(1), RequestId(7));
    let again = profile(1, "UDM", &json!({"priority": 2}));
    assert!(!nrf.registry.register(again, RequestId(8), nrf.now).expect("replaced").is_new);
    assert_eq!(nrf.registry.undo(id(1), RequestId(7)), None, "another request's");
    let change = nrf.registry.undo(id(1), RequestId(8)).expect("undone");
    assert_eq!((change.event, change.profile.priority), (NfEvent::NF_PROFILE_CHANGED, Some(1)));
    nrf.registry.register(profile(2, "UDM", &json!({})), RequestId(9), nrf.now).expect("registered");
    assert_eq!(nrf.registry.undo(id(2), RequestId(9)).expect("undone").event, NfEvent::NF_DEREGISTERED);
    assert_eq!(nrf.find(""), [1]);
}

#[test]
fn case_38_an_address_that_changes_within_a_heart_beat_is_told() {
    let mut nrf = Nrf::of([profile(1, "UDM", &json!({}))]);
    let moved = |nrf: &mut Nrf, fqdn: &str| {
        let profile = profile(1, "UDM", &json!({"fqdn": fqdn}));
        nrf.registry.register(profile, RequestId(1), nrf.now).expect("replaced").moved_from
    };
    assert_eq!(moved(&mut nrf, "nf1.lab"), None);
    assert_eq!(moved(&mut nrf, "other.lab").as_deref(), Some("nf1.lab"));
    nrf.now += Duration::from_secs(11);
    assert_eq!(moved(&mut nrf, "nf1.lab"), None, "it may have been restarted elsewhere");
}

#[test]
fn what_nobody_may_change_stays() {
    let mut nrf = Nrf::of([profile(1, "UDM", &json!({}))]);
    let refused = |failure: Failure| match failure {
        Failure::Problem(problem) => problem.cause.expect("a cause"),
        Failure::TimedOut => "TIMED_OUT".into(),
    };
    let other_type = nrf.register(profile(1, "SMF", &json!({}))).expect_err("another type");
    assert_eq!(refused(other_type), "MODIFICATION_NOT_ALLOWED");
    let itself = nrf.register(profile(NRF, "NRF", &json!({}))).expect_err("the NRF");
    assert_eq!(refused(itself), "MODIFICATION_NOT_ALLOWED");
    assert!(nrf.registry.deregister(id(NRF)).is_err());
    let other_id =
        nrf.registry.update(id(1), nrf.now, |there| Ok(NfProfile { nf_instance_id: id(2), ..there.clone() }));
    assert_eq!(refused(other_id.expect_err("another id")), "MODIFICATION_NOT_ALLOWED");
    let nowhere = nrf.register(read(json!({
        "nfInstanceId": id(5).to_string(), "nfType": "UDM", "nfStatus": "REGISTERED", "ipv4Addresses": [],
    })));
    assert_eq!(refused(nowhere.expect_err("no address")), "MANDATORY_IE_MISSING");
}

/// Each parameter that is honoured: a query, and whom of two it finds.
#[test]
fn each_parameter_finds_whom_it_means() {
    let slice = |sst: u8, sd: &str| json!([{"sst": sst, "sd": sd}]);
    let cases = [
        (
            json!({"nfSetIdList": ["set1.udmset.5gc.mnc001.mcc001"]}),
            "target-nf-set-id=set1.udmset.5gc.mnc001.mcc001",
        ),
        (
            json!({"plmnList": [{"mcc": "999", "mnc": "70"}]}),
            "target-plmn-list=[{\"mcc\":\"999\",\"mnc\":\"70\"}]",
        ),
        (json!({"sNssais": slice(1, "0000a1")}), "snssais=[{\"sst\":1,\"sd\":\"0000a1\"}]"),
        (json!({"sNssais": [{"sst": 1, "wildcardSd": true}]}), "snssais=[{\"sst\":1,\"sd\":\"0000a1\"}]"),
        (
            json!({"sNssais": [{"sst": 1, "sd": "ffffff", "sdRanges": [{"start": "0000a0", "end": "0000af"}]}]}),
            "snssais=[{\"sst\":1,\"sd\":\"0000a1\"}]",
        ),
        (
            json!({"udmInfo": {"supiRanges": [{"start": "001010000000001", "end": "001010000000009"}]}}),
            "supi=imsi-001010000000005",
        ),
        (json!({"udmInfo": {"supiRanges": [{"pattern": "^imsi-00101.*5$"}]}}), "supi=imsi-001010000000005"),
        (
            json!({"smfInfo": {"sNssaiSmfInfoList": [{"sNssai": {"sst": 1}, "dnnSmfInfoList": [{"dnn": "ims"}]}]}}),
            "dnn=ims",
        ),
        (json!({"upfInfo": {"dnnList": ["ims"]}}), "dnn=ims"),
        (
            json!({"amfInfo": {"guamiList": [{"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"}]}}),
            "guami={\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"amfId\":\"020040\"}",
        ),
        (
            json!({"amfInfo": {"taiList": [{"plmnId": {"mcc": "001", "mnc": "01"}, "tac": "000001"}]}}),
            "tai={\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"tac\":\"000001\"}",
        ),
        (
            json!({"amfInfo": {"taiRangeList": [{"plmnId": {"mcc": "001", "mnc": "01"}, "tacRangeList": [{"start": "000001", "end": "00000a"}]}]}}),
            "tai={\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"tac\":\"000001\"}",
        ),
    ];
    for (said, query) in cases {
        let (another, mut others) = (said.to_string(), 0);
        for (from, to) in [
            ("set1", "set2"),
            ("999", "998"),
            ("0000a1", "0000b1"),
            ("0000af", "0000a0"),
            ("\"sst\":1,\"wildcard", "\"sst\":2,\"wildcard"),
            ("001010000000009", "001010000000004"),
            ("5$", "6$"),
            ("ims", "mms"),
            ("020040", "020041"),
            ("\"tac\":\"000001\"", "\"tac\":\"000002\""),
            ("\"start\":\"000001\"", "\"start\":\"000002\""),
            ("\"wildcardSd\":true", "\"wildcardSd\":false"),
        ] {
            let changed = another.replace(from, to);
            if changed == another {
                continue;
            }
            others += 1;
            let other: Value = serde_json::from_str(&changed).expect("JSON");
            let nrf = Nrf::of([profile(1, "UDM", &said), profile(2, "UDM", &other)]);
            assert_eq!(nrf.find(&format!("&{query}")), [1], "{query}: {said} and {other}");
        }
        assert!(others > 0, "{query} was held against nobody else");
    }
}

#[test]
fn services_instances_features_and_limits() {
    let featured = |features: &str| {
        let mut profile = profile(3, "UDM", &json!({"priority": 1}));
        profile
            .nf_services
            .iter_mut()
            .flatten()
            .for_each(|service| service.supported_features = Some(features.into()));
        profile
    };
    let nrf =
        Nrf::of([profile(1, "UDM", &json!({})), profile(2, "UDM", &json!({"priority": 5})), featured("0a")]);
    assert_eq!(nrf.find(""), [3, 2, 1], "who has no priority comes last");
    assert_eq!(nrf.find("&limit=2"), [3, 2]);
    assert_eq!(nrf.find(&format!("&target-nf-instance-id={}", id(2))), [2]);
    assert_eq!(nrf.find("&service-names=nudm-sdm,nudm-uecm"), [3, 2, 1]);
    assert_eq!(nrf.find("&service-names=nudm-uecm"), [0; 0]);
    assert_eq!(nrf.find("&service-names=nudm-sdm&required-features=8"), [3]);
    assert_eq!(nrf.find("&service-names=nudm-sdm&required-features=4"), [0; 0]);
    assert_eq!(nrf.find("&service-names=nudm-sdm&required-features=1000000000000000a"), [0; 0]);
    assert_eq!(
        nrf.find("&no-such-parameter=7&max-payload-size=300"),
        [3, 2, 1],
        "unknown ones change nothing"
    );
    assert_eq!(nrf.find("&max-payload-size=0"), [0; 0], "there is room for none");
}

#[test]
fn who_may_not_call_does_not_find() {
    let nrf = Nrf::of([
        profile(1, "UDM", &json!({"allowedNfTypes": ["AMF"]})),
        profile(2, "UDM", &json!({"allowedPlmns": [{"mcc": "999", "mnc": "70"}]})),
        profile(3, "UDM", &json!({"allowedNfTypes": ["SMF"], "allowedPlmns": [{"mcc": "001", "mnc": "01"}]})),
        profile(4, "UDM", &json!({"nfStatus": "UNDISCOVERABLE"})),
    ]);
    assert_eq!(nrf.find(""), [3]);
    assert_eq!(nrf.find("&requester-plmn-list=[{\"mcc\":\"999\",\"mnc\":\"70\"}]"), [2]);
}

#[test]
fn a_pattern_that_is_too_much_finds_nobody_and_costs_nothing() {
    let ranges = |pattern: &str| json!({"udmInfo": {"supiRanges": [{"pattern": pattern}]}});
    let patterns = ["(".to_owned(), "a".repeat(300), "(x{1000}){1000}".into()];
    let nrf = Nrf::of((1..).zip(patterns).map(|(n, pattern)| profile(n, "UDM", &ranges(&pattern))));
    assert_eq!(nrf.find("&supi=imsi-001010000000001"), [0; 0]);
}

#[test]
fn services_are_a_map_for_whom_they_were_announced_so_by() {
    let mut mapped = profile(1, "SMF", &json!({}));
    mapped = mapped.with_service_map(true);
    let nrf = Nrf::of([mapped, profile(2, "UDM", &json!({})), profile(3, "SMF", &json!({}))]);
    let found = |requester: &str| {
        let search =
            Search::parse(&format!("target-nf-type=UDM&requester-nf-type=SMF{requester}")).expect("a query");
        let profile = nrf.registry.find(&search).remove(0);
        (profile.nf_services.is_some(), profile.nf_service_list.is_some())
    };
    let as_requester = |n: u32| format!("&requester-nf-instance-id={}", id(n));
    assert_eq!(found(&as_requester(1)), (false, true));
    assert_eq!(found(&as_requester(3)), (true, false));
    assert_eq!(found(""), (true, false), "as the producer said it");
}

#[test]
fn who_has_subscribed_hears_of_what_it_means_and_not_of_itself() {
    let mut nrf = Nrf::new();
    let subscription = |n: u32, more: Value| -> NrfSubscription {
        read(with(
            json!({"nfStatusNotificationUri": format!("http://nf{n}.lab/told"), "reqNfInstanceId": id(n).to_string()}),
            &more,
        ))
    };
    let conditions = [
        json!({"subscrCond": {"nfType": "UDM"}}),
        json!({"subscrCond": {"serviceName": "nudm-sdm"}}),
        json!({"subscrCond": {"nfInstanceId": id(7).to_string()}}),
        json!({"reqNotifEvents": ["NF_DEREGISTERED"]}),
        json!({"subscrCond": {"nfType": "SMF"}}),
        json!({"subscrCond": {"amfSetId": "001"}}),
        json!({}),
        json!({"reqNfType": "AMF"}),
    ];
    for (n, more) in (1..).zip(conditions) {
        nrf.registry.subscribe(&n.to_string(), subscription(n, more), 1_000).expect("subscribed");
    }
    let told = |nrf: &mut Nrf, n: u32| {
        let registered = nrf.registry.register(
            profile(n, "UDM", &json!({"allowedNfTypes": ["SMF"]})),
            RequestId(1),
            nrf.now,
        );
        let registered = registered.expect("registered");
        let told: Vec<_> =
            nrf.registry.listeners(&registered.change).map(|(uri, _)| uri[9..10].to_owned()).collect();
        told.concat()
    };
    assert_eq!(told(&mut nrf, 7), "123");
    assert_eq!(told(&mut nrf, 9), "127");
    nrf.registry.expire(nrf.now, 1_001);
    assert_eq!(told(&mut nrf, 9), "", "they have ended");
}

#[test]
fn what_a_profile_says_to_its_nrf_alone_is_told_to_nobody() {
    let said = json!({
        "allowedNfTypes": ["SMF"], "allowedPlmns": [{"mcc": "001", "mnc": "01"}], "allowedNssais": [{"sst": 1}], "locality": "here",
    });
    let mut nrf = Nrf::new();
    let everyone: NrfSubscription = read(json!({"nfStatusNotificationUri": "http://nf8.lab/told"}));
    nrf.registry.subscribe("1", everyone, 1_000).expect("subscribed");
    let registered =
        nrf.registry.register(profile(1, "UDM", &said), RequestId(1), nrf.now).expect("registered");
    let told: Vec<_> = nrf.registry.listeners(&registered.change).map(|(_, profile)| profile).collect();
    let found =
        nrf.registry.find(&Search::parse("target-nf-type=UDM&requester-nf-type=SMF").expect("a query"));
    for profile in told.iter().chain(&found) {
        let shown = serde_json::to_value(profile).expect("JSON");
        let named = |name: &str| shown.get(name).is_some();
        assert!(!named("allowedNfTypes") && !named("allowedPlmns") && !named("allowedNssais"), "{shown}");
        assert!(named("locality"), "{shown}");
    }
    assert_eq!((told.len(), found.len()), (1, 1));
}
