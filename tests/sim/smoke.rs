//! x
use mock5g::lab::{Lab, PduSession};
use mock5g::simulation::Weather;
use sbi::fault::Rule;

#[test]
fn smoke() {
    let run = |seed| {
        Lab::builder()
            .simulate(Weather::calm(seed), |lab| async move {
                let outcome = lab.establish(PduSession::default()).await;
                assert_eq!(outcome.as_str(), "established", "{}", lab.transcript());
                lab.release(&PduSession::default()).await;
                lab.fault(Rule::at("udm").on_response().matching("PUT", "^/nudm-uecm/").delay_ms(800).once());
                let outcome = lab.establish(PduSession::default().max_rsp_time_ms(500)).await;
                assert_eq!(outcome.as_str(), "gave_up", "{}", lab.transcript());
                let verdict = lab.expect_nothing_hanging().await;
                assert_eq!(
                    verdict.to_string(),
                    "created 9, committed 0, released 9, hanging 0",
                    "{}",
                    lab.transcript()
                );
            })
            .log()
    };
    let (a, b) = (run(7), run(7));
    println!("{a}");
    assert_eq!(a, b);
}
