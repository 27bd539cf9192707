//! What is left of requests that were abandoned at their deadline: 6 000 creations of SM contexts whose UDM never answers,
//! each of them refused when its client stops waiting. A second later no procedure may be left.

use api::common::PduSessionId;
use api::nsmf_pdusession::{SM_CONTEXTS, Session, SmContextCreateData};
use futures_util::stream::{self, StreamExt};
use http::Method;
use mock5g::lab::Lab;
use mock5g::subscribers::{dnn, supi};
use sbi::client::Call;
use sbi::header::{MaxRspTime, Pair, SenderTimestamp};
use sbi::party::NfType;
use sbi::server::Holdings;
use std::time::Duration;
use tokio::net::TcpListener;

const REQUESTS: u64 = 6_000;
const AT_ONCE: usize = 600;
const PATIENCE_MS: u16 = 500;

#[actix::main]
async fn main() {
    let lab = Lab::builder().peer(NfType::Udm, silent_udm().await).unjudged().start().await;
    let refused = stream::iter(0..REQUESTS).map(|n| refused(&lab, n)).buffer_unordered(AT_ONCE);
    let refused = refused.filter(|refused| std::future::ready(*refused)).count().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let process = lab.process();
    let smf = process.nf("smf").expect("every lab has an SMF");
    let mut left = smf.unsettled().await;
    for shard in &smf.holdings {
        left += shard.send(Holdings).await.map_or(0, |holding| holding.running);
    }
    println!(
        "abandoned procedures and obligations left after 1 s: {left} (must hold 0: {})",
        if left == 0 { "holds" } else { "MISSED" }
    );
    println!(
        "          of {REQUESTS} creations, {AT_ONCE} at a time, {refused} refused at their deadline of {PATIENCE_MS} ms"
    );
    lab.stop().await;
}

/// Takes every connection, and says nothing.
async fn silent_udm() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let root = format!("http://{}", listener.local_addr().expect("a bound listener"));
    tokio::task::spawn_local(async move {
        let mut silent = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            silent.push(tokio::task::spawn_local(async move {
                let mut connection = h2::server::handshake(socket).await.ok()?;
                let mut kept = Vec::new();
                while let Some(Ok(exchange)) = connection.accept().await {
                    kept.push(exchange);
                }
                Some(())
            }));
        }
    });
    root
}

/// Whether the creation was refused since its client's time was over.
async fn refused(lab: &Lab, n: u64) -> bool {
    let session = Session {
        supi: supi(n),
        pdu_session_id: PduSessionId(5),
        dnn: dnn("internet"),
        s_nssai: api::common::Snssai::sst(1),
    };
    let amf = "11111111-1111-4111-8111-111111111111".parse().expect("an id");
    let plmn = api::common::PlmnId::new("001", "01").expect("a network");
    let data = SmContextCreateData::new(session, amf, plmn, "http://127.0.0.1:9/status".into());
    let mut call = Call::new(Method::POST, format!("{}{SM_CONTEXTS}", lab.api_root("smf"))).with_json(&data);
    let stamp = SenderTimestamp::from_unix_ms(lab.client().now_unix_ms());
    let max = MaxRspTime::parse(PATIENCE_MS.to_string().as_bytes()).expect("milliseconds");
    Pair::new(stamp, max).write(&mut call.headers);
    lab.client().send(call).await.is_ok_and(|answer| answer.is_timed_out())
}
