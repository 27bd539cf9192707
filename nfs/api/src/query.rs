//! Query strings: values in plain text, and values that are JSON.
//!
//! ```text
//! query = [ param *( "&" param ) ]
//! param = name [ "=" value ]
//! ```
//!
//! Names and values are percent-encoded, with hexadecimal digits in either case; `+` is a plus sign, since this is no
//! HTML form. An object in a query is JSON (`content: application/json` in the OpenAPI files of Rel-17); it is taken
//! with any white space, encoded or raw, and sent compact.

use crate::decode::json;
use crate::percent::{decoded, encoded};
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Display, str::FromStr};

/// The parameters of a request, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    params: Vec<(String, String)>,
}

impl Query {
    /// The most parameters that a query may have.
    pub const MAX_PARAMS: usize = 64;

    /// The parameters in `raw`, which is what follows the `?`.
    ///
    /// An escape that is none, or that stands for no UTF-8, is refused.
    pub fn parse(raw: &str) -> Result<Query, ProblemDetails> {
        let pieces = raw.split('&').filter(|piece| !piece.is_empty());
        if pieces.clone().nth(Self::MAX_PARAMS).is_some() {
            let detail = format!("expected at most {} query parameters", Self::MAX_PARAMS);
            return Err(ProblemDetails::new(Cause::InvalidQueryParam, detail));
        }
        Ok(Query { params: pieces.map(param).collect::<Result<_, _>>()? })
    }

    /// The same, refused if it has a parameter that is none of `known`: a name that is misspelt would do nothing.
    pub fn only(self, known: &[&str]) -> Result<Query, ProblemDetails> {
        match self.params.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(refused(name, &format!("expected {}", known.join(" or ")))),
            None => Ok(self),
        }
    }

    /// The values of the parameter `name`.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.params.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The parameter `name`, whose value is a `T` in plain text; refused if it is no `T` or occurs twice.
    pub fn text<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, ProblemDetails> {
        let Some(text) = self.single(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error: T::Err| refused(name, &error.to_string()))
    }

    /// The parameter `name`, whose value is a `T` in JSON; refused if it is no `T` or occurs twice.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ProblemDetails> {
        let Some(text) = self.single(name)? else { return Ok(None) };
        let value =
            json::read(text.as_bytes()).map_err(|error| refused(name, &format!("expected JSON: {error}")))?;
        json::convert(value).map(Some).map_err(|wrong| match wrong.path.as_slice() {
            [] => refused(name, &wrong.reason),
            [..] => refused(name, &format!("{}: {}", wrong.pointer(), wrong.reason)),
        })
    }

    /// The value of the parameter `name`; refused if it occurs twice.
    pub fn single(&self, name: &str) -> Result<Option<&str>, ProblemDetails> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            Err(refused(name, "expected one value, but found several"))
        } else {
            Ok(first)
        }
    }
}

fn param(piece: &str) -> Result<(String, String), ProblemDetails> {
    let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
    let part = |part| decoded(part).map_err(|reason| refused(name, reason));
    Ok((part(name)?, part(value)?))
}

fn refused(name: &str, reason: &str) -> ProblemDetails {
    let (name, reason) = (json::clip(name), json::clip(reason));
    ProblemDetails::new(Cause::InvalidQueryParam, format!("query parameter {name}: {reason}"))
        .with_param(InvalidParam::query(&name, reason))
}

/// `name=<value>` with the value as compact JSON, for a query string that we send.
///
/// # Panics
///
/// If `value` has no JSON form; every type of this crate has one.
pub fn json_param<T: Serialize + ?Sized>(name: &str, value: &T) -> String {
    text_param(name, &serde_json::to_string(value).expect("a value that is sent has a JSON form"))
}

