//! What these tests are written with.

mod core;
mod gate;
mod http;
#[cfg(feature = "openapi")]
mod oracle;
mod process;
mod temp;
mod tool;

pub use core::{Core, SUPI, json_create, multipart_create};
pub use gate::Gate;
pub use http::{Answer, Protocol, request, try_request};
#[cfg(feature = "openapi")]
pub use oracle::exchanges;
pub use process::{NfProcess, mock5g, wait_until};
pub use temp::TempDir;
pub use tool::{Curl, Service, tool};

use std::net::TcpListener;
use std::time::Duration;

/// How long anything is waited for: longer than any timer of an NF.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An address that nobody listens at.
pub fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
