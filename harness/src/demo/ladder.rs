//! The ladder: who to whom, what, at which millisecond, and what was left of the budget.

use sbi::event::{Event, Kind};
use std::fmt::Write;

/// How a line of the ladder looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Late,
    Release,
    Quiet,
}

/// A line of the ladder.
pub(super) struct Rung {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// The ladder of these events, its times counted from `from_ms`. `nfs` are the names of the lab's NFs: what others
/// send is told when it arrives, what they send themselves when it leaves.
pub(super) fn ladder(events: &[Event], nfs: &[&str], from_ms: f64) -> Vec<Rung> {
    events.iter().filter_map(|event| rung(event, nfs, from_ms)).collect()
}

/// The head of the columns.
pub(super) fn head() -> String {
    format!("{:>8}  {:>8}  {:<6}    {:<6}  what", "at ms", "left ms", "from", "to")
}

fn rung(event: &Event, nfs: &[&str], from_ms: f64) -> Option<Rung> {
    let peer = event.peer.as_deref().unwrap_or_default();
    let nf = &*event.nf;
    let stranger = !nfs.contains(&peer);
    if event.status == Some(504) && !stranger && event.event != Kind::RequestRefusedLate {
        return None; // told as its sender's `request.refused_late`
    }
    let (from, arrow, to, what, tone) = match event.event {
        Kind::UpstreamSent => (nf, "──▶", peer, request(event), Tone::Plain),
        Kind::RequestReceived if stranger => (peer, "──▶", nf, request(event), Tone::Plain),
        Kind::UpstreamAnswered => (peer, "──▶", nf, answer(event), Tone::Plain),
        Kind::ResponseSent if stranger => (nf, "──▶", peer, answer(event), Tone::Plain),
        Kind::ResponseLate => (peer, "──▶", nf, format!("{}, too late", answer(event)), Tone::Late),
        Kind::UpstreamTimedOut => {
            (nf, "   ", "", format!("stops waiting for {peer}'s answer to {}", request(event)), Tone::Late)
        }
        Kind::UpstreamFailed => {
            (nf, "   ", "", format!("{} failed: {}", request(event), detail(event)), Tone::Late)
        }
        Kind::RequestRefusedLate => (nf, "──▶", peer, "504 TIMED_OUT_REQUEST".into(), Tone::Late),
        Kind::RequestDroppedLate => (nf, "──▶", peer, "RST_STREAM(CANCEL), no answer".into(), Tone::Late),
        Kind::ClientGone => {
            (peer, "──✕", nf, format!("leaves before {} is answered", request(event)), Tone::Late)
        }
        Kind::ResponseUndeliverable => {
            (nf, "   ", "", format!("has a success that is not handed over: {}", detail(event)), Tone::Late)
        }
        Kind::ReleaseSent => (nf, "──▶", peer, format!("{}, the release", request(event)), Tone::Release),
        Kind::ReleaseSettling => {
            (nf, "──▶", peer, format!("{}, to find out what became of it", request(event)), Tone::Release)
        }
        Kind::ReleaseConfirmed => (peer, "──▶", nf, format!("{} is gone", detail(event)), Tone::Release),
        Kind::ReleaseFailed => (peer, "──▶", nf, format!("release failed: {}", failure(event)), Tone::Late),
        Kind::ResourceHanging => {
            (nf, "   ", "", format!("{} may be left hanging", detail(event)), Tone::Late)
        }
        Kind::FaultApplied => (nf, "   ", "", format!("fault rule: {}", detail(event)), Tone::Quiet),
        Kind::SkewObserved
        | Kind::SkewMeasured
        | Kind::ClockStepped
        | Kind::TimingMalformed
        | Kind::TimingCompleted
        | Kind::TimingIgnored => (nf, "   ", "", detail(event), Tone::Quiet),
        Kind::SessionEnded => {
            (nf, "   ", "", format!("the AMF's procedure ends: {}", detail(event)), Tone::Plain)
        }
        _ => return None,
    };
    let mut text = String::new();
    let left = event.budget_left_ms.map_or(String::new(), |ms| (ms.round() as i64).to_string());
    let _ = write!(text, "{:>8.1}  {left:>8}  {from:<6} {arrow} {to:<6} {what}", event.at_ms - from_ms);
    Some(Rung { text, tone })
}

fn request(event: &Event) -> String {
    let method = event.method.as_deref().unwrap_or_default();
    format!("{method} {}", short(event.uri.as_deref().unwrap_or_default()))
}

fn answer(event: &Event) -> String {
    format!("{} to {}", event.status.unwrap_or_default(), request(event))
}

fn detail(event: &Event) -> String {
    event.detail.clone().unwrap_or_default()
}

fn failure(event: &Event) -> String {
    event.status.map_or_else(|| detail(event), |status| status.to_string())
}

/// The last two segments of a URI's path, long ones cut: enough to tell what it is.
pub(super) fn short(uri: &str) -> String {
    const SHOWN: usize = 22;
    const LEFT: usize = 10;
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<_> = path.split('/').filter(|s| !s.is_empty()).collect();
    let cut = |segment: &&str| match segment.chars().count() > SHOWN {
        true => segment.chars().take(LEFT).collect::<String>() + "…",
        false => (*segment).to_owned(),
    };
    let tail: Vec<_> = segments.iter().rev().take(2).rev().map(cut).collect();
    let more = if segments.len() > 2 { "…/" } else { "/" };
    format!("{more}{}", tail.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_cut_to_what_tells_it_apart() {
        let uri =
            "http://127.0.0.1:1/nudm-uecm/v1/imsi-1/registrations/smf-registrations/5?smf-instance-id=x";
        assert_eq!(short(uri), "…/smf-registrations/5");
        assert_eq!(
            short("/nsmf-pdusession/v1/sm-contexts/0-11111111-2222-4333-8444-555555555555"),
            "…/sm-contexts/0-11111111…"
        );
        assert_eq!(short("/x"), "/x");
        assert_eq!(short(&"ü".repeat(30)), format!("/{}…", "ü".repeat(10)));
    }
}
