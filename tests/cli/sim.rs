//! `mock5g sim`: what it prints, its exit codes, and that a failure's replay line plays that failure again.

use super::support::mock5g;
use serde_json::Value;

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn sim(arguments: &[&str]) -> Said {
    let output = mock5g(&[&["sim"], arguments].concat()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The line of a failure that plays it again, without `mock5g sim`.
fn replay(stderr: &str) -> Vec<String> {
    let line = stderr.lines().find_map(|line| line.trim().strip_prefix("replay: mock5g sim "));
    line.unwrap_or_else(|| panic!("no replay line in {stderr}")).split(' ').map(str::to_owned).collect()
}

#[test]
fn the_last_line_counts_orphans_and_wrong_releases() {
    let Said { code, stdout, stderr } = sim(&["--seeds", "20", "--from", "100"]);
    assert_eq!(code, Some(0), "{stdout} {stderr}");
    let counted = stdout.strip_prefix("seeds 20, procedures ").and_then(|rest| rest.split_once(", "));
    let (procedures, rest) = counted.unwrap_or_else(|| panic!("{stdout}"));
    assert!(procedures.parse::<u64>().unwrap() > 60, "{stdout}");
    assert_eq!(rest, "orphans 0, wrong releases 0\n");
    assert!(stderr.contains("a second and core"), "{stderr}");
}

#[test]
fn as_json_the_verdict_is_the_last_object() {
    let Said { code, stdout, stderr } = sim(&["--seeds", "5", "--tick-ms", "1", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let verdict: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    let number = |key: &str| verdict[key].as_u64().unwrap_or_else(|| panic!("{key} in {verdict}"));
    assert_eq!(
        [number("seeds"), number("orphans"), number("wrongReleases"), number("failing")],
        [5, 0, 0, 0]
    );
    let last = format!("seeds 5, procedures {}, orphans 0, wrong releases 0", number("procedures"));
    assert!(stderr.lines().any(|line| line == last), "{stderr}");
}

/// With an audit that calls every fault that is applied a broken law.
#[test]
fn a_failure_is_made_small_and_its_replay_line_plays_it_again() {
    let Said { code, stdout, stderr } = sim(&["--seeds", "10", "--tick-ms", "1", "--expect-no-trouble"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.starts_with("seeds 10, procedures "), "{stdout}");
    let arguments = replay(&stderr);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert!(
        arguments.contains(&"--tick-ms") && arguments.iter().any(|a| a.starts_with("--only=")),
        "{stderr}"
    );
    let played = sim(&arguments);
    assert_eq!(played.code, Some(1), "{}", played.stderr);
    assert!(played.stderr.contains("trouble: "), "{}", played.stderr);
    let events: Vec<Value> =
        played.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(events.len() > 3 && events.iter().any(|e| e["event"] == "fault.applied"), "{}", played.stdout);
    assert!(played.stdout.lines().last().unwrap().starts_with("seeds 1, "), "{}", played.stdout);
    assert_eq!(sim(&arguments).stdout, played.stdout, "it is the same each time");
}

#[test]
fn a_wrong_command_line_exits_2() {
    let beyond = u64::MAX.to_string();
    for (arguments, said) in [
        (&["--seeds", "0"][..], "--seeds"),
        (&["--tick-ms", "0"], "--tick-ms"),
        (&["--seeds", "many"], "invalid digit"),
        (&["--seeds", "2", "--only=1"], "expected --seeds 1"),
        (&["--seeds", "1", "--only=9999"], "there is no 9999"),
        (&["--seeds", "2", "--from", &beyond], "lead beyond"),
    ] {
        let Said { code, stdout, stderr } = sim(arguments);
        assert_eq!((code, &*stdout), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}