/// `name=<value>` for a query string that we send.
pub fn text_param(name: &str, value: &str) -> String {
    format!("{}={}", encoded(name), encoded(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{Dnn, PlmnId, Snssai};

    fn query(raw: &str) -> Query {
        Query::parse(raw).expect("a query")
    }

    fn assert_refused<T: std::fmt::Debug>(result: Result<T, ProblemDetails>, param: &str) {
        let problem = result.expect_err("refused");
        assert!(problem.is(Cause::InvalidQueryParam), "{problem:?}");
        assert_eq!(problem.invalid_params[0].param, param);
    }

    #[test]
    fn a_slice_is_read_encoded_with_white_space_or_raw() {
        for value in ["%7B%22sst%22%3A1%7D", "%7b%0A%09%22sst%22%3A%091%0A%7d", r#"{"sst":1}"#] {
            let query = query(&format!("dnn=internet&single-nssai={value}"));
            assert_eq!(query.json("single-nssai").expect("a slice"), Some(Snssai::sst(1)));
            assert_eq!(query.text("dnn").expect("a DNN"), Some("internet".parse::<Dnn>().expect("a DNN")));
        }
    }

    #[test]
    fn a_value_that_is_no_json_of_its_type_is_refused_by_name() {
        for value in
            ["1", "", "{", "[]", "null", "{}", r#"{"sst":"1"}"#, r#"{"sst":1,"sst":2}"#, r#"{"sst":1}x"#]
        {
            let query = query(&format!("single-nssai={value}"));
            assert_refused(query.json::<Snssai>("single-nssai"), "query single-nssai");
        }
        assert_refused(query("plmn-id=00101").json::<PlmnId>("plmn-id"), "query plmn-id");
        assert_refused(query("dnn=").text::<Dnn>("dnn"), "query dnn");
    }

    #[test]
    fn the_reason_names_the_attribute_inside_the_json() {
        let query = query(r#"single-nssai={"sst":1,"sd":"10"}"#);
        let problem = query.json::<Snssai>("single-nssai").expect_err("short sd");
        let reason = problem.invalid_params[0].reason.clone().expect("a reason");
        assert_eq!(reason, "/sd: expected six hexadecimal digits, but found `10`");
    }

    #[test]
    fn a_plus_sign_is_a_plus_sign() {
        assert_eq!(query("t=a+b%2Bc%20d").single("t"), Ok(Some("a+b+c d")));
    }

    #[test]
    fn absent_empty_and_repeated_parameters_are_told_apart() {
        let query = query("a&b=&&c=1=2&d=1&d=2");
        assert_eq!(
            (["a", "b", "c"].map(|name| query.single(name))),
            [Ok(Some("")), Ok(Some("")), Ok(Some("1=2"))]
        );
        assert_eq!(query.single("x"), Ok(None));
        assert_eq!(query.json::<Snssai>("x").expect("absent"), None);
        assert_eq!(query.all("d").collect::<Vec<_>>(), ["1", "2"]);
        assert_refused(query.text::<Dnn>("d"), "query d");
        assert_eq!(Query::parse("").expect("empty"), Query::default());
    }

    #[test]
    fn an_escape_that_is_none_is_refused_by_name() {
        for raw in ["a=1&dnn=%zz", "dnn=%", "dnn=%FF"] {
            assert_refused(Query::parse(raw), "query dnn");
        }
    }

    #[test]
    fn the_number_of_parameters_is_bounded() {
        let many = |n| vec!["a=1"; n].join("&");
        assert!(Query::parse(&many(Query::MAX_PARAMS)).is_ok());
        assert!(
            Query::parse(&many(Query::MAX_PARAMS + 1)).expect_err("too many").is(Cause::InvalidQueryParam)
        );
    }

    #[test]
    fn what_is_sent_is_compact_and_reads_back() {
        let plmn = PlmnId::new("001", "01").expect("a network");
        let sent = json_param("plmn-id", &plmn);
        assert_eq!(sent, "plmn-id=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D");
        assert_eq!(query(&sent).json("plmn-id").expect("reads back"), Some(plmn));
        assert_eq!(query(&text_param("dnn", "a&b=+")).single("dnn"), Ok(Some("a&b=+")));
    }
}
