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
//! | `transaction` | makes all changes of a plan, or none |
//! | `journal` | what setup wrote and what was there before |
//! | `older` | what setup wrote before it kept a journal |
//! | `switch` | settings of an agent that switch off what setup writes |
//! | `file` | reads, writes and links |
//!
//! Setup reads and checks every file before it writes any. Undo removes only what the journal names. If a file has
//! not changed since, that restores its bytes exactly. Otherwise it removes what is ours and leaves the rest.

mod block;
mod diff;
mod file;
mod journal;
pub(crate) mod json;
mod older;
pub(crate) mod piece;
mod places;
mod plan;
pub(crate) mod switch;
mod toml;
mod transaction;

pub use diff::diff;
pub use places::Places;
pub use plan::{Change, Plan, Request, UNFINISHED, plan};
pub use transaction::{apply, recover};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// For whom an agent is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    #[error("{} cannot be written to: its mode forbids it; `chmod u+w` it if setup may change it; nothing was changed", .0.display())]
    ReadOnly(PathBuf),
    #[error("{} belongs to another user (number {owner}); run setup as that user; nothing was changed", .path.display())]
    OtherOwner { path: PathBuf, owner: u32 },
    #[error("setup did not write these, and replaces them only if you say so: {}; remove or rename them, or pass --replace; nothing was changed", .0.join(", "))]
    Foreign(Vec<String>),
    #[error("{} was written by a newer version of outlive; use that version", .0.display())]
    NewerJournal(PathBuf),
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
        matches!(
            self,
            Refused::NeedsYes(_) | Refused::NoProject(_) | Refused::Foreign(_)
        )
    }

    fn not_a_file(path: &Path, what: &'static str) -> Refused {
        Refused::NotAFile {
            path: path.to_owned(),
            what,
        }
    }
}
