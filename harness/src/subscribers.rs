//! The subscribers that a lab knows.

use crate::config::Config;
use api::common::{Dnn, PlmnId, Snssai, Supi};
use api::nudm_sdm::default_sm_data;
use udr::{Profile, Repository};

/// How many subscribers a default lab has, counted from [`FIRST_SUPI`].
pub const DEFAULT_COUNT: u64 = 100;

/// The first subscriber of a default lab.
pub const FIRST_SUPI: &str = "imsi-001010000000001";

/// The test subscriber of a widely used core, in its own PLMN 999/70.
pub const FOREIGN_SUPI: &str = "imsi-999700000021309";

/// The data network of a default subscriber.
pub const DEFAULT_DNN: &str = "internet";

/// Subscriber number `n` of a default lab, from 0.
///
/// # Panics
///
/// If `n` leaves the block of 15-digit IMSIs.
pub fn supi(n: u64) -> Supi {
    let first: Supi = FIRST_SUPI.parse().expect("a SUPI");
    first.nth(n).expect("within the block")
}

/// The data network `name`.
///
/// # Panics
///
/// If no data network can have this name.
pub fn dnn(name: &str) -> Dnn {
    name.parse().expect("a DNN")
}

/// What a default subscriber may use: slice 1 without sd, and `internet`. Its keys are the public ones of the tests of
/// a widely used core.
pub fn default_profile() -> Profile {
    default_sm_data([(Snssai::sst(1), vec![dnn(DEFAULT_DNN)])]).into()
}

/// The home network of a default lab: 001/01.
///
/// # Panics
///
/// Never: it is one.
pub fn home_plmn() -> PlmnId {
    PlmnId::new("001", "01").expect("a PLMN")
}

/// Provisions the subscribers that a configuration names, or the default ones.
pub fn provision(repository: &Repository, config: &Config) {
    let Some(blocks) = &config.subscribers else { return provision_defaults(repository) };
    for block in blocks {
        let profile = block.profile();
        block.supis().for_each(|supi| repository.provision(&supi, profile.clone()));
    }
}

/// Provisions the default subscribers.
pub fn provision_defaults(repository: &Repository) {
    (0..DEFAULT_COUNT).for_each(|n| repository.provision(&supi(n), default_profile()));
    repository.provision(&FOREIGN_SUPI.parse().expect("a SUPI"), default_profile());
}
