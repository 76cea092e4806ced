//! Running one command line somewhere else and being given its text: what all one-shot places can do, and nothing more.

use crate::places::Unreached;
use std::time::Duration;

/// A way to run one command line at a place.
///
/// It may be used by several threads at once, unless it says that the place does one thing at a time.
pub trait Execute: Send + Sync {
    /// Runs it and returns what it printed. If that fails, it may have been run, or may be running.
    fn execute(&self, execution: &Execution<'_>) -> Result<Text, Failed>;

    /// What this way can do. It may have to ask the place.
    fn nature(&self) -> Result<Nature, Unreached>;
}

/// One command line, for a shell.
#[derive(Debug)]
pub struct Execution<'a> {
    pub command: &'a str,
    /// What the command gets besides, in the way of [`Nature::private`], so that others there do not see it.
    pub private: Option<&'a str>,
    /// After this time it may be given up.
    pub limit: Duration,
}

/// What a way to execute can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// A command that runs keeps the place from everything else, so none should wait there for long.
    pub is_serial: bool,
    /// How the command gets what others there must not see. If there is no way, everybody there can see it.
    pub private: Option<Private>,
}

/// A way for what others must not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// The standard input of the command.
    Input,
    /// This variable of its environment, which then has no other one.
    Variable(&'static str),
}

/// What was printed, perhaps with more around it, perhaps cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pub output: Vec<u8>,
    /// Why there may be no answer in it: errors, an exit code, a time limit.
    pub remark: String,
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Nobody executes anything there now. Asking again at once does not help.
    Unreached(Unreached),
    /// It took too long.
    TimedOut,
    /// Anything else, in words. Another attempt may go better.
    Broken(String),
}
