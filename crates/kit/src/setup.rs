//! Sets up an agent: adds the MCP entry, the hooks and a few lines of instructions.
//!
//! ```text
//!   profile: which pieces go into which files ─► plan: each file before and after ─► apply
//! ```
//!
//! | module | contains |
//! |---|---|
//! | `places` | the files of an agent that setup changes; the agent's profile names them |
//! | `piece` | adds one thing to a file's text and removes it again |
//! | `json`, `toml`, `block` | do the same for each kind of file |
//! | `plan` | what would change; nothing is changed yet |
//! | `file` | atomic reads and writes, backups, links |
//!
//! Setup reads and parses every file before it writes any. If a file has not changed since,
//! undoing the setup restores its bytes exactly. Otherwise it removes what is ours and leaves the rest.
//! The backup holds the file as it was before; a file without a backup was made by setup.

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
    /// For this user, everywhere.
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
    #[error("these files are yours, and outlive has not written to them before: {}; pass --yes to change them, or --dry-run to see the changes", show(.0))]
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
    /// Whether another request could succeed.
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
