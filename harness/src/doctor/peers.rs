//! What running NFs measure of one another's clocks.

use super::{Finding, Level};
use sbi::client::{Call, Client};
use sbi::env::Env;
use sbi::party::{NfType, Party, Served};
use sbi::policy::Policy;
use serde::Deserialize;
use std::rc::Rc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3);

/// A client of no NF.
pub(super) fn client() -> Rc<Client> {
    let env = Env::system();
    Client::new(Party {
        name: "doctor".into(),
        nf_type: NfType::Amf,
        instance_id: env.entropy.uuid(),
        api_root: "http://doctor".into(),
        env,
        policy: Policy { max_rsp_time: PATIENCE, ..Policy::default() },
        journal: None,
        nrf: None,
        scp: None,
    })
}

/// What an operator plane tells of a peer's clock.
#[derive(Deserialize)]
struct Told {
    nf: String,
    peer: String,
    verdict: String,
    meaning: String,
}

/// A line for each peer of the NFs at this operator plane.
pub(super) async fn clocks(admin: &str) -> Vec<Finding> {
    let client = client();
    let call = Call::get(format!("{}/mock5g/v1/clocks", admin.trim_end_matches('/')));
    let why = match client.request_as_is(&Served::own(client.party()), call).await {
        Ok(answer) if answer.status.is_success() => match answer.json::<Vec<Told>>() {
            Some(told) if told.is_empty() => {
                let seen = format!("{admin}: no NF there has heard of a peer in the last seconds");
                return vec![Finding::ok("peers", seen).advise("ask again while requests are sent")];
            }
            Some(told) => return told.iter().map(of_peer).collect(),
            None => "its answer cannot be read".to_owned(),
        },
        Ok(answer) => format!("it answers {}", answer.status),
        Err(error) => error.to_string(),
    };
    let finding = Finding::new("peers", Level::Fail, format!("{admin} tells of no clocks: {why}"));
    vec![finding.advise("name the operator plane of a running lab or NF, as its first line says it")]
}

fn of_peer(told: &Told) -> Finding {
    let Told { nf, peer, verdict, meaning } = told;
    let seen = format!("{peer}, as {nf} hears it: {meaning}");
    match verdict.as_str() {
        "agree" => Finding::ok("peers", seen),
        _ => Finding::new("peers", Level::Warn, seen)
            .advise("synchronise both clocks by NTP, or allow for it with deadline.skew_tolerance_ms"),
    }
}
