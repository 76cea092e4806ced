//! What can be wrong with a configuration: where, and what to write instead.

use outlive_core::label::BadLabel;
use outlive_core::units::BadUnit;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum BadConfig {
    #[error("cannot read the configuration {}: {source}", .file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the configuration {} can be changed by other users, and it names commands that are run as you; own it, and `chmod o-w` it", .0.display())]
    Exposed(PathBuf),
    #[error("{}:{line}: this is not TOML: {message}", .file.display())]
    Syntax {
        file: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{}:{line}: there is no key {key:?}; those there are here: {}", .file.display(), .known.join(", "))]
    UnknownKey {
        file: PathBuf,
        line: usize,
        key: String,
        /// Those there are.
        known: Vec<&'static str>,
    },
    #[error("{}:{line}: {key}: {why}", .file.display())]
    Wrong {
        file: PathBuf,
        line: usize,
        key: String,
        why: Why,
    },
}

/// Why a value cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Why {
    #[error("a text is needed, and this is {0}; write it in quotes")]
    NotText(&'static str),
    #[error("a duration is needed, and this is {0}; write \"30s\", \"5m\" or \"2h\"")]
    NotDuration(&'static str),
    #[error(transparent)]
    Duration(#[from] BadUnit),
    #[error("it must be longer than nothing; write \"30s\", \"5m\" or \"2h\"")]
    NoTime,
    #[error("it is longer than {}, which is the most", outlive_core::units::show_duration(*.0))]
    TooLong(Duration),
    #[error(
        "a whole number from 1 to {} is needed; write it without quotes",
        u32::MAX
    )]
    NotCount,
    #[error("a table is needed, and this is {found}; write [{key}] on a line of its own")]
    NotTable {
        key: &'static str,
        found: &'static str,
    },
    #[error("it is a list of tables; write [[{0}]] above each")]
    NotTables(&'static str),
    #[error("it is missing; add {0}")]
    Missing(&'static str),
    #[error("{found:?} is none of {choices}")]
    NoChoice {
        found: String,
        choices: &'static str,
    },
    #[error("{text:?} cannot be a name: {reason}")]
    Label { text: String, reason: BadLabel },
    #[error("another doorbell is called {0:?}; give each a name of its own")]
    Twice(String),
    #[error("{0:?} is what `run --on-end` is called; choose another name")]
    Reserved(String),
    // Not shown: such a text may be all there is to know for using somebody's webhook.
    #[error("this is no address of a web server; write \"https://host/path\"")]
    NotUrl,
    // Not shown: it may be the secret itself.
    #[error(
        "this cannot be the name of a variable; name the one that holds the secret, such as \"OPS_SECRET\""
    )]
    NotVariable,
    #[error("{} is not an absolute path; begin with /", .0.display())]
    NotAbsolute(PathBuf),
    #[error("there is secret_env as well; keep one of the two")]
    TwoSecrets,
    #[error("it is empty, or has a NUL in it; write the command that `sh -c` is to run")]
    NoCommand,
}
