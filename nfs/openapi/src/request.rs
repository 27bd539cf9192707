//! Requests.

use crate::checker::{Found, Known};
use crate::parameter::{In, in_query};
use crate::schema::{MAX_VIOLATIONS, short};
use crate::tolerated;
use sbi::problem::{Cause, InvalidParam};
use sbi::schema::Violation;
use sbi::traffic::Content;

impl Known {
    /// What is wrong with a request for this operation.
    pub(crate) fn request(&self, found: &Found, request: &Content) -> Vec<Violation> {
        let mut violations = self.parameters(found);
        let empty = request.body.is_empty();
        match &found.operation.body {
            Some(body) if empty && body.required => {
                let missing = InvalidParam::body("", "expected a body, found none");
                violations.push(Violation::new(missing, Cause::InvalidMsgFormat));
            }
            Some(body) if !empty => violations.extend(self.body(&body.contents, request)),
            None if !empty => {
                let unexpected = InvalidParam::body("", "expected no body, found one");
                violations.push(Violation::new(unexpected, Cause::InvalidMsgFormat));
            }
            _ => {}
        }
        violations
    }

    fn parameters(&self, found: &Found) -> Vec<Violation> {
        let (declared, given) = (&found.operation.parameters, in_query(&found.query));
        let unknown = given.keys().filter(|name| {
            !declared.iter().any(|parameter| parameter.stands == In::Query && &parameter.name == *name)
        });
        let unknown = unknown.map(|name| {
            let param = InvalidParam::query(&short(name.clone()), "the operation has no such parameter");
            let tolerated = tolerated::has_query(&found.operation.name, name);
            Violation { tolerated, ..Violation::new(param, Cause::InvalidQueryParam) }
        });
        let wrong = declared.iter().filter_map(|parameter| {
            let values = match parameter.stands {
                // A callback has variables that its file does not see.
                In::Path => vec![found.variables.get(&parameter.name)?.clone()],
                In::Query => given.get(&parameter.name).cloned().unwrap_or_default(),
            };
            parameter.violation(&values, &self.files, &self.schemas)
        });
        unknown.chain(wrong).take(MAX_VIOLATIONS).collect()
    }
}
