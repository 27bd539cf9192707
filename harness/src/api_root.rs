//! apiRoots as users write them: scheme, authority, and for others perhaps a path.

use std::net::IpAddr;

/// The apiRoot of a peer, without a slash at its end.
///
/// # Errors
///
/// If it could not be called; the text says what was expected.
pub fn of(text: &str) -> Result<String, String> {
    let expected = || format!("expected http://host[:port], but found {text:?}");
    let text = text.trim_end_matches('/');
    let uri: http::Uri = text.parse().map_err(|_| expected())?;
    let authority = uri.authority().ok_or_else(expected)?;
    let no_port = authority.as_str().ends_with(authority.host());
    let callable = no_port || authority.port_u16().is_some_and(|port| port > 0);
    let plain = text.is_ascii() && !authority.as_str().contains('@');
    if callable && plain && uri.scheme_str() == Some("http") && uri.query().is_none() {
        Ok(text.to_owned())
    } else {
        Err(expected())
    }
}

/// An apiRoot to hand out: others cannot call 0.0.0.0, and nothing is served below a path.
///
/// # Errors
///
/// As [`of`].
pub fn own(text: &str) -> Result<String, String> {
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
