//! What holds of the reader of `multipart/related` whatever it reads: the fuzzer and the replay of its corpus share it.

use bytes::Bytes;
use sbi::multipart::{MAX_PARTS, Part, parse, write_fresh};

/// The first line of `input` is the media type, the rest the body: it is read within bounds or refused, and what is read
/// can be written and read again.
pub fn holds(input: &[u8]) {
    let (media_type, body) = match input.iter().position(|b| *b == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[][..]),
    };
    let Ok(media_type) = std::str::from_utf8(media_type) else { return };
    let Ok(parts) = parse(media_type, Bytes::copy_from_slice(body)) else { return };
    assert!((1..=MAX_PARTS).contains(&parts.len()), "{} parts", parts.len());
    assert!(parts.iter().map(|part| part.body.len()).sum::<usize>() <= body.len(), "bytes from nowhere");
    let once = again(&parts);
    let bodies = |parts: &[Part]| parts.iter().map(|part| part.body.clone()).collect::<Vec<_>>();
    assert_eq!(bodies(&once), bodies(&parts), "written and read again");
    // Control characters are left out of headers on writing, once for all.
    assert_eq!(again(&once), once);
}

fn again(parts: &[Part]) -> Vec<Part> {
    let (media_type, written) = write_fresh(parts, 7);
    parse(&media_type, written).expect("what was written can be read")
}
