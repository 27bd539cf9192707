//! A client for one request, that speaks the protocol it is told to.

use super::PATIENCE;
use ::http::{Request, Uri, Version, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;

/// How to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 without TLS, with prior knowledge.
    H2c,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    /// The protocol, as curl writes it: `1.1` or `2`.
    pub version: String,
    /// The status.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's value; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("no JSON ({e}): {self:?}"))
    }
}

/// Sends one request on a connection of its own. `content_type` may be empty.
pub fn request(protocol: Protocol, method: &str, uri: &str, content_type: &str, body: &[u8]) -> Answer {
    let answer = try_request(protocol, method, uri, content_type, body);
    answer.unwrap_or_else(|e| panic!("{method} {uri} over {protocol:?}: {e}"))
}

/// The same; the server may be gone.
pub fn try_request(
    protocol: Protocol,
    method: &str,
    uri: &str,
    content_type: &str,
    body: &[u8],
) -> Result<Answer, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exchange = exchange(protocol, method, uri, content_type, Bytes::copy_from_slice(body));
    runtime.block_on(async { tokio::time::timeout(PATIENCE, exchange).await })?
}

/// Why there is no answer.
pub type Failed = Box<dyn std::error::Error>;

async fn exchange(
    protocol: Protocol,
    method: &str,
    uri: &str,
    content_type: &str,
    body: Bytes,
) -> Result<Answer, Failed> {
    let uri: Uri = uri.parse()?;
    let authority = uri.authority().ok_or("no authority")?.to_string();
    let io = TokioIo::new(TcpStream::connect(&authority).await?);
    let mut request = Request::builder().method(method);
    if !content_type.is_empty() {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let response = match protocol {
        Protocol::H2c => {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            sender.send_request(request.uri(uri).body(Full::new(body))?).await?
        }
        Protocol::Http1 => {
            let (mut sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            let target = uri.path_and_query().map_or("/", |target| target.as_str());
            let request = request.uri(target).header(header::HOST, authority);
            sender.send_request(request.body(Full::new(body))?).await?
        }
    };
    let (head, body) = response.into_parts();
    let header = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    Ok(Answer {
        version: if head.version == Version::HTTP_2 { "2" } else { "1.1" }.into(),
        status: head.status.as_u16(),
        headers: head.headers.iter().map(header).collect(),
        body: body.collect().await?.to_bytes().to_vec(),
    })
}
