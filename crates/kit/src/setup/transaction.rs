//! Makes all changes of a plan, or none.
//!
//! ```text
//!   lock ─► journal: unfinished ─► directories ─► every new text beside its file ─► renames ─► journal
//!                     └────────────── anything fails, or the process died ──► rolled back ──┘
//! ```
//!
//! The new texts are written before the first file is replaced, so a full disk and a directory that cannot be written
//! to are met while nothing has changed. What a rename could still refuse is rolled back.

use super::Refused;
use super::file;
use super::journal::{Journal, Locked, Store, Unfinished, UnfinishedFile};
use super::plan::{Change, Plan};
use crate::error::Error;
use outlive_sys::hook;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The steps at which a test can kill this process.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The journal holds the unfinished changes.
    Noted,
    /// The directories exist.
    DirectoriesMade,
    /// Every new text is written beside its file.
    Staged,
    /// One more file is replaced or removed.
    Replaced,
    /// All files are as planned; the journal does not say so yet.
    AllReplaced,
}

fn reach(step: Step) {
    if cfg!(debug_assertions) {
        hook::reach("setup", &format!("{step:?}"));
    }
}

/// Makes every change of the plan, or none.
pub fn apply(store: &Store, plan: &Plan) -> Result<(), Error> {
    if plan.changes.is_empty() && plan.journal.before == plan.journal.after {
        return Ok(());
    }
    let locked = store.lock()?;
    if locked.load()? != plan.journal.before {
        return Err(Refused::Changed(store.path()).into());
    }
    for change in &plan.changes {
        change.check_unchanged()?;
    }
    let unfinished = unfinished(plan)?;
    let noted = plan
        .journal
        .before
        .clone()
        .with_unfinished(Some(unfinished.clone()));
    locked.save(&noted)?;
    reach(Step::Noted);
    let made = make(plan, &unfinished).and_then(|()| locked.save(&plan.journal.after));
    if let Err(error) = made {
        let error = Box::new(error);
        return Err(match roll_back(&locked, &noted) {
            Ok(()) => Error::RolledBack(error),
            Err(rollback) => Error::NotRolledBack {
                error,
                rollback: Box::new(rollback),
            },
        });
    }
    Ok(())
}

/// Rolls back what an earlier process left unfinished. Returns whether there was anything.
pub fn recover(store: &Store) -> Result<bool, Error> {
    if store.load()?.unfinished.is_none() {
        return Ok(false);
    }
    let locked = store.lock()?;
    let journal = locked.load()?;
    if journal.unfinished.is_none() {
        return Ok(false);
    }
    roll_back(&locked, &journal)?;
    Ok(true)
}

fn unfinished(plan: &Plan) -> Result<Unfinished, Error> {
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut files = Vec::new();
    for change in &plan.changes {
        if change.after().is_some() {
            let missing = file::missing_directories(&change.real)?;
            let missing = missing.into_iter().filter(|one| !directories.contains(one));
            directories.extend(missing.collect::<Vec<_>>());
        }
        files.push(UnfinishedFile {
            real: change.real.clone(),
            before: change.before().map(str::to_owned),
            after: change.after().map(str::to_owned),
            mode: change.mode(),
            staged: file::staged(&change.real)?,
        });
    }
    Ok(Unfinished { files, directories })
}

fn make(plan: &Plan, unfinished: &Unfinished) -> Result<(), Error> {
    for directory in &unfinished.directories {
        match fs::create_dir(directory) {
            // Somebody else has made it just now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.map_err(Error::io("cannot make the directory", directory))?,
        }
    }
    reach(Step::DirectoriesMade);
    for file in &unfinished.files {
        if let Some(text) = &file.after {
            stage(file, text)?;
        }
    }
    reach(Step::Staged);
    // Somebody may have written to a file while the texts were staged.
    plan.changes.iter().try_for_each(Change::check_unchanged)?;
    for file in &unfinished.files {
        match &file.after {
            Some(_) => file::publish(&file.staged, &file.real)?,
            None => file::remove(&file.real)?,
        }
        reach(Step::Replaced);
    }
    for directory in plan.emptied.iter().rev() {
        file::remove_directory(directory);
    }
    reach(Step::AllReplaced);
    Ok(())
}

/// Restores every file that is as the unfinished change left it. A file that somebody has changed since stays.
fn roll_back(locked: &Locked<'_>, journal: &Journal) -> Result<(), Error> {
    let unfinished = journal.unfinished.clone().unwrap_or_default();
    for file in &unfinished.files {
        file::remove(&file.staged)?;
    }
    for file in unfinished.files.iter().rev() {
        restore(file)?;
    }
    for directory in unfinished.directories.iter().rev() {
        file::remove_directory(directory);
    }
    locked.save(&journal.clone().with_unfinished(None))
}

fn restore(file: &UnfinishedFile) -> Result<(), Error> {
    let now = file::read(&file.real)?.map(|now| now.text);
    if !file.is_restored(now.as_deref()) {
        return Ok(());
    }
    let Some(text) = &file.before else {
        return file::remove(&file.real);
    };
    for directory in file::missing_directories(&file.real)? {
        fs::create_dir(&directory).map_err(Error::io("cannot make the directory", &directory))?;
    }
    stage(file, text)?;
    file::publish(&file.staged, &file.real)
}

fn stage(file: &UnfinishedFile, text: &str) -> Result<(), Error> {
    file::stage(&file.staged, text, file.mode, Some(&file.real))
        .map_err(Error::io("cannot write", &file.real))
}
