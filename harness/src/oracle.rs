//! What our NFs sent, held against the OpenAPI files of 3GPP: the oracle of the tests.
//!
//! Of an exchange that an NF sent, the request is judged; of one that it received, the answer. Not judged: exchanges that a
//! fault rule was applied to, bodies of which not all was recorded, and what is for no operation of the files.

use openapi::Checker;
use sbi::schema::{Judged, SchemaCheck};
use sbi::traffic::{Direction, Exchange};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

/// The variable that names the directory of the files.
const VARIABLE: &str = "MOCK5G_OPENAPI_DIR";

/// How many deviations a failure tells.
const MAX_TOLD: usize = 20;

/// Asserts that what our NFs sent is as their APIs say. Without the variable there is nothing to compare with.
///
/// # Panics
///
/// If something is not, with method, path, status, JSON Pointer and reason of each; with `CI=true` also if the variable
/// names no directory of OpenAPI files.
pub fn expect_schema_true(exchanges: &[Exchange]) {
    let Some(checker) = files() else { return };
    let wrong = deviations(&checker.apart(), exchanges);
    let (told, all) = (wrong.iter().take(MAX_TOLD).cloned().collect::<Vec<_>>().join("\n  "), wrong.len());
    assert!(wrong.is_empty(), "{all} messages of our NFs are not as the OpenAPI files say:\n  {told}");
}

/// A line for each message that is not as its operation says.
fn deviations(checker: &Checker, exchanges: &[Exchange]) -> Vec<String> {
    // An exchange is recorded at its end: what calls back may stand before what asked for it.
    exchanges.iter().for_each(|e| checker.learn(&e.method, &e.uri, &e.request));
    exchanges.iter().filter(|e| !e.faulted).filter_map(|e| deviation(checker, e)).collect()
}

fn deviation(checker: &Checker, exchange: &Exchange) -> Option<String> {
    let Exchange { nf, direction, method, uri, request, answer, .. } = exchange;
    let (judged, status) = match (direction, answer) {
        (Direction::Sent, _) => (checker.request(method, uri, request)?, None),
        (Direction::Received, Some((status, answer))) => {
            (checker.answer(method, uri, *status, answer)?, Some(status.as_u16()))
        }
        (Direction::Received, None) => return None,
    };
    let what = status.map_or_else(|| "sends".to_owned(), |status| format!("answers {status} to"));
    let Judged { operation, violations } = &judged;
    (!violations.is_empty()).then(|| format!("{nf} {what} {method} {uri}: {} ({operation})", judged.told()))
}

/// The files, opened once.
fn files() -> Option<&'static Checker> {
    static FILES: OnceLock<Option<Checker>> = OnceLock::new();
    FILES.get_or_init(open).as_ref()
}

fn open() -> Option<Checker> {
    let dir = std::env::var_os(VARIABLE)?;
    match Checker::open(Path::new(&dir)) {
        Ok(checker) => Some(checker),
        Err(error) => {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "no OpenAPI files: {error}; {VARIABLE} says where they are");
            // Past the test runner, which would swallow it.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: no OpenAPI files: {error}; {VARIABLE} says where they are"
            );
            None
        }
    }
}
