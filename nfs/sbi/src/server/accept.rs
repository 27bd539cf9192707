//! Taking connections in, bounded in number and in the time until their clients say something.

use crate::net::{Accepted, BoxIo, Listen};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// How many connections one port has at once; more are closed as soon as they are accepted.
pub const MAX_CONNECTIONS: usize = 4_096;

/// How long a client may take to say whether it speaks HTTP/1.1 or HTTP/2.
pub const GREETING_PATIENCE: Duration = Duration::from_secs(10);

/// The wait after a failed accept: out of file descriptors, or the like, passes.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a client that speaks HTTP/2 begins with, RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An accepted connection and its place among those of its port.
pub struct Connection {
    open: Accepted,
    pub(super) peer: SocketAddr,
    place: OwnedSemaphorePermit,
}

impl Connection {
    /// Takes it over on the thread that serves it.
    pub(super) fn open(self) -> io::Result<Greeting> {
        let patience = Box::pin(tokio::time::sleep(GREETING_PATIENCE));
        Ok(Greeting { io: (self.open)()?, heard: 0, patience: Some(patience), _place: self.place })
    }
}

/// Accepts connections and hands each to `deal`, for as long as it is polled.
pub async fn accept(mut listener: Box<dyn Listen>, mut deal: impl FnMut(Connection)) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok((open, peer)) => match places.clone().try_acquire_owned() {
                Ok(place) => {
                    told = false;
                    deal(Connection { open, peer, place });
                }
                Err(_) => tracing::debug!(%peer, "closed: {MAX_CONNECTIONS} connections are open"),
            },
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(%error, "connections cannot be accepted; it is tried again");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A connection that fails if its client does not say in time what it speaks: hyper waits for that without end.
pub(super) struct Greeting {
    io: BoxIo,
    heard: usize,
    patience: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Greeting {
    /// It is over once HTTP/2's preface is complete, or the bytes are something else.
    fn hear(&mut self, bytes: &[u8]) {
        let expected = &PREFACE[self.heard..];
        let common = bytes.len().min(expected.len());
        self.heard += common;
        if bytes[..common] != expected[..common] || self.heard == PREFACE.len() {
            self.patience = None;
        }
    }
}

impl AsyncRead for Greeting {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.io).poll_read(cx, buffer);
        match (&mut this.patience, &read) {
            (None, _) => read,
            (Some(_), Poll::Ready(_)) => {
                this.hear(&buffer.filled()[before..]);
                read
            }
            (Some(patience), Poll::Pending) => {
                ready!(patience.as_mut().poll(cx));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client said nothing in time")))
            }
        }
    }
}

impl AsyncWrite for Greeting {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    fn greeting() -> (Greeting, DuplexStream) {
        let (server, client) = tokio::io::duplex(1_024);
        let open: Accepted = Box::new(move || Ok(Box::new(server) as BoxIo));
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("room");
        let connection = Connection { open, peer: ([127, 0, 0, 1], 1).into(), place };
        (connection.open().expect("open"), client)
    }

    async fn read_twice(said: &[u8]) -> io::Result<usize> {
        let (mut server, mut client) = greeting();
        client.write_all(said).await.expect("room");
        let mut buffer = [0; 64];
        assert!(server.read(&mut buffer).await? > 0);
        let late = tokio::time::timeout(GREETING_PATIENCE * 2, server.read(&mut buffer)).await;
        late.unwrap_or(Ok(0))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_or_half_a_preface_is_disconnected() {
        let (mut server, _client) = greeting();
        let nothing = server.read(&mut [0; 64]).await.map_err(|e| e.kind());
        assert_eq!(nothing, Err(io::ErrorKind::TimedOut));
        for said in [&b"P"[..], b"PRI * HTTP/2.0\r\n"] {
            assert_eq!(read_twice(said).await.map_err(|e| e.kind()), Err(io::ErrorKind::TimedOut));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_says_what_it_speaks_may_be_silent_then() {
        for said in [PREFACE, b"GET / HTTP/1.1\r\n", b"PUT"] {
            assert!(read_twice(said).await.is_ok());
        }
    }
}
