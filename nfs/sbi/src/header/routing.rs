//! The headers by which an SCP or SEPP finds its way, TS 29.500 §5.2.3.2 and §6.10 (Rel-17).

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use std::time::Duration;

/// The apiRoot of the producer that a request is for, TS 29.500 §5.2.3.2.4 (Rel-17).
pub const TARGET_API_ROOT: HeaderName = HeaderName::from_static("3gpp-sbi-target-apiroot");
/// Which producer an SCP chose, TS 29.500 §5.2.3.2.8 (Rel-17).
pub const PRODUCER_ID: HeaderName = HeaderName::from_static("3gpp-sbi-producer-id");
/// How many SCPs a request may still pass, TS 29.500 §5.2.3.2.14 (Rel-17).
pub const MAX_FORWARD_HOPS: HeaderName = HeaderName::from_static("3gpp-sbi-max-forward-hops");
/// For how many milliseconds after its deadline a consumer still takes the answer to a create, so that it can release what was
/// made. An SCP of ours passes such a late answer on instead of saying 504 first; whoever else gets the header need not know it. A
/// header of our own: the standard has none for this.
pub const LATE_ANSWER: HeaderName = HeaderName::from_static("mock5g-late-answer-ms");
/// What the parameters of a delegated discovery begin with, TS 29.500 §5.2.3.2.7 (Rel-17).
pub const DISCOVERY_PREFIX: &str = "3gpp-sbi-discovery-";

/// An apiRoot as `3gpp-Sbi-Target-apiRoot` has it, without a slash at its end.
///
/// # Errors
/// What is wrong with it, for a person.
pub fn read_api_root(value: &HeaderValue) -> Result<String, String> {
    let text = value.to_str().map_err(|_| "expected visible ASCII characters".to_owned())?.trim();
    let expected = |found: &str| format!("expected http://host[:port][/prefix], but found {found:.64?}");
    let (scheme, rest) = text.split_once("://").ok_or_else(|| expected(text))?;
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => {}
        _ if scheme.eq_ignore_ascii_case("https") => {
            return Err("https is not served here: expected http://host[:port][/prefix]".into());
        }
        _ => return Err(expected(text)),
    }
    let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_usable = |authority: &http::uri::Authority| {
        let host = authority.host();
        let port = &authority.as_str()[host.len().min(authority.as_str().len())..];
        let is_host = !host.is_empty() && (host.starts_with('[') || !host.contains(':'));
        is_host
            && !authority.as_str().contains('@')
            && (port.is_empty() || authority.port_u16().is_some_and(|port| port > 0))
    };
    let authority =
        authority.parse::<http::uri::Authority>().ok().filter(is_usable).ok_or_else(|| expected(text))?;
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:@".contains(c);
    if !prefix.chars().all(is_path) {
        return Err(expected(text));
    }
    Ok(format!("http://{authority}{}", prefix.trim_end_matches('/')))
}

/// The parameters of a delegated discovery, in the order of their names. There are NFs that percent-encode their values, as in a
/// query: both forms mean the same.
///
/// # Errors
/// Which header is wrong, and what is.
pub fn read_discovery(headers: &HeaderMap) -> Result<Vec<(String, String)>, (String, String)> {
    let mut parameters = Vec::new();
    for (name, value) in headers {
        let Some(parameter) = name.as_str().strip_prefix(DISCOVERY_PREFIX) else { continue };
        let text =
            value.to_str().map_err(|_| (name.to_string(), "expected visible ASCII characters".to_owned()))?;
        let plain = percent_decode_str(text.trim()).decode_utf8();
        let plain =
            plain.map_err(|_| (name.to_string(), "expected UTF-8 where it is percent-encoded".to_owned()))?;
        parameters.push((parameter.to_owned(), plain.into_owned()));
    }
    parameters.sort();
    Ok(parameters)
}

/// How long the sender of a request takes a late answer; no time at all unless it says so in milliseconds.
pub fn read_late_answer(headers: &HeaderMap) -> Duration {
    let said = headers.get(LATE_ANSWER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_millis(said.map_or(0, |ms: u32| ms.into()))
}

/// How many hops `3gpp-Sbi-Max-Forward-Hops` leaves (`5; nodetype=scp`), and what it says after the number.
pub fn read_max_forward_hops(value: &HeaderValue) -> Option<(u8, &str)> {
    let text = value.to_str().ok()?.trim();
    let (number, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let number = number.trim();
    let is_number = (1..=2).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| number.parse().ok()).flatten().map(|hops| (hops, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        read_api_root(&HeaderValue::from_str(text).expect("a header value"))
    }

    #[test]
    fn an_api_root_is_read_with_port_and_prefix() {
        for (text, root) in [
            ("http://127.0.0.1:7712", "http://127.0.0.1:7712"),
            ("HTTP://udm.lab/", "http://udm.lab"),
            ("http://[::1]:80/lab/", "http://[::1]:80/lab"),
            (" http://udm/a/b ", "http://udm/a/b"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(root), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_and_says_what_was_expected() {
        for text in [
            "",
            "udm",
            "udm:7712",
            "//udm",
            "http://",
            "http:///x",
            "http://::1:80",
            "http://::1",
            "http://u@udm",
            "http://udm:0",
            "http://udm:port",
            "http://udm:99999",
            "ftp://udm",
            "https://udm",
            "http://udm/a?b",
            "http://udm/a b",
            "http://[::1",
            "http://udm, http://x",
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains("expected"), "{text}: {refused}");
        }
        assert!(read_api_root(&HeaderValue::from_bytes(b"http://\xff").expect("a header value")).is_err());
    }

    #[test]
    fn a_percent_encoded_search_means_what_a_plain_one_does() {
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("3gpp-sbi-discovery-snssais", HeaderValue::from_static(value));
            read_discovery(&headers).map_err(|(name, _)| name)
        };
        let expected = Ok(vec![("snssais".to_owned(), "[{\"sst\":1}]".to_owned())]);
        assert_eq!(read("[{\"sst\":1}]"), expected);
        assert_eq!(read("%5B%7B%22sst%22%3A1%7D%5D"), expected);
        assert_eq!(read("%ff"), Err("3gpp-sbi-discovery-snssais".to_owned()));
    }

    #[test]
    fn hops_are_one_or_two_digits() {
        let read =
            |text: &'static str| read_max_forward_hops(&HeaderValue::from_static(text)).map(|(hops, _)| hops);
        assert_eq!((read("5; nodetype=scp"), read("0"), read("99;x")), (Some(5), Some(0), Some(99)));
        assert_eq!(
            (read(""), read("-1"), read("100"), read("x"), read("1 2")),
            (None, None, None, None, None)
        );
        let value = HeaderValue::from_static("5; nodetype=scp");
        assert_eq!(read_max_forward_hops(&value), Some((5, "; nodetype=scp")));
    }
}
