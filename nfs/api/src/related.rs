//! Bodies whose JSON names binary parts: TS 29.502 §6.1.2.4 and TS 29.518 §6.1.2.4 (Rel-17).

use bytes::Bytes;
use sbi::multipart::{self, MultipartError, Part};
use sbi::problem::{Cause, ProblemDetails};

/// A body in multipart/related, or plain JSON, which has no parts to name.
pub struct Related {
    /// The JSON.
    pub json: Bytes,
    parts: Vec<Part>,
}

impl Related {
    /// Reads a body. Plain JSON is taken where the standard wants multipart too (our choice).
    ///
    /// # Errors
    ///
    /// 400 `INVALID_MSG_FORMAT` if it is multipart/related, and cannot be read or has a root part that is not JSON.
    pub fn read(content_type: &str, body: Bytes) -> Result<Self, ProblemDetails> {
        let broken = |e: MultipartError| ProblemDetails::new(Cause::InvalidMsgFormat, e.to_string());
        if multipart::boundary(content_type).map_err(broken)?.is_none() {
            return Ok(Related { json: body, parts: Vec::new() });
        }
        let parts = multipart::parse(content_type, body).map_err(broken)?;
        match parts.first().filter(|root| is_json(&root.content_type)) {
            Some(root) => Ok(Related { json: root.body.clone(), parts }),
            None => Err(ProblemDetails::new(
                Cause::InvalidMsgFormat,
                "expected application/json as the multipart body's root part",
            )),
        }
    }

    /// Whether there are no parts that the JSON could name.
    pub fn is_plain(&self) -> bool {
        self.parts.is_empty()
    }

    /// The part with this `Content-Id`.
    pub fn part(&self, content_id: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.is_called(content_id))
    }
}

fn is_json(content_type: &str) -> bool {
    content_type
        .split(';')
        .next()
        .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"))
}
