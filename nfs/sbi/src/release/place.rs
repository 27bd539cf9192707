//! Where a create was sent to, and where what it made is.

use std::sync::Arc;

/// Both URIs. Most resources are below the URI that their create was sent to, which then is not kept twice.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// It is not known where the resource is.
    Sent(Arc<str>),
    /// At a URI of which the first so many bytes are the one that the create was sent to.
    Below(Arc<str>, u32),
    /// Elsewhere.
    Elsewhere(Box<Elsewhere>),
}

#[derive(Clone, Debug)]
pub(super) struct Elsewhere {
    target: Box<str>,
    uri: Box<str>,
}

impl Place {
    /// The URI that the create was sent to.
    pub(super) fn target(&self) -> &str {
        match self {
            Place::Sent(target) => target,
            Place::Below(uri, target) => &uri[..*target as usize],
            Place::Elsewhere(both) => &both.target,
        }
    }

    /// The resource's URI, once it is known.
    pub(super) fn uri(&self) -> Option<&str> {
        match self {
            Place::Sent(_) => None,
            Place::Below(uri, _) => Some(uri),
            Place::Elsewhere(both) => Some(&both.uri),
        }
    }

    /// The resource's URI is known now.
    pub(super) fn found_at(&mut self, uri: &str) {
        let target = self.target();
        *self = match (&*self, u32::try_from(target.len())) {
            (Place::Sent(there), Ok(whole)) if &**there == uri => Place::Below(there.clone(), whole),
            (_, Ok(target_bytes)) if uri.starts_with(target) => Place::Below(uri.into(), target_bytes),
            _ => Place::Elsewhere(Box::new(Elsewhere { target: target.into(), uri: uri.into() })),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_uris_are_known_wherever_the_resource_is() {
        let sent = Place::Sent("http://udm/subs".into());
        assert_eq!((sent.target(), sent.uri()), ("http://udm/subs", None));
        for uri in ["http://udm/subs/7", "http://udm/subs", "http://elsewhere/7", ""] {
            let mut place = sent.clone();
            place.found_at(uri);
            assert_eq!((place.target(), place.uri()), ("http://udm/subs", Some(uri)));
            place.found_at("http://udm/subs/8");
            assert_eq!((place.target(), place.uri()), ("http://udm/subs", Some("http://udm/subs/8")));
        }
    }
}
