//! A client that costs little: bare h2, one request over and over.

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use sbi::clock::Clock;
use sbi::header::{MaxRspTime, Pair};
use sbi::net::Net;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, spawn_local};

/// What is asked for.
const SM_DATA: &str = "/nudm-sdm/v2/imsi-001010000000001/sm-data?single-nssai=%7B%22sst%22:1%7D&dnn=internet";

/// Connections to one UDM. Clones share them.
#[derive(Clone)]
pub struct Load {
    connections: Vec<SendRequest<Bytes>>,
    uri: Uri,
    headers: HeaderMap,
    clock: Clock,
}

impl Load {
    /// Opens `connections` to the NF at `api_root`.
    pub async fn connect(net: &dyn Net, api_root: &str, connections: usize) -> Load {
        let uri: Uri = format!("{api_root}{SM_DATA}").parse().expect("a URI");
        let (host, port) = (uri.host().expect("a host"), uri.port_u16().expect("a port"));
        let mut opened = Vec::new();
        for _ in 0..connections {
            let io = net.connect(host, port).await.expect("the NF listens");
            let (sender, connection) = h2::client::handshake(io).await.expect("it speaks HTTP/2");
            spawn_local(async move { drop(connection.await) });
            opened.push(sender);
        }
        Load { connections: opened, uri, headers: usual_headers(), clock: Clock::system() }
    }

    /// Sends `count` requests, on `streams` of each connection at any time. How long the last answer took.
    pub async fn run(&self, count: usize, streams: usize) -> Duration {
        let left = Rc::new(Cell::new(count));
        let begin = Instant::now();
        let streams = self.connections.iter().flat_map(|c| std::iter::repeat_n(c, streams));
        let streams: Vec<_> = streams.map(|c| self.stream(c.clone(), left.clone())).collect();
        for stream in streams {
            stream.await.expect("every request is answered");
        }
        begin.elapsed()
    }

    fn stream(&self, connection: SendRequest<Bytes>, left: Rc<Cell<usize>>) -> JoinHandle<()> {
        let load = self.clone();
        spawn_local(async move {
            while let Some(rest) = left.get().checked_sub(1) {
                left.set(rest);
                load.get(&connection).await;
            }
        })
    }

    async fn get(&self, connection: &SendRequest<Bytes>) {
        let mut request = Request::new(());
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        Pair::new(self.clock.stamp(), MaxRspTime::MAX).write(request.headers_mut());
        let mut connection = connection.clone().ready().await.expect("an open connection");
        let (answer, _) = connection.send_request(request, true).expect("a free stream");
        let answer = answer.await.expect("an answer");
        assert!(answer.status().is_success(), "{answer:?}");
        let mut body = answer.into_body();
        while let Some(data) = body.data().await {
            let read = data.expect("a whole body").len();
            body.flow_control().release_capacity(read).expect("what was received");
        }
    }
}

fn usual_headers() -> HeaderMap {
    [
        ("user-agent", "SMF-4947a69a-f61b-4bc1-b9da-47c9c5d14b64"),
        ("accept", "application/json, application/problem+json"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ]
    .into_iter()
    .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
    .collect()
}
