//! TCP between simulated hosts: every message takes its time, by the seed, and arrives in the order of its connection.
//! Links can hold messages back, lose them, or reset their connections.

use super::weather::Weather;
use bytes::{Buf, Bytes};
use fastrand::Rng;
use futures_util::future::LocalBoxFuture;
use sbi::clock::Instant;
use sbi::net::{Accepted, BoxIo, Corked, Listen, Net};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, mpsc};
use tokio::time::Sleep;

/// How many connections wait at a host to be accepted; further ones are refused.
pub const MAX_BACKLOG: usize = 1_024;

type Name = Arc<str>;

/// The simulated network. Bytes on their way have no bound of their own here: HTTP/2's windows are one.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    begin: Instant,
    weather: Weather,
    state: Mutex<State>,
    /// Tells those who are connecting over a held link.
    changed: Notify,
}

struct State {
    dice: Rng,
    hosts: Vec<Name>,
    ports: u16,
    listeners: BTreeMap<Name, mpsc::Sender<(Stream, SocketAddr)>>,
    links: BTreeMap<Link, Condition>,
    pipes: Vec<Weak<Pipe>>,
}

/// From whom to whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Link(Name, Name);

impl Link {
    fn joins(&self, a: &str, b: &str) -> bool {
        (&*self.0, &*self.1) == (a, b) || (&*self.0, &*self.1) == (b, a)
    }
}

/// What a link does to messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Held,
    Cut,
}

impl Network {
    pub(super) fn new(weather: Weather, begin: Instant) -> Self {
        let state = State {
            dice: Rng::with_seed(weather.seed),
            hosts: Vec::new(),
            ports: 0,
            listeners: BTreeMap::new(),
            links: BTreeMap::new(),
            pipes: Vec::new(),
        };
        Network(Arc::new(Inner { begin, weather, state: Mutex::new(state), changed: Notify::new() }))
    }

    /// The network as `name` sees it.
    pub(super) fn host(&self, name: &str) -> HostNet {
        let name: Name = name.into();
        self.state().hosts.push(name.clone());
        HostNet { network: self.clone(), name }
    }

    /// Holds back what is between two hosts, until [`Network::release`].
    pub fn hold(&self, a: &str, b: &str) {
        self.set(a, b, Some(Condition::Held));
        self.each_pipe(a, b, |half| half.queue.iter_mut().for_each(|sent| sent.arrives = None));
    }

    /// Lets it go on.
    pub fn release(&self, a: &str, b: &str) {
        self.set(a, b, None);
        let soon = self.0.rounded(self.now_ms() + 1);
        self.each_pipe(a, b, |half| {
            half.queue.iter_mut().for_each(|sent| sent.arrives = sent.arrives.or(Some(soon)));
            half.newest = half.newest.max(soon);
            half.wake();
        });
    }

    /// Loses all that is between two hosts, until [`Network::repair`], and whatever the connections that lost
    /// something carry after that: nobody sends again what was lost.
    pub fn partition(&self, a: &str, b: &str) {
        self.set(a, b, Some(Condition::Cut));
        self.each_pipe(a, b, Half::fall_silent);
    }

    /// Lets new connections through again.
    pub fn repair(&self, a: &str, b: &str) {
        self.set(a, b, None);
    }

    /// Resets every connection between two hosts: what is on its way is lost, and both sides see the end.
    pub fn reset(&self, a: &str, b: &str) {
        let mut state = self.state();
        for pipe in state.pipes_between(a, b) {
            let arrives = state.arrival(&self.0, self.now_ms());
            let mut half = pipe.half();
            half.fall_silent();
            half.push(Sent { arrives: Some(arrives), what: Segment::Reset });
        }
    }

    fn set(&self, a: &str, b: &str, condition: Option<Condition>) {
        let mut state = self.state();
        for link in [Link(a.into(), b.into()), Link(b.into(), a.into())] {
            match condition {
                Some(condition) => drop(state.links.insert(link, condition)),
                None => drop(state.links.remove(&link)),
            }
        }
        drop(state);
        self.0.changed.notify_waiters();
    }

