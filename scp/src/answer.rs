//! A producer's answer on its way back.

use http::header::{CONNECTION, HeaderName, LOCATION, TE, TRANSFER_ENCODING, UPGRADE, VIA};
use http::{HeaderMap, HeaderValue};
use sbi::client::resolve;
use sbi::header::{PRODUCER_ID, TARGET_API_ROOT};
use sbi::nrf::Producer;

/// Headers of one connection, RFC 9110 §7.6.1 and RFC 9113 §8.2.2: they end here.
const OF_A_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Takes out what is said to the next hop alone.
pub(crate) fn end_of_connection(headers: &mut HeaderMap) {
    let said = headers.get_all(CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    let named = said.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    // What 3GPP says from end to end is nobody's to take away: not one of two timing headers either.
    let named: Vec<HeaderName> =
        named.filter(|name: &HeaderName| !name.as_str().starts_with("3gpp-")).collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    OF_A_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
}

/// What an SCP adds to an answer, and nothing else is changed: that it passed here, and, if the SCP chose the producer, which
/// one, so that the consumer reaches it again (TS 29.500 §6.10.4 (Rel-17)).
pub(crate) fn pass_back(
    headers: &mut HeaderMap,
    via: &HeaderValue,
    producer: &Producer,
    uri: &str,
    is_chosen: bool,
) {
    end_of_connection(headers);
    headers.append(VIA, via.clone());
    // A consumer that called the SCP could not resolve it.
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    if let Some(Ok(absolute)) = location.map(|location| HeaderValue::from_str(&resolve(uri, location))) {
        headers.insert(LOCATION, absolute);
    }
    if !is_chosen {
        return;
    }
    if let Ok(root) = HeaderValue::from_str(&producer.root) {
        headers.insert(TARGET_API_ROOT, root);
    }
    let id = producer.instance.as_ref().and_then(|id| HeaderValue::from_str(&format!("nfinst={id}")).ok());
    if let Some(id) = id {
        headers.entry(PRODUCER_ID).or_insert(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_becomes_usable_and_who_was_chosen_is_named() {
        let producer = Producer { root: "http://udm:7712".into(), instance: Some("7".into()) };
        let uri = "http://udm:7712/nudm-sdm/v2/imsi-1/sdm-subscriptions";
        let passed = |location: Option<&'static str>, is_chosen| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", HeaderValue::from_static("3"));
            headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, X-Of-Hop, 3gpp-Sbi-Lci"));
            headers.insert("x-of-hop", HeaderValue::from_static("1"));
            headers.insert("3gpp-sbi-lci", HeaderValue::from_static("1"));
            location
                .into_iter()
                .for_each(|location| drop(headers.insert(LOCATION, HeaderValue::from_static(location))));
            pass_back(&mut headers, &HeaderValue::from_static("2.0 SCP-1"), &producer, uri, is_chosen);
            headers
        };
        let chosen = passed(Some("/nudm-sdm/v2/imsi-1/sdm-subscriptions/9"), true);
        assert_eq!(chosen[LOCATION], "http://udm:7712/nudm-sdm/v2/imsi-1/sdm-subscriptions/9");
        assert_eq!(
            (&chosen[PRODUCER_ID], &chosen[TARGET_API_ROOT]),
            (&HeaderValue::from_static("nfinst=7"), &HeaderValue::from_static("http://udm:7712"))
        );
        assert_eq!(
            (&chosen["retry-after"], &chosen[VIA], chosen.get(CONNECTION), chosen.get("x-of-hop")),
            (&HeaderValue::from_static("3"), &HeaderValue::from_static("2.0 SCP-1"), None, None)
        );
        assert!(chosen.contains_key("3gpp-sbi-lci"), "it is said from end to end");
        let named = passed(Some("http://other/9"), false);
        assert_eq!(
            (&named[LOCATION], named.get(PRODUCER_ID)),
            (&HeaderValue::from_static("http://other/9"), None)
        );
    }
}
