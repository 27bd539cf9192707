//! The journals of the NFs that a process is about to start.

use super::host::Plan;
use crate::config::Config;
use sbi::journal::{Identity, Opened, file_of, open_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// An opened journal, and where it is.
pub(super) struct OpenedAt {
    pub(super) path: PathBuf,
    pub(super) opened: Opened,
}

/// Those of them that are to have one, by name.
#[derive(Default)]
pub(super) struct Journals(BTreeMap<String, OpenedAt>);

impl Journals {
    /// Opens each, and sees that it is its NF's; an error says what to do.
    pub(super) fn open(plans: &[Plan], config: &Config) -> Result<Self, String> {
        let mut journals = Journals::default();
        for plan in plans {
            let Some((directory, sync)) = config.journal(&plan.name) else { continue };
            let opened = open_file(&directory, &plan.name, sync).map_err(|error| error.to_string())?;
            let path = file_of(&directory, &plan.name);
            match opened.identity() {
                Some(identity) => expect_its_own(&path, &identity, plan, config)?,
                None if has_journals(&directory) => {
                    eprintln!(
                        "note: there is no journal {} yet, though there are others: it is new",
                        path.display()
                    );
                }
                None => {}
            }
            journals.0.insert(plan.name.clone(), OpenedAt { path, opened });
        }
        Ok(journals)
    }

    /// With how many workers they were written: references that were handed out name one of them.
    pub(super) fn workers(&self) -> Result<Option<usize>, String> {
        let mut counts = self.0.values().filter_map(|at| Some((&at.path, at.opened.identity()?.shards)));
        let Some((first, workers)) = counts.next() else { return Ok(None) };
        match counts.find(|(_, other)| *other != workers) {
            None => Ok(Some(workers)),
            Some((path, other)) => Err(format!(
                "the journal {} was written by {workers} workers, and {} by {other}; start their NFs in processes of their own",
                first.display(),
                path.display()
            )),
        }
    }

    /// The NF instance id that the NF of this name has had.
    pub(super) fn instance_id(&self, name: &str) -> Option<Uuid> {
        Some(self.0.get(name)?.opened.identity()?.instance_id)
    }

    /// Tells of an NF that its peers know by another apiRoot: what they send there does not arrive.
    pub(super) fn tell_of_move(&self, name: &str, api_root: &str) {
        let before = self.0.get(name).and_then(|at| at.opened.identity()).map(|identity| identity.api_root);
        if let Some(before) = before.filter(|before| !before.is_empty() && before != api_root) {
            eprintln!(
                "note: {name} was at {before}, and is at {api_root} now: whoever holds references or callbacks of it asks there"
            );
        }
    }

    /// Takes out that of one NF.
    pub(super) fn take(&mut self, name: &str) -> Option<OpenedAt> {
        self.0.remove(name)
    }
}

fn has_journals(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "journal"))
}

fn expect_its_own(path: &Path, found: &Identity, plan: &Plan, config: &Config) -> Result<(), String> {
    let path = path.display();
    if (found.nf_type, &found.name) != (plan.nf_type, &plan.name) {
        return Err(format!(
            "the journal {path} is that of the {} {}; choose another directory with --data-dir, or move the file away",
            found.nf_type, found.name
        ));
    }
    match config.instance_id(&plan.name) {
        Some(said) if said.0 != found.instance_id => Err(format!(
            "the journal {path} is that of NF instance {}, but nf_instance_id says {said}: what the one owns the other cannot \
             release; leave the key out, or move the file away",
            found.instance_id
        )),
        _ => Ok(()),
    }
}
