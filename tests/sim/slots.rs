//! What a fixed URI holds in the end, whatever becomes of the attempts that wrote it and in whatever order: the ledger
//! against a model of four lines. Release.md, rules 14 and 18.

use crate::world::ms;
use http::StatusCode;
use proptest::prelude::*;
use proptest::test_runner::Config;
use sbi::client::{Answer, Call, Client};
use sbi::env::{Entropy, Env};
use sbi::fault::{Effect, Rule};
use sbi::party::{NfType, Party, Served};
use sbi::policy::Policy;
use sbi::release::{Attempt, Creation, Ledger, SlotKey, State, Undo};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

const URI: &str = "http://udr/slot";

/// What stands there before the first attempt, written by somebody else.
const STRANGER: u64 = 0;

/// How a consumer knows what its write replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consumer {
    /// It reads the slot, as a UDM does, and puts back whatever it was.
    Reads,
    /// It looks at its own contexts, as an SMF does.
    Remembers,
}

/// What becomes of a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Create {
    Done,
    Refused,
    NotSent,
    DoneBehindAGateway,
    NotDoneBehindAGateway,
}

#[derive(Clone, Debug)]
enum Op {
    /// An attempt writes, and is committed or given up. Between taking the slot and writing, the answer of a live
    /// context may be handed over, or not.
    Attempt(Create, bool, Option<(usize, bool)>),
    /// The answer of a live context is handed over, or cannot be.
    Deliver(usize, bool),
    /// A live context ends by the wish of its client.
    End(usize),
    /// The next releases fail, as long as fewer fail in all than one is tried.
    FailReleases(u32),
    /// Time passes.
    Pass(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    use Create::*;
    let create = prop::sample::select(vec![
        Done,
        Done,
        Done,
        Refused,
        NotSent,
        DoneBehindAGateway,
        NotDoneBehindAGateway,
    ]);
    let delivery = (0..8_usize, any::<bool>());
    let attempt = (create, any::<bool>(), prop::option::of(delivery.clone()));
    let op = prop_oneof![
        4 => attempt.prop_map(|(create, commit, meanwhile)| Op::Attempt(create, commit, meanwhile)),
        2 => delivery.prop_map(|(which, delivered)| Op::Deliver(which, delivered)),
        1 => (0..8_usize).prop_map(Op::End),
        1 => (1..4_u32).prop_map(Op::FailReleases),
        2 => prop_oneof![Just(0), 1..3_000_u64].prop_map(Op::Pass),
    ];
    prop::collection::vec(op, 1..24)
}

proptest! {
    #![proptest_config(Config { cases: 3_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_slot_ends_with_the_newest_live_value_or_what_stood_there_before(
        consumer in prop::sample::select(vec![Consumer::Reads, Consumer::Remembers]),
        ops in ops(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        LocalSet::new().block_on(&runtime, Stage::new(consumer).play(ops));
    }
}

/// The producer: one slot.
#[derive(Default)]
struct Producer {
    slot: Option<u64>,
    /// How the create of this value ends.
    next: Option<(u64, Create)>,
    failing: u32,
    failed: u32,
}

impl Producer {
    fn fail(&mut self, times: u32) {
        let left = Policy::default().release.tries - 1 - self.failed;
        self.failing = times.min(left);
    }

    fn serve(&mut self, call: &Call) -> Answer {
        let body: Option<Value> = serde_json::from_slice(&call.body).ok();
        let value = body.and_then(|body| body["n"].as_u64());
        match self.next.take_if(|(n, _)| value == Some(*n)) {
            Some((_, create)) => self.create(create, value),
            None if self.failing > 0 => {
                self.failing -= 1;
                self.failed += 1;
                Answer::new(StatusCode::SERVICE_UNAVAILABLE)
            }
            None => self.replace(value),
        }
    }

    fn create(&mut self, create: Create, value: Option<u64>) -> Answer {
        match create {
            Create::Refused => return Answer::new(StatusCode::FORBIDDEN),
            Create::NotDoneBehindAGateway => return gateway_timeout(),
            Create::Done | Create::DoneBehindAGateway | Create::NotSent => {}
        }
        let done = self.replace(value);
        if create == Create::DoneBehindAGateway { gateway_timeout() } else { done }
    }

    fn replace(&mut self, value: Option<u64>) -> Answer {
        let found = std::mem::replace(&mut self.slot, value).is_some();
        let status = if found || value.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
        Answer::new(status)
    }
}

/// What should be: the live contexts, oldest first, and what stood there before them, as long as it can come back.
struct Model {
    before: Option<u64>,
    live: Vec<(u64, bool)>,
}

impl Model {
    fn newest(&self) -> Option<u64> {
        self.live.last().map(|(n, _)| *n)
    }

