//! HTTP/2 by hand, frame by frame: for peers that do what no library lets them do.

use mock5g::lab::PATIENCE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a client sends first.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// A connection, SETTINGS and PING answered.
pub struct Frames(TcpStream);

/// A frame.
#[derive(Debug)]
pub struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frames {
    /// As a server.
    pub async fn server(mut socket: TcpStream) -> Self {
        let mut preface = [0; PREFACE.len()];
        socket.read_exact(&mut preface).await.unwrap();
        let mut frames = Frames(socket);
        frames.write(&frame(SETTINGS, 0, 0, &[])).await;
        frames
    }

    /// As a client.
    pub async fn client(root: &str) -> Self {
        let socket = super::raw::tcp(root, PREFACE).await;
        let mut frames = Frames(socket);
        frames.write(&frame(SETTINGS, 0, 0, &[])).await;
        frames
    }

    /// Sends bytes as they are.
    pub async fn write(&mut self, bytes: &[u8]) {
        // The other side may have hung up.
        let _ = self.0.write_all(bytes).await;
    }

    /// The next frame; none once the other side has closed the connection.
    pub async fn next(&mut self) -> Option<Frame> {
        timeout(PATIENCE, self.read()).await.expect("a frame, or the end of the connection")
    }

    async fn read(&mut self) -> Option<Frame> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.0.read_exact(&mut payload).await.ok()?;
            match kind {
                SETTINGS | PING if flags & ACK != 0 => {}
                SETTINGS => self.write(&frame(SETTINGS, ACK, 0, &[])).await,
                PING => self.write(&frame(PING, ACK, 0, &payload)).await,
                _ => return Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload }),
            }
        }
    }

    /// The streams of the next so many requests, each once it has ended.
    pub async fn requests(&mut self, count: usize) -> Vec<u32> {
        let mut streams = Vec::new();
        while streams.len() < count {
            let frame = self.next().await.expect("another request");
            if frame.kind <= HEADERS && frame.flags & END_STREAM != 0 {
                streams.push(frame.stream);
            }
        }
        streams
    }

    /// Answers 201 without a body.
    pub async fn created(&mut self, stream: u32, location: &str) {
        let length = u8::try_from(location.len()).unwrap();
        assert!(length < 127, "a longer string has a longer length");
        let block = [b"\x08\x03201\x0f\x1f", &[length][..], location.as_bytes()].concat();
        self.write(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &block)).await;
    }

    /// Says GOAWAY.
    pub async fn goaway(&mut self, last: u32, reason: u32) {
        self.write(&frame(GOAWAY, 0, 0, &[last.to_be_bytes(), reason.to_be_bytes()].concat())).await;
    }

    /// The reason of the GOAWAY with which the other side ends the connection.
    pub async fn goaway_reason(&mut self) -> Option<u32> {
        while let Some(frame) = self.next().await {
            if frame.kind == GOAWAY {
                return frame.payload[4..8].try_into().ok().map(u32::from_be_bytes);
            }
        }
        None
    }

    /// Says that nothing more will come, and waits until the other side has closed the connection too.
    pub async fn close(mut self) {
        let _ = self.0.shutdown().await;
        while self.next().await.is_some() {}
    }
}

/// So many requests, the first on `first`, each reset at once.
pub fn reset_at_once(first: u32, count: u32) -> Vec<u8> {
    // GET http / without an authority.
    let request = |stream| frame(HEADERS, END_STREAM | END_HEADERS, stream, b"\x82\x86\x84");
    let both = |stream| [request(stream), frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat();
    (0..count).flat_map(|n| both(first + 2 * n)).collect()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
