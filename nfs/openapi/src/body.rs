//! Bodies: the media type, and the schema that goes with it.

use crate::checker::Known;
use crate::files::Place;
use crate::operation::Contents;
use crate::schema::short;
use crate::tolerated;
use http::header::CONTENT_TYPE;
use sbi::multipart;
use sbi::problem::{Cause, InvalidParam};
use sbi::schema::Violation;
use sbi::traffic::Content;

/// The media type of a message in lower case, without parameters; empty if it names none.
pub(crate) fn media_type(content: &Content) -> String {
    let whole = content.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl Known {
    /// What is wrong with a body that is there.
    pub(crate) fn body(&self, contents: &Contents, content: &Content) -> Vec<Violation> {
        let sent = media_type(content);
        if let Some(schema) = contents.get(&sent) {
            return self.content(schema.as_ref(), &sent, content);
        }
        let expected: Vec<&str> = contents.keys().map(String::as_str).collect();
        let reason = short(format!("expected {}, found {sent:?}", expected.join(" or ")));
        let wrong = Violation::new(InvalidParam::header("Content-Type", reason), Cause::InvalidMsgFormat);
        match tolerated::meant(&sent).find_map(|meant| contents.get(meant)) {
            Some(schema) => {
                let mut all = self.content(schema.as_ref(), "application/json", content);
                all.push(Violation { tolerated: true, ..wrong });
                all
            }
            None => vec![wrong],
        }
    }

    fn content(&self, schema: Option<&Place>, media_type: &str, content: &Content) -> Vec<Violation> {
        if media_type == "multipart/related" {
            return self.root_part(schema, content);
        }
        match media_type == "application/json" || media_type.ends_with("+json") {
            true => self.json(schema, &content.body),
            false => Vec::new(),
        }
    }

    fn root_part(&self, schema: Option<&Place>, content: &Content) -> Vec<Violation> {
        let whole = content.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        match multipart::parse(whole.unwrap_or_default(), content.body.clone()) {
            Ok(parts) => parts.first().map(|root| self.json(schema, &root.body)).unwrap_or_default(),
            Err(error) => vec![unreadable(&error)],
        }
    }

    fn json(&self, schema: Option<&Place>, body: &[u8]) -> Vec<Violation> {
        let value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return vec![unreadable(&error)],
        };
        let schema = schema.and_then(|place| self.schemas.at(&self.files, place));
        schema.map(|schema| schema.violations(&value)).unwrap_or_default()
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> Violation {
    Violation::new(InvalidParam::body("", short(error.to_string())), Cause::InvalidMsgFormat)
}
