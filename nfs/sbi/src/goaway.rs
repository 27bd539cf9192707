//! GOAWAY, RFC 9113 §6.8: seen on its way, since the HTTP library tells nobody why a connection is to end.

use h2::Reason;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes of the debug data of a GOAWAY are kept.
const MAX_DEBUG_DATA: usize = 128;

const FRAME_HEAD: usize = 9;
const GOAWAY: u8 = 7;
/// What comes before the debug data: the last stream, and the reason.
const FIXED: usize = 8;
/// What a client sends before its first frame, RFC 9113 §3.4.
const PREFACE: usize = 24;

/// What a GOAWAY says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goaway {
    /// The last stream of its receiver that its sender may have processed.
    pub(crate) last_stream: u32,
    /// Why the connection ends.
    pub(crate) reason: Reason,
    debug_data: String,
}

impl Goaway {
    fn read(payload: &[u8]) -> Option<Self> {
        let (last_stream, rest) = payload.split_first_chunk()?;
        let (reason, debug_data) = rest.split_first_chunk()?;
        Some(Goaway {
            last_stream: u32::from_be_bytes(*last_stream) & (u32::MAX >> 1),
            reason: Reason::from(u32::from_be_bytes(*reason)),
            debug_data: debug_data.escape_ascii().to_string(),
        })
    }

    /// Whether the connection simply ends.
    pub(crate) fn is_graceful(&self) -> bool {
        self.reason == Reason::NO_ERROR
    }
}

impl fmt::Display for Goaway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, last stream {}", name_of(self.reason), self.last_stream)?;
        if self.debug_data.is_empty() { Ok(()) } else { write!(f, ": {}", self.debug_data) }
    }
}

/// The name of a reason, RFC 9113 §7: `ENHANCE_YOUR_CALM`.
pub(crate) fn name_of(reason: Reason) -> String {
    format!("{reason:?}")
}

/// Finds GOAWAY in a stream of frames, in whatever pieces it comes.
struct Scanner {
    head: [u8; FRAME_HEAD],
    /// How much of the head is there.
    known: usize,
    /// How much of the payload, or of the preface, is still to come.
    left: usize,
    /// The payload of a GOAWAY, as far as it is there.
    payload: Vec<u8>,
}

impl Scanner {
    fn after(skipped: usize) -> Self {
        Scanner { head: [0; FRAME_HEAD], known: 0, left: skipped, payload: Vec::new() }
    }

    fn scan(&mut self, mut bytes: &[u8], mut found: impl FnMut(Goaway)) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (part, rest) = bytes.split_at(self.left.min(bytes.len()));
                bytes = rest;
                self.take(part, &mut found);
                continue;
            }
            let (part, rest) = bytes.split_at((FRAME_HEAD - self.known).min(bytes.len()));
            self.head[self.known..self.known + part.len()].copy_from_slice(part);
            (self.known, bytes) = (self.known + part.len(), rest);
            if self.known == FRAME_HEAD {
                let [a, b, c, ..] = self.head;
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                self.known = if self.left == 0 { 0 } else { FRAME_HEAD };
            }
        }
    }

    /// A part of a payload.
    fn take(&mut self, part: &[u8], found: &mut impl FnMut(Goaway)) {
        self.left -= part.len();
        if self.known == FRAME_HEAD && self.head[3] == GOAWAY {
            let room = (FIXED + MAX_DEBUG_DATA).saturating_sub(self.payload.len());
            self.payload.extend_from_slice(&part[..part.len().min(room)]);
            if self.left == 0 {
                Goaway::read(&std::mem::take(&mut self.payload)).into_iter().for_each(found);
            }
        }
        if self.left == 0 {
            self.known = 0;
        }
    }
}

/// Who says GOAWAY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Us,
    Peer,
}

/// A client's connection whose GOAWAYs are told as they pass.
pub(crate) struct Watched<I, F> {
    io: I,
    read: Scanner,
    written: Scanner,
    tell: F,
}

impl<I, F: FnMut(From, Goaway)> Watched<I, F> {
    pub(crate) fn client(io: I, tell: F) -> Self {
        Watched { io, read: Scanner::after(0), written: Scanner::after(PREFACE), tell }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        let Watched { written, tell, .. } = self;
        written.scan(bytes, |goaway| tell(From::Us, goaway));
    }
}

impl<I: AsyncRead + Unpin, F: FnMut(From, Goaway) + Unpin> AsyncRead for Watched<I, F> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Watched { io, read, tell, .. } = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(io).poll_read(cx, buffer))?;
        read.scan(&buffer.filled()[before..], |goaway| tell(From::Peer, goaway));
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin, F: FnMut(From, Goaway) + Unpin> AsyncWrite for Watched<I, F> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
        self.wrote(&bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, slices))?;
        let mut left = written;
        for slice in slices {
            let part = left.min(slice.len());
            self.wrote(&slice[..part]);
            left -= part;
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// The GOAWAY with which an HTTP/2 connection ended in an error, if it did, and who said it.
pub(crate) fn at_the_end(error: &(dyn std::error::Error + 'static)) -> Option<(From, Reason)> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let h2 = causes.filter_map(|error| error.downcast_ref::<h2::Error>()).find(|h2| h2.is_go_away())?;
    Some((if h2.is_remote() { From::Peer } else { From::Us }, h2.reason()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
    }

    fn goaway(last: u32, reason: u32, debug_data: &[u8]) -> Vec<u8> {
        frame(GOAWAY, &[&last.to_be_bytes(), &reason.to_be_bytes(), debug_data].concat())
    }

    fn found(scanner: &mut Scanner, pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        pieces.iter().for_each(|piece| scanner.scan(piece, |goaway| all.push(goaway.to_string())));
        all
    }

    fn stream() -> Vec<u8> {
        let data = [GOAWAY; 40];
        let frames =
            [frame(4, &[]), frame(0, &data), goaway(7, 0, b""), frame(1, &data), goaway(1, 11, b"slow\n")];
        frames.concat()
    }

    const SAID: [&str; 2] = ["NO_ERROR, last stream 7", r"ENHANCE_YOUR_CALM, last stream 1: slow\n"];

    #[test]
    fn the_reason_is_found_between_other_frames_and_after_the_preface() {
        assert_eq!(found(&mut Scanner::after(0), &[&stream()]), SAID);
        let sent = [&[b'x'; PREFACE][..], &stream()].concat();
        assert_eq!(found(&mut Scanner::after(PREFACE), &[&sent]), SAID);
    }

    #[test]
    fn a_short_one_is_none_and_a_long_one_is_cut() {
        let long = [frame(GOAWAY, b"short"), goaway(3, 2, &[b'x'; 60_000]), goaway(1, 0, b"")].concat();
        let said = found(&mut Scanner::after(0), &[&long]);
        assert_eq!((said.len(), said[0].len() < 200, &*said[1]), (2, true, "NO_ERROR, last stream 1"));
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_say_the_same(size in 1..64_usize) {
            let stream = stream();
            let pieces: Vec<_> = stream.chunks(size).collect();
            prop_assert_eq!(found(&mut Scanner::after(0), &pieces), SAID);
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            found(&mut Scanner::after(0), &[&bytes]);
        }
    }
}
