//! The NRF's share of what crashed NRFs in public, or was half understood there: each has its own clear answer, changes nothing,
//! and a polite NF beside it notices nothing. What is plainly missing or wrong in a profile: `nf_management.rs`.

use crate::nf_management::{
    FIND_UDM, INSTANCES, JSON_PATCH, SMF, SUBSCRIPTIONS, UDM, call, expect_problem, found, nrf, patch,
    profile, put, registered, subscribe,
};
use crate::support::{assert_no_panic, problem, send, with};
use http::Method;
use mock5g::lab::Lab;
use nrf::HeartBeats;
use sbi::client::{Answer, Call};
use sbi::party::NfType;
use serde_json::{Value, json};

/// How it stands: the profile of an instance, as the NRF has it.
async fn there(lab: &Lab, id: &str) -> Option<Value> {
    let answer = send(lab, call(lab, Method::GET, &format!("{INSTANCES}/{id}"))).await;
    if answer.status == 200 { answer.json() } else { None }
}

/// Refused with a problem that names `named`, if anything does.
fn expect_refused(answer: &Answer, statuses: &[u16], named: &str, what: &str) {
    assert!(statuses.contains(&answer.status.as_u16()), "{what}: {answer:?}");
    let said = problem(answer, false);
    assert!(said.to_string().contains(named), "{what}: {named} is not in {said}");
}

fn replace(path: &str, value: &Value) -> Value {
    json!([{"op": "replace", "path": path, "value": value}])
}

