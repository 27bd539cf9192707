//! What ends a created resource: its own 3GPP operation, as pure data.

use crate::client::{Answer, Call, encoded};
use crate::nrf::Located;
use crate::planted::planted;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// Where an undo is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The URI that the create was sent to, followed by this suffix (a query, or nothing).
    There(String),
    /// The `Location` of the create's answer, followed by this suffix (`/release`, or nothing).
    Location(String),
}

/// The operation that ends a created resource; docs/release.md names it for each create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The method.
    pub method: String,
    /// Where it is sent.
    pub target: Target,
    /// A JSON body, if the operation has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<Value>,
    /// Its media type, if it is not `application/json`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub media_type: Option<String>,
    /// Refusals that say that nothing of ours is there any more, beside 404 and 410.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub done_if: Vec<Refusal>,
}

/// An error answer: its status, and its cause where only that tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The cause; any if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<String>,
}

impl Refusal {
    fn is(&self, answer: &Answer) -> bool {
        self.status == answer.status.as_u16()
            && (self.cause.is_none() || self.cause == answer.problem().cause)
    }
}

impl Undo {
    fn new(method: Method, target: Target, body: Option<Value>) -> Self {
        Undo { method: method.to_string(), target, body, media_type: None, done_if: Vec::new() }
    }

    /// DELETE on the `Location` of the create's answer.
    pub fn delete_location() -> Self {
        Undo::new(Method::DELETE, Target::Location(String::new()), None)
    }

    /// DELETE where the create was sent to, with `query` (`?...`, or nothing).
    pub fn delete_there(query: impl Into<String>) -> Self {
        Undo::new(Method::DELETE, Target::There(query.into()), None)
    }

    /// POST on the `Location` of the create's answer followed by `suffix`.
    pub fn post_location(suffix: &str, body: Value) -> Self {
        Undo::new(Method::POST, Target::Location(suffix.into()), Some(body))
    }

    /// PATCH where the create was sent to, with a patch of this media type.
    pub fn patch_there(media_type: &str, patch: Value) -> Self {
        let undo = Undo::new(Method::PATCH, Target::There(String::new()), Some(patch));
        Undo { media_type: Some(media_type.into()), ..undo }
    }

    /// The same, also done if it is refused so.
    #[must_use]
    pub fn done_if(mut self, status: u16, cause: Option<&str>) -> Self {
        self.done_if.push(Refusal { status, cause: cause.map(str::to_owned) });
        self
    }

    /// Whether an answer to it says that nothing of ours is there.
    pub(super) fn is_done_by(&self, answer: &Answer) -> bool {
        self.done_if.iter().any(|refusal| refusal.is(answer))
    }

    /// Puts back what the URI held that the create was sent to.
    pub(super) fn put_back(value: Value) -> Self {
        Undo::new(Method::PUT, Target::There(String::new()), Some(value))
    }

    /// The request, for a create that was sent to `target` and a resource at `uri`; `None` while it is not known where to
    /// send it.
    pub(super) fn call(&self, target: &str, uri: Option<&str>) -> Option<Call> {
        let target = match (&self.target, uri) {
            (Target::There(suffix), _) => format!("{target}{suffix}"),
            (Target::Location(suffix), Some(_)) if planted!(IgnoreLocation) => below(target, suffix),
            (Target::Location(suffix), Some(uri)) => below(uri, suffix),
            (Target::Location(_), None) => return None,
        };
        let call = Call::new(self.method.parse().ok()?, target);
        Some(match (&self.body, &self.media_type) {
            (Some(body), Some(media_type)) => call.with_body(media_type, crate::json::to_bytes(body)),
            (Some(body), None) => call.with_json(body),
            (None, _) => call,
        })
    }
}

/// `uri` with `suffix` at the end of its path.
fn below(uri: &str, suffix: &str) -> String {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let (path, query) = uri.split_at(end);
    format!("{path}{suffix}{query}")
}

/// How to find out what became of a create whose answer, and so its `Location`, was lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Settle {
    /// Send the create again in a form that finds the first one, then release what it returns (R6, R9).
    Repeat {
        /// The create.
        call: Box<Call>,
        /// Reads the older resource of the same subject, which the create would have replaced: while it is there the
        /// create was not carried out, and repeating it would end the older one.
        older: Option<Box<Call>>,
    },
    /// The same, where no standard says that the first one is found: at our own NFs, or if `release.settle` allows it.
    RepeatAtOurs(Box<Call>),
    /// Read the collection and look for the entry that was sent (R7). The entry's own id stands in `id_attribute`.
    Read {
        /// The collection's URI.
        collection: String,
        /// The attribute that names an entry within the collection.
        id_attribute: Cow<'static, str>,
        /// The id that this NF proposed.
        proposed_id: String,
        /// What the entry holds beside its id.
        like: Value,
    },
}

