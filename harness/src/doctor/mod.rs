//! Whether this machine is fit for a lab: what `mock5g doctor` looks at. Nothing that it starts or writes stays.

mod machine;
mod peers;
mod sntp;

use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What to look at.
pub struct Questions {
    /// Where a lab listens, and which key says otherwise.
    pub addresses: Vec<(SocketAddr, String)>,
    /// The operator planes of running labs and NFs.
    pub admins: Vec<String>,
    /// An NTP server, `HOST` or `HOST:PORT`.
    pub ntp: Option<String>,
    /// Where a journal is to be written.
    pub data_dir: Option<PathBuf>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Well, or for information.
    Ok,
    /// A lab will work, but not all of it as it should.
    Warn,
    /// It will not.
    Fail,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was seen.
    pub seen: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    fn new(check: &'static str, level: Level, seen: impl Into<String>) -> Self {
        Finding { check, level, seen: seen.into(), advice: None }
    }

    fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Finding::new(check, Level::Ok, seen)
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = match self.level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        };
        write!(f, "{level:<5} {:<11} {}", self.check, self.seen)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "\n{:18}-> {advice}", ""))
    }
}

/// Looks at everything, in this order.
pub async fn examine(questions: &Questions) -> Vec<Finding> {
    let mut findings = vec![machine::ports(questions).await];
    findings.push(machine::loopback().await);
    findings.push(machine::clock(questions.ntp.as_deref()).await);
    findings.push(machine::kernel());
    findings.extend(questions.data_dir.as_deref().map(machine::data_dir));
    findings.push(machine::open_files());
    findings.push(machine::tools());
    for admin in &questions.admins {
        findings.extend(peers::clocks(admin).await);
    }
    findings
}
