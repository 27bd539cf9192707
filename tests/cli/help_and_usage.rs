//! Help that teaches, and command lines that are wrong: exit code 2, before any socket opens.

use super::support::mock5g;
use std::process::Output;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn help(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = mock5g(&[arguments, &["--help"]].concat()).output().unwrap();
    assert_eq!((status.code(), text(&stderr)), (Some(0), ""), "{arguments:?}");
    text(&stdout).to_owned()
}

/// The subcommands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    list.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// What is listed without a word about it.
fn unexplained(help: &str) -> Vec<&str> {
    let is_option = |line: &str| line.starts_with("  ") && !line.starts_with("          ");
    let lines = help.lines().skip_while(|line| !line.starts_with("Arguments:"));
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("Example")).collect();
    let pairs = lines.windows(2).filter(|pair| is_option(pair[0]) && pair[1].trim().is_empty());
    pairs.map(|pair| pair[0]).collect()
}

#[test]
fn every_subcommand_explains_itself_and_each_of_its_options() {
    let top = help(&[]);
    assert!(top.contains("TS 29.500 §6.11.2") && top.contains("mock5g demo"), "{top}");
    let commands = commands(&top);
    assert!(commands.contains(&"demo") && commands.contains(&"nf"), "{commands:?}");
    for command in commands {
        let text = help(&[command]);
        assert!(text.contains("Usage: mock5g") && text.contains("Exit codes"), "{command}: {text}");
        assert_eq!(unexplained(&text), [""; 0], "{command}");
    }
}

#[test]
fn help_names_defaults_and_shows_examples() {
    assert!(help(&["demo"]).contains("[default: release-on-timeout]"));
    let nf = help(&["nf"]);
    for part in ["smf 7704", "SBI port + 1000", "udm=http://127.0.0.1:7712", "at most 5 s"] {
        assert!(nf.contains(part), "{part}: {nf}");
    }
}

#[test]
fn the_version_is_told() {
    let output = mock5g(&["--version"]).output().unwrap();
    assert_eq!(text(&output.stdout).trim(), concat!("mock5g ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_exits_2_and_names_what_is_wrong() {
    let wrong: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["nf"], "<TYPE>"),
        (&["nf", "hss"], "expected one of amf, smf, udm, udr"),
        (&["nf", "udm", "--frobnicate"], "--frobnicate"),
        (&["nf", "udm", "--bind", "localhost"], "expected ADDR:PORT"),
        (&["nf", "udm", "--bind", "127.0.0.1:99999"], "expected ADDR:PORT"),
        (&["nf", "udm", "--admin", "9091"], "expected ADDR:PORT"),
        (&["nf", "udm", "--advertise", "udm.local"], "expected http://host[:port]"),
        (&["nf", "udm", "--advertise", "http://0.0.0.0:7712"], "0.0.0.0"),
        (&["nf", "udm", "--advertise", "http://[::]:7712"], "::"),
        (&["nf", "udm", "--advertise", "http://127.0.0.1:7712/pre"], "without a path"),
        (&["nf", "udm", "--advertise", "http://x\u{e9}:7712"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=http://u:p@127.0.0.1:7720"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "http://127.0.0.1:7720"], "expected TYPE=APIROOT"),
        (&["nf", "udm", "--peer", "hss=http://127.0.0.1:7720"], "expected one of amf, smf, udm, udr"),
        (&["nf", "udm", "--peer", "udr=127.0.0.1:7720"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=https://127.0.0.1:7720"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=http://127.0.0.1:0"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=http://127.0.0.1:77200"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=http://127.0.0.1:7720/?a"], "expected http://host[:port]"),
        (&["nf", "udm", "--peer", "udr=http://a", "--peer", "udr=http://b"], "more than one UDR"),
    ];
    for (arguments, said) in wrong {
        let output = mock5g(arguments).output().unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), stdout), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}