impl Settle {
    /// The same at the producer that was found.
    pub(super) fn at(&mut self, located: &Located) {
        match self {
            Settle::Repeat { call, older } => {
                call.uri = located.apply(&call.uri);
                // What another producer has is not replaced at this one.
                *older = older.take().filter(|older| located.is_at(&older.uri));
            }
            Settle::RepeatAtOurs(call) => call.uri = located.apply(&call.uri),
            Settle::Read { collection, .. } => *collection = located.apply(collection),
        }
    }

    /// The body with which the create was sent, as far as it is known.
    pub(super) fn sent(&self) -> String {
        match self {
            Settle::Repeat { call, .. } | Settle::RepeatAtOurs(call) => {
                String::from_utf8_lossy(&call.body).into_owned()
            }
            Settle::Read { like, .. } => like.to_string(),
        }
    }

    /// Which entry of a collection is the one that was sent. `taken` says which ids belong to others.
    ///
    /// The proposed id decides if the producer kept it; else the content does, if exactly one entry has it.
    pub(super) fn find(&self, entries: &[Value], taken: impl Fn(&str) -> bool) -> Found {
        let Settle::Read { collection, id_attribute, proposed_id, like } = self else {
            return Found::Unclear;
        };
        let id = |entry: &Value| entry.get(&**id_attribute).and_then(Value::as_str).map(str::to_owned);
        let uri = |id: &str| format!("{collection}/{}", encoded(id));
        if planted!(TakeAnyEntry)
            && let Some(any) = entries.first().and_then(id)
        {
            return Found::At(uri(&any));
        }
        if entries.iter().any(|e| id(e).as_ref() == Some(proposed_id)) {
            return Found::At(uri(proposed_id));
        }
        let alike: Vec<_> = entries.iter().filter(|e| holds(e, like, id_attribute)).map(id).collect();
        let free: Vec<_> = alike.iter().flatten().filter(|id| !taken(id)).collect();
        match free.as_slice() {
            [one] => Found::At(uri(one)),
            [] if alike.iter().all(Option::is_some) => Found::Nothing,
            _ => Found::Unclear,
        }
    }
}

/// Where a create whose answer was lost left something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    At(String),
    Nothing,
    Unclear,
}

/// Whether `entry` has every attribute of `like`, its id apart.
fn holds(entry: &Value, like: &Value, id_attribute: &str) -> bool {
    let Some(wanted) = like.as_object() else { return false };
    wanted
        .iter()
        .filter(|(key, _)| key.as_str() != id_attribute)
        .all(|(key, value)| entry.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lost() -> Settle {
        Settle::Read {
            collection: "http://udr/subs".into(),
            id_attribute: "subscriptionId".into(),
            proposed_id: "mine".into(),
            like: json!({"nfInstanceId": "a", "subscriptionId": "mine"}),
        }
    }

    #[test]
    fn the_proposed_id_decides() {
        let entries =
            [json!({"subscriptionId": "mine"}), json!({"nfInstanceId": "a", "subscriptionId": "x"})];
        assert_eq!(lost().find(&entries, |_| false), Found::At("http://udr/subs/mine".into()));
    }

    #[test]
    fn without_it_the_only_free_entry_of_the_same_content_is_taken() {
        let entries: Vec<_> =
            ["x", "y z"].map(|id| json!({"nfInstanceId": "a", "subscriptionId": id})).into();
        assert_eq!(lost().find(&entries, |id| id == "x"), Found::At("http://udr/subs/y%20z".into()));
        assert_eq!(lost().find(&entries, |_| false), Found::Unclear);
        assert_eq!(lost().find(&entries, |_| true), Found::Nothing);
        assert_eq!(lost().find(&[json!({"nfInstanceId": "b"})], |_| false), Found::Nothing);
        assert_eq!(
            lost().find(&[json!({"nfInstanceId": "a"})], |_| false),
            Found::Unclear,
            "it cannot be addressed"
        );
    }

    #[test]
    fn an_undo_waits_for_its_location_only_if_it_needs_one() {
        assert!(Undo::delete_location().call("http://udm/7", None).is_none());
        let call = Undo::post_location("/release", json!({}))
            .call("http://smf/ctx", Some("http://smf/ctx/1"))
            .expect("addressable");
        assert_eq!((call.method.as_str(), call.uri.as_str()), ("POST", "http://smf/ctx/1/release"));
        assert_eq!(below("http://smf/ctx/1?x=/", "/release"), "http://smf/ctx/1/release?x=/");
        assert_eq!(
            Undo::delete_there("?a=b").call("http://udm/5", None).expect("known").uri,
            "http://udm/5?a=b"
        );
    }
}
