//! RFC 9112 beside TS 29.500 §5.2 (Rel-17): HTTP/1.1 on the same ports, with deadlines and all. curl, nghttp and h2load
//! are tried in tests/cli.

use crate::support::raw::{http1, tcp, to_the_end};
use crate::support::{
    Headers, REGISTRATION, REGISTRATION_AT_UDR, SMF_A, SMF_B, held, lab, reg_a, register, registration_of,
    request, send,
};
use http::Method;
use serde_json::Value;

#[actix::test]
async fn http1_is_served_on_every_port_with_deadlines_and_all() {
    let lab = lab().start().await;
    for nf in ["amf", "smf", "udm", "udr"] {
        let plain =
            to_the_end(tcp(&lab.api_root(nf), &http1(&request(&lab, Method::GET, nf, "/x"))).await).await;
        assert!(plain.starts_with("HTTP/1.1 400") && plain.contains("INVALID_API"), "{nf}: {plain}");
        let late = request(&lab, Method::GET, nf, "/x").pair(-3_000, "1000");
        let late = to_the_end(tcp(&lab.api_root(nf), &http1(&late)).await).await;
        assert!(late.starts_with("HTTP/1.1 504") && late.contains("TIMED_OUT_REQUEST"), "{nf}: {late}");
    }
    let registered = to_the_end(tcp(&lab.api_root("udm"), &http1(&reg_a(&lab))).await).await;
    assert!(registered.starts_with("HTTP/1.1 201"), "{registered}");
}

/// A 204 has no body that anyone would ask for, which is how an answer is otherwise known to have been handed over.
#[actix::test]
async fn what_a_204_over_http1_answers_stays() {
    let lab = lab().start().await;
    for (nf, path) in [("udm", REGISTRATION), ("udr", REGISTRATION_AT_UDR)] {
        for smf in [SMF_A, SMF_B] {
            let put = match nf {
                "udm" => register(&lab, smf),
                _ => request(&lab, Method::PUT, nf, path).with_json(&registration_of(smf)),
            };
            let answer = to_the_end(tcp(&lab.api_root(nf), &http1(&put)).await).await;
            assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
            lab.settle().await;
            let there: Value = send(&lab, request(&lab, Method::GET, nf, path)).await.json().unwrap();
            assert_eq!(there["smfInstanceId"], smf, "{nf}");
        }
        assert_eq!(held(&lab, nf).await, [path]);
    }
}
