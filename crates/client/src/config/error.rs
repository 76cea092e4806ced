//! What can be wrong with a configuration: where, and what to write instead.

use outlive_api::request::BadVariablePattern;
use outlive_core::label::BadLabel;
use outlive_core::place::BadPlace;
use outlive_core::units::BadUnit;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the configuration is refused: the file, the line, and what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum BadConfig {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", .file.display())]
    Unreadable {
        /// The configuration file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Other users can change the file.
    #[error("other users can change the configuration {}, which names commands that run as you; make it your own, and run `chmod o-w` on it", .0.display())]
    Exposed(PathBuf),
    /// The file is not valid TOML.
    #[error("{}:{line}: not valid TOML: {message}", .file.display())]
    Syntax {
        /// The configuration file.
        file: PathBuf,
        /// The line in the file, counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A table has a key that does not exist.
    #[error("{}:{line}: no key {key:?}; the keys here are {}", .file.display(), .known.join(", "))]
    UnknownKey {
        /// The configuration file.
        file: PathBuf,
        /// The line in the file, counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// The keys that this table may have.
        known: Vec<&'static str>,
    },
    /// The value of a key cannot be used.
    #[error("{}:{line}: {key}: {why}", .file.display())]
    Wrong {
        /// The configuration file.
        file: PathBuf,
        /// The line in the file, counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// Why its value cannot be used.
        why: ValueError,
    },
}

/// Why a value cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValueError {
    /// The value is not a text. Holds the type that it has.
    #[error("expected a text in quotes, found {0}")]
    NotText(&'static str),
    /// The value is not a duration. Holds the type that it has.
    #[error("expected a duration such as \"30s\", \"5m\" or \"2h\", found {0}")]
    NotDuration(&'static str),
    /// The text is not a valid duration or size.
    #[error(transparent)]
    Unit(#[from] BadUnit),
    /// The duration is 0.
    #[error("must be longer than 0; write \"30s\", \"5m\" or \"2h\"")]
    NoTime,
    /// The duration is longer than this limit.
    #[error("must not be longer than {}", outlive_core::units::show_duration(*.0))]
    TooLong(Duration),
    /// The value is not a whole number from 1 on.
    #[error("expected a whole number from 1 to {}, without quotes", u32::MAX)]
    NotCount,
    /// The value is not a whole number.
    #[error("expected a whole number from 0 to {}, without quotes", u32::MAX)]
    NotNumber,
    /// The value is not a size. Holds the type that it has.
    #[error("expected a size such as \"500M\" or \"10G\", found {0}")]
    NotSize(&'static str),
    /// The value is neither true nor false. Holds the type that it has.
    #[error("expected true or false, found {0}; write it without quotes")]
    NotFlag(&'static str),
    /// The text is not the name or pattern of a variable.
    #[error(transparent)]
    Variable(#[from] BadVariablePattern),
    /// The value is not a table.
    #[error("expected a table, found {found}; write [{key}] on a line of its own")]
    NotTable {
        /// The key.
        key: &'static str,
        /// The type that its value has.
        found: &'static str,
    },
    /// The value of this key is not a list of tables.
    #[error("expected a list of tables; write [[{0}]] above each")]
    NotTables(&'static str),
    /// A key is missing. Holds an example of it.
    #[error("missing; add {0}")]
    Missing(&'static str),
    /// The text is not one of those that are allowed.
    #[error("{found:?} is not one of {choices}")]
    NoChoice {
        /// The text.
        found: String,
        /// The texts that are allowed.
        choices: &'static str,
    },
    /// The text cannot be used as a name.
    #[error("{text:?} cannot be used as a name: {reason}")]
    Label {
        /// The text.
        text: String,
        /// Why it cannot be used.
        reason: BadLabel,
    },
    /// Another doorbell has this name.
    #[error("another doorbell has the name {0:?}; give each a name of its own")]
    Twice(String),
    /// This name is reserved.
    #[error(
        "the name {0:?} is reserved for the command that a job runs at its end; choose another name"
    )]
    Reserved(String),
    // Not shown: knowing the address may be enough to use somebody's webhook.
    /// The text is not the address of a web server.
    #[error("this is not the address of a web server; write \"https://host/path\"")]
    NotUrl,
    // Not shown: it may be the secret itself.
    /// The text is not the name of an environment variable.
    #[error(
        "this is not the name of an environment variable; name the one that holds the secret, such as \"OPS_SECRET\""
    )]
    NotVariable,
    /// The path is not absolute.
    #[error("{} is not an absolute path; begin with /", .0.display())]
    NotAbsolute(PathBuf),
    /// The secret is given twice, directly and by a variable.
    #[error("secret_env is set as well; keep one of the two")]
    TwoSecrets,
    /// The command is empty or contains a NUL byte.
    #[error("the command is empty or contains a NUL byte; write the command that `sh -c` runs")]
    NoCommand,
    /// The text cannot be the name of a place.
    #[error("{0:?} cannot be the name of a place; use letters, digits, - and _")]
    NotPlaceName(String),
    /// The name is that of this machine.
    #[error("\"local\" is this machine; choose another name")]
    LocalPlace,
    /// The text is not the address of a place.
    #[error("{0:?} is not an address; write \"ssh:HOST\", \"docker:NAME\" or \"cmd:COMMAND\"")]
    NotAddress(String),
    /// The words of a command cannot be told apart.
    #[error("a quote is not closed")]
    OpenQuote,
    /// The text is no address of a known kind.
    #[error(transparent)]
    Place(BadPlace),
    /// A place is to be reached through one that is not configured.
    #[error("no place {0:?} is configured to go through; add [place.{0}]")]
    NoSuchVia(String),
    /// A place is to be reached through itself, perhaps through others.
    #[error("the way through {0:?} leads back to this place")]
    ViaItself(String),
    /// The text cannot be a directory at a place.
    #[error("{0:?} is not a directory that is meant there; begin with / or ~/")]
    NotFarDirectory(PathBuf),
    // The value is not shown: it may be a secret.
    /// A variable cannot be set like this.
    #[error(
        "the variable {0:?} cannot be set: its name is empty or contains =, or there is a NUL byte"
    )]
    BadVariable(String),
}
