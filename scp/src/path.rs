//! What a request says of the SCPs on its way: loops, and how many it may still pass; TS 29.500 §6.10.10 (Rel-17).

use http::header::VIA;
use http::{HeaderMap, HeaderValue};
use sbi::header::{MAX_FORWARD_HOPS, read_max_forward_hops};
use sbi::problem::{Cause, InvalidParam, ProblemDetails};

/// Refuses a request that has been at `identity` before, or may pass no further SCP.
pub(crate) fn expect_a_way(headers: &HeaderMap, identity: &str) -> Result<(), ProblemDetails> {
    let been = |via: &HeaderValue| {
        let text = String::from_utf8_lossy(via.as_bytes());
        text.split(',').any(|entry| entry.split_whitespace().nth(1) == Some(identity))
    };
    if headers.get_all(VIA).iter().any(been) {
        let detail = format!("the request has passed {identity} before");
        return Err(ProblemDetails::new(Cause::MsgLoopDetected, detail));
    }
    match headers.get(MAX_FORWARD_HOPS).map(read_max_forward_hops) {
        None | Some(Some((1.., _))) => Ok(()),
        Some(Some((0, _))) => {
            Err(ProblemDetails::new(Cause::MaxScpHopsReached, "the request may pass no further SCP"))
        }
        Some(None) => {
            let (name, expected) =
                ("3gpp-Sbi-Max-Forward-Hops", "expected 0 to 99 and a node type: 5; nodetype=scp");
            let param = InvalidParam::header(name, expected);
            Err(ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("{name}: {expected}"))
                .with_param(param))
        }
    }
}

/// How many intermediaries a request has passed.
pub(crate) fn hops(headers: &HeaderMap) -> u32 {
    let entries = |via: &HeaderValue| via.as_bytes().split(|byte| *byte == b',').count();
    let all: usize = headers.get_all(VIA).iter().map(entries).sum();
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// Writes down that the request passes an SCP, whose entry in `Via` is `via`.
pub(crate) fn pass(headers: &mut HeaderMap, via: &HeaderValue) {
    headers.append(VIA, via.clone());
    let hops = headers.get(MAX_FORWARD_HOPS).and_then(read_max_forward_hops);
    let fewer = hops
        .and_then(|(hops, rest)| HeaderValue::from_str(&format!("{}{rest}", hops.saturating_sub(1))).ok());
    fewer.into_iter().for_each(|fewer| drop(headers.insert(MAX_FORWARD_HOPS, fewer)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "SCP-1";

    fn cause(said: &[(&'static str, &'static str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        expect_a_way(&headers, ME).err().map(|problem| problem.cause.unwrap_or_default())
    }

    #[test]
    fn a_loop_is_one_only_if_this_scp_is_named() {
        assert_eq!(cause(&[("via", "2.0 SCP-2, 2.0 SCP-11")]), None);
        assert_eq!(
            cause(&[("via", "2.0 SCP-2"), ("via", "1.1 x , 2.0 SCP-1")]).as_deref(),
            Some("MSG_LOOP_DETECTED")
        );
    }

    #[test]
    fn hops_are_counted_down_to_none() {
        let hops = |value| cause(&[("3gpp-sbi-max-forward-hops", value)]);
        assert_eq!(hops("1; nodetype=scp"), None);
        assert_eq!(hops("0; nodetype=scp").as_deref(), Some("MAX_SCP_HOPS_REACHED"));
        assert_eq!(hops("many").as_deref(), Some("MANDATORY_IE_INCORRECT"));
        let mut headers = HeaderMap::new();
        headers.insert(MAX_FORWARD_HOPS, HeaderValue::from_static("5; nodetype=scp"));
        pass(&mut headers, &HeaderValue::from_static("2.0 SCP-1"));
        assert_eq!(headers[MAX_FORWARD_HOPS], "4; nodetype=scp");
        assert_eq!(headers[VIA], "2.0 SCP-1");
    }
}
