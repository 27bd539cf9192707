//! Bodies that change a document: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396).

use crate::bounds::present;
use crate::decode::{Ie, decode_list};
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::Deserialize;
use serde_json::Value;

/// How many steps one JSON Patch may have.
pub const MAX_PATCH_ITEMS: usize = 64;

/// One step of a JSON Patch, TS 29.571 §5.2.4.4 (Rel-17).
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct PatchItem {
    op: String,
    path: String,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

impl Ie for PatchItem {
    const MANDATORY: &'static [&'static str] = &["op", "path"];
}

/// `document` after the JSON Patch in `body`: all of it, or nothing.
///
/// `add`, `replace` and `remove`, not done are `move`, `copy` and `test`. Two liberties, since a real core's UDM takes
/// them (our choice): a path without its slash names an attribute of the document, in either case of its first letter;
/// and `replace` sets what is not there yet.
pub fn json_patch(document: &Value, body: &[u8]) -> Result<Value, ProblemDetails> {
    let items: Vec<PatchItem> = decode_list(body)?;
    if items.len() > MAX_PATCH_ITEMS {
        let detail =
            format!("expected at most {MAX_PATCH_ITEMS} steps of a patch, but found {}", items.len());
        return Err(ProblemDetails::new(Cause::InvalidMsgFormat, detail));
    }
    let mut patched = document.clone();
    for (n, item) in items.into_iter().enumerate() {
        let wrong = |(name, reason): (&str, &str)| incorrect(&format!("/{n}/{name}"), reason);
        apply(&mut patched, item).map_err(wrong)?;
    }
    Ok(patched)
}

fn incorrect(pointer: &str, reason: &str) -> ProblemDetails {
    ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("{pointer}: {reason}"))
        .with_param(InvalidParam::body(pointer, reason))
}

/// What is wrong with a step: which of its attributes, and why.
type Wrong = (&'static str, &'static str);

fn apply(document: &mut Value, item: PatchItem) -> Result<(), Wrong> {
    let path = pointer(&item.path);
    let (parent, name) = path.rsplit_once('/').ok_or(("path", "expected the path of an attribute"))?;
    let name = name.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).ok_or(("path", "expected a path whose parent is there"))?;
    match (&*item.op, parent) {
        ("add" | "replace", Value::Object(object)) => {
            object.insert(name, item.value.ok_or(("value", "expected a value"))?);
            Ok(())
        }
        ("remove", Value::Object(object)) => {
            object.remove(&name).map(|_| ()).ok_or(("path", "expected a path that is there"))
        }
        ("add", Value::Array(list)) if name == "-" => {
            list.push(item.value.ok_or(("value", "expected a value"))?);
            Ok(())
        }
        ("add" | "replace" | "remove", Value::Array(list)) => apply_at(list, &item.op, &name, item.value),
        ("add" | "replace" | "remove", _) => Err(("path", "expected a path into an object or a list")),
        _ => Err(("op", "expected add, replace or remove")),
    }
}

fn apply_at(list: &mut Vec<Value>, op: &str, index: &str, value: Option<Value>) -> Result<(), Wrong> {
    let last = if op == "add" { list.len() } else { list.len().saturating_sub(1) };
    let index = index.parse().ok().filter(|at| *at <= last && !(op != "add" && list.is_empty()));
    let index: usize = index.ok_or(("path", "expected an index that is there"))?;
    match op {
        "remove" => drop(list.remove(index)),
        "add" => list.insert(index, value.ok_or(("value", "expected a value"))?),
        _ => list[index] = value.ok_or(("value", "expected a value"))?,
    }
    Ok(())
}

/// The path as a JSON Pointer.
fn pointer(path: &str) -> String {
    let mut letters = path.chars();
    match letters.next() {
        Some('/') | None => path.to_owned(),
        Some(first) => format!("/{}{}", first.to_ascii_lowercase(), letters.as_str()),
    }
}

/// `document` after a JSON Merge Patch: null takes an attribute away.
pub fn merge_patch(document: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *document = patch;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(serde_json::Map::new());
    }
    let Value::Object(object) = document else { return };
    for (name, value) in patch {
        match value {
            Value::Null => drop(object.remove(&name)),
            value => merge_patch(object.entry(name).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(body: Value) -> Result<Value, (String, String)> {
        let document = json!({"a": 1, "list": [1, 2], "in": {"x~/": true}});
        json_patch(&document, body.to_string().as_bytes()).map_err(|problem| {
            let param = problem.invalid_params.first().map(|p| p.param.clone()).unwrap_or_default();
            (problem.cause.unwrap_or_default(), param)
        })
    }

    #[test]
    fn steps_are_carried_out_in_order() {
        let body = json!([
            {"op": "add", "path": "/purgeFlag", "value": true}, {"op": "remove", "path": "/a"},
            {"op": "add", "path": "/list/-", "value": 4}, {"op": "add", "path": "/list/2", "value": 3},
            {"op": "replace", "path": "/in/x~0~1", "value": null}, {"op": "remove", "path": "/list/0"}
        ]);
        let expected = json!({"list": [2, 3, 4], "in": {"x~/": null}, "purgeFlag": true});
        assert_eq!(patched(body), Ok(expected));
    }

    #[test]
    fn a_real_core_names_an_attribute_without_its_slash() {
        let body = json!([{"op": "replace", "path": "PurgeFlag", "value": true}]);
        assert_eq!(patched(body).expect("taken")["purgeFlag"], true);
    }

    #[test]
    fn a_step_that_cannot_be_is_named_and_nothing_is_done() {
        let item = |op: &str, path: &str| json!([{"op": op, "path": path, "value": 1}]);
        for (body, cause, param) in [
            (item("move", "/a"), "MANDATORY_IE_INCORRECT", "/0/op"),
            (item("remove", "/b"), "MANDATORY_IE_INCORRECT", "/0/path"),
            (item("add", ""), "MANDATORY_IE_INCORRECT", "/0/path"),
            (item("add", "/b/c"), "MANDATORY_IE_INCORRECT", "/0/path"),
            (item("add", "/a/c"), "MANDATORY_IE_INCORRECT", "/0/path"),
            (item("add", "/list/3"), "MANDATORY_IE_INCORRECT", "/0/path"),
            (item("replace", "/list/2"), "MANDATORY_IE_INCORRECT", "/0/path"),
            (json!([{"op": "add", "path": "/b"}]), "MANDATORY_IE_INCORRECT", "/0/value"),
            (json!([{"path": "/b"}]), "MANDATORY_IE_MISSING", "/0/op"),
            (json!({"purgeFlag": true}), "INVALID_MSG_FORMAT", ""),
            (json!(vec![json!({"op": "add", "path": "/b", "value": 1}); 65]), "INVALID_MSG_FORMAT", ""),
        ] {
            assert_eq!(patched(body.clone()), Err((cause.to_owned(), param.to_owned())), "{body}");
        }
    }

    #[test]
    fn a_merge_patch_sets_and_takes_away() {
        let mut document = json!({"a": 1, "in": {"x": 1, "y": 2}, "list": [1]});
        merge_patch(&mut document, json!({"a": null, "in": {"x": null, "z": {"n": null}}, "list": [2]}));
        assert_eq!(document, json!({"in": {"y": 2, "z": {}}, "list": [2]}));
    }
}
