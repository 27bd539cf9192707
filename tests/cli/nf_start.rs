//! `mock5g nf TYPE`: where it listens, what it hands out, and what it starts without.

use super::support::{Core, NfProcess, Protocol, free_address, json_create, mock5g, request, wait_until};
use std::net::TcpListener;

const TYPES: [&str; 5] = ["amf", "smf", "udm", "udr", "nrf"];

/// Case 48: the ready line is the first thing on stdout, and then the ports answer.
#[test]
fn the_first_line_says_where_sbi_and_operator_plane_listen() {
    for nf_type in TYPES {
        let nf = NfProcess::start(nf_type, &[]);
        assert_eq!(nf.ready["nf"], nf_type);
        assert_eq!(nf.ready.as_object().unwrap().len(), 3, "{}", nf.ready);
        assert_ne!(nf.sbi(), nf.admin());
        let answer = request(Protocol::H2c, "GET", &format!("{}/nope", nf.sbi()), "", b"");
        assert_eq!((answer.status, &answer.json()["cause"]), (400, &"INVALID_API".into()));
        assert_eq!(nf.tells("/readyz")["status"], "ready");
        let ended = nf.stop("TERM");
        assert!(ended.stdout.is_empty(), "{:?}", ended.stdout);
    }
}

/// Case 48: free ports, so that labs can run side by side.
#[test]
fn eight_start_at_once_on_ports_of_their_own() {
    let start = |_| std::thread::spawn(|| NfProcess::start("udm", &[]));
    let starting: Vec<_> = (0..8).map(start).collect();
    let nfs: Vec<_> = starting.into_iter().map(|nf| nf.join().unwrap()).collect();
    let ports: std::collections::BTreeSet<_> = nfs.iter().flat_map(|nf| [nf.sbi(), nf.admin()]).collect();
    assert_eq!(ports.len(), 16);
    nfs.iter().for_each(|nf| assert_eq!(nf.tells("/readyz")["status"], "ready"));
}

#[test]
fn a_port_in_use_exits_3_and_names_the_address_and_the_option() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = listener.local_addr().unwrap().to_string();
    for (arguments, option) in [
        (["--bind", &busy, "--admin", "127.0.0.1:0"], "--bind"),
        (["--bind", "127.0.0.1:0", "--admin", &busy], "--admin"),
    ] {
        let output = mock5g(&[&["nf", "udm"], &arguments[..]].concat()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b""[..]), "{stderr}");
        assert!(stderr.contains(&busy) && stderr.contains(option), "{stderr}");
    }
}

/// Case 48: neither in the ready line, nor in `Location`, nor in a callback.
#[test]
fn the_unspecified_address_is_never_handed_out() {
    let udr = NfProcess::start("udr", &[]);
    let udm = NfProcess::start_at("0.0.0.0:0", "udm", &["--peer", &format!("udr={}", udr.sbi())]);
    let admin_everywhere = ["--peer", &format!("udm={}", udm.sbi()), "--admin", "0.0.0.0:0"];
    let smf = NfProcess::start_at("0.0.0.0:0", "smf", &admin_everywhere);
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}");
    assert!(created.header("location").starts_with(&format!("{uri}/")), "{created:?}");
    let stored = "/nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/sdm-subscriptions";
    let stored = request(Protocol::H2c, "GET", &format!("{}{stored}", udr.sbi()), "", b"");
    let stored = stored.json().to_string();
    assert!(stored.contains(&format!("{}/nsmf-callback", smf.sbi())), "{stored}");
    let told =
        [smf.ready.to_string(), udm.ready.to_string(), stored, smf.tells("/mock5g/v1/held").to_string()];
    told.iter().for_each(|told| assert!(!told.contains("0.0.0.0"), "{told}"));
}

#[test]
fn an_advertised_api_root_is_what_others_are_told() {
    let udm = NfProcess::start("udm", &[]);
    let bind = free_address();
    let arguments = ["--peer", &format!("udm={}", udm.sbi()), "--advertise", "http://smf.example:8080/"];
    let smf = NfProcess::start_at(&bind, "smf", &arguments);
    assert_eq!(smf.sbi(), "http://smf.example:8080");
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("http://{bind}/nsmf-pdusession/v1/sm-contexts");
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}");
    let told = created.header("location");
    assert!(told.starts_with("http://smf.example:8080/nsmf-pdusession/v1/sm-contexts/"), "{told}");
}

