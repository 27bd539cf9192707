//! Every upstream call of the establishment of a PDU session x every fault x every answer to a PUT x whatever the slot
//! held before. Whatever happens, nothing is left behind, nothing of others is lost, and a retry is served.
//!
//! A combination that fails is named, and played alone with `MOCK5G_CELL=<its name>`.

use crate::combination::*;

#[test]
fn whatever_becomes_of_the_creation_of_the_sm_context_leaves_a_clean_slate() {
    sweep(&AMF_CREATE);
}

#[test]
fn whatever_becomes_of_the_smf_reading_session_data_leaves_a_clean_slate() {
    sweep(&SMF_READ);
}

#[test]
fn whatever_becomes_of_the_subscription_at_the_udm_leaves_a_clean_slate() {
    sweep(&SMF_SUBSCRIBE);
}

#[test]
fn whatever_becomes_of_the_registration_at_the_udm_leaves_a_clean_slate() {
    sweep(&SMF_REGISTER);
}

#[test]
fn whatever_becomes_of_the_udm_reading_session_data_leaves_a_clean_slate() {
    sweep(&UDM_READ);
}

#[test]
fn whatever_becomes_of_the_subscription_at_the_udr_leaves_a_clean_slate() {
    sweep(&UDM_SUBSCRIBE);
}

#[test]
fn whatever_becomes_of_the_wish_to_be_notified_leaves_a_clean_slate() {
    sweep(&UDM_ASK);
}

#[test]
fn whatever_becomes_of_the_udm_reading_the_slot_leaves_a_clean_slate() {
    sweep(&UDM_READ_SLOT);
}

#[test]
fn whatever_becomes_of_the_registration_at_the_udr_leaves_a_clean_slate() {
    sweep(&UDM_REGISTER);
}

#[test]
fn whatever_happens_at_an_scp_on_the_way_leaves_a_clean_slate() {
    play_all(
        [&AMF_CREATE, &SMF_READ, &SMF_SUBSCRIBE, &SMF_REGISTER].into_iter().flat_map(Combination::at_hops),
    );
}

#[test]
fn nor_does_it_matter_on_the_way_to_the_udr() {
    play_all(
        [&UDM_READ, &UDM_SUBSCRIBE, &UDM_READ_SLOT, &UDM_REGISTER].into_iter().flat_map(Combination::at_hops),
    );
}

fn sweep(call: &'static UpstreamCall) {
    play_all(Combination::of(call));
}

fn play_all(combinations: impl Iterator<Item = Combination>) {
    let only = std::env::var("MOCK5G_CELL").ok();
    let wanted = |combination: &Combination| only.as_ref().is_none_or(|only| *only == combination.name());
    let failed: Vec<_> = combinations
        .filter(wanted)
        .filter(|combination| combination.fails())
        .map(|failed| {
            let name = failed.name();
            eprintln!("FAILED {name}");
            name
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} combinations left something behind:\n  {}\nplay one alone with\n  \
         MOCK5G_CELL={} cargo test --release -p tests --test sim sweep",
        failed.len(),
        failed.join("\n  "),
        failed[0]
    );
}
