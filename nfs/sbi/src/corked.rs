//! A socket that gathers what is written to it, and writes it in one go.
//!
//! h2 flushes after each DATA frame of 256 bytes or more. A system call for each of those costs more than all else about a
//! short answer (docs/performance.md).
//!
//! ```text
//!   write ----> held, at most MAX_HELD bytes; when it is full, writing waits until it is empty
//!   flush ----> something new is held: asked for, and the task is woken, so that its turn comes again
//!               nothing new since:     written now; pending until it is
//!   read -----> what a flush was asked for is written first
//!   shutdown -> all of it is written, then the socket is shut down
//! ```
//!
//! So a flush says that it is done once before it is, and the task that was told so is woken: reading, writing, flushing or
//! shutting down again, as hyper does whenever it is polled, finishes it. For a socket that is not split between tasks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes are held at once. The memory for them, at most twice as much, is kept as long as the socket.
const MAX_HELD: usize = 64 * 1024;

/// A corked socket.
pub struct Corked<T: AsyncWrite + Unpin> {
    io: T,
    held: Vec<u8>,
    /// How much of it has been written.
    written: usize,
    /// A flush was asked for since the last byte came.
    is_asked: bool,
    /// What went wrong where it could not be said.
    failure: Option<io::Error>,
}

impl<T: AsyncWrite + Unpin> Corked<T> {
    /// Corks a socket.
    pub fn new(io: T) -> Self {
        Corked { io, held: Vec::new(), written: 0, is_asked: false, failure: None }
    }

    /// Takes in as much as there is room for.
    fn hold<'a>(
        &mut self,
        cx: &mut Context<'_>,
        slices: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        if let Some(failure) = self.failure.take() {
            return Poll::Ready(Err(failure));
        }
        if self.held.len() == MAX_HELD {
            ready!(self.write(cx))?;
        }
        let before = self.held.len();
        for slice in slices {
            let room = MAX_HELD - self.held.len();
            self.held.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.is_asked = false;
        Poll::Ready(Ok(self.held.len() - before))
    }

    /// Writes all that is held.
    fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(failure) = self.failure.take() {
            return Poll::Ready(Err(failure));
        }
        while self.written < self.held.len() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.held[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        self.held.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Corked<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Whoever cannot be written to may have said something all the same: the failure is told by the next write.
        if this.is_asked
            && this.failure.is_none()
            && let Poll::Ready(Err(failure)) = this.write(cx)
        {
            this.failure = Some(failure);
        }
        Pin::new(&mut this.io).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Corked<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().hold(cx, std::iter::once(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().hold(cx, slices.iter().map(|slice| &**slice))
    }

    /// The slices are copied, whatever their number: nobody needs to put them together before.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.held.is_empty() || this.is_asked {
            ready!(this.write(cx))?;
            return Pin::new(&mut this.io).poll_flush(cx);
        }
        this.is_asked = true;
        cx.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write(cx))?;
        Pin::new(&mut this.io).poll_shutdown(cx)
    }
}

