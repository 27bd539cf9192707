//! A client that costs little: bare h2, one request over and over.
#![allow(dead_code, reason = "each benchmark needs some of it")]

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use sbi::clock::Clock;
use sbi::header::{MaxRspTime, Pair};
use sbi::net::Net;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, spawn_local};

const SM_DATA: &str = "/nudm-sdm/v2/imsi-001010000000001/sm-data?single-nssai=%7B%22sst%22:1%7D&dnn=internet";

/// Large enough that no answer waits for it, in bytes.
const WINDOW: u32 = 1 << 20;

/// What is asked for.
#[derive(Clone)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

impl Asked {
    /// A GET.
    pub fn get(path: &str) -> Asked {
        Asked { method: Method::GET, path: path.to_owned(), headers: Vec::new(), body: Bytes::new() }
    }

    /// The session data of a subscriber that every UDM here has.
    pub fn sm_data() -> Asked {
        Asked::get(SM_DATA)
    }
}

/// Connections to one NF. Clones share them.
#[derive(Clone)]
pub struct Load {
    connections: Vec<SendRequest<Bytes>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    clock: Clock,
    took: Rc<RefCell<Vec<Duration>>>,
}

impl Load {
    /// Opens `connections` to the NF at `api_root`.
    pub async fn connect(net: &dyn Net, api_root: &str, connections: usize, asked: Asked) -> Load {
        let Asked { method, path, headers: more, body } = asked;
        let uri: Uri = format!("{api_root}{path}").parse().expect("a URI");
        let (host, port) = (uri.host().expect("a host"), uri.port_u16().expect("a port"));
        let mut opened = Vec::new();
        for _ in 0..connections {
            let io = net.connect(host, port).await.expect("the NF listens");
            let mut handshake = h2::client::Builder::new();
            handshake.initial_connection_window_size(WINDOW).initial_window_size(WINDOW);
            let (sender, connection) = handshake.handshake(io).await.expect("it speaks HTTP/2");
            spawn_local(async move { drop(connection.await) });
            opened.push(sender);
        }
        let mut headers = usual_headers();
        headers.extend(more);
        let (clock, took) = (Clock::system(), Rc::default());
        Load { connections: opened, method, uri, headers, body, clock, took }
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

    /// How long each answer took since this was asked last.
    pub fn took(&self) -> Vec<Duration> {
        self.took.take()
    }

    fn stream(&self, connection: SendRequest<Bytes>, left: Rc<Cell<usize>>) -> JoinHandle<()> {
        let load = self.clone();
        spawn_local(async move {
            while let Some(rest) = left.get().checked_sub(1) {
                left.set(rest);
                let begin = Instant::now();
                load.ask(&connection).await;
                load.took.borrow_mut().push(begin.elapsed());
            }
        })
    }

    async fn ask(&self, connection: &SendRequest<Bytes>) {
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        Pair::new(self.clock.stamp(), MaxRspTime::MAX).write(request.headers_mut());
        let mut connection = connection.clone().ready().await.expect("an open connection");
        let (answer, mut stream) =
            connection.send_request(request, self.body.is_empty()).expect("a free stream");
        if !self.body.is_empty() {
            stream.send_data(self.body.clone(), true).expect("an open stream");
        }
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
