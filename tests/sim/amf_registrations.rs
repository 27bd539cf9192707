//! Our rules 14 and 15 to TS 29.500 §6.11.2.2 (Rel-17): whatever becomes of the requests of AMFs that register, replace
//! one another and purge, and of what the UDM sends for them, UDM and UDR agree on who is registered.
//!
//! A seed that fails is named, and played alone with `MOCK5G_SEED=<it>`.

use crate::world::{self, held, ms, transcript};
use api::{nudm_uecm, nudr_dr};
use http::Method;
use mock5g::lab::Lab;
use mock5g::simulation::Weather;
use mock5g::subscribers::supi;
use sbi::client::Call;
use sbi::env::Entropy;
use sbi::fault::{Effect, Rule};
use sbi::header::{MaxRspTime, Pair, SenderTimestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tokio::time::sleep;

/// How many seeds are played: fewer where the code is not optimised.
const SEEDS: u64 = if cfg!(debug_assertions) { 20 } else { 400 };

/// The longest that a fault delays or holds a request: with the longest deadline it stays below `settle_ms`.
const MAX_DELAY_MS: u64 = 900;

/// No message is on its way for so long, a handshake before it included.
const MAX_LATENCY_MS: u64 = 300;

const AMFS: [&str; 3] = [
    "a1111111-1111-4111-8111-111111111111",
    "b2222222-2222-4222-8222-222222222222",
    "c3333333-3333-4333-8333-333333333333",
];

#[test]
fn udm_and_udr_agree_on_the_amf_whatever_the_seed() {
    let one: Option<u64> = std::env::var("MOCK5G_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = one.map_or(0..SEEDS, |seed| seed..seed + 1);
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| play(*seed))).is_err();
    let failed: Vec<u64> = seeds.filter(fails).collect();
    assert!(failed.is_empty(), "seeds {failed:?} failed; play one alone with MOCK5G_SEED={}", failed[0]);
}

fn play(seed: u64) {
    let dice = Dice(Entropy::from_seed(seed));
    let lab = world::quick_lab(Lab::builder().workers(dice.between(1, 3) as usize));
    world::play(lab, Weather::rough(seed), move |lab| async move {
        let mut tasks = Vec::new();
        for ue in 0..world::UES {
            let amfs = Amfs { lab: lab.clone(), dice: dice.another(), ue };
            tasks.push(tokio::task::spawn_local(amfs.live()));
        }
        make_trouble(&lab, &dice).await;
        for task in tasks {
            task.await.unwrap();
        }
        lab.clear_faults();
        // What was sent last, by a client that has left, is still on its way.
        sleep(ms(MAX_LATENCY_MS)).await;
        lab.settle().await;
        for ue in 0..world::UES {
            expect_agreement(&lab, ue).await;
        }
        let verdict = lab.verdict().await;
        assert!(verdict.is_clean() && verdict.committed == 0, "{verdict:#?}\n{}", transcript(&lab));
        assert_eq!(held(&lab).await, BTreeMap::new(), "{}", transcript(&lab));
    });
}

/// The AMF that is registered in the UDR is the one that may purge at the UDM; if none is, there is nothing to purge.
async fn expect_agreement(lab: &Lab, ue: u64) {
    let at_udr = Call::get(format!("http://udr{}", nudr_dr::amf_registration(&supi(ue))));
    let there: Option<Value> = lab.client().send(at_udr).await.unwrap().json();
    let there = there.filter(|r| r["guami"].is_object() && r["purgeFlag"] != true);
    let path = nudm_uecm::amf_registration(&supi(ue));
    let is_held = lab.held("udm").await.iter().any(|held| held.uri.ends_with(&path));
    assert_eq!(is_held, there.is_some(), "of UE {ue}: {there:?}\n{}", transcript(lab));
    if let Some(there) = there {
        let purged = lab.client().send(purge(lab, ue, &there["guami"])).await.unwrap();
        assert_eq!(purged.status, 204, "of UE {ue}: {there}\n{}", transcript(lab));
    }
}

