//! A schema of an OpenAPI file as one self-contained JSON Schema (Draft 4).
//!
//! OpenAPI 3.0 takes its schemas from Draft 4 and adds `nullable`. Everything that a schema refers to, in whichever file,
//! becomes a definition of the result, so that nothing has to be looked up later and only files that are referred to are
//! parsed.

use crate::files::{Node, Place};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The schema at `root`, with everything that it refers to.
pub(crate) fn bundled(root: &Node<'_>) -> Value {
    let mut bundle = Bundle::default();
    let first = bundle.reference(root);
    let mut definitions = Map::new();
    while let Some((number, node)) = bundle.to_do.pop() {
        let schema = bundle.schema(node.value(), &node);
        definitions.insert(number.to_string(), schema);
    }
    json!({"allOf": [first], "definitions": definitions})
}

#[derive(Default)]
struct Bundle<'f> {
    numbers: BTreeMap<Place, usize>,
    to_do: Vec<(usize, Node<'f>)>,
}

impl<'f> Bundle<'f> {
    fn reference(&mut self, node: &Node<'f>) -> Value {
        let next = self.numbers.len();
        let number = *self.numbers.entry(node.place()).or_insert_with(|| {
            self.to_do.push((next, node.clone()));
            next
        });
        json!({"$ref": format!("#/definitions/{number}")})
    }

    /// `value`, which stands somewhere in the file of `node`.
    fn schema(&mut self, value: &Value, node: &Node<'f>) -> Value {
        let Value::Object(object) = value else { return json!({}) };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            // What cannot be found allows anything.
            return node.referred(reference).map_or(json!({}), |referred| self.reference(&referred));
        }
        let mut schema = Map::new();
        for (keyword, value) in object {
            if let Some(value) = self.keyword(keyword, value, node) {
                schema.insert(keyword.clone(), value);
            }
        }
        spare_read_only(object, &mut schema);
        match object.get("nullable") {
            Some(Value::Bool(true)) => nullable(schema),
            _ => Value::Object(schema),
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, node: &Node<'f>) -> Option<Value> {
        match keyword {
            "type" | "enum" | "required" | "pattern" | "minLength" | "maxLength" | "minimum" | "maximum"
            | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems"
            | "uniqueItems" | "minProperties" | "maxProperties" => Some(value.clone()),
            "items" | "not" => Some(self.schema(value, node)),
            "additionalProperties" if value.is_boolean() => Some(value.clone()),
            "additionalProperties" => Some(self.schema(value, node)),
            "properties" => {
                let properties = value.as_object()?.iter();
                Some(
                    properties
                        .map(|(name, value)| (name.clone(), self.schema(value, node)))
                        .collect::<Map<_, _>>()
                        .into(),
                )
            }
            "allOf" | "anyOf" | "oneOf" => {
                Some(value.as_array()?.iter().map(|value| self.schema(value, node)).collect())
            }
            _ => None,
        }
    }
}

/// What only the server writes is not missing in a request. Answers are spared too, since one schema serves both.
fn spare_read_only(object: &Map<String, Value>, schema: &mut Map<String, Value>) {
    let is_read_only = |name: &Value| {
        let property = name.as_str().and_then(|name| object.get("properties")?.get(name));
        property.and_then(|property| property.get("readOnly")).and_then(Value::as_bool).unwrap_or(false)
    };
    let Some(Value::Array(required)) = schema.get_mut("required") else { return };
    required.retain(|name| !is_read_only(name));
    // Draft 4 wants at least one.
    if required.is_empty() {
        schema.remove("required");
    }
}

fn nullable(mut schema: Map<String, Value>) -> Value {
    let Some(Value::String(kind)) = schema.get("type") else {
        return json!({"anyOf": [schema, {"type": "null"}]});
    };
    let kinds = json!([kind, "null"]);
    schema.insert("type".into(), kinds);
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    Value::Object(schema)
}
