//! A client that is no NF: what a stranger could send.

use sbi::client::{Answer, Call, Client, NoAnswer};
use sbi::event::Kind;
use sbi::party::{NfType, Party, Served};
use sbi::policy::Policy;
use std::rc::Rc;
use std::time::Duration;

/// What came of a request.
pub type Sent = Result<Answer, NoAnswer>;

/// A client of the lab's world, on the thread of whoever plays the scenario.
pub struct LabClient(Rc<Client>);

impl LabClient {
    pub(super) fn new(env: sbi::env::Env) -> Self {
        let party = Party {
            name: "client".into(),
            nf_type: NfType::Amf,
            instance_id: env.entropy.uuid(),
            api_root: "http://client".into(),
            env,
            policy: Policy::default(),
            journal: None,
            nrf: None,
            scp: None,
        };
        LabClient(Client::new(party))
    }

    /// Sends a request and waits for its answer. Nothing is added but the headers that every request has.
    pub async fn send(&self, call: Call) -> Sent {
        let served = Served::own(self.0.party());
        self.0.request_as_is(&served, signed(call)).await
    }

    /// Sends a request, and resets its stream after `wait`, or as soon as `left` ends.
    pub async fn send_and_leave(&self, call: Call, left: impl Future<Output = ()>) {
        let served = Served::own(self.0.party());
        tokio::select! {
            biased;
            () = left => {}
            _ = self.0.request_as_is(&served, signed(call)) => {}
        }
    }

    /// The wall-clock time that the pair of a request should show, in ms since the Unix epoch.
    pub fn now_unix_ms(&self) -> i64 {
        self.0.env().clock.stamp().unix_ms()
    }

    /// Ends when `event` was seen at `nf`.
    pub async fn until(&self, nf: &str, event: Kind) {
        let seen = self.0.env().events.wait(0, |e| &*e.nf == nf && e.event == event);
        let _ = tokio::time::timeout(Duration::from_secs(60), seen).await;
    }
}

/// The client names itself unless the call does.
fn signed(mut call: Call) -> Call {
    call.headers.entry(http::header::USER_AGENT).or_insert(http::HeaderValue::from_static("client"));
    call
}
