//! The log of a journal: batches one after the other, in the first [`LOG_BYTES`] of its file.
//!
//! A batch takes one write here, where a database writes some ten pages. Whose process is killed while it writes leaves a
//! beginning of the batch and zeros behind it, since what is not used is all zeros: so what was torn is told from what is
//! damaged. The last byte of a batch is never zero.

use super::key::Key;
use super::store::{Batch, StoreError};
use bytes::Bytes;
use redb::StorageBackend;
use std::collections::BTreeMap;
use std::io;

/// The size of the log, with what a file begins with. Once it is full, the records go into the database.
pub(super) const LOG_BYTES: usize = 1 << 20;

/// What a file begins with is before the first batch.
pub(super) const HEAD_BYTES: usize = 4_096;

/// Where a batch may begin: a multiple of this, so that no page begins within its [`Head`].
const GRAIN: usize = 16;

/// Ends a batch.
const END: u8 = 0xa5;

/// Stands where the first batch begins while the log is being cleared: what comes behind it counts no more. No [`Head`] is so.
const CLEARING: [u8; GRAIN] = *b"being cleared \x1A\n";

/// Says that a record goes.
const GONE: u32 = u32::MAX;

/// The log of an open journal.
pub(super) struct Log {
    backend: Box<dyn StorageBackend>,
    /// Behind the last batch.
    end: usize,
    /// The batch that is being written; kept for its memory.
    frame: Vec<u8>,
}

impl Log {
    /// The log at the beginning of a file. Nothing is changed.
    pub(super) fn open(backend: Box<dyn StorageBackend>) -> Result<Self, StoreError> {
        let region = region(&*backend)?;
        let (_, end) = read(&region)?;
        // Where something was torn nothing can be appended.
        let end = if end < used(&region) { LOG_BYTES } else { end };
        Ok(Log { backend, end, frame: Vec::new() })
    }

    /// What is in it, all batches in one.
    pub(super) fn read(&self) -> Result<Batch, StoreError> {
        Ok(read(&region(&*self.backend)?)?.0)
    }

    /// Whether nothing is in it, nor of what was torn.
    pub(super) fn is_clear(&self) -> bool {
        self.end == HEAD_BYTES
    }

    /// Appends a batch; `false` if there is no room. After an error there is none until it was cleared.
    pub(super) fn append(&mut self, batch: &Batch) -> Result<bool, StoreError> {
        write_frame(&mut self.frame, batch)?;
        let (at, after) = (self.end, self.end + self.frame.len());
        if after > LOG_BYTES {
            return Ok(false);
        }
        self.end = LOG_BYTES;
        self.backend.write(at as u64, &self.frame)?;
        self.end = after;
        Ok(true)
    }

    /// Makes room: what was in it is elsewhere by now. Who is killed meanwhile, or loses its power, leaves [`CLEARING`], which
    /// reaches the disk before anything leaves, and goes when all else has.
    pub(super) fn clear(&mut self) -> Result<(), StoreError> {
        self.end = LOG_BYTES;
        let used = used(&region(&*self.backend)?);
        self.backend.write(HEAD_BYTES as u64, &CLEARING)?;
        self.backend.sync_data()?;
        let behind = HEAD_BYTES + CLEARING.len();
        self.backend.write(behind as u64, &vec![0; used.saturating_sub(behind)])?;
        self.backend.sync_data()?;
        self.backend.write(HEAD_BYTES as u64, &[0; CLEARING.len()])?;
        self.end = HEAD_BYTES;
        Ok(())
    }
}

fn region(backend: &dyn StorageBackend) -> Result<Vec<u8>, StoreError> {
    let len = usize::try_from(backend.len()?).unwrap_or(LOG_BYTES).min(LOG_BYTES);
    let mut region = vec![0; len];
    backend.read(0, &mut region)?;
    Ok(region)
}

/// Behind the last byte that is not zero.
fn used(region: &[u8]) -> usize {
    region.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// What stands before the records of a batch.
struct Head {
    /// How many bytes the records take.
    len: u32,
    /// A sum over them.
    sum: u64,
}

impl Head {
    const BYTES: usize = GRAIN;

    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4..8].copy_from_slice(&(!self.len).to_le_bytes());
        bytes[8..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }

    fn of(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let [len, inverse] = [0, 4].map(|at| u32_at(bytes, at).unwrap_or_default());
        let sum = bytes.last_chunk().map(|sum| u64::from_le_bytes(*sum))?;
        (len == !inverse).then_some(Head { len, sum })
    }
}