fn purge(lab: &Lab, ue: u64, guami: &Value) -> Call {
    let call = Call::new(Method::PATCH, uri(lab, ue));
    call.with_body("application/merge-patch+json", json!({"guami": guami, "purgeFlag": true}).to_string())
}

fn uri(lab: &Lab, ue: u64) -> String {
    format!("{}{}", lab.api_root("udm"), nudm_uecm::amf_registration(&supi(ue)))
}

fn guami_of(amf: &str) -> Value {
    json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": &amf[..6]})
}

/// Sets a rule now and then, at a random call between UDM and UDR. None lies: an error means that nothing was done.
async fn make_trouble(lab: &Lab, dice: &Dice) {
    for n in 0..dice.between(0, 14) {
        sleep(ms(dice.between(0, 300))).await;
        let at = Rule::at("udr");
        let reset = Effect::Reset(h2::Reason::CANCEL.into());
        let hold = ms(dice.between(1, MAX_DELAY_MS));
        let rule = match dice.between(0, 7) {
            0 => at.delay_ms(dice.between(1, MAX_DELAY_MS)),
            1 => at.on_response().delay_ms(dice.between(1, MAX_DELAY_MS)),
            2 => at.effect(Effect::status(*dice.of(&[429, 500, 503, 504]))),
            3 => at.effect(reset),
            4 => at.on_response().effect(reset),
            5 => Rule::at("udm").on_send().effect(Effect::RefuseConnection),
            6 => Rule { hold, ..at.effect(Effect::Drop) },
            _ => Rule { hold, ..at.on_response().effect(Effect::LoseResponse) },
        };
        let method = *dice.of(&["GET", "PUT", "PUT", "PATCH"]);
        let rule = rule.matching(method, "/amf-3gpp-access").once();
        let rule = Rule { id: format!("{n} {}", rule.id), ..rule };
        lab.fault(rule);
    }
}

/// The AMFs that serve one UE, one after the other or at once.
struct Amfs {
    lab: Rc<Lab>,
    dice: Dice,
    ue: u64,
}

impl Amfs {
    async fn live(self) {
        for _ in 0..self.dice.between(3, 7) {
            sleep(ms(self.dice.between(0, 500))).await;
            match self.dice.between(0, 9) {
                0..=5 => drop(self.lab.client().send(self.register()).await),
                6..=7 => {
                    let amf = *self.dice.of(&AMFS);
                    let purge = purge(&self.lab, self.ue, &guami_of(amf));
                    drop(self.lab.client().send(purge).await);
                }
                8 => {
                    let (one, other) = (self.register(), self.register());
                    let _ = tokio::join!(self.lab.client().send(one), self.lab.client().send(other));
                }
                _ => {
                    let leaves = sleep(ms(self.dice.between(1, 300)));
                    self.lab.client().send_and_leave(self.register(), leaves).await;
                }
            }
        }
    }

    fn register(&self) -> Call {
        let amf = *self.dice.of(&AMFS);
        let body = json!({
            "amfInstanceId": amf, "guami": guami_of(amf), "ratType": "NR", "deregCallbackUri": "http://amf/dereg-notify"
        });
        let mut call = Call::new(Method::PUT, uri(&self.lab, self.ue)).with_json(&body);
        let stamp = SenderTimestamp::from_unix_ms(self.lab.client().now_unix_ms());
        let max = MaxRspTime::from_ms(self.dice.between(50, 2_000)).unwrap();
        Pair::new(stamp, max).write(&mut call.headers);
        call
    }
}

/// Random numbers, by the seed alone.
struct Dice(Entropy);

impl Dice {
    fn between(&self, least: u64, most: u64) -> u64 {
        least + self.0.up_to(most - least)
    }

    fn of<'a, T>(&self, all: &'a [T]) -> &'a T {
        &all[self.between(0, all.len() as u64 - 1) as usize]
    }

    fn another(&self) -> Dice {
        Dice(Entropy::from_seed(self.0.u64()))
    }
}
