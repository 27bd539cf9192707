//! Whose timing headers count; `deadline.peers`.
//!
//! TS 29.500 §6.11.2.1 (Rel-17): the headers may be used between PLMNs if operator policy allows it. Our choices: the
//! network is the one that `3gpp-Sbi-Originating-Network-Id` names, a request without it comes from the home network,
//! and of those from elsewhere the headers are ignored unless this says that they are honoured.

use crate::header::{ORIGINATING_NETWORK_ID, agent_type};
use http::HeaderMap;
use http::header::USER_AGENT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Whether someone's timing headers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regard {
    /// They do.
    Honour,
    /// Their requests are served as if they had none.
    Ignore,
}

/// A network: MCC and MNC, and the NID of a stand-alone one, as `3gpp-Sbi-Originating-Network-Id` has them, TS 29.500
/// §5.2.3.2 (Rel-17). An MNC of two digits may be written with a leading 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(String);

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected MCC-MNC, e.g. 999-70, but found {:?}", shortened(text));
        let mut parts = text.splitn(3, '-');
        let (mcc, mnc, nid) = (parts.next(), parts.next(), parts.next());
        let (mcc, mnc) = (mcc.unwrap_or_default(), mnc.unwrap_or_default());
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let fits = mcc.len() == 3 && matches!(mnc.len(), 2 | 3) && digits(mcc) && digits(mnc);
        let nid_fits = nid.is_none_or(|nid| nid.len() == 11 && nid.bytes().all(|b| b.is_ascii_hexdigit()));
        if !fits || !nid_fits {
            return Err(expected());
        }
        let mnc = if mnc.len() == 3 { mnc.strip_prefix('0').unwrap_or(mnc) } else { mnc };
        let nid = nid.map_or(String::new(), |nid| format!("-{}", nid.to_ascii_lowercase()));
        Ok(Network(format!("{mcc}-{mnc}{nid}")))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a line of `deadline.peers` is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Peer {
    /// All that comes from a network.
    Network(Network),
    /// An NF type, or one NF: what `User-Agent` begins with, or is.
    Nf(String),
}

impl TryFrom<String> for Peer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_bytes().first() {
            None => Err("expected a network (999-70) or an NF type (amf), found nothing".into()),
            Some(first) if first.is_ascii_digit() => Ok(Peer::Network(text.parse()?)),
            Some(_) => Ok(Peer::Nf(text.to_ascii_lowercase())),
        }
    }
}

impl From<Peer> for String {
    fn from(peer: Peer) -> String {
        match peer {
            Peer::Network(network) => network.0,
            Peer::Nf(name) => name,
        }
    }
}

/// Whose timing headers count.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The home network; without it no network is foreign.
    pub home: Option<Network>,
    /// What the operator says of some.
    pub said: BTreeMap<Peer, Regard>,
}

impl Peers {
    /// Why the timing headers of a request do not count, if they do not.
    pub fn objection(&self, headers: &HeaderMap) -> Option<String> {
        // One pass over the few headers of a request is faster than a lookup by such a long name.
        if self.said.is_empty() && headers.keys().all(|name| name != ORIGINATING_NETWORK_ID) {
            return None;
        }
        self.objection_to_network(headers).or_else(|| self.objection_to_nf(headers))
    }

    fn objection_to_network(&self, headers: &HeaderMap) -> Option<String> {
        let mut said = headers.get_all(ORIGINATING_NETWORK_ID).iter().peekable();
        if said.peek().is_none() {
            return self.home.as_ref().and_then(|home| self.objection_to(home));
        }
        said.find_map(|value| {
            let id = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            match id.parse() {
                Ok(network) => self.objection_to(&network),
                Err(_) => Some(format!("{:?} is no network, so not the home network", shortened(id))),
            }
        })
    }

    fn objection_to(&self, network: &Network) -> Option<String> {
        let is_home = self.home.as_ref().is_none_or(|home| network == home);
        let said = self.said.get(&Peer::Network(network.clone()));
        let honoured = said.map_or(is_home, |said| *said == Regard::Honour);
        (!honoured).then(|| format!("they come from network {network}; deadline.peers may honour it"))
    }

    fn objection_to_nf(&self, headers: &HeaderMap) -> Option<String> {
        let agent = headers.get(USER_AGENT)?.to_str().ok()?.to_ascii_lowercase();
        let said = |name: &str| self.said.get(&Peer::Nf(name.to_owned()));
        let regard = said(&agent).or_else(|| said(&agent_type(headers)?))?;
        (*regard == Regard::Ignore).then(|| format!("deadline.peers ignores {:?}", shortened(&agent)))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(said: &[(&str, Regard)]) -> Peers {
        let said =
            said.iter().map(|(name, regard)| (Peer::try_from((*name).to_owned()).expect("a peer"), *regard));
        Peers { home: Some("001-01".parse().expect("a network")), said: said.collect() }
    }

    fn counts(peers: &Peers, network: Option<&str>, agent: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent.parse().expect("a value"));
        if let Some(network) = network {
            headers.insert(ORIGINATING_NETWORK_ID, network.parse().expect("a value"));
        }
        peers.objection(&headers).is_none()
    }

    #[test]
    fn foreign_networks_count_only_if_they_are_honoured() {
        let peers = peers(&[("999-70", Regard::Honour)]);
        for (network, expected) in [
            (None, true),
            (Some("001-01"), true),
            (Some("001-001"), true),
            (Some("001-01; src: SEPP-sepp1.example"), true),
            (Some("999-70; src: SCP-scp1.example"), true),
            (Some("999-071"), false),
            (Some("345-012"), false),
            (Some("001-01-000007ed9d5"), false),
            (Some("home"), false),
            (Some(""), false),
        ] {
            assert_eq!(counts(&peers, network, "AMF"), expected, "{network:?}");
        }
        assert!(counts(&Peers::default(), Some("345-012"), "AMF"), "without a home nothing is foreign");
    }

    #[test]
    fn the_home_network_and_nfs_can_be_ignored() {
        let amf = "amf-11111111-1111-4111-8111-111111111111";
        let peers = peers(&[
            ("001-01", Regard::Ignore),
            ("smf", Regard::Ignore),
            ("AMF", Regard::Ignore),
            (amf, Regard::Honour),
        ]);
        assert!(!counts(&peers, Some("001-01"), "UDM"));
        assert!(!counts(&peers, None, "UDM"), "without the header it is the home network");
        let mut peers = peers;
        peers.said.remove(&Peer::Network("001-01".parse().expect("a network")));
        assert!(!counts(&peers, None, "SMF-x"));
        assert!(!counts(&peers, None, "AMF"));
        assert!(counts(&peers, None, &amf.to_uppercase()), "the nearest word counts");
        assert!(counts(&peers, None, "UDM"));
    }

    #[test]
    fn what_is_no_peer_is_named() {
        for wrong in ["", "99-70", "999", "999-7000", "999-70-xyz", "9é9-70"] {
            assert!(Peer::try_from(wrong.to_owned()).is_err(), "{wrong:?}");
        }
    }
}
