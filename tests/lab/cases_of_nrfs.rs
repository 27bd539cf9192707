//! Cases 36 and 38 of the case collection: heart-beats of whom the NRF does not know, and two who share an id.

use crate::nf_management::{
    FIND_UDM, INSTANCES, JSON_PATCH, SMF, SUBSCRIPTIONS, UDM, call, expect_problem, found, nrf, patch,
    profile, put, registered, subscribe,
};
use crate::support::raw::Connection;
use crate::support::{is, problem, send, with};
use http::Method;
use mock5g::lab::Lab;
use nrf::HeartBeats;
use sbi::client::Answer;
use sbi::event::Kind;
use sbi::party::NfType;
use serde_json::{Value, json};

fn beat() -> Value {
    json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}])
}

fn timer(answer: &Answer) -> u64 {
    answer.json::<Value>().and_then(|profile| profile["heartBeatTimer"].as_u64()).unwrap_or_default()
}

#[actix::test]
async fn case_36_a_heart_beat_of_an_unknown_nf_is_404_and_its_connection_stays() {
    let lab = nrf().await;
    let mut connection = Connection::open(&lab.api_root("nrf")).await;
    let path = format!("{INSTANCES}/{UDM}");
    let unknown = [
        patch(&lab, &path, &beat()),
        patch(&lab, &format!("{INSTANCES}/33333333-3333-4333-8333-333333333333"), &beat()),
        patch(&lab, &path, &json!([{"op": "add", "path": "/load", "value": 7}])),
        patch(&lab, &path, &json!([])),
        call(&lab, Method::GET, &path),
        call(&lab, Method::DELETE, &path),
        patch(&lab, &format!("{SUBSCRIPTIONS}/nobody"), &beat()),
        call(&lab, Method::DELETE, &format!("{SUBSCRIPTIONS}/nobody")),
    ];
    for unknown in &unknown {
        let answer = connection.answer(unknown).await;
        assert_eq!((answer.status.as_u16(), problem(&answer, false)["status"].as_u64()), (404, Some(404)));
    }
    let created = connection.answer(&put(&lab, UDM, &profile(UDM, "UDM"))).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert!(timer(&created) > 0, "{created:?}");
    assert_eq!(connection.answer(&patch(&lab, &path, &beat())).await.status, 204);
}

#[actix::test]
async fn case_36_whoever_registers_is_told_how_often_to_beat() {
    let lab = nrf().await;
    for wished in [Value::Null, json!(0), json!(60), json!(4_000_000_000_u64)] {
        for (id, nf_type) in [(UDM, "UDM"), (SMF, "SMF")] {
            let asked = put(&lab, id, &with(profile(id, nf_type), "heartBeatTimer", wished.clone()));
            let (first, again) = (send(&lab, asked.clone()).await, send(&lab, asked).await);
            assert!(first.status.is_success() && again.status == 200, "{first:?} {again:?}");
            let told = if wished == 60 { 60 } else { HeartBeats::default().interval_s };
            assert_eq!((timer(&first), timer(&again)), (told, told), "{wished}");
        }
    }
}

/// Whatever it has in it, and whomever it is about: it is not half read.
#[actix::test]
async fn case_36_a_heart_beat_of_another_media_type_is_415() {
    let lab = nrf().await;
    registered(&lab, UDM, "UDM").await;
    let subscription = subscribe(&lab, "http://127.0.0.1:9", &json!({})).await;
    let places = [format!("{INSTANCES}/{UDM}"), format!("{INSTANCES}/{SMF}"), subscription];
    let bodies =
        [beat().to_string(), json!({"nfStatus": "SUSPENDED"}).to_string(), "{".into(), String::new()];
    for place in &places {
        for media_type in ["application/json", "application/merge-patch+json", "text/plain", "", "json-patch"]
        {
            for body in &bodies {
                let sent = call(&lab, Method::PATCH, place).with_body(media_type, body.clone());
                let answer = send(&lab, sent).await;
                let said = problem(&answer, false);
                assert_eq!(answer.status, 415, "{media_type:?}: {said}");
                assert!(said["detail"].as_str().unwrap().contains(JSON_PATCH), "{said}");
            }
        }
    }
    let there = send(&lab, call(&lab, Method::GET, &places[0])).await.json::<Value>().unwrap();
    assert_eq!(there["nfStatus"], "REGISTERED");
    for media_type in ["application/json-patch+json; charset=utf-8", "Application/JSON-Patch+JSON"] {
        let sent = call(&lab, Method::PATCH, &places[0]).with_body(media_type, beat().to_string());
        assert_eq!(send(&lab, sent).await.status, 204, "{media_type}");
    }
}

