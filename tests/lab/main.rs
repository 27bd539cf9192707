//! Behaviour over real HTTP/2 on the loopback.
#![allow(clippy::unwrap_used)]

mod release_on_timeout;
