//! Why nobody was reached at a place. None of these says anything about the jobs there.

use std::fmt;

/// Why nobody was reached.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreached {
    /// The transport ended, or said why it cannot: its last words.
    Refused(String),
    /// No answer came in time.
    TimedOut,
    /// The transport says that what the address names does not exist.
    NoSuchInstance(String),
    /// It exists and does not run now; so nothing runs in it.
    Stopped(String),
    /// We may not: no key, a wrong password, an unknown host key.
    Denied(String),
    /// No program of ours can run there: another machine type, or no directory for it.
    NoProgram(String),
    /// Another machine or another home answers to the address.
    OtherInstance(String),
    /// What answers is not our program, or is of another version.
    NotUnderstood(String),
    /// The courier here could not be started.
    NoCourier(String),
}

impl Unreached {
    /// Whether the next attempt, made at once, may go better.
    pub fn may_pass(&self) -> bool {
        match self {
            Unreached::Refused(_) | Unreached::TimedOut | Unreached::NotUnderstood(_) => true,
            Unreached::NoSuchInstance(_)
            | Unreached::Stopped(_)
            | Unreached::Denied(_)
            | Unreached::NoProgram(_)
            | Unreached::OtherInstance(_)
            | Unreached::NoCourier(_) => false,
        }
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreached::TimedOut => out.write_str("no answer in time"),
            Unreached::Refused(why)
            | Unreached::NoSuchInstance(why)
            | Unreached::Stopped(why)
            | Unreached::Denied(why)
            | Unreached::NoProgram(why)
            | Unreached::OtherInstance(why)
            | Unreached::NotUnderstood(why)
            | Unreached::NoCourier(why) => out.write_str(why),
        }
    }
}