/// What others may not do to it, nor it to itself.
#[actix::test]
async fn a_profile_is_not_turned_into_another_ones() {
    let lab = nrf().await;
    registered(&lab, UDM, "UDM").await;
    registered(&lab, SMF, "SMF").await;
    let (before, of_smf) = (there(&lab, UDM).await, there(&lab, SMF).await);
    let path = format!("{INSTANCES}/{UDM}");
    let forbidden = [
        replace("/nfInstanceId", &json!(SMF)),
        replace("/nfInstanceId", &json!("11111111-2222-4222-8222-00000000000f")),
        replace("/nfType", &json!("SMF")),
    ];
    for change in &forbidden {
        let answer = send(&lab, patch(&lab, &path, change)).await;
        expect_problem(&answer, 403, "MODIFICATION_NOT_ALLOWED", "");
    }
    let unusable = [
        (json!([{"op": "remove", "path": "/nfStatus"}]), "nfStatus"),
        (json!([{"op": "remove", "path": "/nfType"}]), "nfType"),
        (json!([{"op": "remove", "path": "/nfInstanceId"}]), "nfInstanceId"),
        (json!([{"op": "remove", "path": "/ipv4Addresses"}]), "fqdn"),
        (replace("/nfStatus", &json!(null)), "nfStatus"),
        (replace("/nfStatus", &json!(["REGISTERED"])), "nfStatus"),
        (replace("/nfServices/0/versions", &json!("v2")), "versions"),
        (replace("/nfServices/7", &json!({})), ""),
        (replace("/no/such/place", &json!(1)), ""),
        (replace("", &profile(SMF, "SMF")), ""),
        (replace("", &json!(null)), ""),
        (replace("", &json!([])), ""),
        (json!({"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}), ""),
        (json!([{"op": "explode", "path": "/nfStatus"}]), ""),
        (json!([{"op": "test", "path": "/nfType", "value": "SMF"}]), ""),
        (json!([7]), ""),
        (json!(vec![replace("/load", &json!(1))[0].clone(); 65]), ""),
    ];
    for (change, named) in &unusable {
        let answer = send(&lab, patch(&lab, &path, change)).await;
        expect_refused(&answer, &[400, 403, 404, 409], named, &change.to_string());
    }
    assert_eq!(there(&lab, UDM).await, before, "nothing of it was done");
    assert_eq!(there(&lab, SMF).await, of_smf);
    assert_no_panic(&lab);
}

#[actix::test]
async fn types_and_features_of_tomorrow_are_taken_and_oversized_ones_cost_nothing() {
    // What it repeats of them is not as the OpenAPI files say either.
    let lab = Lab::builder().with_nrf(HeartBeats::default()).only(&[NfType::Nrf]).unjudged().start().await;
    registered(&lab, SMF, "SMF").await;
    let with_service = |name: &str, value: Value| {
        let mut body = profile(UDM, "UDM");
        body["nfServices"][0][name] = value;
        body
    };
    let long = "f".repeat(40_000);
    let taken = [
        with(profile(UDM, "UDM"), "nfType", json!("NF_OF_TOMORROW")),
        with(profile(UDM, "UDM"), "nfType", json!("x".repeat(1_000))),
        with(profile(UDM, "UDM"), "unknownAttribute", json!({"deep": [[[[1]]]]})),
        with_service("supportedFeatures", json!(long)),
        with_service("supportedFeatures", json!("no hexadecimal digits")),
        with_service("serviceName", json!("nudm-of-tomorrow")),
        with_service("ipEndPoints", json!([])),
        with_service("versions", json!([])),
    ];
    for body in &taken {
        let answer = send(&lab, put(&lab, UDM, body)).await;
        assert_eq!(answer.status, 201, "{answer:.300?}");
        for query in [FIND_UDM, &format!("{FIND_UDM}&service-names=nudm-sdm&required-features=1")] {
            drop(found(&lab, query).await);
        }
        assert_eq!(found(&lab, "target-nf-type=SMF&requester-nf-type=AMF").await, [SMF], "beside it");
        assert_eq!(send(&lab, call(&lab, Method::DELETE, &format!("{INSTANCES}/{UDM}"))).await.status, 204);
    }
    let too_much = [
        (with(profile(UDM, "UDM"), "unknownAttribute", json!("x".repeat(100_000))), 413),
        (with(profile(UDM, "UDM"), "unknownAttribute", json!("x".repeat(2 << 20))), 413),
    ];
    for (body, status) in &too_much {
        assert_eq!(send(&lab, put(&lab, UDM, body)).await.status, *status);
    }
    let deep = format!("{{\"nfInstanceId\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let answer = send(&lab, put(&lab, UDM, &json!(null)).with_body("application/json", deep)).await;
    expect_refused(&answer, &[400], "", "5 000 brackets");
    assert_eq!(there(&lab, UDM).await, None);
    assert_no_panic(&lab);
}

fn search(lab: &Lab, query: &str) -> Call {
    call(lab, Method::GET, &format!("/nnrf-disc/v1/nf-instances?{query}"))
}

#[actix::test]
async fn an_oversized_or_odd_query_has_an_answer_and_the_next_one_too() {
    let lab = nrf().await;
    registered(&lab, UDM, "UDM").await;
    let long = "f".repeat(30_000);
    let many = (0..2_000).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    let answered: [(String, &[u16]); 13] = [
        (format!("{FIND_UDM}&required-features={long}"), &[200, 400]),
        (format!("{FIND_UDM}&supported-features={long}"), &[200, 400]),
        (format!("{FIND_UDM}&target-nf-set-id={long}"), &[200, 400]),
        (format!("{FIND_UDM}&requester-features={}", "f".repeat(60_000)), &[200, 400, 414, 431]),
        (format!("{FIND_UDM}&{many}"), &[400, 414]),
        (format!("{FIND_UDM}&{FIND_UDM}"), &[400]),
        (format!("target-nf-type={long}&requester-nf-type=SMF"), &[200, 400]),
        (format!("{FIND_UDM}&snssais=%5B{}%5D", "%5B".repeat(5_000)), &[400]),
        (format!("{FIND_UDM}&supi=imsi-%00"), &[400]),
        (format!("{FIND_UDM}&supi=%ff%fe"), &[400]),
        (format!("{FIND_UDM}&limit=99999999999999999999"), &[400]),
        (format!("{FIND_UDM}&max-payload-size=18446744073709551615"), &[200, 400]),
        ("%".into(), &[400]),
    ];
    for (query, statuses) in &answered {
        let answer = send(&lab, search(&lab, query)).await;
        let what: String = query.chars().take(80).collect();
        assert!(statuses.contains(&answer.status.as_u16()), "{what}: {answer:.300?}");
        if answer.status != 200 {
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{what}");
        }
        assert_eq!(found(&lab, FIND_UDM).await, [UDM], "after {what}");
    }
    assert_no_panic(&lab);
}

/// A URI that cannot be called back is refused when it is told, and one that answers nobody costs others nothing.
#[actix::test]
async fn odd_notification_uris_are_refused_or_harm_nobody() {
    let lab = nrf().await;
    let uris = [
        "/told",
        "//told",
        "http://",
        "http:///told",
        "http://::1/told",
        "http://h:port/",
        "http://h:0/",
        "mailto:a@b",
        "http://a b/",
    ];
    for uri in uris {
        let body = json!({"nfStatusNotificationUri": uri});
        let answer = send(&lab, call(&lab, Method::POST, SUBSCRIPTIONS).with_json(&body)).await;
        expect_problem(&answer, 400, "MANDATORY_IE_INCORRECT", "nfStatusNotificationUri");
    }
    let missing = call(&lab, Method::POST, SUBSCRIPTIONS).with_json(&json!({"reqNfType": "SMF"}));
    expect_problem(&send(&lab, missing).await, 400, "MANDATORY_IE_MISSING", "nfStatusNotificationUri");
    let dead = subscribe(&lab, "http://127.0.0.1:9", &json!({})).await;
    let lasting = send(&lab, patch(&lab, &dead, &replace("/validityTime", &json!("soon")))).await;
    expect_problem(&lasting, 400, "OPTIONAL_IE_INCORRECT", "validityTime");
    let another = replace("/nfStatusNotificationUri", &json!("http://127.0.0.1:9/elsewhere"));
    let kept: Value = send(&lab, patch(&lab, &dead, &another)).await.json().unwrap();
    assert_eq!(kept["nfStatusNotificationUri"], "http://127.0.0.1:9/told", "only how long it lasts changes");
    registered(&lab, UDM, "UDM").await;
    assert_eq!(found(&lab, FIND_UDM).await, [UDM]);
    let wrong_type = call(&lab, Method::PATCH, &dead).with_body("application/json", "{}");
    assert_eq!(send(&lab, wrong_type).await.status, 415, "it is {JSON_PATCH}");
    assert_no_panic(&lab);
}
