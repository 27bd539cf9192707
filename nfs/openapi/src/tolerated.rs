//! What real NFs are known to send although the files say otherwise. It is told, and never an error.

/// Media types that stand for another. Open5GS's AMF patches its registration with a merge patch that is called JSON; and
/// who has no N1 or N2 message to send leaves out the multipart around the JSON.
const MEDIA_TYPES: [(&str, &str); 2] =
    [("application/json", "application/merge-patch+json"), ("application/json", "multipart/related")];

/// The media types that may be meant.
pub(crate) fn meant(media_type: &str) -> impl Iterator<Item = &'static str> {
    MEDIA_TYPES.iter().filter(move |(sent, _)| *sent == media_type).map(|(_, meant)| *meant)
}

/// Query parameters that an operation does not have, by the end of its path: Open5GS's AMF names its network there.
const QUERIES: [(&str, &str); 1] = [("/ue-context-in-smf-data", "plmn-id")];

/// Whether it is known that requests for this operation have this parameter.
pub(crate) fn has_query(operation: &str, name: &str) -> bool {
    QUERIES.iter().any(|(end, query)| operation.ends_with(end) && *query == name)
}