#[test]
fn ipv6_addresses_are_bound_called_and_handed_out_in_brackets() {
    if TcpListener::bind("[::1]:0").is_err() {
        return; // a machine without IPv6
    }
    let udm = NfProcess::start_at("[::1]:0", "udm", &["--admin", "[::1]:0"]);
    let smf = NfProcess::start_at("[::1]:0", "smf", &["--peer", &format!("udm={}", udm.sbi())]);
    let (content_type, body) = json_create("http://[::1]:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    assert!(uri.starts_with("http://[::1]:"), "{uri}");
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}");
    assert!(created.header("location").starts_with(&uri), "{created:?}");
    assert_eq!(udm.tells("/readyz")["status"], "ready");
}

/// Case 16: an NF whose producer is not there yet runs, says so when it is asked, and calls it once it is there.
#[test]
fn an_nf_starts_without_its_peer_and_finds_it_when_it_comes() {
    let bind = free_address();
    let smf = NfProcess::start("smf", &["--peer", &format!("udm=http://{bind}")]);
    assert_eq!(smf.tells("/readyz")["status"], "ready");
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let create = || request(Protocol::H2c, "POST", &uri, &content_type, &body);
    let refused = create();
    assert_eq!(refused.status, 504, "{refused:?}");
    assert_eq!(refused.json()["error"]["cause"], "TARGET_NF_NOT_REACHABLE");
    let udm = NfProcess::start_at(&bind, "udm", &["--admin", "127.0.0.1:0"]);
    wait_until("the SMF reaches its UDM", || create().status == 201);
    let (mut expected, at_udr) = (Vec::new(), "subs-to-notify");
    for kind in ["sdm-subscription", "smf-registration"] {
        expected.extend([kind, kind]);
    }
    expected.push(at_udr);
    assert_eq!(udm.held(), expected, "at the UDM, and in its own store");
}

/// A UDM without a UDR keeps its data in its own process; with one, there.
#[test]
fn a_udm_knows_the_default_subscribers_with_and_without_a_udr() {
    let alone = NfProcess::start("udm", &[]);
    let core = Core::start();
    for udm in [&alone, &core.udm] {
        for supi in ["imsi-001010000000001", "imsi-001010000000100", "imsi-999700000021309"] {
            let uri = format!("{}/nudm-sdm/v2/{supi}/sm-data", udm.sbi());
            let answer = request(Protocol::H2c, "GET", &uri, "", b"");
            assert_eq!(answer.status, 200, "{supi}: {answer:?}");
        }
        let uri = format!("{}/nudm-sdm/v2/imsi-001010000000101/sm-data", udm.sbi());
        let unknown = request(Protocol::H2c, "GET", &uri, "", b"");
        assert_eq!((unknown.status, &unknown.json()["cause"]), (404, &"USER_NOT_FOUND".into()));
    }
    assert!(core.udr.count("request.received") >= 4, "the UDM did not ask its UDR");
}

#[test]
fn a_producer_that_comes_back_at_its_address_is_reached_again() {
    for signal in ["TERM", "KILL"] {
        let udm = NfProcess::start("udm", &[]);
        let at = udm.sbi().trim_start_matches("http://").to_owned();
        let smf = NfProcess::start("smf", &["--peer", &format!("udm={}", udm.sbi())]);
        let create = || {
            let (content_type, body) = json_create("http://127.0.0.1:9");
            let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
            request(Protocol::H2c, "POST", &uri, &content_type, &body).status
        };
        assert_eq!(create(), 201, "{signal}: before");
        udm.stop(signal);
        let _udm = NfProcess::start_at(&at, "udm", &["--admin", "127.0.0.1:0"]);
        assert_eq!([create(), create(), create()], [201; 3], "{signal}: after the UDM came back");
    }
}

