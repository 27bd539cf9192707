//! A call as it stands in the journal.

use super::call::{Call, TimingMode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

/// A [`Call`] as text. Bodies need not be text.
#[derive(Serialize, Deserialize)]
pub(super) struct WrittenCall {
    method: String,
    uri: String,
    headers: Vec<(String, String)>,
    content_type: Option<String>,
    body: String,
    timing: TimingMode,
}

impl From<Call> for WrittenCall {
    fn from(call: Call) -> Self {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.to_string(), value.to_str().ok()?.to_owned()))
        };
        WrittenCall {
            method: call.method.to_string(),
            uri: call.uri,
            headers: call.headers.iter().filter_map(header).collect(),
            content_type: call.content_type,
            body: BASE64_STANDARD.encode(&call.body),
            timing: call.timing,
        }
    }
}

impl TryFrom<WrittenCall> for Call {
    type Error = String;

    fn try_from(written: WrittenCall) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in written.headers {
            let name: HeaderName = name.parse().map_err(|_| "no name of a header")?;
            headers.append(name, value.parse().map_err(|_| "no value of a header")?);
        }
        Ok(Call {
            method: written.method.parse().map_err(|_| "no method")?,
            uri: written.uri,
            headers,
            content_type: written.content_type,
            body: BASE64_STANDARD.decode(written.body).map_err(|_| "no base64")?.into(),
            timing: written.timing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn a_call_is_read_back_as_it_was() {
        let mut call =
            Call::new(Method::POST, "http://smf/x?y=1").callback("Nsmf_X").with_body("a/b", vec![0, 255, 10]);
        call.timing = TimingMode::Skewed(-5);
        let written = serde_json::to_string(&call).expect("text");
        let read: Call = serde_json::from_str(&written).expect("a call");
        assert_eq!(format!("{read:?}"), format!("{call:?}"));
        assert!(serde_json::from_str::<Call>(&written.replace("POST", "P T")).is_err());
    }
}
