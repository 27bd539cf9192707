//! What an operator decides: each choice that the standard leaves open is a value here.

mod peers;

pub use peers::{Network, Peer, Peers, Regard};

use crate::server::MAX_PENDING_RESETS;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What happens to a request whose client has stopped waiting; `deadline.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// 504 with `TIMED_OUT_REQUEST`.
    #[default]
    Reject,
    /// No answer: the stream is reset with CANCEL (HTTP/1.1: the connection is closed).
    Drop,
    /// The timing headers are not looked at.
    Off,
}

/// What happens to a late request that only releases; `deadline.late_release`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LateRelease {
    /// It is carried out: refusing it would leave the very resource that it ends.
    #[default]
    Perform,
    /// It is refused like any other late request.
    Refuse,
}

/// What happens to a success that can no longer be handed to its client; `deadline.on_client_gone`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnClientGone {
    /// What was made is released.
    #[default]
    Release,
    /// It is kept, as if the client had got its answer.
    Keep,
}

/// How an SCP or SEPP forwards a pair of timing headers; `deadline.forward`. TS 29.500 §6.11.2.2 (Rel-17) allows both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forward {
    /// As they came, byte for byte.
    #[default]
    Unmodified,
    /// With its own stamp, and what is left of the wait: the sum stays the same.
    Restamp,
}

/// A day: clocks that are further apart are not synchronised by any measure. What is said beyond it counts as this.
pub const MAX_SKEW_TOLERANCE_MS: u64 = 86_400_000;

/// How an NF treats the deadlines of the requests it serves; `deadline`. TS 29.500 §6.11.2 (Rel-17) leaves all of
/// this to operator policy.
#[derive(Clone, Debug)]
pub struct DeadlinePolicy {
    /// Reject, drop, or do not look.
    pub mode: Mode,
    /// Late releases.
    pub late_release: LateRelease,
    /// Clients that left.
    pub on_client_gone: OnClientGone,
    /// `skew_tolerance_ms`: so much later than the headers say.
    pub skew_tolerance_ms: u64,
    /// `margin_ms`: work stops so long before the deadline.
    pub margin_ms: u64,
    /// `strict`: malformed timing headers are 400 instead of ignored.
    pub strict: bool,
    /// `forward`: an SCP's.
    pub forward: Forward,
    /// `peers`: whose timing headers count.
    pub peers: Arc<Peers>,
}

impl Default for DeadlinePolicy {
    fn default() -> Self {
        DeadlinePolicy {
            mode: Mode::default(),
            late_release: LateRelease::default(),
            on_client_gone: OnClientGone::default(),
            skew_tolerance_ms: 0,
            margin_ms: 5,
            strict: false,
            forward: Forward::default(),
            peers: Arc::default(),
        }
    }
}

/// What is done about a create whose answer was lost, where only our own NFs are known to answer a repeated one with
/// the resource that the first one made (R16); `release.settle`. NFs of the same process are our own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LostCreates {
    /// It is reported as hanging, at once: a producer that makes another one would leave the first for good.
    #[default]
    Report,
    /// It is repeated, as at our own NFs.
    Repeat,
}

/// How an NF releases what it made upstream; `release`.
#[derive(Clone, Copy, Debug)]
pub struct ReleasePolicy {
    /// `settle_ms`: how long a create that was given up may still be answered.
    pub settle: Duration,
    /// `wait_ms`: how long a release waits for the first answer of the one before.
    pub wait: Duration,
    /// `timer_ms`: how long one try of a release waits for its answer.
    pub timer: Duration,
    /// `tries`: how often a release is tried before its resource counts as hanging. All of them together outlast the
    /// `settle_ms` for which its producer may be busy with a lost answer of its own.
    pub tries: u32,
    /// `backoff_ms`: the wait before the second try; it doubles each time, with jitter.
    pub backoff: Duration,
    /// `settle`: creates whose answer was lost, at producers that may not know one that is repeated.
    pub lost: LostCreates,
}

impl Default for ReleasePolicy {
    fn default() -> Self {
        ReleasePolicy {
            settle: Duration::from_millis(30_000),
            wait: Duration::from_millis(500),
            timer: Duration::from_millis(3_000),
            tries: 9,
            backoff: Duration::from_millis(200),
            lost: LostCreates::default(),
        }
    }
}

/// An NF's policies.
#[derive(Clone, Debug)]
pub struct Policy {
    /// As a server.
    pub deadline: DeadlinePolicy,
    /// What it made upstream.
    pub release: ReleasePolicy,
    /// `client.max_rsp_time_ms`: its own timer for each upstream call.
    pub max_rsp_time: Duration,
    /// `udm.hear_changes`: whether a UDM asks its UDR to be notified of changes (R16), so that it can tell those who
    /// subscribed at it.
    pub hear_changes: bool,
    /// `scp.release_late`: whether an SCP releases what it passed on and what was made too late for its client (our choice: the
    /// standard leaves that to client and producer).
    pub release_late: bool,
    /// `sbi.max_pending_resets`: how many streams of a connection may be reset by its client before they were accepted.
    pub max_pending_resets: usize,
    /// `drain_ms`: how long a stop waits for connections to end, and then for releases.
    pub drain: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            deadline: DeadlinePolicy::default(),
            release: ReleasePolicy::default(),
            max_rsp_time: Duration::from_millis(10_000),
            hear_changes: false,
            release_late: false,
            max_pending_resets: MAX_PENDING_RESETS,
            drain: Duration::from_millis(5_000),
        }
    }
}
