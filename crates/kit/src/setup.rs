//! Plugging Outlive into an agent: its MCP entry, its hooks and a few lines of instructions.
//!
//! ```text
//!   profile: which pieces go into which files ─► plan: each file before and after ─► apply
//! ```
//! | module | owns |
//! |---|---|
//! | `places` | which files of an agent setup changes; the agent's profile names them |
//! | `piece` | putting one thing into a file's text and taking it out again |
//! | `json`, `toml`, `block` | the same for each kind of file |
//! | `plan` | what would change, with nothing changed yet |
//! | `file` | reading, writing whole or not at all, backups, links |
//!
//! Nothing is written before everything has been read and found to parse. Taking out gives back the
//! bytes there were, as long as nobody has changed the file since; else it takes out what is ours and
//! leaves the rest. The backup says what was there before: a file without one was made by setup.

mod block;
mod diff;
mod file;
pub(crate) mod json;
pub(crate) mod piece;
mod places;
mod plan;
mod toml;

pub use diff::diff;
pub use places::Places;
pub use plan::{Change, Plan, plan};

use std::path::{Path, PathBuf};

/// For whom an agent is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Wherever this user works.
    User,
    /// For everyone who works in this directory.
    Project(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Write,
    Undo,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{}:{line}: {reason}; nothing was changed", .path.display())]
    DoesNotParse {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("{} is {what}; nothing was changed", .path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{} was changed by somebody else just now; run it again", .0.display())]
    Changed(PathBuf),
    #[error("{} is no directory", .0.display())]
    NoProject(PathBuf),
    #[error("not written by outlive, so not changed without being asked: {}; pass --yes to change them, --dry-run to see how", show(.0))]
    NeedsYes(Vec<PathBuf>),
    #[error("there is no home directory to look in: set HOME")]
    NoHome,
}

fn show(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

impl Refused {
    /// Another way of asking would do.
    pub(crate) fn is_bad_input(&self) -> bool {
        matches!(self, Refused::NeedsYes(_) | Refused::NoProject(_))
    }

    fn not_a_file(path: &Path, what: &'static str) -> Refused {
        Refused::NotAFile {
            path: path.to_owned(),
            what,
        }
    }
}
