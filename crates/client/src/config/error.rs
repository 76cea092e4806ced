//! What can be wrong with a configuration: where, and what to write instead.

use outlive_core::label::BadLabel;
use outlive_core::units::BadUnit;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the configuration is refused: the file, the line, and what to write instead.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the message documents each variant and its fields"
)]
pub enum BadConfig {
    #[error("cannot read the configuration {}: {source}", .file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("other users can change the configuration {}, which names commands that run as you; make it your own, and run `chmod o-w` on it", .0.display())]
    Exposed(PathBuf),
    #[error("{}:{line}: not valid TOML: {message}", .file.display())]
    Syntax {
        file: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{}:{line}: no key {key:?}; the keys here are {}", .file.display(), .known.join(", "))]
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
        why: ValueError,
    },
}

/// Why a value cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the message documents each variant and its fields"
)]
pub enum ValueError {
    #[error("expected a text in quotes, found {0}")]
    NotText(&'static str),
    #[error("expected a duration such as \"30s\", \"5m\" or \"2h\", found {0}")]
    NotDuration(&'static str),
    #[error(transparent)]
    Duration(#[from] BadUnit),
    #[error("must be longer than 0; write \"30s\", \"5m\" or \"2h\"")]
    NoTime,
    #[error("must not be longer than {}", outlive_core::units::show_duration(*.0))]
    TooLong(Duration),
    #[error("expected a whole number from 1 to {}, without quotes", u32::MAX)]
    NotCount,
    #[error("expected a table, found {found}; write [{key}] on a line of its own")]
    NotTable {
        key: &'static str,
        found: &'static str,
    },
    #[error("expected a list of tables; write [[{0}]] above each")]
    NotTables(&'static str),
    #[error("missing; add {0}")]
    Missing(&'static str),
    #[error("{found:?} is not one of {choices}")]
    NoChoice {
        found: String,
        choices: &'static str,
    },
    #[error("{text:?} cannot be used as a name: {reason}")]
    Label { text: String, reason: BadLabel },
    #[error("another doorbell has the name {0:?}; give each a name of its own")]
    Twice(String),
    #[error("the name {0:?} is reserved for `run --on-end`; choose another name")]
    Reserved(String),
    // Not shown: knowing the address may be enough to use somebody's webhook.
    #[error("this is not the address of a web server; write \"https://host/path\"")]
    NotUrl,
    // Not shown: it may be the secret itself.
    #[error(
        "this is not the name of an environment variable; name the one that holds the secret, such as \"OPS_SECRET\""
    )]
    NotVariable,
    #[error("{} is not an absolute path; begin with /", .0.display())]
    NotAbsolute(PathBuf),
    #[error("secret_env is set as well; keep one of the two")]
    TwoSecrets,
    #[error("the command is empty or contains a NUL byte; write the command that `sh -c` runs")]
    NoCommand,
}
