//! Variables in paths.

use crate::common::Malformed;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use std::str::FromStr;

/// The variable `name` of a path, from its decoded segment; `MANDATORY_IE_INCORRECT` by its name in braces if it
/// cannot be one.
pub fn variable<T: FromStr<Err = Malformed>>(name: &str, segment: &str) -> Result<T, ProblemDetails> {
    segment.parse().map_err(|error: Malformed| {
        ProblemDetails::new(Cause::MandatoryIeIncorrect, format!("{{{name}}} in the path: {error}"))
            .with_param(InvalidParam::path(name, error.to_string()))
    })
}
