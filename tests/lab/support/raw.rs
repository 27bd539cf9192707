//! Clients that do one thing at a time, as a test wants it: one HTTP/2 connection, or plain text over TCP.

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::Request;
use http::header::CONTENT_TYPE;
use mock5g::lab::PATIENCE;
use sbi::client::{Answer, Call};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::timeout;

/// One HTTP/2 connection.
pub struct Connection {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<()>,
}

/// A request on its stream.
pub struct Exchange {
    answer: ResponseFuture,
    stream: SendStream<Bytes>,
}

impl Connection {
    /// Connects, with prior knowledge.
    pub async fn open(root: &str) -> Self {
        let socket = TcpStream::connect(authority(root)).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_max_send_streams(100);
        let (sender, connection) = builder.handshake(socket).await.unwrap();
        Connection { sender, driver: spawn_local(async move { drop(connection.await) }) }
    }

    /// Sends the head of a request; nothing is added to what the call says.
    pub async fn begin(&mut self, call: &Call) -> Exchange {
        self.head(call, false).await
    }

    async fn head(&mut self, call: &Call, ends: bool) -> Exchange {
        let mut head = Request::builder().method(&call.method).uri(&*call.uri).body(()).unwrap();
        head.headers_mut().extend(call.headers.clone());
        let content_type = call.content_type.as_ref().map(|t| (CONTENT_TYPE, t.parse().unwrap()));
        head.headers_mut().extend(content_type);
        self.sender = self.sender.clone().ready().await.unwrap();
        let (answer, stream) = self.sender.send_request(head, ends).unwrap();
        Exchange { answer, stream }
    }

    /// Sends a whole request.
    pub async fn send(&mut self, call: &Call) -> Exchange {
        let mut exchange = self.head(call, call.body.is_empty()).await;
        if !call.body.is_empty() {
            exchange.stream.send_data(call.body.clone(), true).unwrap();
        }
        exchange
    }

    /// Sends a request and receives its answer.
    pub async fn answer(&mut self, call: &Call) -> Answer {
        self.send(call).await.answer().await.unwrap()
    }

    /// Closes the connection.
    pub async fn hang_up(self) {
        self.driver.abort();
        let _ = self.driver.await;
    }
}

impl Exchange {
    /// The answer, or how the stream or the connection ended instead.
    pub async fn answer(self) -> Result<Answer, h2::Error> {
        let whole = async {
            let (head, mut body) = self.answer.await?.into_parts();
            let mut all = Vec::new();
            while let Some(data) = body.data().await {
                let data = data?;
                let _ = body.flow_control().release_capacity(data.len());
                all.extend_from_slice(&data);
            }
            Ok(Answer { headers: head.headers, body: all.into(), ..Answer::new(head.status) })
        };
        timeout(PATIENCE, whole).await.expect("an answer, or the end of the stream")
    }

    /// The code with which the server reset the stream.
    pub async fn reset_code(self) -> Option<Reason> {
        self.answer().await.expect_err("no answer").reason()
    }

    /// The client resets the stream.
    pub fn reset(mut self) {
        self.stream.send_reset(Reason::CANCEL);
    }
}

/// Sends `text` over TCP.
pub async fn tcp(root: &str, text: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(authority(root)).await.unwrap();
    socket.write_all(text).await.unwrap();
    socket
}

/// Everything that comes until the server closes the connection.
pub async fn to_the_end(mut socket: TcpStream) -> String {
    let mut all = Vec::new();
    let read = timeout(PATIENCE, socket.read_to_end(&mut all)).await.expect("the connection closes");
    let _ = read;
    String::from_utf8_lossy(&all).into_owned()
}

/// The request as HTTP/1.1; the connection closes after its answer.
pub fn http1(call: &Call) -> Vec<u8> {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
        call.method,
        call.path(),
        call.authority(),
        call.body.len()
    );
    for (name, value) in &call.headers {
        text += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    if let Some(content_type) = &call.content_type {
        text += &format!("content-type: {content_type}\r\n");
    }
    [format!("{text}\r\n").as_bytes(), &call.body].concat()
}

fn authority(root: &str) -> &str {
    root.strip_prefix("http://").unwrap_or(root)
}
