//! Compiled schemas, and what they find.

use crate::draft4::bundled;
use crate::files::{Files, Node, Place};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use sbi::problem::{Cause, InvalidParam};
use sbi::schema::Violation;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How many violations of one body, and how many of its parameters, are told.
pub const MAX_VIOLATIONS: usize = 8;

/// How long the reason and the place of a violation may be, in bytes; they quote what others send.
pub const MAX_REASON: usize = 240;

/// The schemas that were needed so far, as many as the files have at most.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<BTreeMap<Place, Arc<Schema>>>);

impl Schemas {
    /// The schema at `node`, compiled on first use.
    pub(crate) fn of(&self, node: &Node<'_>) -> Arc<Schema> {
        let place = node.place();
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place) {
            return known.clone();
        }
        let compiled = Arc::new(Schema::compile(node));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, compiled.clone());
        compiled
    }

    /// The same for a place; `None` if it is not there.
    pub(crate) fn at(&self, files: &Files, place: &Place) -> Option<Arc<Schema>> {
        files.at(place).map(|node| self.of(&node))
    }
}

/// A compiled schema.
pub(crate) struct Schema {
    /// None if the file's schema is no schema: then it allows anything.
    validator: Option<Validator>,
    /// The attributes that must be there.
    required: BTreeSet<String>,
}

impl Schema {
    fn compile(node: &Node<'_>) -> Self {
        let compiled = jsonschema::options().with_draft(Draft::Draft4).build(&bundled(node));
        if let Err(error) = &compiled {
            tracing::warn!(place = ?node.place(), "a schema cannot be used: {error}");
        }
        let required = node.value().get("required").and_then(Value::as_array);
        let required =
            required.into_iter().flatten().filter_map(|name| name.as_str().map(Into::into)).collect();
        Schema { validator: compiled.ok(), required }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }

    /// What is wrong with a body, at most [`MAX_VIOLATIONS`].
    pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
        let Some(validator) = &self.validator else { return Vec::new() };
        validator.iter_errors(value).take(MAX_VIOLATIONS).map(|error| self.violation(&error)).collect()
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let error = deepest(error);
        let at = short(error.instance_path().to_string());
        if let ValidationErrorKind::Required { property } = error.kind() {
            let name = property.as_str().unwrap_or_default();
            let param = InvalidParam::body(format!("{at}/{name}"), "missing");
            return Violation::new(param, Cause::MandatoryIeMissing);
        }
        let attribute = at.split('/').nth(1).unwrap_or_default();
        let mandatory = attribute.is_empty() || self.required.contains(attribute);
        let cause = if mandatory { Cause::MandatoryIeIncorrect } else { Cause::OptionalIeIncorrect };
        Violation::new(InvalidParam::body(at, reason(error)), cause)
    }
}

/// What is wrong; it quotes a short value, not a whole object.
fn reason(error: &ValidationError<'_>) -> String {
    match error.instance().as_ref() {
        Value::Array(_) | Value::Object(_) => short(error.masked_with("it").to_string()),
        _ => short(error.to_string()),
    }
}

/// Of alternatives that all fail, what is wrong with the one that the message followed furthest.
fn deepest<'e>(error: &'e ValidationError<'e>) -> &'e ValidationError<'e> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return error;
    };
    let depth = |error: &ValidationError<'_>| error.instance_path().as_str().matches('/').count();
    let inside = context.iter().flatten().map(|error| deepest(error)).max_by_key(|inside| depth(inside));
    inside.filter(|inside| depth(inside) > depth(error)).unwrap_or(error)
}

pub(crate) fn short(mut reason: String) -> String {
    if reason.len() > MAX_REASON {
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        reason.push('…');
    }
    reason
}
