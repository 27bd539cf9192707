//! The checker: finds the operation of a message, and holds the message against it.

use crate::callbacks::Callbacks;
use crate::files::{Files, Node, Place, Unreadable};
use crate::operation::Operation;
use crate::route::{Route, path_and_query};
use crate::schema::Schemas;
use http::{Method, StatusCode};
use sbi::multipart;
use sbi::schema::{Judged, SchemaCheck};
use sbi::traffic::Content;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Holds messages against a directory of OpenAPI files.
pub struct Checker {
    known: Arc<Known>,
    callbacks: Callbacks,
}

/// What was read and compiled so far.
pub(crate) struct Known {
    pub(crate) files: Files,
    pub(crate) schemas: Schemas,
    operations: Mutex<Operations>,
}

/// By path item and method.
type Operations = BTreeMap<(Place, String), Option<Arc<Operation>>>;

/// The operation that a message is for.
pub(crate) struct Found {
    pub(crate) operation: Arc<Operation>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) query: String,
}

impl Checker {
    /// Opens a directory of files.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or no file in it serves an API.
    pub fn open(dir: &Path) -> Result<Self, Unreadable> {
        let known =
            Known { files: Files::open(dir)?, schemas: Schemas::default(), operations: Mutex::default() };
        Ok(Checker { known: Arc::new(known), callbacks: Callbacks::default() })
    }

    /// The same files for another set of NFs: what callbacks they use is not shared.
    #[must_use]
    pub fn apart(&self) -> Self {
        Checker { known: self.known.clone(), callbacks: Callbacks::default() }
    }

    fn find(&self, method: &Method, uri: &str) -> Option<Found> {
        let (path, query) = path_and_query(uri);
        let Some(route) = Route::find(&self.known.files, method.as_str(), path) else {
            // Path and query of a callback are its owner's.
            let operation = self.callback(method, uri)?;
            return Some(Found { operation, variables: BTreeMap::new(), query: String::new() });
        };
        let operation = self.known.operation(&route.name, &route.path_item, &route.method)?;
        Some(Found { operation, variables: route.variables, query: query.to_owned() })
    }

    fn callback(&self, method: &Method, uri: &str) -> Option<Arc<Operation>> {
        let callback = self.callbacks.find(uri)?;
        let name = format!("{} {method} {}", callback.at.file, callback.name);
        let path_item = self.known.files.at(&callback.at)?;
        let method = method.as_str().to_ascii_lowercase();
        // A method that the file has not would be remembered for ever.
        path_item.get(&method)?;
        self.known.operation(&name, &path_item, &method)
    }

    fn learn_from(&self, found: &Found, request: &Content) {
        if found.operation.callbacks.is_empty() {
            return;
        }
        let Some(body) = json_part(request) else { return };
        for callback in &found.operation.callbacks {
            if let Some(uri) = body.pointer(&callback.pointer).and_then(Value::as_str) {
                self.callbacks.learn(uri, callback);
            }
        }
    }
}

impl SchemaCheck for Checker {
    fn request(&self, method: &Method, uri: &str, request: &Content) -> Option<Judged> {
        let found = self.find(method, uri)?;
        self.learn_from(&found, request);
        let violations = if request.cut { Vec::new() } else { self.known.request(&found, request) };
        Some(Judged { operation: found.operation.name.clone(), violations })
    }

    fn answer(&self, method: &Method, uri: &str, status: StatusCode, answer: &Content) -> Option<Judged> {
        let found = self.find(method, uri)?;
        let violations = if answer.cut { Vec::new() } else { self.known.answer(&found, status, answer) };
        Some(Judged { operation: found.operation.name.clone(), violations })
    }

    fn learn(&self, method: &Method, uri: &str, request: &Content) {
        if let Some(found) = self.find(method, uri) {
            self.learn_from(&found, request);
        }
    }
}

impl Known {
    fn operation(&self, name: &str, path_item: &Node<'_>, method: &str) -> Option<Arc<Operation>> {
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || Operation::read(name, path_item, method).map(Arc::new);
        operations.entry((path_item.place(), method.to_owned())).or_insert_with(read).clone()
    }
}

fn json_part(request: &Content) -> Option<Value> {
    let content_type = request.headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    match multipart::parse(content_type, request.body.clone()) {
        Ok(parts) => serde_json::from_slice(&parts.first()?.body).ok(),
        Err(_) => serde_json::from_slice(&request.body).ok(),
    }
}
