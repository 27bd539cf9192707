//! What is owed for one create, as it stands in the journal.

use super::obligation::{Obligation, Remains};
use super::place::Place;
use super::slot::SlotKey;
use super::table::{Entry, Holder, Intent, OwnerKey};
use super::undo::{Settle, Undo};
use crate::event::{RequestId, TraceId};
use crate::party::Served;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// What NFs create; docs/release.md says of each where and how it ends.
const KINDS: [&str; 5] =
    ["sm-context", "smf-registration", "sdm-subscription", "amf-3gpp-access", "subs-to-notify"];

/// An entry of the ledger. What a crash ends is not in it: attempts, and that a release is under way.
#[derive(Serialize, Deserialize)]
pub(super) struct Record<'a> {
    kind: Cow<'a, str>,
    undo: Cow<'a, Undo>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    before: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    settle: Option<Cow<'a, Settle>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    slot: Option<Cow<'a, SlotKey>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    label: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    uri: Option<Cow<'a, str>>,
    owners: Vec<OwnerKey>,
    request: u64,
    trace: String,
    remains: Remains,
}

impl<'a> Record<'a> {
    fn of(entry: &'a Entry) -> Self {
        let Intent { kind, undo, before, settle, slot, label, place, served } = &entry.intent;
        let owner = |holder: &Holder| match holder {
            Holder::Owner(owner) => Some(owner.clone()),
            Holder::Attempt(_) => None,
        };
        Record {
            kind: Cow::Borrowed(kind),
            undo: Cow::Borrowed(undo),
            before: before.as_deref().map(Cow::Borrowed),
            settle: settle.as_deref().map(Cow::Borrowed),
            slot: slot.as_ref().map(Cow::Borrowed),
            label: label.as_deref().map(Cow::Borrowed),
            target: Cow::Borrowed(place.target()),
            uri: place.uri().map(Cow::Borrowed),
            owners: entry.holders.iter().filter_map(owner).collect(),
            request: served.request.0,
            trace: format!("{:x}", served.trace.0),
            remains: entry.obligation.remains(),
        }
    }

    pub(super) fn write(entry: &'a Entry) -> Bytes {
        crate::json::to_bytes(&Record::of(entry))
    }

    /// The entry. An owner whose context is gone is none.
    pub(super) fn read(bytes: &[u8], is_there: impl Fn(&str) -> bool, tries: u32) -> Result<Entry, String> {
        let record: Record<'static> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let kind = KINDS.into_iter().find(|kind| *kind == record.kind);
        let kind = kind.ok_or_else(|| format!("nothing here creates a {:.40?}", record.kind))?;
        let trace = u128::from_str_radix(&record.trace, 16).map_err(|error| error.to_string())?;
        let target: Arc<str> = record.target.into();
        let mut place = Place::Sent(target);
        record.uri.iter().for_each(|uri| place.found_at(uri));
        let owners = record.owners.into_iter().filter(|owner| is_there(owner)).map(Holder::Owner);
        let holders: SmallVec<[Holder; 1]> = owners.collect();
        let served = Served {
            request: RequestId(record.request),
            trace: TraceId(trace),
            deadline: None,
            only_releases: false,
            own_timer: None,
        };
        let intent = Intent {
            kind,
            undo: Arc::new(record.undo.into_owned()),
            before: record.before.map(|before| Box::new(before.into_owned())),
            settle: record.settle.map(|settle| Box::new(settle.into_owned())),
            slot: record.slot.map(Cow::into_owned),
            label: record.label.map(|label| label.into()),
            place,
            served: served.into(),
        };
        let obligation = Obligation::recovered(record.remains, !holders.is_empty(), tries);
        Ok(Entry { intent, obligation, holders, untimed: false, history: SmallVec::new() })
    }
}
