//! Bodies: what is wrong with them, said as `ProblemDetails`.

pub(crate) mod json;

use json::{Wrong, clip};
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The information elements of a message: a type that a body is decoded into.
pub trait Ie: DeserializeOwned {
    /// The attributes that the body must have, by their names on the wire.
    const MANDATORY: &'static [&'static str];
}

/// The `T` in `body`, which holds one JSON object.
///
/// TS 29.500 §5.2.7.2 (Rel-17) names the causes; which one is said when:
///
/// | body | cause | `invalidParams` |
/// |---|---|---|
/// | empty, cut off, not JSON, nested too deep | `INVALID_MSG_FORMAT` | |
/// | an attribute occurs twice | `INVALID_MSG_FORMAT` | |
/// | JSON, but an array, a string, `null` ... | `INVALID_MSG_FORMAT` | |
/// | mandatory attributes absent | `MANDATORY_IE_MISSING` | every one of them |
/// | a wrong value in a mandatory attribute | `MANDATORY_IE_INCORRECT` | the first that is wrong |
/// | a wrong value in another attribute | `OPTIONAL_IE_INCORRECT` | the first that is wrong |
///
/// The parameter is a JSON Pointer to the deepest attribute, `/sNssai/sd`. An attribute that is absent inside another
/// one makes that one wrong: `/servingNetwork/mnc` is `MANDATORY_IE_INCORRECT`. A mandatory attribute that is `null` is
/// wrong; an optional one that is `null` counts as absent.
pub fn decode<T: Ie>(body: &[u8]) -> Result<T, ProblemDetails> {
    element(value(body)?, "")
}

/// How large a body may be that is kept, in bytes: what a consumer registers or subscribes to takes some hundred.
pub const MAX_KEPT_BYTES: usize = 1 << 16;

/// The `T` in `body`, as [`decode`] judges it, for an NF that will keep it; one over [`MAX_KEPT_BYTES`] is 413.
pub fn decode_kept<T: Ie>(body: &[u8]) -> Result<T, ProblemDetails> {
    let kept = decode(body)?;
    if body.len() > MAX_KEPT_BYTES {
        let detail = format!("expected at most {MAX_KEPT_BYTES} bytes to keep, but found {}", body.len());
        return Err(ProblemDetails::plain(413, detail));
    }
    Ok(kept)
}

/// The `T`s in `body`, which holds one JSON array of objects; each is judged as [`decode`] judges one.
pub fn decode_list<T: Ie>(body: &[u8]) -> Result<Vec<T>, ProblemDetails> {
    match value(body)? {
        Value::Array(items) => {
            items.into_iter().enumerate().map(|(i, item)| element(item, &format!("/{i}"))).collect()
        }
        other => Err(not_a("an array", &other, "")),
    }
}

fn value(body: &[u8]) -> Result<Value, ProblemDetails> {
    if body.is_empty() {
        return Err(ProblemDetails::new(Cause::InvalidMsgFormat, "expected JSON, but found an empty body"));
    }
    json::read(body).map_err(|error| ProblemDetails::new(Cause::InvalidMsgFormat, error))
}

/// The `T` in `value`, which stands at `at` in the body.
fn element<T: Ie>(value: Value, at: &str) -> Result<T, ProblemDetails> {
    let Value::Object(attributes) = &value else { return Err(not_a("an object", &value, at)) };
    let absent = T::MANDATORY.iter().filter(|name| !attributes.contains_key(**name));
    let absent: Vec<_> = absent.map(|name| format!("{at}/{name}")).collect();
    if !absent.is_empty() {
        return Err(missing(absent));
    }
    json::convert(value).map_err(|wrong| incorrect::<T>(&wrong, at))
}

fn not_a(expected: &str, found: &Value, at: &str) -> ProblemDetails {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let problem =
        ProblemDetails::new(Cause::InvalidMsgFormat, format!("expected {expected}, but found {found}"));
    if at.is_empty() {
        problem
    } else {
        problem.with_param(InvalidParam::body(at, format!("expected {expected}")))
    }
}

/// The attributes at `pointers` are mandatory and absent.
pub(crate) fn missing(pointers: Vec<String>) -> ProblemDetails {
    let detail = format!("mandatory attributes are missing: {}", pointers.join(", "));
    let problem = ProblemDetails::new(Cause::MandatoryIeMissing, detail);
    pointers.into_iter().fold(problem, |problem, at| problem.with_param(InvalidParam::body(at, "missing")))
}

