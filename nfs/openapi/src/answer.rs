//! Answers.

use crate::body::media_type;
use crate::checker::{Found, Known};
use crate::files::Place;
use crate::operation::{Answer, Contents};
use http::StatusCode;
use sbi::problem::{Cause, InvalidParam, PROBLEM_JSON};
use sbi::schema::Violation;
use sbi::traffic::Content;

impl Known {
    /// What is wrong with an answer of this operation.
    pub(crate) fn answer(&self, found: &Found, status: StatusCode, answer: &Content) -> Vec<Violation> {
        let declared = found.operation.answer(status.as_u16());
        let is_error = status.is_client_error() || status.is_server_error();
        if is_error && self.is_allowed_problem(declared, status, answer) {
            let problem = Contents::from([(PROBLEM_JSON.to_owned(), Some(problem_details()))]);
            return if answer.body.is_empty() { Vec::new() } else { self.body(&problem, answer) };
        }
        let Some(declared) = declared else {
            return vec![wrong(InvalidParam::body("status", format!("{} is not declared", status.as_u16())))];
        };
        let missing = declared.headers.iter().filter(|name| !answer.headers.contains_key(name.as_str()));
        let mut violations: Vec<_> =
            missing.map(|name| wrong(InvalidParam::header(name, "missing"))).collect();
        violations.extend(self.answer_body(declared, answer));
        violations
    }

    /// TS 29.500 §5.2.7.2 (Rel-17): an error that the file leaves open may hold problem details, or nothing; a 504 of
    /// §6.11.2 always may.
    fn is_allowed_problem(&self, declared: Option<&Answer>, status: StatusCode, answer: &Content) -> bool {
        let open = declared.is_none_or(|declared| declared.contents.is_empty());
        let is_problem = media_type(answer) == PROBLEM_JSON;
        is_problem && (open || status == StatusCode::GATEWAY_TIMEOUT) || answer.body.is_empty()
    }

    fn answer_body(&self, declared: &Answer, answer: &Content) -> Vec<Violation> {
        match (declared.contents.is_empty(), answer.body.is_empty()) {
            (true, true) => Vec::new(),
            (true, false) => vec![wrong(InvalidParam::body("", "expected no body, found one"))],
            (false, true) => vec![wrong(InvalidParam::body("", "expected a body, found none"))],
            (false, false) => self.body(&declared.contents, answer),
        }
    }
}

fn problem_details() -> Place {
    let pointer = "/components/schemas/ProblemDetails".into();
    Place { file: "TS29571_CommonData.yaml".into(), pointer }
}

fn wrong(param: InvalidParam) -> Violation {
    Violation::new(param, Cause::UnspecifiedMsgFailure)
}
