//! The types that several services share, TS 29.571 (Rel-17).

mod change;
mod location;
mod nf;
mod plmn;
mod qos;
mod session;
mod slice;
mod supi;

pub use crate::text::Malformed;
pub use change::{ChangeItem, NotifyItem};
pub use location::{Ncgi, NrLocation, Tai};
pub use nf::{MAX_CALLBACK_BYTES, NfInstanceId, RefToBinaryData, Uri, expect_callback};
pub use plmn::{AmfId, Guami, Mcc, Mnc, Nid, PlmnId};
pub use qos::{Ambr, Arp, BitRate, PreemptionCapability, PreemptionVulnerability, SubscribedDefaultQos};
pub use session::{AccessType, Dnn, PduSessionId, PduSessionType, SscMode};
pub use slice::{Sd, Snssai};
pub use supi::Supi;

/// The attributes that a type does not name.
pub type Rest = serde_json::Map<String, serde_json::Value>;

fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> bool {
    count.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn hex_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|b| b.is_ascii_hexdigit())
}