fn incorrect<T: Ie>(wrong: &Wrong, at: &str) -> ProblemDetails {
    let pointer = format!("{at}{}", wrong.pointer());
    let cause = match wrong.path.as_slice() {
        [_] if wrong.missing => return missing(vec![pointer]),
        [first, ..] if T::MANDATORY.contains(&first.as_str()) => Cause::MandatoryIeIncorrect,
        [..] => Cause::OptionalIeIncorrect,
    };
    let detail = clip(&format!("{pointer}: {}", wrong.reason));
    ProblemDetails::new(cause, detail).with_param(InvalidParam::body(pointer, wrong.reason.as_str()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::common::{PlmnId, Snssai};
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Sample {
        network: PlmnId,
        slice: Option<Snssai>,
        slices: Option<Vec<Snssai>>,
        #[serde(flatten)]
        rest: crate::common::Rest,
    }

    impl Ie for Sample {
        const MANDATORY: &'static [&'static str] = &["network"];
    }

    /// The cause and the wrong parameters that a body is refused with.
    pub(crate) fn refused<T: Ie>(body: &str) -> (String, Vec<String>) {
        let problem = decode::<T>(body.as_bytes()).err().expect("refused");
        assert_eq!(problem.status, Some(400));
        (problem.cause.expect("a cause"), problem.invalid_params.into_iter().map(|p| p.param).collect())
    }

    /// Asserts that `T` takes `full` only with all of its mandatory attributes, and loses nothing of it.
    pub(crate) fn assert_complete<T: Ie + serde::Serialize>(full: &Value) {
        let decoded: T = decode(full.to_string().as_bytes()).expect("complete");
        assert_eq!(&serde_json::to_value(&decoded).expect("JSON"), full);
        for name in T::MANDATORY {
            let mut body = full.clone();
            body.as_object_mut().expect("an object").remove(*name);
            let expected = ("MANDATORY_IE_MISSING".to_owned(), vec![format!("/{name}")]);
            assert_eq!(refused::<T>(&body.to_string()), expected);
        }
    }

    #[test]
    fn what_is_no_json_object_has_an_invalid_format() {
        let twice = r#"{"network":{"mcc":"001","mcc":"002","mnc":"01"}}"#;
        for body in ["", "[]", "null", "\"x\"", "1", r#"{"network":"#, "{}x", "\u{feff}{}", "{'a':1}", twice]
        {
            assert_eq!(refused::<Sample>(body), ("INVALID_MSG_FORMAT".into(), vec![]), "{body}");
        }
        assert!(decode::<Sample>(b"{\"a\":\"\xff\"}").expect_err("not UTF-8").is(Cause::InvalidMsgFormat));
    }

    #[test]
    fn every_absent_mandatory_attribute_is_listed() {
        #[derive(Debug, Deserialize)]
        struct Two {}
        impl Ie for Two {
            const MANDATORY: &'static [&'static str] = &["a", "b"];
        }
        assert_eq!(refused::<Two>("{}"), ("MANDATORY_IE_MISSING".into(), vec!["/a".into(), "/b".into()]));
    }

    #[test]
    fn a_wrong_value_is_named_by_its_deepest_attribute() {
        let network = r#""network":{"mcc":"001","mnc":"01"}"#;
        for (body, cause, pointer) in [
            (r#"{"network":"00101"}"#.to_owned(), "MANDATORY_IE_INCORRECT", "/network"),
            (r#"{"network":null}"#.to_owned(), "MANDATORY_IE_INCORRECT", "/network"),
            (r#"{"network":["001","01"]}"#.to_owned(), "MANDATORY_IE_INCORRECT", "/network"),
            (r#"{"network":{"mcc":"001"}}"#.to_owned(), "MANDATORY_IE_INCORRECT", "/network/mnc"),
            (r#"{"network":{"mcc":"001","mnc":1}}"#.to_owned(), "MANDATORY_IE_INCORRECT", "/network/mnc"),
            (format!(r#"{{{network},"slice":{{"sst":1,"sd":"10"}}}}"#), "OPTIONAL_IE_INCORRECT", "/slice/sd"),
            (format!(r#"{{{network},"slice":{{"sst":"1"}}}}"#), "OPTIONAL_IE_INCORRECT", "/slice/sst"),
            (
                format!(r#"{{{network},"slices":[{{"sst":1}},{{}}]}}"#),
                "OPTIONAL_IE_INCORRECT",
                "/slices/1/sst",
            ),
        ] {
            assert_eq!(refused::<Sample>(&body), (cause.to_owned(), vec![pointer.to_owned()]), "{body}");
        }
    }

    #[test]
    fn the_reason_says_what_was_expected_and_does_not_echo_a_flood() {
        let flood = format!(r#"{{"network":"{}"}}"#, "x".repeat(1_000_000));
        let problem = decode::<Sample>(flood.as_bytes()).expect_err("refused");
        let reason = problem.invalid_params[0].reason.clone().expect("a reason");
        assert!(reason.ends_with("expected an object with `mcc` and `mnc`"), "{reason}");
        assert!(problem.to_bytes().len() < 1_000);
    }

    #[test]
    fn an_optional_attribute_that_is_null_counts_as_absent() {
        let sample: Sample =
            decode(br#"{"network":{"mcc":"001","mnc":"01"},"slice":null,"x":null}"#).expect("tolerated");
        assert_eq!(sample.slice, None);
        assert_eq!(sample.rest.get("x"), Some(&Value::Null));
    }

    #[test]
    fn a_list_names_the_item_that_is_wrong() {
        let good = r#"{"network":{"mcc":"001","mnc":"01"}}"#;
        assert_eq!(decode_list::<Sample>(format!("[{good},{good}]").as_bytes()).expect("two").len(), 2);
        let problem = decode_list::<Sample>(format!("[{good},{{}}]").as_bytes()).expect_err("refused");
        assert_eq!(problem.invalid_params[0].param, "/1/network");
        assert!(decode_list::<Sample>(b"{}").expect_err("an object").is(Cause::InvalidMsgFormat));
        assert!(decode_list::<Sample>(b"[1]").expect_err("a number").is(Cause::InvalidMsgFormat));
    }
}
