//! What an NF says of itself.

use crate::party::Party;
use serde_json::{Map, Value, json};

/// The profile of an NF with these APIs (`/nudm-sdm/v2`), TS 29.510 §6.1.6.2.2 (Rel-17). Callbacks are no services. Its services
/// are an array: every NRF reads that (our choice; Rel-16 has a map beside it).
pub fn profile_of(party: &Party, apis: &[&str]) -> Value {
    let services: Vec<_> = apis.iter().filter_map(|api| service(api, &party.api_root)).collect();
    let mut profile = json!({
        "nfInstanceId": party.instance_id, "nfType": party.nf_type.as_str(), "nfStatus": "REGISTERED",
    });
    if let (Some(profile), Some(place)) = (profile.as_object_mut(), Place::of(&party.api_root)) {
        if !services.is_empty() {
            profile.insert("nfServices".into(), services.into());
        }
        let (name, value) = match place.kind {
            HostKind::V4 => ("ipv4Addresses", json!([place.host])),
            HostKind::V6 => ("ipv6Addresses", json!([place.host])),
            HostKind::Name => ("fqdn", json!(place.host)),
        };
        profile.insert(name.into(), value);
    }
    profile
}

fn service(api: &str, api_root: &str) -> Option<Value> {
    let (name, version) = api.trim_start_matches('/').split_once('/')?;
    if name.ends_with("-callback") {
        return None;
    }
    let full = format!("{}.0.0", version.trim_start_matches('v'));
    let mut service = json!({
        "serviceInstanceId": format!("{name}-{version}"), "serviceName": name, "nfServiceStatus": "REGISTERED",
        "versions": [{"apiVersionInUri": version, "apiFullVersion": full}],
    });
    let attributes = service.as_object_mut()?;
    attributes.insert("scheme".into(), api_root.split("://").next().unwrap_or("http").into());
    attributes.extend(Place::of(api_root).map(Place::end_point).unwrap_or_default());
    Some(service)
}

enum HostKind {
    V4,
    V6,
    Name,
}

/// Where an apiRoot leads.
struct Place<'a> {
    host: &'a str,
    kind: HostKind,
    port: u16,
    prefix: &'a str,
}

impl<'a> Place<'a> {
    fn of(api_root: &'a str) -> Option<Self> {
        let (scheme, rest) = api_root.split_once("://")?;
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let usual = if scheme == "https" { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (authority, usual),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let kind = match bare.parse() {
            Ok(std::net::IpAddr::V4(_)) => HostKind::V4,
            Ok(std::net::IpAddr::V6(_)) => HostKind::V6,
            Err(_) => HostKind::Name,
        };
        Some(Place { host: bare, kind, port, prefix })
    }

    fn end_point(self) -> Map<String, Value> {
        let mut said = Map::new();
        let end_point = match self.kind {
            HostKind::V4 => json!([{"ipv4Address": self.host, "port": self.port}]),
            HostKind::V6 => json!([{"ipv6Address": self.host, "port": self.port}]),
            HostKind::Name => {
                said.insert("fqdn".into(), self.host.into());
                json!([{"port": self.port}])
            }
        };
        said.insert("ipEndPoints".into(), end_point);
        if !self.prefix.is_empty() {
            said.insert("apiPrefix".into(), self.prefix.into());
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_says_where_it_is() {
        let said = |root: &str| service("/nudm-sdm/v2", root).expect("a service");
        let v4 = said("http://127.0.0.1:7712");
        assert_eq!(v4["ipEndPoints"], json!([{"ipv4Address": "127.0.0.1", "port": 7712}]));
        assert_eq!(v4["versions"][0]["apiFullVersion"], "2.0.0");
        assert_eq!(v4.get("apiPrefix"), None);
        let v6 = said("https://[::1]/lab");
        assert_eq!(v6["ipEndPoints"], json!([{"ipv6Address": "::1", "port": 443}]));
        assert_eq!((&v6["scheme"], &v6["apiPrefix"]), (&json!("https"), &json!("/lab")));
        let named = said("http://udm");
        assert_eq!((&named["fqdn"], &named["ipEndPoints"]), (&json!("udm"), &json!([{"port": 80}])));
        assert!(service("/nudm-callback/v1", "http://udm").is_none(), "a callback is no service");
    }
}
