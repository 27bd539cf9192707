//! Being registered at the NRF: `Nnrf_NFManagement_NFRegister`, `_NFUpdate` and `_NFDeregister`, TS 29.510 §5.2.2 (Rel-17).

use super::NrfLink;
use super::profile::profile_of;
use crate::client::{Answer, Call, Client, Upstream};
use crate::event::{Facts, Kind};
use crate::json::JSON_PATCH;
use crate::party::{Party, Served};
use crate::server::Workers;
use http::Method;
use serde_json::{Value, json};
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often it is tried to register at an NRF that does not answer, or refuses.
const RETRY: Duration = Duration::from_secs(1);

/// How often an NF is heard of if the NRF does not say, and at most (our choice).
const USUAL_HEART_BEAT: Duration = Duration::from_secs(10);
const LONGEST_HEART_BEAT: Duration = Duration::from_secs(3_600);

/// How long the NRF is waited for when the NF stops: whoever does not hear of it misses the heart-beats.
const LAST_WORD: Duration = Duration::from_secs(1);

/// An NF's registration, as long as it lasts.
pub(crate) struct Registration {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Registration {
    /// Registers, in the background, and stays registered: whenever the NRF has forgotten the NF it registers anew.
    pub(crate) fn begin(
        link: NrfLink,
        party: &Party,
        apis: &'static [&'static str],
        workers: &Workers,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        let party = party.clone();
        workers.spawn(0, move || {
            tokio::task::spawn_local(async move {
                let registrar = Registrar::new(link, party, apis);
                tokio::select! {
                    biased;
                    _ = stopped => {}
                    () = registrar.stay_registered() => {}
                }
                registrar.deregister().await;
                let _ = done.send(());
            });
        });
        Registration { stop, ended }
    }

    /// Deregisters: nobody finds the NF any more. Ends when the NRF has answered, or after [`LAST_WORD`].
    pub(crate) async fn end(self) {
        drop(self.stop);
        let _ = self.ended.await;
    }
}

struct Registrar {
    link: NrfLink,
    client: std::rc::Rc<Client>,
    uri: String,
    profile: Value,
    /// Whether how it stands was told once.
    said: Cell<bool>,
}

impl Registrar {
    fn new(link: NrfLink, party: Party, apis: &[&str]) -> Self {
        let uri = format!("{}/nnrf-nfm/v1/nf-instances/{}", link.root(), party.instance_id);
        let profile = profile_of(&party, apis);
        Registrar { link, client: Client::new(party), uri, profile, said: Cell::new(false) }
    }

    async fn stay_registered(&self) {
        loop {
            match self.ask(Call::new(Method::PUT, &self.uri).with_json(&self.profile)).await {
                Ok(answer) => {
                    self.tell(true, format!("registered at {}", self.link.root()));
                    self.beat(heart_beat(&answer).unwrap_or(USUAL_HEART_BEAT)).await;
                }
                Err(why) => {
                    self.tell(false, format!("not registered at {}: {why}", self.link.root()));
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Beats until the NRF knows the NF no more. While it does not answer it may still know it: the NF goes on.
    async fn beat(&self, mut interval: Duration) {
        let mut pause = interval;
        let alive = json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}]);
        loop {
            tokio::time::sleep(pause).await;
            let beat =
                Call::new(Method::PATCH, &self.uri).with_body(JSON_PATCH, crate::json::to_bytes(&alive));
            match self.ask_within(interval / 2, beat).await {
                Ok(answer) => {
                    interval = heart_beat(&answer).unwrap_or(interval);
                    pause = interval;
                    self.tell(true, format!("{} answers again", self.link.root()));
                }
                Err(Unwell::Forgotten) => return,
                Err(why) => {
                    pause = RETRY.min(interval);
                    self.tell(false, format!("heart-beat at {}: {why}", self.link.root()));
                }
            }
        }
    }

    async fn deregister(&self) {
        self.link.set_registered(false);
        let _ = self.ask_within(LAST_WORD, Call::new(Method::DELETE, &self.uri)).await;
    }

    async fn ask(&self, call: Call) -> Result<Answer, Unwell> {
        self.ask_within(self.client.party().policy.max_rsp_time, call).await
    }

    async fn ask_within(&self, timer: Duration, call: Call) -> Result<Answer, Unwell> {
        let party = self.client.party();
        let served = Served { own_timer: Some(timer.min(party.policy.max_rsp_time)), ..Served::own(party) };
        self.client.ask(&served, call).await.map_err(Unwell::of)
    }

    /// An event and a line in the log, if it is news.
    fn tell(&self, is_registered: bool, what: String) {
        let is_news = !self.said.replace(true) | (self.link.set_registered(is_registered) != is_registered);
        if !is_news {
            return;
        }
        let party = self.client.party();
        let kind = if is_registered { Kind::NrfRegistered } else { Kind::NrfUnwell };
        match is_registered {
            true => tracing::info!(nf = %party.name, "{}: {what}", kind.as_str()),
            false => tracing::warn!(nf = %party.name, "{}: {what}; it is tried again", kind.as_str()),
        }
        party.emit(kind, Facts::default().detail(what));
    }
}

/// Why the NRF did not do it.
#[derive(Debug, thiserror::Error)]
enum Unwell {
    #[error("it does not know this NF")]
    Forgotten,
    #[error("{0}")]
    Other(String),
}

impl Unwell {
    fn of(upstream: Upstream) -> Self {
        match upstream {
            Upstream::Refused(answer) if answer.status == http::StatusCode::NOT_FOUND => Unwell::Forgotten,
            Upstream::Refused(answer) => {
                let said = answer.problem().told().unwrap_or_default();
                Unwell::Other(format!("it answers {} {said}", answer.status.as_u16()))
            }
            Upstream::NotReachable(why) | Upstream::Unanswered(why) | Upstream::Congested(why) => {
                Unwell::Other(why)
            }
            Upstream::TimedOut | Upstream::OwnTimer(_) => Unwell::Other("no answer in time".into()),
        }
    }
}

/// How often the NRF wants to hear of the NF, if it says so.
fn heart_beat(answer: &Answer) -> Option<Duration> {
    let said = answer.json::<Value>().and_then(|profile| profile.get("heartBeatTimer")?.as_u64());
    let said = said.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    said.map(|interval| interval.min(LONGEST_HEART_BEAT))
}
