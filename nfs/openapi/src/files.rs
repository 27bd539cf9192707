//! A directory of OpenAPI files, each parsed when it is first needed.

use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How many `$ref` in a row are followed; more are a circle.
const MAX_REFS: usize = 16;

/// The API versions that a file serves though it names another: UDRs offer TS 29.504's v2 as v1 too.
const ALIASES: [(&str, &str); 1] = [("/nudr-dr/v1", "/nudr-dr/v2")];

/// A directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be listed.
    #[error("{}: {error}", dir.display())]
    Directory {
        /// Which.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No file in it serves an API.
    #[error("{}: expected OpenAPI files (*.yaml) with servers, found none", .0.display())]
    Empty(PathBuf),
}

/// The files, and which API each serves.
pub(crate) struct Files {
    dir: PathBuf,
    /// Base path and file.
    services: Vec<(String, String)>,
    parsed: Mutex<BTreeMap<String, Option<Arc<Document>>>>,
}

/// A parsed file.
pub(crate) struct Document {
    pub(crate) name: String,
    content: Value,
}

/// A place in a file.
#[derive(Clone)]
pub(crate) struct Node<'f> {
    files: &'f Files,
    document: Arc<Document>,
    pointer: String,
}

/// Names a [`Node`]: file and JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) pointer: String,
}

impl Files {
    pub(crate) fn open(dir: &Path) -> Result<Self, Unreadable> {
        let unreadable = |error| Unreadable::Directory { dir: dir.into(), error };
        let mut services = Vec::new();
        for entry in fs::read_dir(dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if !name.ends_with(".yaml") {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(unreadable)?;
            services.extend(base_path(&text).map(|base| (base, name.to_owned())));
        }
        services.sort();
        for (alias, of) in ALIASES {
            let file = services.iter().find(|(base, _)| base == of).map(|(_, file)| file.clone());
            services.extend(file.map(|file| (alias.to_owned(), file)));
        }
        match services.is_empty() {
            true => Err(Unreadable::Empty(dir.into())),
            false => Ok(Files { dir: dir.into(), services, parsed: Mutex::default() }),
        }
    }

    /// The file that serves a path, and the rest of the path.
    pub(crate) fn serving<'p>(&self, path: &'p str) -> Option<(&str, &'p str)> {
        let below = |base: &str| {
            let end = path.find(base)? + base.len();
            let rest = &path[end..];
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        };
        self.services.iter().find_map(|(base, file)| Some((file.as_str(), below(base)?)))
    }

    /// The file of this name as a whole.
    pub(crate) fn file(&self, name: &str) -> Option<Node<'_>> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        let document = match parsed.get(name) {
            Some(known) => known.clone(),
            None => parsed.entry(name.to_owned()).or_insert(self.parse(name)).clone(),
        };
        document.map(|document| Node { files: self, document, pointer: String::new() })
    }

    pub(crate) fn at(&self, place: &Place) -> Option<Node<'_>> {
        let node = Node { pointer: place.pointer.clone(), ..self.file(&place.file)? };
        node.exists().then_some(node)
    }

    fn parse(&self, name: &str) -> Option<Arc<Document>> {
        if name.contains(['/', '\\']) {
            return None;
        }
        let read = fs::read_to_string(self.dir.join(name)).map_err(|error| error.to_string());
        match read.and_then(|text| from_yaml(&text)) {
            Ok(content) => Some(Arc::new(Document { name: name.to_owned(), content })),
            Err(error) => {
                tracing::warn!(file = name, "an OpenAPI file cannot be read: {error}");
                None
            }
        }
    }
}

/// As YAML 1.2 means it: `NO` and `off` are text.
pub(crate) fn from_yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: None,
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// The path of the first server, found without parsing: `url: '{apiRoot}/nudm-sdm/v2'`.
fn base_path(text: &str) -> Option<String> {
    let servers = text.lines().skip_while(|line| !line.starts_with("servers:")).skip(1);
    let inside = servers.take_while(|line| line.is_empty() || line.starts_with([' ', '-', '#']));
    let mut urls = inside.filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("url:"));
    let url = urls.next()?.trim().trim_matches(['\'', '"']);
    let (_, path) = url.split_once('}')?;
    (path.starts_with('/') && !path.contains('{')).then(|| path.trim_end_matches('/').to_owned())
}

impl<'f> Node<'f> {
    pub(crate) fn value(&self) -> &Value {
        self.document.content.pointer(&self.pointer).unwrap_or(&Value::Null)
    }

    pub(crate) fn place(&self) -> Place {
        Place { file: self.document.name.clone(), pointer: self.pointer.clone() }
    }

    fn exists(&self) -> bool {
        self.document.content.pointer(&self.pointer).is_some()
    }

    /// What is at `key`, a `$ref` followed.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'f>> {
        let pointer = format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"));
        let node = Node { pointer, ..self.clone() };
        if node.exists() { node.followed() } else { None }
    }

    /// The keys of an object, or the indices of a list, and what is there.
    pub(crate) fn entries(&self) -> Vec<(String, Node<'f>)> {
        let keys: Vec<String> = match self.value() {
            Value::Object(object) => object.keys().cloned().collect(),
            Value::Array(list) => (0..list.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        keys.into_iter().filter_map(|key| self.get(&key).map(|node| (key, node))).collect()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.value().get(key)?.as_str()
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.value().get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The place that a `$ref` in this file means.
    pub(crate) fn referred(&self, reference: &str) -> Option<Node<'f>> {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let pointer = percent_decode_str(pointer).decode_utf8().ok()?.into_owned();
        let file = file.trim_start_matches("./");
        let file = if file.is_empty() { &self.document.name } else { file };
        self.files.at(&Place { file: file.to_owned(), pointer })
    }

    fn followed(self) -> Option<Node<'f>> {
        let mut node = self;
        for _ in 0..MAX_REFS {
            let Some(reference) = node.text("$ref") else { return Some(node) };
            node = node.referred(reference)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_stays_what_the_files_mean() {
        let yaml = "a: [NO, off, yes, 2020-01-01, '001', 5, 1.5, true, null]\n200: x\non: y\n";
        let expected = serde_json::json!({
            "a": ["NO", "off", "yes", "2020-01-01", "001", 5, 1.5, true, null], "200": "x", "on": "y"
        });
        assert_eq!(from_yaml(yaml), Ok(expected));
    }

    #[test]
    fn the_base_path_is_found_without_parsing() {
        let of = |url: &str| {
            base_path(&format!("openapi: 3.0.0\nservers:\n  - description: x\n    {url}\npaths: {{}}\n"))
        };
        assert_eq!(of("url: '{apiRoot}/nudr-dr/v2'").as_deref(), Some("/nudr-dr/v2"));
        assert_eq!(of("url: \"{apiRoot}/nudr-dr/v2/\"").as_deref(), Some("/nudr-dr/v2"));
        assert_eq!(of("url: '{root}'"), None);
        assert_eq!(base_path("externalDocs:\n  url: 'https://x/y'\n"), None);
    }
}
