//! How string types are declared: those with a pattern, and the extensible enumerations.

use std::fmt;

/// A string that does not have the form of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    expected: &'static str,
    found: String,
}

impl Malformed {
    pub(crate) fn new(expected: &'static str, found: &str) -> Self {
        Malformed { expected, found: shown(found) }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, but found {}", self.expected, self.found)
    }
}

impl std::error::Error for Malformed {}

/// Foreign text for an error message: quoted, escaped, cut to 40 characters; `nothing` if there is none.
fn shown(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.is_empty() {
        return "nothing".into();
    }
    let more = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    let start: String = text.chars().take(SHOWN).collect();
    format!("`{}{more}`", start.escape_debug())
}

/// Declares a string type that is checked on the way in and kept as it was given. Clones share it.
///
/// `text! { /// Doc. #[derive(Debug)] Name: "what is expected", |s| check }`
macro_rules! text {
    ($(#[$meta:meta])* $name:ident: $expected:literal, $valid:expr) => {
        $(#[$meta])*
        #[derive(Clone, serde::Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::common::Malformed;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok($name(text.into())) } else { Err(Self::Error::new($expected, &text)) }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::common::Malformed;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Declares an extensible enumeration: constants for the known values, and any other string is a value too.
///
/// `enumeration! { /// Doc. Name { /// Doc. KNOWN = "KNOWN"; } }`
macro_rules! enumeration {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $wire:literal;)+ }) => {
        $(#[$meta])*
        ///
        /// Extensible: an unknown value is kept and written out as it came.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String")]
        pub struct $name(std::borrow::Cow<'static, str>);

        impl $name {
            $($(#[$doc])* pub const $value: $name = $name(std::borrow::Cow::Borrowed($wire));)+

            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(wire: String) -> Self {
                match &*wire {
                    $($wire => $name::$value,)+
                    _ => $name(wire.into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use {enumeration, text};

#[cfg(test)]
mod tests {
    use super::*;

    enumeration! {
        /// An example.
        Colour {
            /// Red.
            RED = "RED";
        }
    }

    #[test]
    fn an_unknown_value_of_an_enumeration_survives() {
        let blue: Colour = serde_json::from_str("\"BLUE\"").expect("any string");
        assert_eq!(serde_json::to_string(&blue).expect("JSON"), "\"BLUE\"");
        assert_eq!(serde_json::from_str::<Colour>("\"RED\"").expect("known"), Colour::RED);
        assert_eq!(Colour::from("RED".to_owned()).as_str(), "RED");
        assert!(serde_json::from_str::<Colour>("1").is_err());
    }

    #[test]
    fn foreign_text_is_shown_short_and_printable() {
        assert_eq!(Malformed::new("a digit", "").to_string(), "expected a digit, but found nothing");
        assert_eq!(Malformed::new("a digit", "a\n").to_string(), r"expected a digit, but found `a\n`");
        assert_eq!(shown(&"é".repeat(41)), format!("`{}...`", "é".repeat(40)));
    }
}