    fn each_pipe(&self, a: &str, b: &str, mut change: impl FnMut(&mut Half)) {
        let pipes = self.state().pipes_between(a, b);
        pipes.iter().for_each(|pipe| change(&mut pipe.half()));
    }

    async fn connect(&self, from: &Name, to: &str) -> io::Result<Stream> {
        let to: Name = to.into();
        let refused =
            || io::Error::new(io::ErrorKind::ConnectionRefused, format!("{to} refuses connections"));
        self.pass(Link(from.clone(), to.clone())).await?;
        let (near, far, address) = self.pair(from, &to);
        let listener = self.state().listeners.get(&to).cloned().ok_or_else(refused)?;
        listener.try_send((far, address)).map_err(|_| refused())?;
        self.pass(Link(to.clone(), from.clone())).await?;
        Ok(near)
    }

    /// One message of a handshake.
    async fn pass(&self, link: Link) -> io::Result<()> {
        loop {
            let changed = self.0.changed.notified();
            let condition = self.state().links.get(&link).copied();
            match condition {
                None => break,
                Some(Condition::Held) => changed.await,
                Some(Condition::Cut) => return Err(io::ErrorKind::ConnectionRefused.into()),
            }
        }
        let arrives = self.state().arrival(&self.0, self.now_ms());
        tokio::time::sleep_until(self.0.at(arrives)).await;
        Ok(())
    }

    /// Both ends of a new connection, and the address of who opens it.
    fn pair(&self, from: &Name, to: &Name) -> (Stream, Stream, SocketAddr) {
        let pipe = |link| Arc::new(Pipe { link, half: Mutex::default() });
        let (there, back) = (pipe(Link(from.clone(), to.clone())), pipe(Link(to.clone(), from.clone())));
        let mut state = self.state();
        state.pipes.retain(|pipe| pipe.strong_count() > 0);
        state.pipes.extend([Arc::downgrade(&there), Arc::downgrade(&back)]);
        state.ports = state.ports.wrapping_add(1);
        let host = state.hosts.iter().position(|host| host == from).unwrap_or(0);
        let ip = Ipv4Addr::new(192, 168, 0, u8::try_from(host + 1).unwrap_or(u8::MAX));
        let address = SocketAddr::new(IpAddr::V4(ip), 49_152 | state.ports);
        let end = |reads: &Arc<Pipe>, writes: &Arc<Pipe>| Stream {
            network: self.clone(),
            reads: reads.clone(),
            writes: writes.clone(),
            timer: None,
            is_shut: false,
        };
        (end(&back, &there), end(&there, &back), address)
    }

    fn send(&self, pipe: &Pipe, what: Segment) {
        let mut state = self.state();
        let arrives = match state.links.get(&pipe.link) {
            None => Some(state.arrival(&self.0, self.now_ms())),
            Some(Condition::Held) => None,
            Some(Condition::Cut) => return pipe.half().fall_silent(),
        };
        let mut half = pipe.half();
        if half.is_silent || half.is_abandoned {
            return;
        }
        let arrives = arrives.map(|at| at.max(half.newest));
        half.push(Sent { arrives, what });
    }

    fn now_ms(&self) -> u64 {
        self.0.ms_until(Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn ms_until(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begin).as_millis()).unwrap_or(u64::MAX)
    }

    fn at(&self, ms: u64) -> Instant {
        self.begin + Duration::from_millis(ms)
    }

