//! `mock5g demo`.

use super::support::mock5g;
use serde_json::Value;
use std::process::{Command, Stdio};

const VERDICT: &str = "created 4, committed 0, released 4, hanging 0";

struct Shown {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn shown(arguments: &[&str]) -> Shown {
    let output = mock5g(&[&["demo"], arguments].concat()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Shown { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn the_default_scenario_shows_the_504_and_both_releases_and_ends_with_the_verdict() {
    let Shown { code, stdout, stderr } = shown(&[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_eq!(stdout.lines().last(), Some(VERDICT));
    let has = |what: [&str; 3]| stdout.lines().any(|line| what.iter().all(|part| line.contains(part)));
    assert!(has(["smf    ──▶ amf", "504", "TIMED_OUT_REQUEST"]), "{stdout}");
    for resource in ["sdm-subscriptions", "smf-registrations"] {
        assert!(has(["smf    ──▶ udm", "DELETE", resource]), "{resource}: {stdout}");
        assert!(has(["udm    ──▶ udr", "DELETE", resource]), "{resource}: {stdout}");
    }
    assert_eq!(stdout.matches(" is gone").count(), 4, "{stdout}");
}

#[test]
fn every_scenario_goes_as_well_through_an_scp() {
    for indirect in ["c", "d"] {
        for scenario in
            ["release-on-timeout", "in-time", "late-on-receipt", "late-answer", "client-gone", "drop"]
        {
            let Shown { code, stdout, .. } = shown(&[scenario, "--indirect", indirect]);
            assert_eq!(code, Some(0), "{scenario} {indirect}: {stdout}");
            assert!(stdout.trim_end().ends_with("hanging 0"), "{scenario} {indirect}: {stdout}");
        }
    }
    let through = shown(&["--indirect", "d"]).stdout;
    assert_eq!(through.lines().last(), Some(VERDICT), "{through}");
    assert!(through.contains("scp"), "{through}");
    assert_eq!(shown(&["--indirect", "e"]).code, Some(2));
}

#[test]
fn every_listed_scenario_exits_0() {
    let list = shown(&["--list"]);
    assert_eq!(list.code, Some(0));
    let names: Vec<_> = list.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let Shown { code, stdout, stderr } = shown(&[name]);
        assert_eq!(code, Some(0), "{name}:\n{stdout}{stderr}");
        assert!(stdout.trim_end().ends_with("hanging 0"), "{name}:\n{stdout}");
    }
}

#[test]
fn the_list_as_json_is_an_object_per_line() {
    let Shown { code, stdout, .. } = shown(&["--list", "--json"]);
    assert_eq!(code, Some(0));
    for line in stdout.lines() {
        let scenario: Value = serde_json::from_str(line).unwrap();
        assert!(scenario["name"].is_string() && scenario["title"].is_string(), "{line}");
    }
}

#[test]
fn as_json_every_line_is_an_object_the_last_one_the_verdict_and_its_sentence_goes_to_stderr() {
    let Shown { code, stdout, stderr } = shown(&["--json"]);
    assert_eq!((code, stderr.lines().last()), (Some(0), Some(VERDICT)));
    let objects: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(objects.iter().all(Value::is_object));
    let last = objects.last().unwrap();
    let count = |key: &str| last[key].as_u64();
    let counts = ["created", "committed", "released", "hanging"].map(count);
    assert_eq!(counts, [Some(4), Some(0), Some(4), Some(0)], "{last}");
    assert_eq!(last["ok"], true);
}

#[test]
fn an_unknown_scenario_is_a_usage_error_that_says_where_the_names_are() {
    let Shown { code, stdout, stderr } = shown(&["no-such"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("no-such") && stderr.contains("--list"), "{stderr}");
}

#[test]
fn piped_output_has_no_escape_codes() {
    for no_color in [None, Some("1")] {
        let mut command = mock5g(&["demo", "late-on-receipt"]);
        no_color.map(|value| command.env("NO_COLOR", value));
        let output = command.output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in [["demo", "--list"], ["demo", "in-time"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mock5g"));
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{arguments:?}");
    }
}
