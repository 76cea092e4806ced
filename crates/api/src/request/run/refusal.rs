//! What a request to start a job is refused for.

use crate::defaults::{MAX_PATTERNS, MIN_OUTPUT};
use crate::label::BadLabel;
use crate::labels::BadLabels;
use crate::limits::BadLimit;
use crate::ready::BadReady;
use crate::request::environment::BadVariablePattern;
use crate::restart::BadRestart;
use crate::terminal::BadSize;
use crate::waiting::BadQueue;
use serde::{Serializer, ser};

/// A name, session, task, lock or sign that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    /// A name, session, task or lock.
    #[error("{what} {text:?} cannot be used: {reason}")]
    Label {
        /// Which of them.
        what: &'static str,
        /// The text.
        text: String,
        /// Why it was refused.
        reason: BadLabel,
    },
    /// A sign of readiness.
    #[error(transparent)]
    Ready(BadReady),
    /// A queue.
    #[error(transparent)]
    Queue(BadQueue),
    /// The size of the terminal.
    #[error(transparent)]
    Size(BadSize),
    /// When the command is run again.
    #[error(transparent)]
    Restart(BadRestart),
    /// A job with input cannot be restarted.
    #[error(
        "a job that reads from a pipe or a terminal cannot be restarted: what was written to one attempt would be lost or reach the next; give it no input, or no restart"
    )]
    RestartWithInput,
    /// The name or pattern of a variable.
    #[error(transparent)]
    Variable(BadVariablePattern),
    /// A limit or a time that is 0.
    #[error("{0} must be more than 0")]
    Zero(&'static str),
    /// A label, or too many of them.
    #[error(transparent)]
    Labels(#[from] BadLabels),
    /// A pattern without text would match every line.
    #[error("a pattern to watch for must not be empty")]
    EmptyPattern,
    /// Looking back for nothing.
    #[error("there is no pattern to look for in the output that is kept; give one")]
    NothingToLookFor,
    /// A command that would be shown as nothing.
    #[error("the text to show in place of the command must not be empty")]
    EmptyShownAs,
    /// More patterns than a keeper can look for.
    #[error(
        "{0} patterns are too many to watch for; give at most {MAX_PATTERNS}, or join some to one regular expression"
    )]
    Patterns(usize),
    /// A terminal is one stream.
    #[error(
        "a terminal is one stream, so the streams of a job with a terminal cannot be split; start it without a terminal"
    )]
    SplitTerminal,
    /// A limit on what it may use.
    #[error(transparent)]
    Limit(BadLimit),
    /// Not a number of processors.
    #[error("{0}")]
    Cpus(String),
    /// A limit of the output.
    #[error(
        "{0} bytes is too small for the output; give at least {MIN_OUTPUT} bytes, or 0 to keep all"
    )]
    SmallOutput(u64),
}

/// A request with a text that cannot be used must not lose it on its way.
pub(super) fn refuse<S: Serializer>(
    refused: &Option<BadSetting>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match refused {
        Some(refused) => Err(ser::Error::custom(refused)),
        None => to.serialize_none(),
    }
}
