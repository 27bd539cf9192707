//! The scenarios: each a lab, and what happens in it.

use crate::lab::{Builder, Lab, PduSession};
use crate::subscribers::supi;
use api::common::{NfInstanceId, PduSessionId, PlmnId, Snssai};
use api::nsmf_pdusession::{SM_CONTEXTS, Session, SmContextCreateData};
use futures_util::future::LocalBoxFuture;
use http::Method;
use sbi::client::Call;
use sbi::event::{Event, Kind};
use sbi::fault::Rule;
use sbi::policy::Mode;

/// A built-in scenario.
pub struct Scenario {
    /// What to call it on the command line.
    pub name: &'static str,
    /// What happens, in one line.
    pub title: &'static str,
    /// The lab.
    pub lab: fn() -> Builder,
    /// What happens in it; an error is an expectation that was not met.
    pub play: fn(&Lab) -> LocalBoxFuture<'_, Result<(), String>>,
}

/// All of them; the first is what `mock5g demo` shows.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "release-on-timeout",
        title: "the SMF's third upstream answer comes after its client's deadline: subscription and registration are released",
        lab: Lab::builder,
        play: |lab| Box::pin(release_on_timeout(lab)),
    },
    Scenario {
        name: "in-time",
        title: "everything is answered in time: a PDU session is established, then released by the AMF",
        lab: Lab::builder,
        play: |lab| Box::pin(in_time(lab)),
    },
    Scenario {
        name: "late-on-receipt",
        title: "the request has timed out before it arrives: refused at once, nothing is asked upstream",
        lab: Lab::builder,
        play: |lab| Box::pin(late_on_receipt(lab)),
    },
    Scenario {
        name: "late-answer",
        title: "an SMF that looks at no deadline answers 201 after the AMF gave up: the AMF releases the SM context",
        lab: || Lab::builder().policy("smf", |policy| policy.deadline.mode = Mode::Off),
        play: |lab| Box::pin(late_answer(lab)),
    },
    Scenario {
        name: "client-gone",
        title: "the client hangs up before its 201 is ready: the success cannot be delivered, so it is taken back",
        lab: Lab::builder,
        play: |lab| Box::pin(client_gone(lab)),
    },
    Scenario {
        name: "drop",
        title: "like the first, but the SMF drops the late request without an answer (deadline.mode: drop)",
        lab: || Lab::builder().policy("smf", |policy| policy.deadline.mode = Mode::Drop),
        play: |lab| Box::pin(release_on_timeout(lab)),
    },
];

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// The demo's AMF waits so long.
const MAX_RSP_TIME_MS: u64 = 500;

fn late_registration() -> Rule {
    Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(800).once()
}

async fn release_on_timeout(lab: &Lab) -> Result<(), String> {
    lab.fault(late_registration());
    let session = PduSession::default().max_rsp_time_ms(MAX_RSP_TIME_MS);
    expect_outcome(lab, session, "gave_up").await
}

async fn in_time(lab: &Lab) -> Result<(), String> {
    expect_outcome(lab, PduSession::default().max_rsp_time_ms(MAX_RSP_TIME_MS), "established").await?;
    lab.release(&PduSession::default()).await;
    Ok(())
}

async fn late_on_receipt(lab: &Lab) -> Result<(), String> {
    let session = PduSession::default().max_rsp_time_ms(MAX_RSP_TIME_MS).stamped_ms_ago(2_000);
    expect_outcome(lab, session, "gave_up").await?;
    // It may have registered at an NRF.
    let is_upstream = |uri: &str| !uri.contains("/nnrf-");
    let asked = |e: &Event| {
        &*e.nf == "smf" && e.event == Kind::UpstreamSent && e.uri.as_deref().is_some_and(is_upstream)
    };
    match lab.events().into_iter().filter(asked).count() {
        0 => Ok(()),
        calls => Err(format!("expected no upstream call of the SMF, but found {calls}")),
    }
}

async fn late_answer(lab: &Lab) -> Result<(), String> {
    lab.fault(late_registration());
    expect_outcome(lab, PduSession::default().max_rsp_time_ms(MAX_RSP_TIME_MS), "gave_up").await?;
    let heard = |e: &Event| &*e.nf == "amf" && e.event == Kind::ResponseLate;
    lab.wait_for("a late answer to the AMF", heard).await;
    Ok(())
}

async fn client_gone(lab: &Lab) -> Result<(), String> {
    lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(300).once());
    let call =
        Call::new(Method::POST, format!("{}{SM_CONTEXTS}", lab.api_root("smf"))).with_json(&create_data(lab));
    lab.client().send_and_leave(call, lab.client().until("udm", Kind::FaultApplied)).await;
    lab.wait_for("an undeliverable success", |e| e.event == Kind::ResponseUndeliverable).await;
    Ok(())
}

async fn expect_outcome(lab: &Lab, session: PduSession, expected: &str) -> Result<(), String> {
    match lab.establish(session).await {
        outcome if outcome.as_str() == expected => Ok(()),
        outcome => Err(format!("expected the AMF's procedure to end as {expected}, but found {outcome:?}")),
    }
}

fn create_data(lab: &Lab) -> SmContextCreateData {
    let session = Session {
        supi: supi(0),
        pdu_session_id: PduSessionId(5),
        dnn: crate::subscribers::dnn(crate::subscribers::DEFAULT_DNN),
        s_nssai: Snssai::sst(1),
    };
    let amf = NfInstanceId(lab.process().nf("amf").map(|nf| nf.party.instance_id).unwrap_or_default());
    let plmn = PlmnId::new("001", "01").expect("the test PLMN");
    SmContextCreateData::new(
        session,
        amf,
        plmn,
        format!("{}/namf-callback/v1/sm-context-status/x/5", lab.api_root("amf")),
    )
}
