//! TS 29.503 §5.2.2.2 (Rel-17): what a UDM answers of a subscriber, for the serving network that the consumer names.

use crate::support::stub::{Reply, Stub};
use crate::support::{SMF_A, SUPI, create_a, lab, lab_with_udr, reg_a, request, send};
use http::Method;
use mock5g::lab::Lab;
use sbi::client::{Answer, Call};
use serde_json::{Value, json};

const PLMN: &str = "plmn-id=%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D";

fn get(lab: &Lab, path: &str) -> Call {
    request(lab, Method::GET, "udm", &format!("/nudm-sdm/v2/{SUPI}{path}"))
}

async fn read(lab: &Lab, path: &str) -> Value {
    let answer = send(lab, get(lab, path)).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json().unwrap()
}

fn cause(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.problem().cause.unwrap_or_default())
}

#[actix::test]
async fn each_kind_of_data_is_what_the_udr_holds() {
    let lab = lab().start().await;
    let at_udr = format!("/nudr-dr/v2/subscription-data/{SUPI}/99970/provisioned-data");
    for (data, set) in [
        ("am-data", "am-data"),
        ("smf-select-data", "smf-selection-subscription-data"),
        ("sm-data", "sm-data"),
    ] {
        let held = send(&lab, request(&lab, Method::GET, "udr", &format!("{at_udr}/{set}"))).await;
        assert_eq!(read(&lab, &format!("/{data}?{PLMN}")).await, held.json::<Value>().unwrap(), "{data}");
    }
    let nssai = json!({"defaultSingleNssais": [{"sst": 1}], "singleNssais": [{"sst": 1, "sd": "0000a1"}]});
    assert_eq!(read(&lab, &format!("/nssai?{PLMN}")).await, nssai);
}

#[actix::test]
async fn the_serving_network_is_the_home_network_unless_named() {
    let stub = Stub::start().await;
    stub.on("GET", "", Reply::json(200, &json!({"nssai": {"defaultSingleNssais": [{"sst": 1}]}})));
    let lab = lab_with_udr(&stub).start().await;
    for (path, expected) in [
        ("/am-data".to_owned(), "/00101/provisioned-data/am-data"),
        (format!("/smf-select-data?{PLMN}"), "/99970/provisioned-data/smf-selection-subscription-data"),
        (format!("/nssai?{PLMN}"), "/99970/provisioned-data/am-data?fields=nssai"),
        (format!("?dataset-names=SMF_SEL,AM&{PLMN}"), "/99970/provisioned-data?dataset-names=AM%2CSMF_SEL"),
    ] {
        read(&lab, &path).await;
        let asked = stub.journal().pop().unwrap().path;
        assert_eq!(asked, format!("/nudr-dr/v2/subscription-data/{SUPI}{expected}"), "{path}");
    }
}

#[actix::test]
async fn several_kinds_of_data_come_in_one_answer() {
    let lab = lab().start().await;
    send(&lab, reg_a(&lab)).await;
    for (names, expected) in [
        ("AM,SMF_SEL", &["amData", "smfSelData"][..]),
        ("AM%2CSM%2CUEC_SMF", &["amData", "smData", "uecSmfData"]),
        ("UEC_SMF", &["uecSmfData"]),
    ] {
        let answer = read(&lab, &format!("?dataset-names={names}")).await;
        assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), expected, "{names}");
    }
    let none = send(&lab, get(&lab, "?dataset-names=TRACE")).await;
    assert_eq!(cause(&none), (404, "DATA_NOT_FOUND".into()));
    let unnamed = send(&lab, get(&lab, "")).await;
    assert_eq!(cause(&unnamed), (400, "MANDATORY_QUERY_PARAM_MISSING".into()));
    assert_eq!(unnamed.problem().invalid_params[0].param, "query dataset-names");
}

#[actix::test]
async fn the_context_in_smfs_is_that_of_the_registered_ones() {
    let lab = lab().start().await;
    assert_eq!(read(&lab, "/ue-context-in-smf-data").await, json!({}));
    send(&lab, reg_a(&lab)).await;
    let session = json!({
        "smfInstanceId": SMF_A, "dnn": "internet", "singleNssai": {"sst": 1, "sd": "0000a1"},
        "plmnId": {"mcc": "001", "mnc": "01"}
    });
    assert_eq!(read(&lab, "/ue-context-in-smf-data").await, json!({"pduSessions": {"5": session}}));
}

#[actix::test]
async fn what_a_udr_does_not_know_is_not_known() {
    let stub = Stub::start().await;
    let lab = lab_with_udr(&stub).start().await;
    stub.once("GET", "/am-data", Reply::problem(404, "USER_NOT_FOUND"));
    assert_eq!(cause(&send(&lab, get(&lab, "/am-data")).await), (404, "USER_NOT_FOUND".into()));
    stub.on("GET", "/am-data", Reply::json(200, &json!({"gpsis": []})));
    assert_eq!(cause(&send(&lab, get(&lab, "/nssai")).await), (404, "DATA_NOT_FOUND".into()));
}

#[actix::test]
async fn a_udm_without_a_udr_answers_all_the_same() {
    let lab = lab().without_udr().start().await;
    assert_eq!(send(&lab, create_a(&lab)).await.status, 201);
    let sets = read(&lab, "?dataset-names=AM,SMF_SEL,SM,UEC_SMF").await;
    assert_eq!(sets.as_object().unwrap().len(), 4, "{sets}");
}