impl<T: AsyncWrite + Unpin> Drop for Corked<T> {
    /// What a flush was asked for goes to the kernel, as far as there is room for it.
    fn drop(&mut self) {
        if self.is_asked && self.failure.is_none() {
            let _ = self.write(&mut Context::from_waker(Waker::noop()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Wake;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::net::{TcpListener, TcpStream};

    /// A socket that takes what it is told to take, and nothing once that is used up.
    #[derive(Default)]
    struct Script {
        takes: VecDeque<io::Result<usize>>,
        taken: Vec<Vec<u8>>,
        is_shut: bool,
        waiting: Option<Waker>,
    }

    impl AsyncRead for Script {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Script {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let Some(room) = self.takes.pop_front() else {
                self.waiting = Some(cx.waker().clone());
                return Poll::Pending;
            };
            let taken = room?.min(bytes.len());
            self.taken.push(bytes[..taken].to_vec());
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.is_shut = true;
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    const ANY: usize = usize::MAX;

    /// A corked [`Script`] and the task that has it.
    struct Bench {
        io: Corked<Script>,
        woken: Arc<Woken>,
    }

    impl Bench {
        fn new(takes: impl IntoIterator<Item = io::Result<usize>>) -> Self {
            let script = Script { takes: takes.into_iter().collect(), ..Script::default() };
            Bench { io: Corked::new(script), woken: Arc::default() }
        }

        fn poll<T>(
            &mut self,
            poll: impl FnOnce(Pin<&mut Corked<Script>>, &mut Context<'_>) -> Poll<T>,
        ) -> Poll<T> {
            let waker = self.woken.clone().into();
            poll(Pin::new(&mut self.io), &mut Context::from_waker(&waker))
        }

        fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.poll(|io, cx| io.poll_write(cx, bytes))
        }

        fn flush(&mut self) -> Poll<io::Result<()>> {
            self.poll(AsyncWrite::poll_flush)
        }

        fn read(&mut self) -> bool {
            self.poll(|io, cx| io.poll_read(cx, &mut ReadBuf::new(&mut [0; 8]))).is_ready()
        }

        fn woken(&self) -> usize {
            self.woken.0.swap(0, Relaxed)
        }

        fn taken(&self) -> Vec<&[u8]> {
            self.io.io.taken.iter().map(|taken| &**taken).collect()
        }
    }

    fn is_done<T>(polled: Poll<io::Result<T>>) -> bool {
        matches!(polled, Poll::Ready(Ok(_)))
    }

    fn failed<T>(polled: Poll<io::Result<T>>) -> Option<io::ErrorKind> {
        match polled {
            Poll::Ready(Err(failure)) => Some(failure.kind()),
            _ => None,
        }
    }

    #[test]
    fn many_writes_with_flushes_between_are_one_and_the_last_flush_is_a_real_one() {
        let mut bench = Bench::new([Ok(ANY)]);
        for part in ["one ", "two ", "three"] {
            assert!(is_done(bench.write(part.as_bytes())) && is_done(bench.flush()));
        }
        assert!(bench.taken().is_empty());
        assert!(is_done(bench.flush()));
        assert_eq!(bench.taken(), [b"one two three"]);
    }

    #[test]
    fn slices_are_held_as_one() {
        let mut bench = Bench::new([Ok(ANY)]);
        let slices = [IoSlice::new(b"head "), IoSlice::new(b""), IoSlice::new(b"body")];
        assert!(matches!(bench.poll(|io, cx| io.poll_write_vectored(cx, &slices)), Poll::Ready(Ok(9))));
        assert!(is_done(bench.flush()) && is_done(bench.flush()));
        assert_eq!(bench.taken(), [b"head body"]);
    }

    #[test]
    fn who_was_told_too_early_is_woken_and_whatever_it_does_then_writes() {
        for next in ["flush", "read", "shutdown"] {
            let mut bench = Bench::new([Ok(ANY)]);
            assert!(is_done(bench.write(b"x")) && is_done(bench.flush()));
            assert_eq!(bench.woken(), 1, "{next}");
            match next {
                "flush" => assert!(is_done(bench.flush())),
                "read" => assert!(!bench.read()),
                _ => assert!(is_done(bench.poll(AsyncWrite::poll_shutdown))),
            }
            assert_eq!(bench.taken(), [b"x"], "{next}");
            assert_eq!((is_done(bench.flush()), bench.woken()), (true, 0), "{next}: nothing is left to do");
        }
    }

    #[test]
    fn what_the_socket_does_not_take_is_waited_for() {
        let mut bench = Bench::new([Ok(2)]);
        assert!(is_done(bench.write(b"12345")) && is_done(bench.flush()));
        assert!(bench.flush().is_pending(), "a flush that was asked for twice is a real one");
        assert!(!bench.read());
        assert!(bench.io.io.waiting.is_some(), "the socket wakes the task when there is room");
        bench.io.io.takes.push_back(Ok(ANY));
        assert!(!bench.read());
        assert_eq!(bench.taken(), [&b"12"[..], b"345"]);
        assert!(is_done(bench.flush()));
    }

    #[test]
    fn no_more_than_the_bound_is_held() {
        let mut bench = Bench::new([]);
        let more = vec![7; MAX_HELD + 5];
        assert!(matches!(bench.write(&more), Poll::Ready(Ok(MAX_HELD))));
        assert!(bench.write(b"x").is_pending(), "back-pressure");
        bench.io.io.takes.extend([Ok(MAX_HELD - 1)]);
        assert!(bench.write(b"x").is_pending());
        bench.io.io.takes.extend([Ok(ANY)]);
        assert!(is_done(bench.write(b"x")));
        assert_eq!(bench.io.held, b"x");
        assert_eq!(bench.io.held.capacity(), MAX_HELD);
    }

    #[test]
    fn a_failure_is_told_by_the_next_write_or_flush_and_reading_goes_on() {
        let reset = || Err(io::ErrorKind::ConnectionReset.into());
        let mut bench = Bench::new([reset(), reset()]);
        assert!(is_done(bench.write(b"x")) && is_done(bench.flush()));
        assert!(!bench.read(), "there may be something to read");
        assert_eq!(failed(bench.flush()), Some(io::ErrorKind::ConnectionReset));
        assert!(!bench.read());
        assert_eq!(failed(bench.write(b"y")), Some(io::ErrorKind::ConnectionReset));
        let mut bench = Bench::new([Ok(0)]);
        assert!(is_done(bench.write(b"x")));
        assert_eq!(failed(bench.poll(AsyncWrite::poll_shutdown)), Some(io::ErrorKind::WriteZero));
    }

    #[test]
    fn shutdown_writes_everything_first() {
        let mut bench = Bench::new([Ok(1)]);
        assert!(is_done(bench.write(b"xyz")));
        assert!(bench.poll(AsyncWrite::poll_shutdown).is_pending());
        assert!(!bench.io.io.is_shut);
        bench.io.io.takes.push_back(Ok(ANY));
        assert!(is_done(bench.poll(AsyncWrite::poll_shutdown)));
        assert_eq!((bench.taken(), bench.io.io.is_shut), (vec![&b"x"[..], b"yz"], true));
    }

    fn corked_pair(size: usize) -> (Corked<DuplexStream>, DuplexStream) {
        let (near, far) = tokio::io::duplex(size);
        (Corked::new(near), far)
    }

    #[tokio::test]
    async fn what_was_flushed_is_not_lost_with_the_socket() {
        let (mut near, mut far) = corked_pair(64);
        near.write_all(b"goodbye").await.expect("room");
        near.flush().await.expect("flushed");
        drop(near);
        let mut heard = String::new();
        far.read_to_string(&mut heard).await.expect("text");
        assert_eq!(heard, "goodbye");
    }

    /// A task that only ever does what it is woken for: a flush that was told too early must not need more than that.
    #[tokio::test]
    async fn nothing_waits_for_who_is_not_woken() {
        let (mut near, mut far) = corked_pair(3);
        let speaker = tokio::spawn(async move {
            near.write_all(b"a question").await.expect("room");
            near.flush().await.expect("flushed");
            let mut answer = [0; 2];
            near.read_exact(&mut answer).await.expect("an answer");
            answer
        });
        let mut question = [0; 10];
        far.read_exact(&mut question).await.expect("a question");
        far.write_all(b"no").await.expect("room");
        assert_eq!(speaker.await.expect("ended"), *b"no");
    }

    #[tokio::test]
    async fn a_slow_reader_gets_all_of_it_in_order() {
        let (mut near, mut far) = corked_pair(1_000);
        let sent: Vec<u8> = (0..5 * MAX_HELD).map(|n| (n % 251) as u8).collect();
        let (expected, most) = (sent.clone(), Arc::new(AtomicUsize::new(0)));
        let seen = most.clone();
        let writer = tokio::spawn(async move {
            for part in sent.chunks(10_007) {
                near.write_all(part).await.expect("room");
                seen.fetch_max(near.held.capacity(), Relaxed);
            }
            near.shutdown().await.expect("shut down");
        });
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).await.expect("all of it");
        writer.await.expect("ended");
        assert!(heard == expected);
        assert!(most.load(Relaxed) <= 2 * MAX_HELD);
    }

    #[tokio::test]
    async fn whoever_has_said_all_is_answered_still() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let client = tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            stream.write_all(b"a question").await.expect("written");
            stream.shutdown().await.expect("half closed");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("text");
            answer
        });
        let (stream, _) = listener.accept().await.expect("a connection");
        let (mut server, mut question) = (Corked::new(stream), String::new());
        server.read_to_string(&mut question).await.expect("text");
        let answer = "an answer ".repeat(30_000);
        server.write_all(answer.as_bytes()).await.expect("written");
        server.shutdown().await.expect("shut down");
        assert_eq!((question.as_str(), client.await.expect("ended") == answer), ("a question", true));
    }

    proptest! {
        /// Whatever the sizes of writes and of what the socket takes, and wherever is flushed: every byte, once, in order.
        #[test]
        fn every_byte_arrives_once(
            parts in prop::collection::vec((0..9_000_usize, any::<bool>()), 0..40),
            takes in prop::collection::vec(1..5_000_usize, 0..20),
        ) {
            let mut bench = Bench::new(takes.into_iter().map(Ok));
            let (mut expected, mut next) = (Vec::new(), 0_u8);
            for (size, flush) in parts {
                let part: Vec<u8> = (0..size).map(|_| { next = next.wrapping_add(1); next }).collect();
                if let Poll::Ready(written) = bench.write(&part) {
                    expected.extend_from_slice(&part[..written.expect("no failure")]);
                }
                if flush {
                    let _ = bench.flush();
                }
                prop_assert!(bench.io.held.len() <= MAX_HELD);
            }
            bench.io.io.takes.extend((0..2).map(|_| Ok(ANY)));
            prop_assert!(is_done(bench.poll(AsyncWrite::poll_shutdown)));
            prop_assert!(bench.io.io.taken.concat() == expected);
        }
    }
}
