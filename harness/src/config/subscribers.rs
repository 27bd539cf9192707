//! Who can be served.

use api::common::{Dnn, Sd, Snssai, Supi};
use api::nudm_sdm::default_sm_data;
use serde::{Deserialize, Deserializer, Serialize};
use udr::Profile;

/// `subscribers`: a block of subscribers with the same profile. On the operator plane, one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscriberSection {
    /// The first; mandatory in a configuration, on the operator plane the path says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supi: Option<Supi>,
    /// How many, counted up from the first.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// Which slices they may use, and what in each.
    #[serde(default = "default_slices")]
    pub slices: Vec<SliceSection>,
    /// Their permanent key, 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<Key>,
    /// Their OPc, 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opc: Option<Key>,
}

impl SubscriberSection {
    /// What is provisioned for each: what goes with these slices and keys.
    pub fn profile(&self) -> Profile {
        let slices = self.slices.iter().map(|s| (Snssai { sst: s.sst, sd: s.sd }, s.dnns.clone()));
        let mut profile = Profile::from(default_sm_data(slices));
        let keys = &mut profile.authentication;
        if let Some(Key(k)) = &self.k {
            keys.enc_permanent_key = Some(k.clone());
        }
        if let Some(Key(opc)) = &self.opc {
            keys.enc_opc_key = Some(opc.clone());
        }
        profile
    }

    /// What is provisioned, as it would be written.
    pub fn of(profile: &Profile) -> Self {
        let slices = profile.sm.iter().map(|data| SliceSection {
            sst: data.single_nssai.sst,
            sd: data.single_nssai.sd,
            dnns: data.dnn_configurations.iter().flat_map(|all| all.keys()).cloned().collect(),
        });
        let keys = &profile.authentication;
        SubscriberSection {
            supi: None,
            count: 1,
            slices: slices.collect(),
            k: keys.enc_permanent_key.clone().map(Key),
            opc: keys.enc_opc_key.clone().map(Key),
        }
    }
}

/// How many subscribers one block may have.
const MAX_BLOCK: u64 = 1_000_000;

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

fn default_slices() -> Vec<SliceSection> {
    vec![SliceSection { sst: 1, sd: None, dnns: default_dnns() }]
}

fn default_dnns() -> Vec<Dnn> {
    vec![crate::subscribers::dnn(crate::subscribers::DEFAULT_DNN)]
}

impl SubscriberSection {
    /// So many, with the profile of a default subscriber.
    pub(super) fn block(supi: Supi, count: u64) -> Self {
        SubscriberSection { supi: Some(supi), count, slices: default_slices(), k: None, opc: None }
    }

    /// The SUPIs of the block.
    pub fn supis(&self) -> impl Iterator<Item = Supi> {
        (0..self.count).filter_map(|n| self.supi.as_ref()?.nth(n))
    }

    fn checked(self) -> Result<Self, String> {
        let supi = self.supi.as_ref().ok_or("expected supi, the first of the block")?;
        if !(1..=MAX_BLOCK).contains(&self.count) {
            return Err(format!("{supi}: expected a count from 1 to {MAX_BLOCK}"));
        }
        match supi.nth(self.count - 1) {
            Some(_) => Ok(self),
            None => Err(format!("{supi}: {} do not fit behind it", self.count)),
        }
    }
}

/// Reads `subscribers`.
pub(super) fn blocks<'de, D>(list: D) -> Result<Option<Vec<SubscriberSection>>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(try_from = "SubscriberSection")]
    struct Checked(SubscriberSection);

    impl TryFrom<SubscriberSection> for Checked {
        type Error = String;

        fn try_from(section: SubscriberSection) -> Result<Self, String> {
            section.checked().map(Checked)
        }
    }

    let list: Option<Vec<Checked>> = Deserialize::deserialize(list)?;
    Ok(list.map(|all| all.into_iter().map(|Checked(section)| section).collect()))
}

/// A permanent key or an OPc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(String);

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            true => Ok(Key(text)),
            false => Err("expected 32 hexadecimal digits".into()),
        }
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.0
    }
}

/// A slice and its data networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSection {
    /// Slice/service type.
    pub sst: u8,
    /// Slice differentiator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<Sd>,
    /// What may be reached in it.
    #[serde(default = "default_dnns")]
    pub dnns: Vec<Dnn>,
}
