//! Doorbells: commands that are run when a job has ended.
//!
//! A doorbell stands in the spec as a plain command, whatever kind it has in the configuration, so
//! that a keeper needs no network and no configuration to ring it. It gets the event as JSON on its
//! standard input; ending with 0 means that it rang. Nothing secret is in here.
//!
//! ```text
//! attempt 1 ──fails──► 1 s ──► 2 ──fails──► 5 s ──► 3 … 10 min ──► 6 ──fails──► given up
//! ```

use crate::os_text::OsText;
use crate::outcome::Outcome;
use crate::state::State;
use serde::{Deserialize, Serialize};

/// What a keeper runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doorbell {
    /// What people call it.
    pub name: String,
    pub argv: Vec<OsText>,
    #[serde(default)]
    pub on: On,
    /// How long it may take; then it is killed, and has failed.
    #[serde(default = "default_timeout_ms", skip_serializing_if = "is_default")]
    pub timeout_ms: u64,
}

/// Long enough for what a person would run by hand and wait for.
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// A keeper stays for a doorbell, so not for ever.
pub const MAX_TIMEOUT_MS: u64 = 600_000;

fn default_timeout_ms() -> u64 {
    DEFAULT_TIMEOUT_MS
}

fn is_default(timeout_ms: &u64) -> bool {
    *timeout_ms == DEFAULT_TIMEOUT_MS
}

impl Doorbell {
    /// How long one ring may take, in milliseconds.
    pub fn time_ms(&self) -> u64 {
        self.timeout_ms.min(MAX_TIMEOUT_MS)
    }
}

/// Which ends it rings for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Every one.
    #[default]
    End,
    /// Every one that is not a success; not knowing is none.
    Failure,
}

impl On {
    pub fn rings_for(self, outcome: &Outcome) -> bool {
        match self {
            On::End => true,
            On::Failure => !outcome.is_success(),
        }
    }
}

/// What is waited before each attempt, in milliseconds. A receiver that restarts is met within
/// seconds, one that is deployed anew within minutes; after that, the inbox still knows.
const WAITS_MS: [u64; 6] = [0, 1_000, 5_000, 30_000, 120_000, 600_000];

/// When to try again, on the clock of `failed_at_boot_ms`, after so many attempts have failed; `None`
/// when it is given up.
pub fn next_try(failed_attempts: u32, failed_at_boot_ms: u64) -> Option<u64> {
    let wait = WAITS_MS.get(usize::try_from(failed_attempts).ok()?)?;
    Some(failed_at_boot_ms.saturating_add(*wait))
}

/// How a doorbell stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Rung,
    /// It failed too often, or nobody was left to ring it; why it did not ring the last time.
    GivenUp {
        failure: String,
    },
    /// It is to be rung then, in milliseconds since boot; why it failed before, if it did.
    Waiting {
        at: u64,
        failure: Option<String>,
    },
}

/// How a doorbell of an ended job stands; `None` where it does not ring for this end.
pub fn standing(state: &State, bell: &Doorbell, now: u64) -> Option<Standing> {
    let outcome = &state.end()?.outcome;
    if !bell.on.rings_for(outcome) {
        return None;
    }
    let mut tries = state
        .signs
        .rings
        .iter()
        .filter(|ring| ring.doorbell == bell.name);
    let failed = tries.clone().count() as u32;
    let standing = match tries.next_back() {
        None => Standing::Waiting {
            at: now,
            failure: None,
        },
        Some(last) => match &last.failure {
            None => Standing::Rung,
            // A moment that is still to come was another boot's.
            Some(failure) => match next_try(failed, last.at.boot_ms.min(now)) {
                Some(at) => Standing::Waiting {
                    at,
                    failure: Some(failure.clone()),
                },
                None => Standing::GivenUp {
                    failure: failure.clone(),
                },
            },
        },
    };
    Some(match standing {
        // It was closed by somebody who could start no keeper.
        Standing::Waiting { failure, .. } if state.is_final() => Standing::GivenUp {
            failure: failure.unwrap_or_else(|| UNKEPT.to_owned()),
        },
        standing => standing,
    })
}

const UNKEPT: &str = "no keeper could be started to ring it";

/// Whether one of these is still to be rung for a job that has ended.
pub fn any_waits(state: &State, bells: &[Doorbell], now: u64) -> bool {
    let waits = |bell| matches!(standing(state, bell, now), Some(Standing::Waiting { .. }));
    bells.iter().any(waits)
}

/// Whether that is all that is left of an ended job.
pub fn only_rings(state: &State, bells: &[Doorbell], now: u64) -> bool {
    state.lingering() == 0 && any_waits(state, bells, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_attempts_then_given_up() {
        let mut now = 1_000;
        let mut waited = Vec::new();
        for failed in 0.. {
            let Some(next) = next_try(failed, now) else {
                break;
            };
            waited.push((next - now) / 1000);
            now = next;
        }
        assert_eq!(waited, [0, 1, 5, 30, 120, 600]);
        assert_eq!(next_try(6, 0), None);
        assert_eq!(next_try(u32::MAX, 0), None);
        assert_eq!(next_try(5, u64::MAX), Some(u64::MAX));
    }

    #[test]
    fn not_knowing_is_no_success() {
        let lost = Outcome::Lost {
            reason: "nobody saw it".to_owned(),
        };
        for (outcome, on_failure) in [
            (Outcome::Exited { code: 0 }, false),
            (Outcome::Exited { code: 1 }, true),
            (lost, true),
        ] {
            assert!(On::End.rings_for(&outcome));
            assert_eq!(On::Failure.rings_for(&outcome), on_failure, "{outcome:?}");
        }
    }

    /// Specs are read for ever: this is what they say.
    #[test]
    fn its_json_is_fixed() {
        let json = r#"{"name":"on-end","argv":["sh","-c","date"],"on":"failure"}"#;
        let bell: Doorbell = serde_json::from_str(json).expect("it is one");
        assert_eq!(bell.on, On::Failure);
        assert_eq!(serde_json::to_string(&bell).expect("encodes"), json);
        assert_eq!(bell.time_ms(), DEFAULT_TIMEOUT_MS);
        let json = r#"{"name":"slow","argv":["x"],"on":"end","timeout_ms":9999999999}"#;
        let bell: Doorbell = serde_json::from_str(json).expect("it is one");
        assert_eq!(bell.time_ms(), MAX_TIMEOUT_MS);
        assert_eq!(serde_json::to_string(&bell).expect("encodes"), json);
    }
}
