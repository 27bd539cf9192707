//! Journals that cannot be used: a clear word about the file and what to do, exit code 3, and nothing lost. And a disk that
//! runs full while an NF works.

use super::support::{NfProcess, Protocol, TempDir, mock5g, request, tool, wait_until};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with the journal of a UDM that holds a subscription.
fn with_a_subscription(name: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new(name);
    let udm = udm(directory.path());
    assert_eq!(subscribe(&udm, 0), 201);
    assert_eq!(held(&udm), 1);
    udm.kill();
    let journal = directory.path().join("udm.journal");
    assert!(journal.exists());
    (directory, journal)
}

fn udm(directory: &Path) -> NfProcess {
    NfProcess::start("udm", &["--data-dir", directory.to_str().unwrap()])
}

/// The status of the answer to the subscription number `n`.
fn subscribe(udm: &NfProcess, n: usize) -> u16 {
    let supi = format!("imsi-00101{:010}", n % 100 + 1);
    let subscription = json!({
        "nfInstanceId": "22222222-2222-4222-8222-222222222222",
        "callbackReference": format!("http://127.0.0.1:9/{n}"), "monitoredResourceUris": [format!("{supi}/am-data")],
    });
    let uri = format!("{}/nudm-sdm/v2/{supi}/sdm-subscriptions", udm.sbi());
    request(Protocol::H2c, "POST", &uri, "application/json", subscription.to_string().as_bytes()).status
}

/// How many subscriptions it holds.
fn held(udm: &NfProcess) -> usize {
    udm.tells("/mock5g/v1/held?nf=udm").as_array().unwrap().len()
}

/// What a start says on stderr that fails as it should.
fn refused(nf: &str, directory: &Path) -> String {
    let failed = mock5g(&["nf", nf, "--bind", "127.0.0.1:0", "--data-dir", directory.to_str().unwrap()])
        .assert()
        .code(3);
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(failed.get_output().stdout.is_empty(), "it says nowhere that it is ready");
    said
}

#[test]
fn a_damaged_journal_is_named_and_kept() {
    let (directory, journal) = with_a_subscription("damaged");
    let whole = fs::read(&journal).unwrap();
    let mut flipped = whole.clone();
    flipped[64..2_048].iter_mut().for_each(|byte| *byte ^= 0x55);
    for damaged in [&whole[..whole.len() / 3], &flipped] {
        fs::write(&journal, damaged).unwrap();
        let said = refused("udm", directory.path());
        assert!(said.contains("udm.journal is damaged") && said.contains("move it away"), "{said}");
        assert_eq!(fs::read(&journal).unwrap(), damaged, "it is as it was");
    }
    fs::write(&journal, whole).unwrap();
    assert_eq!(held(&udm(directory.path())), 1);
}

#[test]
fn what_is_no_journal_or_anothers_is_refused() {
    let (directory, journal) = with_a_subscription("foreign");
    fs::copy(&journal, directory.path().join("smf.journal")).unwrap();
    let said = refused("smf", directory.path());
    assert!(said.contains("smf.journal is that of the UDM udm") && said.contains("--data-dir"), "{said}");
    fs::write(&journal, "a shopping list\n").unwrap();
    let said = refused("udm", directory.path());
    assert!(said.contains("udm.journal is no journal of this program"), "{said}");
    assert_eq!(fs::read_to_string(&journal).unwrap(), "a shopping list\n");
}

#[test]
fn an_nf_keeps_its_instance_id_and_another_one_is_refused() {
    let (directory, _) = with_a_subscription("instance");
    let id = |udm: &NfProcess| udm.tells("/mock5g/v1/nfs")[0]["nfInstanceId"].clone();
    let (first, config) = (id(&udm(directory.path())), directory.path().join("config.yaml"));
    assert_eq!(id(&udm(directory.path())), first);
    fs::write(&config, "udm: {nf_instance_id: 33333333-3333-4333-8333-333333333333}\n").unwrap();
    let arguments = ["nf", "udm", "--bind", "127.0.0.1:0", "-c", config.to_str().unwrap(), "--data-dir"];
    let failed = mock5g(&[&arguments[..], &[directory.path().to_str().unwrap()]].concat()).assert().code(3);
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(said.contains("udm.journal") && said.contains("nf_instance_id"), "{said}");
}

