//! JSON that we send ourselves.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

/// The media type of a JSON Patch, RFC 6902.
pub const JSON_PATCH: &str = "application/json-patch+json";

/// `value` as the body of a request or an answer.
///
/// # Panics
///
/// If `value` has no JSON form; every type that is sent has one.
pub fn to_bytes(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect(HAS_A_FORM).into()
}

/// `value` as a JSON value.
///
/// # Panics
///
/// If `value` has no JSON form; every type that is sent has one.
pub fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect(HAS_A_FORM)
}

const HAS_A_FORM: &str = "what is sent has a JSON form";
