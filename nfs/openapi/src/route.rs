//! Which operation of which file a request is for.

use crate::files::{Files, Node};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

/// An operation that was found: where it is, and the values of the variables in its path.
pub(crate) struct Route<'f> {
    /// File, method and path template.
    pub(crate) name: String,
    pub(crate) path_item: Node<'f>,
    pub(crate) method: String,
    pub(crate) variables: BTreeMap<String, String>,
}

impl<'f> Route<'f> {
    /// The operation for a method and a path without its query.
    pub(crate) fn find(files: &'f Files, method: &str, path: &str) -> Option<Self> {
        let (file, rest) = files.serving(path)?;
        let paths = files.file(file)?.get("paths")?;
        let method = method.to_ascii_lowercase();
        let templates = paths.value().as_object()?.keys();
        let matching = templates.filter_map(|t| matched(t, rest).map(|variables| (t, variables)));
        // The template with the fewest variables is the most concrete one.
        let (template, variables) = matching.min_by_key(|(_, variables)| variables.len())?;
        let path_item = paths.get(template)?;
        path_item.get(&method)?;
        let name = format!("{file} {} {template}", method.to_ascii_uppercase());
        Some(Route { name, path_item, method, variables })
    }
}

fn matched(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let (mut variables, mut segments) = (BTreeMap::new(), path.split('/'));
    for expected in template.split('/') {
        let segment = segments.next()?;
        match expected.strip_prefix('{').and_then(|e| e.strip_suffix('}')) {
            Some(_) if segment.is_empty() => return None,
            Some(variable) => {
                let value = percent_decode_str(segment).decode_utf8_lossy().into_owned();
                variables.insert(variable.to_owned(), value);
            }
            None if expected == segment => {}
            None => return None,
        }
    }
    segments.next().is_none().then_some(variables)
}

/// Path and query of a URI, absolute or not.
pub(crate) fn path_and_query(uri: &str) -> (&str, &str) {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let rest = rest.split('#').next().unwrap_or_default();
    rest.split_once('?').unwrap_or((rest, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_matches_whole_segments() {
        let found = matched("/{ueId}/sdm-subscriptions/{id}", "/imsi-1/sdm-subscriptions/a%2Fb");
        assert_eq!(found.map(|v| v["id"].clone()).as_deref(), Some("a/b"));
        for path in [
            "/imsi-1/sdm-subscriptions",
            "/imsi-1/sdm-subscriptions/",
            "/imsi-1/other/7",
            "//sdm-subscriptions/7",
        ] {
            assert!(matched("/{ueId}/sdm-subscriptions/{id}", path).is_none(), "{path}");
        }
    }

    #[test]
    fn path_and_query_are_cut_from_any_uri() {
        assert_eq!(path_and_query("http://udm:1/a/b?c=d"), ("/a/b", "c=d"));
        assert_eq!(path_and_query("/a?b#c"), ("/a", "b"));
        assert_eq!(path_and_query("http://udm"), ("", ""));
    }
}
