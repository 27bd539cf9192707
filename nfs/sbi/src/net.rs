//! The network as a value: TCP of the machine, or of a simulation.

pub use crate::corked::Corked;
use futures_util::future::LocalBoxFuture;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// How much of one body may be on its way over HTTP/2 before its reader has taken it.
pub const STREAM_WINDOW: u32 = 64 * 1024;

/// A connection.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection of any network.
pub type BoxIo = Box<dyn Io>;

/// A connection that was accepted on one thread and is opened on the one that serves it.
pub type Accepted = Box<dyn FnOnce() -> io::Result<BoxIo> + Send>;

/// Opens connections and listens for them.
pub trait Net: Send + Sync {
    /// Opens a connection. The name is resolved anew each time.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> LocalBoxFuture<'a, io::Result<BoxIo>>;

    /// Listens on `at`; port 0 is a free one.
    fn listen<'a>(&'a self, at: &'a str) -> LocalBoxFuture<'a, io::Result<Box<dyn Listen>>>;
}

/// A listening socket.
pub trait Listen {
    /// The next connection and who opened it.
    fn accept(&mut self) -> LocalBoxFuture<'_, io::Result<(Accepted, SocketAddr)>>;

    /// Where it listens.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// The machine's TCP. Every socket is [`Corked`], and has TCP_NODELAY: without it, answers wait some 40 ms for delayed ACKs.
pub struct Tcp;

impl Net for Tcp {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> LocalBoxFuture<'a, io::Result<BoxIo>> {
        Box::pin(async move {
            let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(Corked::new(stream)) as BoxIo)
        })
    }

    fn listen<'a>(&'a self, at: &'a str) -> LocalBoxFuture<'a, io::Result<Box<dyn Listen>>> {
        Box::pin(async move { Ok(Box::new(TcpListener::bind(at).await?) as Box<dyn Listen>) })
    }
}

impl Listen for TcpListener {
    fn accept(&mut self) -> LocalBoxFuture<'_, io::Result<(Accepted, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = TcpListener::accept(self).await?;
            stream.set_nodelay(true)?;
            let stream = stream.into_std()?;
            let open: Accepted =
                Box::new(move || Ok(Box::new(Corked::new(TcpStream::from_std(stream)?)) as BoxIo));
            Ok((open, peer))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        TcpListener::local_addr(self)
    }
}
