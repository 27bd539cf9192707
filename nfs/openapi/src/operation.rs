//! An operation of an OpenAPI file, as far as messages are held against it.

use crate::files::{Node, Place};
use crate::parameter::Parameter;
use std::collections::BTreeMap;

/// The schemas of a body by media type, in lower case.
pub(crate) type Contents = BTreeMap<String, Option<Place>>;

/// An operation, or a callback.
pub(crate) struct Operation {
    /// File, method and path template.
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    /// By status, `4XX`, or `default`.
    pub(crate) answers: BTreeMap<String, Answer>,
    pub(crate) callbacks: Vec<Callback>,
}

/// What a request holds.
pub(crate) struct Body {
    pub(crate) required: bool,
    pub(crate) contents: Contents,
}

/// What an answer holds.
pub(crate) struct Answer {
    pub(crate) contents: Contents,
    /// The headers that must be there.
    pub(crate) headers: Vec<String>,
}

/// A request that goes to a URI of this operation's request.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    /// Where in the body the URI is.
    pub(crate) pointer: String,
    /// Its path item.
    pub(crate) at: Place,
    /// What it is called.
    pub(crate) name: String,
}

impl Operation {
    pub(crate) fn read(name: &str, path_item: &Node<'_>, method: &str) -> Option<Self> {
        let node = path_item.get(method)?;
        let said = [path_item, &node].into_iter().filter_map(|node| node.get("parameters"));
        let parameters = said.flat_map(|parameters| parameters.entries());
        let answers = node.get("responses")?.entries().into_iter();
        Some(Operation {
            name: name.to_owned(),
            parameters: parameters.filter_map(|(_, parameter)| Parameter::read(&parameter)).collect(),
            body: node.get("requestBody").map(|body| Body::read(&body)),
            answers: answers.map(|(status, answer)| (status, Answer::read(&answer))).collect(),
            callbacks: node.get("callbacks").map(|c| callbacks(&c)).unwrap_or_default(),
        })
    }

    /// What is said of answers with this status.
    pub(crate) fn answer(&self, status: u16) -> Option<&Answer> {
        let range = format!("{}XX", status / 100);
        let said = [status.to_string(), range, "default".to_owned()];
        said.iter().find_map(|said| self.answers.get(said))
    }
}

impl Body {
    fn read(node: &Node<'_>) -> Self {
        Body { required: node.is_true("required"), contents: contents(node) }
    }
}

impl Answer {
    fn read(node: &Node<'_>) -> Self {
        let headers = node.get("headers").map(|headers| headers.entries()).unwrap_or_default();
        let required = headers.into_iter().filter(|(_, header)| header.is_true("required"));
        Answer { contents: contents(node), headers: required.map(|(name, _)| name).collect() }
    }
}

fn contents(node: &Node<'_>) -> Contents {
    let content = node.get("content").map(|content| content.entries()).unwrap_or_default();
    let read = |(media_type, of): (String, Node<'_>)| {
        let schema = of.get("schema");
        // Of a multipart body, the JSON part.
        let schema = match media_type.starts_with("multipart/") {
            true => schema.and_then(|schema| schema.get("properties")?.get("jsonData")),
            false => schema,
        };
        (media_type.to_ascii_lowercase(), schema.map(|schema| schema.place()))
    };
    content.into_iter().map(read).collect()
}

fn callbacks(node: &Node<'_>) -> Vec<Callback> {
    let mut all = Vec::new();
    for (name, callback) in node.entries() {
        for (expression, path_item) in callback.entries() {
            let pointer = pointer_of(&expression).map(str::to_owned);
            all.extend(pointer.map(|pointer| Callback {
                pointer,
                at: path_item.place(),
                name: name.clone(),
            }));
        }
    }
    all
}

/// `{$request.body#/a}`, which some files write without the dollar.
fn pointer_of(expression: &str) -> Option<&str> {
    let inside = expression.strip_prefix('{')?.split('}').next()?;
    inside.trim_start_matches('$').strip_prefix("request.body#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_where_the_body_says() {
        assert_eq!(pointer_of("{$request.body#/a/b}"), Some("/a/b"));
        assert_eq!(pointer_of("{request.body#/a}/more"), Some("/a"));
        assert_eq!(pointer_of("{$request.query.x}"), None);
    }
}
