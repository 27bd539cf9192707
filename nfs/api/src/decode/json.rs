//! JSON of strangers: read without double attributes, turned into a type without serde's liberties.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use std::fmt;

/// The JSON text in `bytes`; an error is for a person.
///
/// Nesting ends at serde_json's limit of 128. RFC 8259 §4 leaves open what an attribute that occurs twice means, and
/// two readers may take two values, so we take none.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(bytes) {
        Ok(Unique(value)) => Ok(value),
        Err(error) => Err(clip(&error.to_string())),
    }
}

/// What is wrong with a value, and where.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The attributes on the way to it.
    pub path: Vec<String>,
    /// The last attribute of the path is mandatory in its object, and absent.
    pub missing: bool,
    /// What was expected, for a person.
    pub reason: String,
}

impl Wrong {
    /// The path as a JSON Pointer, RFC 6901.
    pub fn pointer(&self) -> String {
        let escaped = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        clip(&self.path.iter().map(escaped).collect::<String>())
    }
}

/// `value` as a `T`.
///
/// serde would also take an array in place of an object, attribute by attribute; here it is refused.
pub(crate) fn convert<T: DeserializeOwned>(value: Value) -> Result<T, Wrong> {
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| {
        let mut path = names(error.path());
        let reason = error.inner().to_string();
        let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        path.extend(missing.map(str::to_owned));
        Wrong { path, missing: missing.is_some(), reason: clip(missing.map_or(&reason, |_| "missing")) }
    })
}

fn names(path: &Path) -> Vec<String> {
    let name = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(name).collect()
}

/// The most characters of a text for people that may quote what a stranger sent.
const SHOWN: usize = 240;

/// `text`, or its beginning and its end: what was found comes first in serde's messages, what was expected last.
pub(crate) fn clip(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return text.to_owned();
    }
    let start: String = text.chars().take(SHOWN / 2).collect();
    let end: String = text.chars().skip(count - SHOWN / 2).collect();
    format!("{start} ... {end}")
}

/// A JSON value in which no object has an attribute twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("attribute `{}` occurs twice", clip(&name))));
            }
            let Unique(value) = entries.next_value()?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

/// A value that becomes a struct only if it is an object.
struct Strict(Value);

impl<'de> IntoDeserializer<'de, serde_json::Error> for Strict {
    type Deserializer = Strict;

    fn into_deserializer(self) -> Strict {
        self
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter().map(Strict))),
            Value::Object(object) => visitor.visit_map(MapDeserializer::new(
                object.into_iter().map(|(name, value)| (name, Strict(value))),
            )),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V>(self, _: &'static str, visitor: V) -> Result<V::Value, Self::Error>
    where
        V: Visitor<'de>,
    {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error>
    where
        V: Visitor<'de>,
    {
        match self.0 {
            Value::Array(_) => Err(Self::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Snssai;
    use serde_json::json;

    #[test]
    fn any_json_reads_as_serde_json_reads_it() {
        for text in [
            r#"{"a":[1,-1,1.5,"x\n\u00e9",true,null,{}],"b":{"a":18446744073709551615}}"#,
            " [ ]\n",
            "null",
            "1e300",
        ] {
            assert_eq!(read(text.as_bytes()).expect(text), serde_json::from_str::<Value>(text).expect(text));
        }
    }

    #[test]
    fn an_attribute_that_occurs_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#] {
            let error = read(text.as_bytes()).expect_err(text);
            assert!(error.contains("attribute `a` occurs twice"), "{error}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(deep(100).as_bytes()).is_ok());
        assert!(read(deep(100_000).as_bytes()).expect_err("too deep").contains("recursion limit"));
    }

    #[test]
    fn an_array_is_no_object() {
        let wrong = convert::<Snssai>(json!([1, "0000a1"])).expect_err("an array");
        assert_eq!(wrong.reason, "invalid type: sequence, expected an object with `sst` and perhaps `sd`");
    }

    #[test]
    fn the_pointer_escapes_what_json_pointers_escape() {
        let path = vec!["a/b".to_owned(), "~".to_owned(), "0".to_owned()];
        assert_eq!(Wrong { path, missing: false, reason: String::new() }.pointer(), "/a~1b/~0/0");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let clipped = clip(&format!("found {} expected", "x".repeat(100_000)));
        assert!(clipped.starts_with("found xx") && clipped.ends_with("xx expected"), "{clipped}");
        assert!(clipped.chars().count() <= SHOWN + " ... ".len());
    }
}
