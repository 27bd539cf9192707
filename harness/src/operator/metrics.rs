//! What a Prometheus scrapes: views of the event stream and of what is held and owed.

use super::Operator;
use actix_web::web;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sbi::release::State;
use sbi::server::{Failure, Reply};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEvent {
    nf: String,
    event: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    nf: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPeer {
    nf: String,
    peer: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    nf: String,
    state: &'static str,
}

/// The text format of OpenMetrics.
pub(super) async fn metrics(operator: web::Data<Operator>) -> Result<Reply, Failure> {
    const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let mut text = String::new();
    let written = encode(&mut text, &registry(&operator).await);
    written.map_err(|_| {
        Failure::from(sbi::problem::ProblemDetails::plain(500, "the metrics cannot be written"))
    })?;
    Ok(Reply::ok(&()).with_body(OPENMETRICS, text.into()))
}

async fn registry(operator: &Operator) -> Registry {
    let (events, held, resources) = (Family::default(), Family::default(), Family::default());
    for (nf, kind, count) in operator.process.env.events.counts() {
        let of: &Family<OfEvent, Counter> = &events;
        of.get_or_create(&OfEvent { nf: nf.to_string(), event: kind.as_str() }).inc_by(count);
    }
    for (nf, one) in operator.process.held(None).await {
        let of: &Family<OfKind, Gauge> = &held;
        of.get_or_create(&OfKind { nf, kind: one.kind }).inc();
    }
    for resource in operator.process.resources().await {
        let of: &Family<OfState, Gauge> = &resources;
        if !matches!(resource.state, State::Released | State::Void) {
            of.get_or_create(&OfState { nf: resource.by, state: resource.state.as_str() }).inc();
        }
    }
    let (at_least, at_most) = clocks(operator);
    let mut registry = Registry::with_prefix("mock5g");
    registry.register("events", "Events of each kind since the start", events);
    registry.register("held", "What each NF holds for others", held);
    registry.register("resources", "What each NF created upstream and has not released", resources);
    registry.register("clock_offset_at_least_ms", "How far a peer's clock is ahead at least", at_least);
    registry.register("clock_offset_at_most_ms", "How far a peer's clock is ahead at most", at_most);
    registry
}

/// What bounds the offsets of the clocks of peers.
fn clocks(operator: &Operator) -> (Family<OfPeer, Gauge>, Family<OfPeer, Gauge>) {
    let (at_least, at_most) = (Family::default(), Family::default());
    let set = |family: &Family<OfPeer, Gauge>, of: &OfPeer, ms: Option<i64>| {
        ms.map(|ms| family.get_or_create(of).set(ms));
    };
    for nf in &operator.process.nfs {
        for clock in nf.party.env.skews.measured() {
            let of = OfPeer { nf: nf.party.name.to_string(), peer: clock.peer };
            set(&at_least, &of, clock.offset_at_least_ms);
            set(&at_most, &of, clock.offset_at_most_ms);
        }
    }
    (at_least, at_most)
}
