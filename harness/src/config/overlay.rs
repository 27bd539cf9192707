//! The environment over a configuration: `MOCK5G_SMF__DEADLINE__MODE=drop`.

use super::Config;
use serde_json::{Map, Value};

const PREFIX: &str = "MOCK5G_";

/// What the project's tests read, and a configuration does not.
const OF_TESTS: [&str; 5] = ["SEED", "SEEDS", "CELL", "CAPTURES", "OPENAPI_DIR"];

/// A variable: the keys that it names, and its value, so far taken for text.
struct Said {
    name: String,
    keys: Vec<String>,
    text: String,
    value: Value,
}

/// `config` with what `variables` say; two underscores nest. A value is text if text can stand there, else what it is
/// as JSON: a number, a truth value, a list.
pub(super) fn overlay(
    config: Config,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, String> {
    let mut all: Vec<_> = variables.into_iter().filter(|(name, _)| is_ours(name)).map(said).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let file = sbi::json::to_value(&config);
    loop {
        let whole = all.iter().fold(file.clone(), |into, said| placed(into, &said.keys, said.value.clone()));
        let error = match serde_path_to_error::deserialize(whole) {
            Ok(config) => return Ok(config),
            Err(error) => error,
        };
        let (at, reason) = (error.path().to_string(), error.into_inner().to_string());
        let Some(wrong) = all.iter_mut().find(|said| said.keys.join(".").starts_with(&at)) else {
            return Err(format!("{at}: {reason}"));
        };
        match serde_json::from_str(&wrong.text) {
            Ok(json) if wrong.value != json => wrong.value = json,
            _ => return Err(format!("{}={}: {reason}", wrong.name, wrong.text)),
        }
    }
}

fn said((name, text): (String, String)) -> Said {
    let keys = name[PREFIX.len()..].split("__").map(str::to_lowercase).collect();
    Said { name, keys, value: Value::String(text.clone()), text }
}

/// What Kubernetes says of services that happen to be called `mock5g-...` is not for us.
fn is_ours(name: &str) -> bool {
    let Some(key) = name.strip_prefix(PREFIX) else { return false };
    let of_kubernetes = key.contains("_SERVICE_") || key.ends_with("_PORT") || key.contains("_PORT_");
    key.contains("__") || !(of_kubernetes || OF_TESTS.contains(&key))
}

fn placed(into: Value, keys: &[String], value: Value) -> Value {
    let [key, deeper @ ..] = keys else { return value };
    let mut object = match into {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    let there = object.remove(key).unwrap_or_default();
    object.insert(key.clone(), placed(there, deeper, value));
    Value::Object(object)
}
