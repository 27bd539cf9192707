//! What a request does, as far as its deadline is concerned.

use http::Method;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// It reads.
    Read,
    /// It creates or updates.
    Write,
    /// It only releases: carried out even if late, since real NFs do not repeat it (our choice).
    Release,
}

impl RequestKind {
    /// The kind of a request, from its method and path. DELETE, `POST .../release` and `POST .../delete` release; so do
    /// the status notifications of an SMF and the deregistrations of a UDM, wherever an AMF wants them: they tell what has
    /// ended, not what shall be. The registration of an AMF has no DELETE: a PATCH purges it. Whether this one does stands
    /// in its body, which is not read yet, so every PATCH there counts as a release (our choice); its endpoint refuses a
    /// late one that does not.
    pub fn of(method: &Method, path: &str) -> Self {
        let mut segments = path.trim_end_matches('/').rsplit('/');
        let last = segments.clone().next().unwrap_or_default();
        match *method {
            Method::GET | Method::HEAD | Method::OPTIONS => RequestKind::Read,
            Method::DELETE => RequestKind::Release,
            Method::PATCH if last == "amf-3gpp-access" => RequestKind::Release,
            Method::POST if matches!(last, "release" | "delete") => RequestKind::Release,
            Method::POST if segments.any(|s| matches!(s, "sm-context-status" | "dereg-notify")) => {
                RequestKind::Release
            }
            Method::POST if last == "retrieve" => RequestKind::Read,
            _ => RequestKind::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_release_operations_are_known() {
        for (method, path, kind) in [
            (Method::DELETE, "/nudm-sdm/v2/imsi-1/sdm-subscriptions/7", RequestKind::Release),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts/7/release", RequestKind::Release),
            (Method::POST, "/npcf-smpolicycontrol/v1/sm-policies/7/delete", RequestKind::Release),
            (Method::POST, "/namf-callback/v1/sm-context-status/imsi-1/5", RequestKind::Release),
            (Method::POST, "/namf-callback/v1/imsi-1/sm-context-status/5", RequestKind::Release),
            (Method::POST, "/namf-callback/v1/imsi-1/dereg-notify/7", RequestKind::Release),
            (Method::PATCH, "/nudm-uecm/v1/imsi-1/registrations/amf-3gpp-access", RequestKind::Release),
            (
                Method::PATCH,
                "/nudr-dr/v2/subscription-data/imsi-1/context-data/amf-3gpp-access",
                RequestKind::Release,
            ),
            (Method::PUT, "/nudm-uecm/v1/imsi-1/registrations/amf-3gpp-access", RequestKind::Write),
            (Method::PATCH, "/nudm-sdm/v2/imsi-1/sdm-subscriptions/7", RequestKind::Write),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts/7/retrieve", RequestKind::Read),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts", RequestKind::Write),
            (Method::PUT, "/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5", RequestKind::Write),
            (Method::GET, "/nudm-sdm/v2/imsi-1/sm-data", RequestKind::Read),
        ] {
            assert_eq!(RequestKind::of(&method, path), kind, "{method} {path}");
        }
    }
}