/// How many bytes a batch takes whose records take so many: they, and its last byte.
fn frame_bytes(len: usize) -> usize {
    (Head::BYTES + len + 1).next_multiple_of(GRAIN)
}

/// Finds a change of any one word for sure, since each step is undone by one alone; of others all but 1 in 2^64.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)))
}

fn write_frame(frame: &mut Vec<u8>, batch: &Batch) -> Result<(), StoreError> {
    frame.clear();
    frame.resize(Head::BYTES, 0);
    for (key, value) in batch {
        let key = key.to_bytes();
        let len = value.as_ref().map_or(Ok(GONE), |value| length(value))?;
        frame.extend_from_slice(&length(&key)?.to_le_bytes());
        frame.extend_from_slice(&len.to_le_bytes());
        frame.extend_from_slice(&key);
        frame.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    let records = &frame[Head::BYTES..];
    let head = Head { len: length(records)?, sum: sum(records) };
    frame[..Head::BYTES].copy_from_slice(&head.to_bytes());
    frame.resize(frame_bytes(head.len as usize), 0);
    frame.last_mut().into_iter().for_each(|last| *last = END);
    Ok(())
}

fn length(bytes: &[u8]) -> Result<u32, StoreError> {
    let len = u32::try_from(bytes.len()).ok().filter(|len| *len < GONE);
    len.ok_or_else(|| StoreError::Io(io::ErrorKind::FileTooLarge.into()))
}

/// All that stands in a log, and where it ends. What was torn while it was written does not count.
fn read(region: &[u8]) -> Result<(Batch, usize), StoreError> {
    let (mut records, mut at) = (Vec::new(), HEAD_BYTES);
    if region.get(at..).is_some_and(|first| first.starts_with(&CLEARING)) {
        return Ok((Batch::new(), at));
    }
    while let Some(head) = region.get(at..).and_then(<[u8]>::first_chunk::<{ Head::BYTES }>) {
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        let head = Head::of(head).ok_or_else(|| damaged(at))?;
        let after = at + frame_bytes(head.len as usize);
        if after > LOG_BYTES {
            return Err(damaged(at));
        }
        // A file that does not reach so far is as good as zeros.
        let last = region.get(after - 1).copied().unwrap_or(0);
        if last == 0 {
            // It was torn, unless something comes behind it.
            return if used(region) < after { Ok((newest(records), at)) } else { Err(damaged(at)) };
        }
        let bytes = &region[at + Head::BYTES..][..head.len as usize];
        if last != END || sum(bytes) != head.sum {
            return Err(damaged(at));
        }
        read_records(bytes, &mut records).ok_or_else(|| damaged(at))?;
        at = after;
    }
    if used(region) > at { Err(damaged(at)) } else { Ok((newest(records), at)) }
}

/// A record as it is then; `None` if it goes.
type Change<'a> = (Key, Option<&'a [u8]>);

/// Of the changes of one record only the last counts.
fn newest(changes: Vec<Change<'_>>) -> Batch {
    let mut newest = BTreeMap::new();
    newest.extend(changes);
    newest.into_iter().map(|(key, value)| (key, value.map(Bytes::copy_from_slice))).collect()
}

fn read_records<'a>(mut bytes: &'a [u8], changes: &mut Vec<Change<'a>>) -> Option<()> {
    while !bytes.is_empty() {
        let (key_len, len) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
        let (key, rest) = bytes.get(8..)?.split_at_checked(key_len as usize)?;
        let (value, rest) = match len {
            GONE => (None, rest),
            len => rest.split_at_checked(len as usize).map(|(value, rest)| (Some(value), rest))?,
        };
        changes.push((Key::from_bytes(key)?, value));
        bytes = rest;
    }
    Some(())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn damaged(at: usize) -> StoreError {
    StoreError::Damaged(format!("what its log has at byte {at} was not written so"))
}
