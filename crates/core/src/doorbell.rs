//! Doorbells: commands that are run when a job has ended.
//!
//! The spec stores each doorbell as a plain command, whatever its kind in the configuration. So a
//! keeper needs neither network access nor configuration to ring it. The command gets the event as JSON
//! on its standard input; exit code 0 means that it rang. The spec stores no secrets.
//!
//! ```text
//! attempt 1 ──fails──► 1 s ──► 2 ──fails──► 5 s ──► 3 … 10 min ──► 6 ──fails──► given up
//! ```

use crate::clocks::BootTime;
use crate::defaults::{DOORBELL_TIMEOUT, milliseconds};
use crate::os_text::OsText;
use crate::state::State;
pub use outlive_api::notify::RingsOn;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A command that a keeper runs when the job has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doorbell {
    /// What people call it.
    pub name: String,
    pub argv: Vec<OsText>,
    #[serde(default)]
    pub on: RingsOn,
    /// The time limit of one attempt. A command that takes longer is killed and has failed.
    #[serde(default = "default_timeout_ms", skip_serializing_if = "is_default")]
    pub timeout_ms: u64,
}

/// A keeper stays alive for its doorbells, so there must be a limit.
pub const MAX_TIMEOUT_MS: u64 = 600_000;

fn default_timeout_ms() -> u64 {
    milliseconds(DOORBELL_TIMEOUT)
}

fn is_default(timeout_ms: &u64) -> bool {
    *timeout_ms == milliseconds(DOORBELL_TIMEOUT)
}

impl Doorbell {
    /// How long one ring may take.
    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.min(MAX_TIMEOUT_MS))
    }
}

/// The pause before each attempt, in seconds. They reach a receiver that restarts within seconds,
/// and one that is deployed again within minutes. After that, the event still waits in the inbox.
const WAITS: [u64; 6] = [0, 1, 5, 30, 120, 600];

/// When to retry after this many failed attempts, or `None` after the last attempt.
pub fn next_try(failed_attempts: u32, failed_at: BootTime) -> Option<BootTime> {
    let wait = WAITS.get(usize::try_from(failed_attempts).ok()?)?;
    Some(failed_at + Duration::from_secs(*wait))
}

/// The state of a doorbell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingState {
    Rung,
    /// It failed too often, or no keeper was left to ring it. Holds the last failure.
    GivenUp {
        failure: String,
    },
    /// It will ring then. Holds the last failure, if any.
    Waiting {
        at: BootTime,
        failure: Option<String>,
    },
}

/// The state of an ended job's doorbell; `None` if it does not ring for this outcome.
pub fn standing(state: &State, bell: &Doorbell, now: BootTime) -> Option<RingState> {
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
        None => RingState::Waiting {
            at: now,
            failure: None,
        },
        Some(last) => match &last.failure {
            None => RingState::Rung,
            // A moment in the future belongs to another boot.
            Some(failure) => match next_try(failed, last.at.boot.min(now)) {
                Some(at) => RingState::Waiting {
                    at,
                    failure: Some(failure.clone()),
                },
                None => RingState::GivenUp {
                    failure: failure.clone(),
                },
            },
        },
    };
    Some(match standing {
        // A process that could not start a keeper closed the job.
        RingState::Waiting { failure, .. } if state.is_final() => RingState::GivenUp {
            failure: failure.unwrap_or_else(|| UNKEPT.to_owned()),
        },
        standing => standing,
    })
}

const UNKEPT: &str = "no keeper could be started to ring it";

/// Whether one of these doorbells of an ended job still has to ring.
pub fn any_waits(state: &State, bells: &[Doorbell], now: BootTime) -> bool {
    let waits = |bell| matches!(standing(state, bell, now), Some(RingState::Waiting { .. }));
    bells.iter().any(waits)
}

/// Whether ringing doorbells is all that is left to do for an ended job.
pub fn only_rings(state: &State, bells: &[Doorbell], now: BootTime) -> bool {
    state.lingering() == 0 && any_waits(state, bells, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;

    #[test]
    fn six_attempts_then_given_up() {
        let mut now = BootTime::from_ms(1_000);
        let mut waited = Vec::new();
        for failed in 0.. {
            let Some(next) = next_try(failed, now) else {
                break;
            };
            waited.push(next.since(now).as_secs());
            now = next;
        }
        assert_eq!(waited, [0, 1, 5, 30, 120, 600]);
        assert_eq!(next_try(6, BootTime::default()), None);
        assert_eq!(next_try(u32::MAX, BootTime::default()), None);
        let last = BootTime::from_ms(u64::MAX);
        assert_eq!(next_try(5, last), Some(last));
    }

    #[test]
    fn an_unknown_outcome_is_no_success() {
        let lost = Outcome::Lost {
            reason: "nobody saw it".to_owned(),
        };
        for (outcome, on_failure) in [
            (Outcome::Exited { code: 0 }, false),
            (Outcome::Exited { code: 1 }, true),
            (lost, true),
        ] {
            assert!(RingsOn::End.rings_for(&outcome));
            assert_eq!(
                RingsOn::Failure.rings_for(&outcome),
                on_failure,
                "{outcome:?}"
            );
        }
    }

    /// Specs of old jobs stay readable, so this JSON must not change.
    #[test]
    fn the_json_of_a_doorbell_never_changes() {
        let json = r#"{"name":"on-end","argv":["sh","-c","date"],"on":"failure"}"#;
        let bell: Doorbell = serde_json::from_str(json).expect("it is one");
        assert_eq!(bell.on, RingsOn::Failure);
        assert_eq!(serde_json::to_string(&bell).expect("encodes"), json);
        assert_eq!(bell.time_limit(), DOORBELL_TIMEOUT);
        let json = r#"{"name":"slow","argv":["x"],"on":"end","timeout_ms":9999999999}"#;
        let bell: Doorbell = serde_json::from_str(json).expect("it is one");
        assert_eq!(bell.time_limit(), Duration::from_millis(MAX_TIMEOUT_MS));
        assert_eq!(serde_json::to_string(&bell).expect("encodes"), json);
    }
}