    fn value(&self) -> Option<u64> {
        self.newest().or(self.before)
    }
}

struct Stage {
    consumer: Consumer,
    producer: Rc<RefCell<Producer>>,
    party: Party,
    model: Model,
    written: u64,
}

impl Stage {
    fn new(consumer: Consumer) -> Self {
        let env = Env { entropy: Entropy::from_seed(1), ..Env::system() };
        let party = Party {
            name: "consumer".into(),
            nf_type: NfType::Udm,
            instance_id: env.entropy.uuid(),
            api_root: "http://consumer".into(),
            env,
            policy: Policy::default(),
            journal: None,
            nrf: None,
            scp: None,
        };
        let before = (consumer == Consumer::Reads).then_some(STRANGER);
        let producer = Producer { slot: before, ..Producer::default() };
        let (producer, model) = (Rc::new(RefCell::new(producer)), Model { before, live: Vec::new() });
        Stage { consumer, producer, party, model, written: STRANGER }
    }

    async fn play(mut self, ops: Vec<Op>) {
        let client = Client::new(self.party.clone());
        let producer = self.producer.clone();
        client.mount("udr", Rc::new(move |call: &Call| producer.borrow_mut().serve(call)));
        let ledger = Ledger::start(client, 0);
        for op in ops {
            match op {
                Op::Attempt(create, commit, meanwhile) => {
                    self.attempt(&ledger, create, commit, meanwhile).await;
                }
                Op::Deliver(which, delivered) => self.deliver(&ledger, which, delivered),
                Op::End(which) => self.end(&ledger, which),
                Op::FailReleases(times) => self.producer.borrow_mut().fail(times),
                Op::Pass(0) => tokio::task::yield_now().await,
                Op::Pass(for_ms) => sleep(ms(for_ms)).await,
            }
        }
        sleep(ms(300_000)).await;
        assert_eq!(self.producer.borrow().slot, self.model.value(), "what the slot holds");
        assert_eq!(ledger.unsettled(), 0, "what is owed");
        let hanging = ledger.resources().into_iter().filter(|r| r.state == State::Hanging).count();
        assert_eq!(hanging, 0, "hanging");
        assert!(self.model.live.iter().all(|(n, _)| ledger.owns(&n.to_string())), "live contexts own");
    }

    async fn attempt(
        &mut self,
        ledger: &Ledger,
        create: Create,
        commit: bool,
        meanwhile: Option<(usize, bool)>,
    ) {
        self.written += 1;
        let n = self.written;
        let mut attempt = Attempt::begin(ledger, Served::own(&self.party));
        let slot = SlotKey::Uri(URI.into());
        let taken = attempt.take(&slot).await.unwrap();
        let before = match self.consumer {
            Consumer::Reads => self.producer.borrow().slot,
            Consumer::Remembers => self.model.newest(),
        };
        if let Some((which, delivered)) = meanwhile {
            self.deliver(ledger, which, delivered);
            tokio::task::yield_now().await;
        }
        let value = |n: u64| json!({"n": n});
        let creation = Creation {
            kind: "smf-registration",
            call: Call::new(http::Method::PUT, URI).with_json(&value(n)),
            undo: Undo::delete_there("").into(),
            before: before.map(value),
            settle: None,
            slot: Some(slot),
        };
        if create == Create::NotSent {
            let refuse = Rule::at("consumer").on_send().effect(Effect::RefuseConnection).once();
            self.party.env.faults.set(refuse).unwrap();
        }
        self.producer.borrow_mut().next = Some((n, create));
        let answer = attempt.create_in(taken, creation).await;
        self.producer.borrow_mut().next = None;
        self.party.env.faults.clear();
        if answer.is_ok() && commit {
            attempt.commit(n.to_string(), &()).await.unwrap();
            self.model.live.push((n, false));
        }
    }

    fn deliver(&mut self, ledger: &Ledger, which: usize, delivered: bool) {
        let Some((n, false)) = self.model.live.get(which).copied() else { return };
        if !delivered {
            self.model.live.remove(which);
            return disown(ledger, n);
        }
        self.model.live[which].1 = true;
        self.model.before = None;
        ledger.delivered(&n.to_string());
        for (replaced, _) in self.model.live.drain(..which) {
            if self.consumer == Consumer::Remembers {
                disown(ledger, replaced);
            }
        }
    }

    fn end(&mut self, ledger: &Ledger, which: usize) {
        if which >= self.model.live.len() {
            return;
        }
        match self.consumer {
            Consumer::Remembers => disown(ledger, self.model.live.remove(which).0),
            // A deregistration ends all that the UDM has.
            Consumer::Reads => {
                self.model.before = None;
                for (n, _) in self.model.live.drain(..).rev() {
                    ledger.delivered(&n.to_string());
                    disown(ledger, n);
                }
            }
        }
    }
}

fn disown(ledger: &Ledger, n: u64) {
    let ledger = ledger.clone();
    spawn_local(async move { ledger.disown(&n.to_string()).await });
}

/// In the name of the producer: of an intermediary's own nothing would be known until it has let go.
fn gateway_timeout() -> Answer {
    let mut answer = Answer::new(StatusCode::GATEWAY_TIMEOUT);
    answer.headers.insert(http::header::SERVER, http::HeaderValue::from_static("UDR-7"));
    answer
}
