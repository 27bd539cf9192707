//! Parameters of path and query.

use crate::files::{Files, Node, Place};
use crate::schema::{Schema, Schemas};
use percent_encoding::percent_decode_str;
use sbi::problem::{Cause, InvalidParam};
use sbi::schema::Violation;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a parameter stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum In {
    Path,
    Query,
}

/// A parameter that an operation declares.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) stands: In,
    required: bool,
    schema: Option<Place>,
    /// It is JSON as a whole.
    is_json: bool,
}

impl Parameter {
    /// Headers and cookies are left out.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        let stands = match node.text("in")? {
            "path" => In::Path,
            "query" => In::Query,
            _ => return None,
        };
        let json = node.get("content").and_then(|content| content.get("application/json"));
        let schema = json.as_ref().map_or_else(|| node.get("schema"), |json| json.get("schema"));
        Some(Parameter {
            name: node.text("name")?.to_owned(),
            stands,
            required: node.is_true("required"),
            schema: schema.map(|schema| schema.place()),
            is_json: json.is_some(),
        })
    }

    fn named(&self, reason: &str) -> InvalidParam {
        match self.stands {
            In::Path => InvalidParam::path(&self.name, reason),
            In::Query => InvalidParam::query(&self.name, reason),
        }
    }

    /// What is wrong with the values that were given.
    pub(crate) fn violation(&self, given: &[String], files: &Files, schemas: &Schemas) -> Option<Violation> {
        if given.is_empty() {
            let missing = || Violation::new(self.named("missing"), Cause::MandatoryQueryParamMissing);
            return self.required.then(missing);
        }
        let schema = schemas.at(files, self.schema.as_ref()?)?;
        if readings(given, self.is_json).iter().any(|value| schema.accepts(value)) {
            return None;
        }
        let cause = match (self.stands, self.required) {
            (In::Path, _) => Cause::MandatoryIeIncorrect,
            (In::Query, true) => Cause::MandatoryQueryParamIncorrect,
            (In::Query, false) => Cause::OptionalQueryParamIncorrect,
        };
        Some(Violation::new(self.named(&reason(given, &schema)), cause))
    }
}

/// What is wrong with it if it is taken for text.
fn reason(given: &[String], schema: &Schema) -> String {
    let found = schema.violations(&Value::String(given.concat()));
    found.into_iter().find_map(|violation| violation.param.reason).unwrap_or_else(|| "wrong".into())
}

/// What a parameter may mean: text, number or truth value, a list of either, JSON.
fn readings(given: &[String], is_json: bool) -> Vec<Value> {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let text = |text: &str| Value::String(text.to_owned());
    if let ([one], true) = (given, is_json) {
        return json(one).into_iter().collect();
    }
    let items: Vec<&str> = match given {
        [one] => one.split(',').collect(),
        several => several.iter().map(String::as_str).collect(),
    };
    let lists = [
        items.iter().map(|item| text(item)).collect(),
        items.iter().map(|item| json(item).unwrap_or_else(|| text(item))).collect(),
    ];
    let alone = given.first().filter(|_| given.len() == 1);
    let single = alone.into_iter().flat_map(|one| [Some(text(one)), json(one)].into_iter().flatten());
    single.chain(lists).collect()
}

/// The parameters of a query string, decoded.
pub(crate) fn in_query(query: &str) -> BTreeMap<String, Vec<String>> {
    let mut parameters = BTreeMap::<_, Vec<_>>::new();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        parameters.entry(decoded(name)).or_default().push(decoded(value));
    }
    parameters
}