#[actix::test]
async fn case_38_the_same_id_twice_is_replaced_as_a_whole_and_warned_of() {
    let lab = nrf().await;
    let at = |address: &str| with(profile(UDM, "UDM"), "ipv4Addresses", json!([address]));
    let first = with(at("127.0.0.1"), "priority", json!(3));
    assert_eq!(send(&lab, put(&lab, UDM, &first)).await.status, 201);
    assert_eq!(send(&lab, put(&lab, UDM, &first)).await.status, 200);
    let warnings = || lab.count("nrf", Kind::NfMoved);
    assert_eq!(warnings(), 0, "it is where it was");

    let mut at_another_port = at("127.0.0.2");
    at_another_port["nfServices"][0]["ipEndPoints"][0]["port"] = json!(7799);
    let named = with(with(at("127.0.0.1"), "ipv4Addresses", Value::Null), "fqdn", json!("udm.lab"));
    let changes = [at("127.0.0.2"), at_another_port, named, at("127.0.0.1")];
    for (n, moved) in changes.iter().enumerate() {
        assert_eq!(send(&lab, put(&lab, UDM, moved)).await.status, 200);
        assert_eq!(warnings(), n + 1, "{moved}");
        let there: Value =
            send(&lab, call(&lab, Method::GET, &format!("{INSTANCES}/{UDM}"))).await.json().unwrap();
        assert_eq!(there.get("ipv4Addresses"), moved.get("ipv4Addresses"), "{there}");
        assert_eq!((there.get("fqdn"), there.get("priority")), (moved.get("fqdn"), None), "{there}");
    }
    let told = lab.events().into_iter().find(is("nrf", Kind::NfMoved)).unwrap().detail.unwrap();
    assert!(told.contains(UDM) && told.contains("127.0.0.1") && told.contains("share this id"), "{told}");
    assert_eq!(found(&lab, FIND_UDM).await, [UDM], "one entry");
}

#[actix::test]
async fn case_38_an_id_that_is_none_or_another_ones_is_refused() {
    let lab = nrf().await;
    registered(&lab, SMF, "SMF").await;
    let bodies =
        [(UDM, json!(SMF)), (UDM, json!("udm-1")), (UDM, json!(7)), (UDM, json!("")), (SMF, json!(UDM))];
    for (path, id) in bodies {
        let answer = send(&lab, put(&lab, path, &with(profile(path, "UDM"), "nfInstanceId", id))).await;
        expect_problem(&answer, 400, "MANDATORY_IE_INCORRECT", "nfInstanceId");
    }
    for path in ["udm-1", "1", "%20", "22222222-2222-4222-8222-00000000000", &UDM.replace('-', "")] {
        for method in [Method::PUT, Method::PATCH, Method::GET, Method::DELETE] {
            let body = if method == Method::PATCH { beat() } else { profile(UDM, "UDM") };
            let media_type = if method == Method::PATCH { JSON_PATCH } else { "application/json" };
            let sent = call(&lab, method, &format!("{INSTANCES}/{path}"));
            let answer = send(&lab, sent.with_body(media_type, body.to_string())).await;
            assert_eq!(answer.status, 400, "{path}: {answer:?}");
            assert!(problem(&answer, false).to_string().contains("nfInstanceID"), "{answer:?}");
        }
    }
    // Neither by its type nor by its services does it become another one.
    let answer = send(&lab, put(&lab, SMF, &profile(SMF, "UDM"))).await;
    expect_problem(&answer, 403, "MODIFICATION_NOT_ALLOWED", SMF);
    assert_eq!(found(&lab, FIND_UDM).await, [""; 0]);
    assert_eq!(found(&lab, "target-nf-type=SMF&requester-nf-type=AMF").await, [SMF]);
}

/// Two of one type, as `--scale smf=2` starts them.
#[actix::test]
async fn case_38_nfs_of_one_configuration_have_ids_of_their_own() {
    let lab = Lab::builder().with_smf("smf-2").with_smf("smf-3").with_nrf(HeartBeats::default());
    let lab = lab.only(&[NfType::Nrf, NfType::Smf]).start().await;
    lab.until_registered().await;
    let ids = found(&lab, "target-nf-type=SMF&requester-nf-type=AMF").await;
    let different: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), different.len()), (3, 3), "{ids:?}");
    assert_eq!(lab.count("nrf", Kind::NfMoved), 0);
    lab.stop().await;
}