/// Nothing is sent to an address that nobody named.
#[test]
fn an_smf_without_a_udm_says_what_it_lacks() {
    let smf = NfProcess::start("smf", &["--peer", "udr=http://127.0.0.1:9"]);
    wait_until("the SMF has said so", || smf.stderr().contains("calls no UDR"));
    assert!(smf.stderr().contains("no --peer udm=..."), "{}", smf.stderr());
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let refused = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    let problem = refused.json()["error"].clone();
    assert_eq!((refused.status, &problem["cause"]), (504, &"TARGET_NF_NOT_REACHABLE".into()));
    assert!(problem["detail"].as_str().unwrap().contains("--peer udm="), "{problem}");
}

/// In any order: the consumer first, then its producer, the NRF last.
#[test]
fn nfs_that_know_an_nrf_alone_find_one_another_once_it_is_there() {
    let place = free_address();
    let root = format!("http://{place}");
    let smf = NfProcess::start("smf", &["--nrf", &root]);
    let ready = |nf: &NfProcess| request(Protocol::H2c, "GET", &format!("{}/readyz", nf.admin()), "", b"");
    let not_yet = ready(&smf);
    let why = format!("smf: not registered at the NRF {root}");
    assert_eq!((not_yet.status, &not_yet.json()["status"]), (503, &why.into()));
    let udm = NfProcess::start("udm", &["--nrf", &root]);
    let udr = NfProcess::start("udr", &["--nrf", &root]);
    let nrf = NfProcess::start_at(&place, "nrf", &["--admin", "127.0.0.1:0"]);
    for nf in [&smf, &udm, &udr] {
        wait_until("it is registered", || ready(nf).status == 200);
    }
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}\n{}", smf.stderr());
    assert!(udm.held().contains(&"smf-registration".to_owned()), "{:?}", udm.held());
    assert_eq!(smf.stop("TERM").code, Some(0));
    assert_eq!(udm.held(), [""; 0], "the SMF released what it owned where it had made it");
    let registered = || nrf.count("nf.changed");
    let before = registered();
    udm.stop("TERM");
    udr.stop("TERM");
    wait_until("they are deregistered", || registered() >= before + 2);
}

/// The NFs know an SCP alone, which finds their producers at the NRF.
#[test]
fn nfs_that_know_an_scp_alone_reach_one_another_through_it() {
    let nrf = NfProcess::start("nrf", &[]);
    let scp = NfProcess::start("scp", &["--nrf", nrf.sbi()]);
    let udr = NfProcess::start("udr", &["--nrf", nrf.sbi()]);
    let udm = NfProcess::start("udm", &["--nrf", nrf.sbi(), "--scp", scp.sbi(), "--indirect", "d"]);
    for nf in [&scp, &udr, &udm] {
        wait_until("it is registered", || nf.count("nrf.registered") == 1);
    }
    let smf = NfProcess::start("smf", &["--scp", scp.sbi()]);
    let (content_type, body) = json_create("http://127.0.0.1:9");
    let uri = format!("{}/nsmf-pdusession/v1/sm-contexts", smf.sbi());
    let created = request(Protocol::H2c, "POST", &uri, &content_type, &body);
    assert_eq!(created.status, 201, "{created:?}\n{}", smf.stderr());
    assert!(udm.held().contains(&"smf-registration".to_owned()), "{:?}", udm.held());
    assert!(scp.count("upstream.sent") > 4, "it passed on what the SMF and the UDM sent");
    assert_eq!(smf.stop("TERM").code, Some(0));
    assert_eq!(udm.held(), [""; 0], "the SMF released where it had made it");
}

/// Case 38: two of one configuration, as `--scale smf=2` starts them.
#[test]
fn case_38_two_processes_of_one_configuration_have_ids_of_their_own() {
    let nrf = NfProcess::start("nrf", &[]);
    let smfs = [1, 2].map(|_| NfProcess::start("smf", &["--nrf", nrf.sbi()]));
    for smf in &smfs {
        wait_until("it is registered", || smf.count("nrf.registered") == 1);
    }
    let search = "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=AMF";
    let found = request(Protocol::H2c, "GET", &format!("{}{search}", nrf.sbi()), "", b"").json();
    let ids: Vec<_> = found["nfInstances"].as_array().unwrap().iter().map(|nf| &nf["nfInstanceId"]).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{found}");
    assert_eq!(nrf.count("nf.moved"), 0);
}
