//! Signal names, and the numbers that Linux gives them.
//!
//! Journals and requests hold names, so that they mean the same on every kernel. The numbers are those
//! of Linux on every machine, also when a user types one or an exit status contains one (128 + 15).
//! Never pass them to another kernel: on macOS, for example, 18 is TSTP, but on Linux 18 is CONT.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One signal, known by its Linux number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Signal(i32);

/// A text that is no [`Signal`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a signal; try a name such as TERM or SIGUSR1, or a number from 1 to 64")]
pub struct BadSignal(String);

const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// The last real-time signal. User programs get those from 34 on.
const LAST: i32 = 64;

impl Signal {
    /// SIGHUP.
    pub const HUP: Signal = Signal(1);
    /// SIGINT.
    pub const INT: Signal = Signal(2);
    /// SIGTERM.
    pub const TERM: Signal = Signal(15);
    /// SIGKILL.
    pub const KILL: Signal = Signal(9);
    /// SIGCONT.
    pub const CONT: Signal = Signal(18);

    /// The signal that Linux gives this number.
    pub fn from_linux_number(number: i32) -> Option<Signal> {
        (1..=LAST).contains(&number).then_some(Signal(number))
    }

    /// Accepts `TERM`, `SIGTERM`, `sigterm` and `15`.
    pub fn parse(text: &str) -> Result<Signal, BadSignal> {
        let bad = || BadSignal(text.to_owned());
        if let Ok(number) = text.parse::<i32>() {
            return Signal::from_linux_number(number).ok_or_else(bad);
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        if let Some(index) = NAMES.iter().position(|n| *n == name) {
            return Ok(Signal(index as i32 + 1));
        }
        name.strip_prefix("RT")
            .and_then(|number| number.parse().ok())
            .and_then(Signal::from_linux_number)
            .ok_or_else(bad)
    }

    /// The number that Linux gives it.
    pub fn linux_number(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize - 1) {
            Some(name) => write!(f, "SIG{name}"),
            None => write!(f, "SIGRT{}", self.0),
        }
    }
}

impl From<Signal> for String {
    fn from(signal: Signal) -> String {
        signal.to_string()
    }
}

impl TryFrom<String> for Signal {
    type Error = BadSignal;
    fn try_from(text: String) -> Result<Signal, BadSignal> {
        Signal::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_a_name_that_reads_back() {
        for number in 1..=LAST {
            let signal = Signal::from_linux_number(number).expect("in range");
            assert_eq!(Signal::parse(&signal.to_string()), Ok(signal));
            assert_eq!(Signal::parse(&number.to_string()), Ok(signal));
        }
    }

    #[test]
    fn text_that_is_no_signal_is_refused() {
        for bad in ["", "0", "65", "-9", "NOPE", "SIG", "RT", "SIGRT99"] {
            assert!(Signal::parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert_eq!(Signal::parse("term"), Ok(Signal::TERM));
    }
}