    /// The next tick, if it is none.
    fn rounded(&self, ms: u64) -> u64 {
        ms.next_multiple_of(whole_ms(self.weather.tick).max(1))
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl State {
    /// When a message arrives that is sent now.
    fn arrival(&mut self, inner: &Inner, now_ms: u64) -> u64 {
        let (least, most) = (whole_ms(inner.weather.min_latency).max(1), whole_ms(inner.weather.max_latency));
        inner.rounded(now_ms + self.dice.u64(least..=most.max(least)))
    }

    fn pipes_between(&self, a: &str, b: &str) -> Vec<Arc<Pipe>> {
        self.pipes.iter().filter_map(Weak::upgrade).filter(|pipe| pipe.link.joins(a, b)).collect()
    }
}

/// One direction of a connection.
struct Pipe {
    link: Link,
    half: Mutex<Half>,
}

impl Pipe {
    fn half(&self) -> MutexGuard<'_, Half> {
        self.half.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Half {
    queue: VecDeque<Sent>,
    /// When the newest arrives: nothing overtakes.
    newest: u64,
    reader: Option<Waker>,
    /// Whatever is sent from now on is lost.
    is_silent: bool,
    /// Its reader is gone.
    is_abandoned: bool,
}

struct Sent {
    /// In milliseconds since the beginning; `None` while it is held back.
    arrives: Option<u64>,
    what: Segment,
}

enum Segment {
    Data(Bytes),
    Fin,
    Reset,
}

impl Half {
    fn push(&mut self, sent: Sent) {
        self.newest = self.newest.max(sent.arrives.unwrap_or(0));
        self.queue.push_back(sent);
        // Behind another one it is found when that is read.
        if self.queue.len() == 1 {
            self.wake();
        }
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn fall_silent(&mut self) {
        self.queue.clear();
        self.is_silent = true;
    }

    /// Reads what has arrived by now.
    fn read(&mut self, now_ms: u64, into: &mut ReadBuf<'_>) -> Reading {
        let before = into.filled().len();
        while into.remaining() > 0 {
            let Some(sent) = self.queue.front_mut() else { break };
            match (sent.arrives, &mut sent.what) {
                (None, _) => break,
                (Some(at), _) if at > now_ms && into.filled().len() == before => return Reading::Later(at),
                (Some(at), _) if at > now_ms => break,
                (_, Segment::Data(bytes)) => {
                    let fits = bytes.len().min(into.remaining());
                    into.put_slice(&bytes[..fits]);
                    bytes.advance(fits);
                    if bytes.is_empty() {
                        self.queue.pop_front();
                    }
                }
                (_, Segment::Fin) => return Reading::Done,
                (_, Segment::Reset) if into.filled().len() == before => return Reading::Reset,
                (_, Segment::Reset) => break,
            }
        }
        if into.filled().len() > before { Reading::Done } else { Reading::Nothing }
    }
}

enum Reading {
    Done,
    Reset,
    Later(u64),
    Nothing,
}

/// One end of a connection.
struct Stream {
    network: Network,
    reads: Arc<Pipe>,
    writes: Arc<Pipe>,
    timer: Option<Pin<Box<Sleep>>>,
    is_shut: bool,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let now_ms = self.network.now_ms();
            let mut half = self.reads.half();
            let later = match half.read(now_ms, into) {
                Reading::Done => return Poll::Ready(Ok(())),
                Reading::Reset => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Reading::Nothing => None,
                Reading::Later(at) => Some(self.network.0.at(at)),
            };
            half.reader = Some(cx.waker().clone());
            drop(half);
            let Some(later) = later else { return Poll::Pending };
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(later),
                none => *none = Some(Box::pin(tokio::time::sleep_until(later))),
            }
            let timer = self.timer.as_mut().map(|timer| timer.as_mut().poll(cx));
            if timer.is_none_or(|polled| polled.is_pending()) {
                return Poll::Pending;
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.network.send(&self.writes, Segment::Data(Bytes::copy_from_slice(bytes)));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.is_shut, true) {
            self.network.send(&self.writes, Segment::Fin);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut half = self.reads.half();
        half.queue.clear();
        half.is_abandoned = true;
        drop(half);
        if !self.is_shut {
            self.network.send(&self.writes, Segment::Fin);
        }
    }
}

/// The network as one host sees it.
pub(super) struct HostNet {
    network: Network,
    name: Name,
}

impl Net for HostNet {
    fn connect<'a>(&'a self, host: &'a str, _: u16) -> LocalBoxFuture<'a, io::Result<BoxIo>> {
        Box::pin(async move {
            let stream = self.network.connect(&self.name, host).await?;
            Ok(Box::new(Corked::new(stream)) as BoxIo)
        })
    }

    fn listen<'a>(&'a self, _: &'a str) -> LocalBoxFuture<'a, io::Result<Box<dyn Listen>>> {
        let (arrive, arriving) = mpsc::channel(MAX_BACKLOG);
        self.network.state().listeners.insert(self.name.clone(), arrive);
        Box::pin(async move { Ok(Box::new(Port { arriving }) as Box<dyn Listen>) })
    }
}

/// A host's only port.
struct Port {
    arriving: mpsc::Receiver<(Stream, SocketAddr)>,
}

impl Listen for Port {
    fn accept(&mut self) -> LocalBoxFuture<'_, io::Result<(Accepted, SocketAddr)>> {
        Box::pin(async move {
            let arrived = self.arriving.recv().await;
            let (stream, peer) = arrived.ok_or(io::ErrorKind::NotConnected)?;
            let open: Accepted = Box::new(move || Ok(Box::new(Corked::new(stream)) as BoxIo));
            Ok((open, peer))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(([0, 0, 0, 0], 80).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    struct Pair {
        network: Network,
        near: BoxIo,
        far: BoxIo,
    }

    async fn pair(weather: Weather) -> Pair {
        let network = Network::new(weather, Instant::now());
        let (a, b) = (network.host("a"), network.host("b"));
        let mut port = b.listen("").await.expect("a port");
        let (near, far) = tokio::join!(a.connect("b", 80), port.accept());
        let (open, _) = far.expect("a connection");
        Pair { network, near: near.expect("a connection"), far: open().expect("open") }
    }

    /// Sockets are corked: the second flush is a real one.
    async fn say(io: &mut BoxIo, bytes: &[u8]) {
        io.write_all(bytes).await.expect("written");
        io.flush().await.expect("asked for");
        io.flush().await.expect("flushed");
    }

    async fn read(io: &mut BoxIo) -> io::Result<String> {
        let mut buffer = [0; 64];
        let read = io.read(&mut buffer).await?;
        Ok(String::from_utf8_lossy(&buffer[..read]).into_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn messages_take_their_time_in_ticks_and_keep_their_order() {
        for seed in 0..20 {
            let Pair { network, mut near, mut far } = pair(Weather::rough(seed)).await;
            let begin = network.now_ms();
            for part in ["a", "b", "c"] {
                say(&mut near, part.as_bytes()).await;
            }
            let mut heard = String::new();
            while heard.len() < 3 {
                heard += &read(&mut far).await.expect("a message");
                assert_eq!(network.now_ms() % 5, 0);
            }
            assert_eq!(heard, "abc");
            assert!((1..=45).contains(&(network.now_ms() - begin)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_arrives_after_the_release_and_what_is_cut_never() {
        let Pair { network, mut near, mut far } = pair(Weather::calm(1)).await;
        say(&mut near, b"held").await;
        network.hold("a", "b");
        let long = Duration::from_secs(9);
        assert!(tokio::time::timeout(long, read(&mut far)).await.is_err());
        network.release("b", "a");
        assert_eq!(read(&mut far).await.expect("a message"), "held");
        network.partition("a", "b");
        network.repair("a", "b");
        say(&mut near, b"lost").await;
        assert!(tokio::time::timeout(long, read(&mut far)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn both_sides_see_a_reset_and_the_end() {
        let Pair { network, mut near, mut far } = pair(Weather::calm(1)).await;
        say(&mut near, b"lost").await;
        network.reset("a", "b");
        for end in [&mut near, &mut far] {
            assert_eq!(read(end).await.map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset));
        }
        let Pair { near, mut far, .. } = pair(Weather::calm(1)).await;
        drop(near);
        assert_eq!(read(&mut far).await.expect("the end"), "");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_listen_refuses() {
        let network = Network::new(Weather::calm(1), Instant::now());
        let refused = network.host("a").connect("b", 80).await.map(drop).map_err(|e| e.kind());
        assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));
    }
}