#[test]
fn a_journal_that_is_in_use_is_refused() {
    let (directory, _) = with_a_subscription("in-use");
    let first = udm(directory.path());
    let said = refused("udm", directory.path());
    assert!(said.contains("udm.journal is used by another process"), "{said}");
    assert_eq!(held(&first), 1, "the first one goes on");
}

#[test]
fn a_data_directory_that_cannot_be_made_is_refused() {
    let directory = TempDir::new("no-directory");
    fs::write(directory.path().join("file"), "").unwrap();
    let said = refused("udm", &directory.path().join("file/below"));
    assert!(said.contains("cannot be written") && said.contains("--data-dir"), "{said}");
}

/// Runs a shell script in a mount namespace of its own, where it may mount what it likes: the machine sees nothing of it.
fn unshared(script: &str) -> Option<Command> {
    tool("unshare", "util-linux")?;
    let may = |options: &[&str]| {
        let tried =
            Command::new("unshare").args(options).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
        tried.unwrap().status.success()
    };
    let options: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let Some(options) = options.into_iter().find(|options| may(options)) else {
        let why = "nobody may mount anything here, not even in a namespace of its own";
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{why}");
        eprintln!("skipped: {why}");
        return None;
    };
    let mut command = Command::new("unshare");
    command.args(options).args(["sh", "-ec", script]);
    Some(command)
}

#[test]
fn a_read_only_journal_is_refused_and_kept() {
    let (directory, journal) = with_a_subscription("read-only");
    let before = fs::read(&journal).unwrap();
    let directory = directory.path().display();
    let start =
        format!("exec '{}' nf udm --bind 127.0.0.1:0 --data-dir '{directory}'", env!("CARGO_BIN_EXE_mock5g"));
    let script =
        format!("mount --bind '{directory}' '{directory}'; mount -o remount,ro,bind '{directory}'; {start}");
    let Some(mut command) = unshared(&script) else { return };
    let ended = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("udm.journal cannot be written") && said.contains("Read-only"), "{said}");
    assert_eq!(fs::read(&journal).unwrap(), before);
}

/// A disk of 1 MiB fills while a UDM takes subscriptions: it says so, refuses what it cannot keep, is not ready any more,
/// loses nothing that it acknowledged, and goes on once there is room.
#[test]
fn a_full_disk_is_told_and_nothing_that_was_acknowledged_is_lost() {
    let directory = TempDir::new("full");
    let (disk, go) = (directory.path().join("disk"), directory.path().join("go"));
    fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m none '{disk}'; (while [ ! -e '{go}' ]; do sleep 0.05; done; rm -f '{disk}/ballast') & \
         head -c 400000 /dev/zero > '{disk}/ballast'; exec '{binary}' nf udm --bind 127.0.0.1:0 --data-dir '{disk}'",
        disk = disk.display(),
        go = go.display(),
        binary = env!("CARGO_BIN_EXE_mock5g"),
    );
    let Some(command) = unshared(&script) else { return };
    let udm = NfProcess::of(command);
    let mut acknowledged = 0;
    let refused = loop {
        match subscribe(&udm, acknowledged) {
            201 => acknowledged += 1,
            status => break status,
        }
        assert!(acknowledged < 10_000, "1 MiB holds no 10 000 subscriptions");
    };
    assert!(acknowledged > 20 && refused >= 500, "{acknowledged} acknowledged, then {refused}");
    let ready = || request(Protocol::H2c, "GET", &format!("{}/readyz", udm.admin()), "", b"");
    wait_until("it is not ready", || ready().status == 503);
    assert!(ready().json()["status"].as_str().unwrap().contains("journal"), "{:?}", ready());
    assert!(udm.count("journal.failed") >= 1);
    fs::write(&go, "").unwrap();
    wait_until("it is ready again", || ready().status == 200);
    assert_eq!(subscribe(&udm, acknowledged), 201);
    assert_eq!(held(&udm), acknowledged + 1);
}
