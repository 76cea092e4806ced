//! Calls that bring no answer: whether to try again, when, and what to change.

use crate::places::Unreached;
use outlive_core::quote;
use std::time::Duration;

/// Why a call brought no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another attempt does not help.
    Final(Unreached),
    /// The answer was there, and was cut or changed.
    Damaged,
    /// It took too long, or whoever executed it found so.
    TimedOut,
    /// Anything else: what was said in place of an answer.
    Silent(String),
}

/// The pauses before a call is made again. After the last one, the wire is given up: the courier opens another when somebody
/// wants it.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// Calls that failed, one after the other.
#[derive(Debug, Default)]
pub struct Troubles {
    count: usize,
}

impl Troubles {
    /// A call was answered.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// A call has failed. Returns how long to wait before the next; or why there is none.
    pub fn add(&mut self, trouble: Trouble) -> Result<Duration, Unreached> {
        self.add_of(trouble, PAUSES.len())
    }

    /// The same, with so many attempts.
    pub fn add_of(&mut self, trouble: Trouble, attempts: usize) -> Result<Duration, Unreached> {
        let pause = PAUSES.get(self.count).copied();
        self.count += 1;
        match (trouble, pause.filter(|_| self.count < attempts)) {
            (Trouble::Final(why), _) => Err(why),
            (_, Some(pause)) => Ok(pause),
            (Trouble::TimedOut, None) => Err(Unreached::TimedOut),
            (Trouble::Damaged, None) => Err(Unreached::NotUnderstood(
                "its answers arrive cut or changed, however short they are".to_owned(),
            )),
            (Trouble::Silent(said), None) => Err(Unreached::Refused(match said.as_str() {
                "" => "commands there print nothing".to_owned(),
                said => said.to_owned(),
            })),
        }
    }
}

/// The most of what a place says that is repeated.
const MAX_WORDS: usize = 300;

/// The end of what was said in place of an answer. It is not to be trusted, so it is made harmless.
pub fn words(remark: &str, output: &[u8]) -> String {
    let output = &output[output.len().saturating_sub(4 * MAX_WORDS)..];
    let output = String::from_utf8_lossy(output);
    let text = match remark.trim() {
        "" => output.trim(),
        remark => remark,
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    let visible = quote::line(&last);
    let surplus = visible.chars().count().saturating_sub(MAX_WORDS);
    visible.chars().skip(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_tried_again_some_times_and_then_given_up_with_its_reason() {
        let mut troubles = Troubles::default();
        let silent = || Trouble::Silent("no such container".to_owned());
        for pause in &PAUSES[..PAUSES.len() - 1] {
            assert_eq!(troubles.add(silent()), Ok(*pause));
        }
        let given_up = Unreached::Refused("no such container".to_owned());
        assert_eq!(troubles.add(silent()), Err(given_up));
        troubles.forget();
        assert_eq!(troubles.add(Trouble::Damaged), Ok(Duration::ZERO));
        let gone = Unreached::Stopped("nobody".to_owned());
        assert_eq!(troubles.add(Trouble::Final(gone.clone())), Err(gone));
    }

    #[test]
    fn what_is_repeated_is_short_and_harmless() {
        let noise = format!("{}\u{1b}[31m\nlast\n\n", "x".repeat(9000));
        let said = words("", noise.as_bytes());
        assert!(said.ends_with("; last") && said.len() < 500, "{said}");
        assert!(!said.contains('\u{1b}'));
        assert_eq!(words(" it failed \n", b"noise"), "it failed");
    }
}
