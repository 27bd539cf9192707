//! Case 40: a load of cancelled requests is no attack. Others on the same connection are served.

use super::support::{NfProcess, PATIENCE, wait_until};
use http::{Method, Request};
use tokio::net::TcpStream;

const EACH: usize = 1_000;

#[test]
fn a_thousand_cancelled_requests_do_not_disturb_the_others_of_their_connection() {
    let udm = NfProcess::start("udm", &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let load = async { tokio::time::timeout(PATIENCE, cancel_every_second(udm.sbi())).await };
    runtime.block_on(load).unwrap().unwrap();
    wait_until("the UDM has seen all requests", || udm.count("request.received") == 2 * EACH);
    assert!(udm.held().is_empty(), "{:?}", udm.held());
}

/// A request whose body never comes is cancelled while another is served.
async fn cancel_every_second(root: &str) -> Result<(), h2::Error> {
    let stream = TcpStream::connect(root.trim_start_matches("http://")).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await?;
    tokio::spawn(connection);
    let subscriber = "imsi-001010000000001";
    let put = format!("{root}/nudm-uecm/v1/{subscriber}/registrations/smf-registrations/5");
    let get = format!("{root}/nudm-sdm/v2/{subscriber}/sm-data");
    let request = |method, uri: &String| Request::builder().method(method).uri(uri).body(()).unwrap();
    for n in 0..EACH {
        client = client.ready().await?;
        let (_unanswered, mut body) = client.send_request(request(Method::PUT, &put), false)?;
        client = client.ready().await?;
        let (answer, _) = client.send_request(request(Method::GET, &get), true)?;
        let answer = answer.await?;
        assert_eq!(answer.status(), 200, "after {n} cancellations");
        body.send_reset(h2::Reason::CANCEL);
    }
    Ok(())
}
