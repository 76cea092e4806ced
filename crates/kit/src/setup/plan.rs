//! Works out what setup would change, and then changes it.

use super::file::{self, Contents, Real};
use super::json::Bad;
use super::places::{Places, Target};
use super::{Action, Refused, Scope};
use crate::agent::Agent;
use crate::error::Error;
use std::path::{Path, PathBuf};

/// The changes that setup would make.
#[derive(Debug, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// What a person should know in addition.
    pub notes: Vec<String>,
}

/// The change of one file.
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    /// The real path, if links lead elsewhere.
    pub elsewhere: Option<PathBuf>,
    /// Nothing in the file is ours yet, so setup asks the user first.
    pub is_foreign: bool,
    base: PathBuf,
    real: PathBuf,
    old: Option<Contents>,
    new: Option<String>,
    backup: Backup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backup {
    Leave,
    Make,
    Remove,
}

impl Change {
    /// The current text; `None` if there is no file.
    pub fn before(&self) -> Option<&str> {
        self.old.as_ref().map(|old| old.text.as_str())
    }

    /// The new text; `None` if the file will be removed.
    pub fn after(&self) -> Option<&str> {
        self.new.as_deref()
    }

    fn is_none(&self) -> bool {
        self.before() == self.after()
    }

    /// Applies the change, unless somebody has changed the file meanwhile.
    pub(crate) fn apply(&self) -> Result<(), Error> {
        let now = file::read(&self.real)?;
        if now.as_ref().map(|now| now.text.as_str()) != self.before() {
            return Err(Refused::Changed(self.path.clone()).into());
        }
        let backup = file::backup(&self.path);
        if let (Backup::Make, Some(old)) = (self.backup, &self.old) {
            file::write(&backup, &old.text, Some(old))?;
        }
        match &self.new {
            Some(text) => file::write(&self.real, text, self.old.as_ref())?,
            None => file::remove(&self.base, &self.real)?,
        }
        if self.backup == Backup::Remove {
            file::remove(&self.base, &backup)?;
        }
        Ok(())
    }
}

/// Works out every change. Reads all files and writes none.
pub fn plan(
    places: &Places,
    agents: &[Agent],
    scope: &Scope,
    action: Action,
) -> Result<Plan, Error> {
    if let Scope::Project(root) = scope
        && !root.is_dir()
    {
        return Err(Refused::NoProject(root.clone()).into());
    }
    let mut plan = Plan::default();
    for agent in agents {
        for target in places.targets(*agent, scope) {
            plan.add(&target, action)?;
        }
        for note in places.notes(*agent, scope) {
            if action == Action::Write && !plan.notes.contains(&note) {
                plan.notes.push(note);
            }
        }
    }
    plan.changes.retain(|change| !change.is_none());
    Ok(plan)
}

impl Plan {
    /// Adds the change of one file, on top of what another agent changes in it.
    fn add(&mut self, target: &Target, action: Action) -> Result<(), Error> {
        let real = file::real(&target.base, &target.path)?;
        let index = self
            .changes
            .iter()
            .position(|change| change.real == real.path);
        let index = match index {
            Some(index) => index,
            None => {
                self.changes.push(unchanged(target, real)?);
                self.changes.len() - 1
            }
        };
        let change = &mut self.changes[index];
        let bad = |bad: Bad| Refused::DoesNotParse {
            path: target.path.clone(),
            line: bad.line,
            reason: bad.reason,
        };
        let text = change.new.clone();
        let is_in = |text: &str| target.piece.is_in(text);
        let had_ours = text.as_deref().map(is_in).transpose().map_err(bad)?;
        let had_ours = had_ours.unwrap_or(false);
        match action {
            Action::Write => {
                change.is_foreign |= change.old.is_some() && !had_ours && text == change.old_text();
                change.new = Some(
                    target
                        .piece
                        .put(text.as_deref().unwrap_or_default())
                        .map_err(bad)?,
                );
                if change.is_foreign {
                    change.backup = Backup::Make;
                }
            }
            Action::Undo if had_ours => {
                let original = file::read(&file::backup(&target.path))?;
                let original = original.as_ref().map(|backup| backup.text.as_str());
                let left = target
                    .piece
                    .take(text.as_deref().unwrap_or_default(), original)
                    .map_err(bad)?;
                let has_more = left.as_deref().map(|text| target.piece.is_in(text));
                if original.is_some() && has_more != Some(Ok(true)) {
                    change.backup = Backup::Remove;
                }
                change.new = left;
            }
            Action::Undo => {}
        }
        Ok(())
    }
}

fn unchanged(target: &Target, real: Real) -> Result<Change, Error> {
    let old = file::read(&real.path)?;
    Ok(Change {
        path: target.path.clone(),
        elsewhere: real.is_elsewhere.then(|| real.path.clone()),
        is_foreign: false,
        base: real_base(&target.base),
        new: old.as_ref().map(|old| old.text.clone()),
        real: real.path,
        old,
        backup: Backup::Leave,
    })
}

fn real_base(base: &Path) -> PathBuf {
    base.canonicalize().unwrap_or_else(|_| base.to_owned())
}

impl Change {
    fn old_text(&self) -> Option<String> {
        self.old.as_ref().map(|old| old.text.clone())
    }
}
