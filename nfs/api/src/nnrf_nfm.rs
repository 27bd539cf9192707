//! `Nnrf_NFManagement`, TS 29.510 §6.1 (Rel-17): what NFs say of themselves, and who wants to hear of it.

mod profile;
mod subscription;

pub use profile::{
    ExtSnssai, HiddenFrom, IpEndPoint, MAX_SERVICES, NfProfile, NfService, NfServiceVersion, NfStatus, Range,
    SdRange,
};
pub use subscription::{NfEvent, NotificationData, NrfSubscription, SubscrCond};

use crate::common::NfInstanceId;
use crate::percent::encoded;
use serde::Serialize;

/// Where NF instances register.
pub const NF_INSTANCES: &str = "/nnrf-nfm/v1/nf-instances";

/// Where who wants to hear of them subscribes.
pub const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";

/// The media type of a list of links, TS 29.501 §4.7.5 (Rel-17).
pub const HAL: &str = "application/3gppHal+json";

/// The registration of an NF instance.
pub fn nf_instance(id: NfInstanceId) -> String {
    format!("{NF_INSTANCES}/{id}")
}

/// A subscription.
pub fn subscription(id: &str) -> String {
    format!("{SUBSCRIPTIONS}/{}", encoded(id))
}

/// The list of registered NF instances, TS 29.510 §6.1.6.2.25 (Rel-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UriList {
    #[serde(rename = "_links")]
    links: Links,
    #[serde(rename = "totalItemCount")]
    total_item_count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Links {
    #[serde(rename = "self")]
    itself: Link,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    item: Vec<Link>,
}

/// A URI in such a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Link {
    href: String,
}

impl UriList {
    /// The list at `itself`, of these; there are `total` of them.
    pub fn new(itself: String, items: Vec<String>, total: usize) -> Self {
        let item = items.into_iter().map(|href| Link { href }).collect();
        UriList { links: Links { itself: Link { href: itself }, item }, total_item_count: total }
    }
}
