//! Works out what setup would change. Reads every file and writes none.

mod adopt;
mod undo;
mod unfinished;
mod write;

use super::file::{self, Contents, Protection};
use super::journal::{Journal, Unfinished, WrittenFile};
use super::json::Bad;
use super::places::Places;
use super::{Action, Refused, Scope};
use crate::agent::Agent;
use crate::error::Error;
use crate::profile::Offer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What setup is asked to do.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub agents: &'a [Agent],
    pub scope: &'a Scope,
    pub action: Action,
    /// Whether an agent may call our tools without asking, where that was answered now.
    pub answers: BTreeMap<Agent, bool>,
}

/// The changes that setup would make.
#[derive(Debug, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// What a person should know in addition.
    pub notes: Vec<String>,
    /// Settings of the agents that switch off what setup writes.
    pub obstacles: Vec<String>,
    /// The agents whose user has not said yet whether they may call our tools without asking.
    pub offers: Vec<(Agent, Offer)>,
    pub(super) journal: Versions,
    /// What an earlier setup left unfinished. The plan is made for the files as they will be when that is rolled back.
    unfinished: Unfinished,
    /// The directories of ours to remove if they are empty then, the outermost first.
    pub(super) emptied: Vec<PathBuf>,
}

/// The journal before and after the changes.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub before: Journal,
    pub after: Journal,
}

/// The change of one file.
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    /// The real path, if links lead elsewhere.
    pub elsewhere: Option<PathBuf>,
    /// Nothing in the file is ours yet, so setup asks the user first.
    pub is_foreign: bool,
    /// What the change replaces although setup did not write it. Setup asks about each.
    pub replaces: Vec<String>,
    pub(super) real: PathBuf,
    old: Option<Contents>,
    new: Option<String>,
}

impl Change {
    fn unchanged(
        path: PathBuf,
        real: PathBuf,
        is_elsewhere: bool,
        unfinished: &Unfinished,
    ) -> Result<Change, Error> {
        let old = unfinished.read(&real)?;
        Ok(Change {
            path,
            elsewhere: is_elsewhere.then(|| real.clone()),
            is_foreign: false,
            replaces: Vec::new(),
            new: old.as_ref().map(|old| old.text.clone()),
            real,
            old,
        })
    }

    /// The current text; `None` if there is no file.
    pub fn before(&self) -> Option<&str> {
        self.old.as_ref().map(|old| old.text.as_str())
    }

    /// The new text; `None` if the file will be removed.
    pub fn after(&self) -> Option<&str> {
        self.new.as_deref()
    }

    pub(super) fn mode(&self) -> Option<u32> {
        self.old.as_ref().map(|old| old.mode)
    }

    fn is_none(&self) -> bool {
        self.before() == self.after()
    }

    /// Fails if somebody has changed the file meanwhile.
    pub(super) fn check_unchanged(&self) -> Result<(), Error> {
        let now = file::read(&self.real)?;
        match now.as_ref().map(|now| now.text.as_str()) == self.before() {
            true => Ok(()),
            false => Err(Refused::Changed(self.path.clone()).into()),
        }
    }

    /// Fails if setup must not touch the file.
    fn check_writable(&self) -> Result<(), Error> {
        let protection = self.old.as_ref().and_then(|old| old.protection);
        match protection {
            Some(Protection::ReadOnly) => Err(Refused::ReadOnly(self.path.clone()).into()),
            Some(Protection::OtherOwner(owner)) => Err(Refused::OtherOwner {
                path: self.path.clone(),
                owner,
            }
            .into()),
            None => file::missing_directories(&self.real).map(drop),
        }
    }
}

/// What a plan says in addition if it was made before that.
pub const UNFINISHED: &str = "an earlier setup was interrupted; the next one that changes files first restores what it had changed";

/// Works out every change. What an earlier setup left unfinished is only noted: `transaction::recover` rolls it back.
pub fn plan(places: &Places, request: &Request<'_>) -> Result<Plan, Error> {
    if let Scope::Project(root) = request.scope
        && !root.is_dir()
    {
        return Err(Refused::NoProject(root.clone()).into());
    }
    let mut before = places.store.load()?;
    let unfinished = before.unfinished.take();
    let is_unfinished = unfinished.is_some();
    let mut plan = Plan {
        journal: Versions {
            after: before.clone(),
            before,
        },
        unfinished: unfinished.unwrap_or_default(),
        ..Plan::default()
    };
    if is_unfinished {
        plan.note(UNFINISHED.to_owned());
    }
    adopt::adopt(places, request.scope, &mut plan)?;
    for agent in request.agents {
        match request.action {
            Action::Write => plan.write(places, *agent, request)?,
            Action::Undo => plan.undo(places, *agent, request.scope)?,
        }
    }
    plan.changes.retain(|change| !change.is_none());
    plan.remove_backups()?;
    plan.changes.iter().try_for_each(Change::check_writable)?;
    plan.forget_what_is_gone();
    Ok(plan)
}

impl Plan {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The change of this file, which is none so far unless another agent changes the file too.
    fn change(
        &mut self,
        path: &Path,
        real: &Path,
        is_elsewhere: bool,
    ) -> Result<&mut Change, Error> {
        let index = self.changes.iter().position(|change| change.real == real);
        let index = match index {
            Some(index) => index,
            None => {
                let (path, real) = (path.to_owned(), real.to_owned());
                let change = Change::unchanged(path, real, is_elsewhere, &self.unfinished)?;
                self.changes.push(change);
                self.changes.len() - 1
            }
        };
        Ok(&mut self.changes[index])
    }

    /// An older version left a copy beside each file that it changed. The journal holds that text now.
    fn remove_backups(&mut self) -> Result<(), Error> {
        let changed: Vec<PathBuf> = self.changes.iter().map(|one| one.real.clone()).collect();
        let mut backups = Vec::new();
        for file in &mut self.journal.after.files {
            if changed.contains(&file.real) {
                backups.extend(file.backup.take());
            }
        }
        for backup in backups {
            let mut change = Change::unchanged(backup.clone(), backup, false, &self.unfinished)?;
            change.new = None;
            if !change.is_none() {
                self.changes.push(change);
            }
        }
        Ok(())
    }

    /// Drops files without pieces from the journal, and directories that hold no file of ours any more.
    fn forget_what_is_gone(&mut self) {
        let journal = &mut self.journal.after;
        journal.files.retain(|file| !file.pieces.is_empty());
        for change in &self.changes {
            let missing = file::missing_directories(&change.real).unwrap_or_default();
            let is_created = change.after().is_some();
            for directory in missing.into_iter().filter(|_| is_created) {
                if !journal.directories.contains(&directory) {
                    journal.directories.push(directory);
                }
            }
        }
        let files = journal.files.clone();
        let is_used = |directory: &PathBuf| holds(directory, &files);
        let (used, emptied) = journal.directories.drain(..).partition(is_used);
        journal.directories = used;
        self.emptied = emptied;
        self.emptied.sort();
    }
}

fn holds(directory: &Path, files: &[WrittenFile]) -> bool {
    files.iter().any(|file| file.real.starts_with(directory))
}

/// For `map_err`: which file does not parse.
fn bad(path: &Path) -> impl Fn(Bad) -> Error {
    move |bad| {
        Refused::DoesNotParse {
            path: path.to_owned(),
            line: bad.line,
            reason: bad.reason,
        }
        .into()
    }
}
