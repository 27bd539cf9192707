//! Which NF instance, and how bodies point elsewhere.

use super::Malformed;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::net::Ipv6Addr;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// A URI as it was given, TS 29.571 §5.2.2 (Rel-17). Whoever calls it parses it.
pub type Uri = String;

/// The identity of an NF instance, TS 29.571 §5.3.2 (Rel-17): a UUID with hyphens.
///
/// Read in any case, compared and printed in lower case (RFC 9562 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NfInstanceId(pub Uuid);

impl FromStr for NfInstanceId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        /// Of the forms that `Uuid` reads only the standard's has this length.
        const HYPHENATED: usize = 36;
        let uuid = Uuid::try_parse(text).ok().filter(|_| text.len() == HYPHENATED);
        uuid.map(NfInstanceId).ok_or_else(|| Malformed::new("a UUID with hyphens", text))
    }
}

impl fmt::Display for NfInstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl Serialize for NfInstanceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NfInstanceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// How long an address may be that a consumer wants to be called at, in bytes.
pub const MAX_CALLBACK_BYTES: usize = 2_048;

/// Refuses an address that could never be called: it is kept, and needed when its consumer has long forgotten.
pub fn expect_callback(pointer: &str, uri: &str) -> Result<(), ProblemDetails> {
    let rest = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let printable = uri.bytes().all(|byte| byte.is_ascii_graphic());
    if is_callable(host) && printable && uri.len() <= MAX_CALLBACK_BYTES {
        return Ok(());
    }
    let expected = format!("expected an absolute http URI of at most {MAX_CALLBACK_BYTES} bytes");
    let param = InvalidParam::body(pointer, expected.clone());
    Err(ProblemDetails::new(Cause::MandatoryIeIncorrect, expected).with_param(param))
}

/// Whether a host and perhaps a port could be called: IPv6 in brackets, RFC 3986 §3.2.2, and a port that is one.
fn is_callable(authority: &str) -> bool {
    let (_, at) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (is_host, port) = match at.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = at.split_at(at.find(':').unwrap_or(at.len()));
            (!host.is_empty() && !host.contains(['[', ']']), port)
        }
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Names the binary part of a multipart message, TS 29.571 §5.4.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `contentId`")]
pub struct RefToBinaryData {
    /// The `Content-Id` of the part.
    pub content_id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_id_is_read_in_any_case_and_printed_in_lower() {
        let id: NfInstanceId = "A1111111-1111-4111-8111-11111111111F".parse().expect("a UUID");
        assert_eq!(id.to_string(), "a1111111-1111-4111-8111-11111111111f");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn a_callback_is_an_absolute_http_uri() {
        for good in
            ["http://amf/x", "https://[::1]:7/a?b=c", "http://[::1]", "http://10.0.0.1", "http://u@amf:80/"]
        {
            assert!(expect_callback("/callbackReference", good).is_ok(), "{good}");
        }
        let long = format!("http://amf/{}", "x".repeat(MAX_CALLBACK_BYTES));
        let hosts = [
            "http://::1/x",
            "http://::1:80/x",
            "http://[::1/x",
            "http://amf:port/",
            "http://amf:0/",
            "http://amf:/",
        ];
        let bad = ["", "/x", "http://", "http:///x", "ftp://x", "not a uri \0", "http://a b", &long];
        for bad in bad.into_iter().chain(hosts) {
            assert!(expect_callback("/callbackReference", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_form_with_hyphens_is_an_instance_id() {
        for wrong in [
            "",
            "smf1",
            "11111111111141118111111111111111",
            "{11111111-1111-4111-8111-111111111111}",
            "urn:uuid:11111111-1111-4111-8111-111111111111",
            "11111111-1111-4111-8111-11111111111g",
        ] {
            assert!(wrong.parse::<NfInstanceId>().is_err(), "{wrong}");
        }
    }
}
