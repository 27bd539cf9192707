//! The headers that say until when a client waits, and the names of the others that we touch.
//!
//! [`Timing::read`] is the way in: it turns the header map of a request into one of four answers.

mod max_rsp_time;
mod origination;
mod routing;
mod timestamp;
mod timing;

pub use max_rsp_time::{MaxRspTime, MaxRspTimeError};
pub use origination::OriginationTimestamp;
pub use routing::{
    DISCOVERY_PREFIX, LATE_ANSWER, MAX_FORWARD_HOPS, PRODUCER_ID, TARGET_API_ROOT, read_api_root,
    read_discovery, read_late_answer, read_max_forward_hops,
};
pub use timestamp::{Fraction, Parsed, SenderTimestamp, TimestampError, http_date};
pub use timing::{Malformed, Pair, Restamped, Timing};

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName};

/// When the message was originated, TS 29.500 §5.2.3.3.2 (Rel-17).
pub const SENDER_TIMESTAMP: HeaderName = HeaderName::from_static("3gpp-sbi-sender-timestamp");
/// How long the client waits, TS 29.500 §5.2.3.3.3 (Rel-17).
pub const MAX_RSP_TIME: HeaderName = HeaderName::from_static("3gpp-sbi-max-rsp-time");
/// When the procedure began, TS 29.502 §6.1.2.3.2 (Rel-17).
pub const ORIGINATION_TIMESTAMP: HeaderName = HeaderName::from_static("3gpp-sbi-origination-timestamp");
/// Marks a notification or callback request, TS 29.500 §5.2.3.2 (Rel-17).
pub const CALLBACK: HeaderName = HeaderName::from_static("3gpp-sbi-callback");
/// The network that a request from another PLMN comes from, TS 29.500 §5.2.3.2 (Rel-17).
pub const ORIGINATING_NETWORK_ID: HeaderName = HeaderName::from_static("3gpp-sbi-originating-network-id");
/// The trace and parent span of a request, W3C Trace Context §3.2.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The NF type that `User-Agent` begins with, in lower case. TS 29.500 §5.2.2.2 (Rel-17): it should be there.
pub fn agent_type(headers: &HeaderMap) -> Option<String> {
    /// No NF type is so long.
    const LONGEST: usize = 32;
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    let name = agent.split(['-', ' ', '/']).next().filter(|n| !n.is_empty())?;
    Some(name[..name.len().min(LONGEST)].to_ascii_lowercase())
}

/// `value` without the optional white space (SP, HTAB) around it.
fn trim_ows(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Foreign bytes for an error message: quoted, escaped, cut to 40 bytes; `nothing` if there are none.
pub(crate) fn found(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    match bytes {
        [] => "nothing".into(),
        _ if bytes.len() <= SHOWN => format!("`{}`", bytes.escape_ascii()),
        _ => format!("`{}...`", bytes[..SHOWN].escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_outside_and_stays_inside() {
        assert_eq!(trim_ows(b" \ta b\t "), b"a b");
        assert_eq!(trim_ows(b" \t "), b"");
    }

    #[test]
    fn foreign_bytes_are_shown_short_and_printable() {
        assert_eq!(found(b""), "nothing");
        assert_eq!(found(b"10\n\xff"), r"`10\n\xff`");
        assert_eq!(found(&[b'x'; 41]), format!("`{}...`", "x".repeat(40)));
    }
}
