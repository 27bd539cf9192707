//! Requests and answers held against the OpenAPI files of 3GPP (Rel-17), in both directions.
//!
//! A [`Checker`] reads a directory of files as 3GPP publishes them. A file is parsed when a route or a `$ref` first needs
//! it; a schema is compiled when a message first needs it, and kept.
//!
//! What is checked of a request: path and query parameters, the media type, the body (of `multipart/related` its JSON
//! part). Of an answer: the status, the headers that are required (`Location` with 201), media type and body. A callback
//! is found by the URI that an earlier request gave for it.
//!
//! What is always allowed beyond the files: TS 29.500 §5.2.7.2 and §6.11.2 (Rel-17) let any operation answer an error as
//! problem details, and the files declare few of them. So 504 in `application/problem+json` is allowed everywhere, and any
//! 4xx and 5xx where the file does not say what such an answer holds.
//!
//! Not done: `format`, `discriminator`; headers of requests; the binary parts of a multipart body.

mod answer;
mod body;
mod callbacks;
mod checker;
mod draft4;
mod files;
mod operation;
mod parameter;
mod request;
mod route;
mod schema;
mod tolerated;

#[cfg(test)]
mod rel17;
#[cfg(test)]
mod samples;

pub use callbacks::MAX_CALLBACKS;
pub use checker::Checker;
pub use files::Unreadable;
pub use schema::{MAX_REASON, MAX_VIOLATIONS};
