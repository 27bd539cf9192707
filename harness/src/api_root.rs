//! apiRoots as users write them: scheme, authority, and for others perhaps a path.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::str::FromStr;

macro_rules! api_root {
    ($(#[doc = $doc:literal])+ $name:ident, $read:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $read(text).map($name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(root: $name) -> String {
                root.0
            }
        }
    };
}

api_root! {
    /// The apiRoot of a peer: something that can be called, without a slash at its end.
    PeerRoot, of
}

api_root! {
    /// An apiRoot to hand out: others cannot call 0.0.0.0, and nothing is served below a path.
    OwnRoot, own
}

fn of(text: &str) -> Result<String, String> {
    let expected = || format!("expected http://host[:port], but found {text:?}");
    let text = text.trim_end_matches('/');
    let uri: http::Uri = text.parse().map_err(|_| expected())?;
    let authority = uri.authority().ok_or_else(expected)?;
    let no_port = authority.as_str().ends_with(authority.host());
    let callable = no_port || authority.port_u16().is_some_and(|port| port > 0);
    let plain = text.is_ascii() && !authority.as_str().contains('@');
    let plain = plain && !text.contains('#') && text.starts_with("http://");
    if callable && plain && uri.query().is_none() { Ok(text.to_owned()) } else { Err(expected()) }
}

fn own(text: &str) -> Result<String, String> {
    let root = of(text)?;
    if root.split('/').count() > 3 {
        return Err(format!("expected http://host[:port] without a path, but found {text:?}"));
    }
    let uri: http::Uri = root.parse().map_err(|_| "expected a URI")?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => {
            Err(format!("nobody can call {ip}; expected an address of this machine"))
        }
        _ => Ok(root),
    }
}
