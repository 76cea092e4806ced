//! Decides whether another attempt of a job follows, and when.
//!
//! ```text
//!  attempt ended ─ stopped, success under on-failure, number used up ─────► the job ends with it
//!                ─ else ─ pause: 1 s, doubled after each short attempt ───► next attempt
//! ```
//! A command that never ran is not tried again: a wrong name stays wrong. But if an earlier attempt ran, something else is
//! the cause (a program that is being replaced, for example), so that counts as a failure like any other.

use crate::clocks::BootTime;
use crate::outcome::Outcome;
use crate::state::State;
pub use outlive_api::restart::{BadRestart, Restart};
use std::time::Duration;

/// The pause after the first short attempt.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Pauses grow up to this.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After an attempt that ran this long, the pauses begin again with the first.
pub const LONG_RUN: Duration = Duration::from_secs(30);
/// More restarts would let the journal grow too far: every verb reads it. That is a week of failing once a minute.
pub const MAX_RESTARTS: u32 = 10_000;

/// Why a job was not restarted whose keepers were killed.
pub const UNKNOWN_ENVIRONMENT: &str =
    "its keepers were killed, and with them the environment that the next attempt would need";
/// Why a job was not restarted after the machine was.
pub const MACHINE_RESTARTED: &str = "the machine was restarted before the next attempt";
/// Why a job was not restarted whose container ended.
pub const NAMESPACE_ENDED: &str =
    "the container or PID namespace that it ran in ended before the next attempt";
const TOO_MANY: &str = "it was restarted 10,000 times, which is the most that one job can be";

/// What follows an attempt that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The job ends with it.
    End {
        /// Why, if the rule alone does not say it.
        why: Option<&'static str>,
    },
    /// Another attempt begins then.
    Attempt { at: BootTime },
}

/// The environment of the process that would start the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// The one that the job was started with.
    OfTheJob,
    /// Another one: both keepers were killed, and it is never written to disk.
    Foreign,
}

/// An attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub outcome: &'a Outcome,
    /// How long it ran, if that is known.
    pub duration_ms: Option<u64>,
    pub at: BootTime,
}

/// What follows an attempt that ended so. `state` is the one before that end is recorded.
pub fn next(
    rule: Option<Restart>,
    state: &State,
    ended: Ended<'_>,
    environment: Environment,
) -> Next {
    const OVER: Next = Next::End { why: None };
    let restarts = state.restarts();
    let is_first = restarts == 0;
    let is_wanted = match rule {
        None => false,
        Some(_) if state.is_stopped_for_good() => false,
        Some(_) if is_first && matches!(ended.outcome, Outcome::NotStarted { .. }) => false,
        Some(Restart::Always) => true,
        Some(Restart::OnFailure { max }) => {
            !ended.outcome.is_success() && max.is_none_or(|max| restarts < max)
        }
    };
    match (is_wanted, environment) {
        (false, _) => OVER,
        (true, Environment::Foreign) => Next::End {
            why: Some(UNKNOWN_ENVIRONMENT),
        },
        (true, Environment::OfTheJob) if restarts >= MAX_RESTARTS => Next::End {
            why: Some(TOO_MANY),
        },
        (true, Environment::OfTheJob) => Next::Attempt {
            at: ended.at + pause(short_attempts(state, ended.duration_ms)),
        },
    }
}

/// How many attempts in a row were short, with this one.
fn short_attempts(state: &State, duration_ms: Option<u64>) -> u32 {
    let before = state.attempts.as_ref().map_or(0, |attempts| attempts.short);
    count_short(before, duration_ms)
}

/// Counts an attempt: a long one begins a new row.
pub(crate) fn count_short(before: u32, duration_ms: Option<u64>) -> u32 {
    match duration_ms.map(Duration::from_millis) {
        Some(lasted) if lasted >= LONG_RUN => 0,
        _ => before.saturating_add(1),
    }
}

fn pause(short: u32) -> Duration {
    let doublings = short.saturating_sub(1).min(16);
    (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AttemptEnd, Event, Moment, Record};
    use crate::outcome::{End, NotStarted};
    use crate::process::{BootId, ProcRef};

    fn end(code: i32, lasted_ms: u64) -> End {
        let mut end = End::unseen(Outcome::Exited { code }, 0, 0);
        end.duration_ms = Some(lasted_ms);
        end
    }

    /// A job whose attempts ended so, and of which another attempt runs.
    fn after(ended: &[End]) -> State {
        let mut state = State::default();
        let boot = BootId("b".into());
        let spawned = || Event::Spawned {
            leader: ProcRef { pid: 1, started: 1 },
            output: None,
        };
        let mut events = vec![
            Event::Accepted { boot, host: None },
            spawned(),
            Event::Started,
        ];
        for (number, end) in (1..).zip(ended) {
            events.push(Event::AttemptEnded(AttemptEnd {
                number,
                end: end.clone(),
                next_at: BootTime::from_ms(9),
            }));
            events.extend([spawned(), Event::Started]);
        }
        for (seq, event) in (1..).zip(events) {
            let at = Moment::default();
            state.apply(&Record {
                v: 1,
                seq,
                at,
                event,
            });
        }
        state
    }

    fn follows(rule: Restart, ended: &[End], last: &End) -> Next {
        next(
            Some(rule),
            &after(ended),
            having(last),
            Environment::OfTheJob,
        )
    }

    fn having(end: &End) -> Ended<'_> {
        Ended {
            outcome: &end.outcome,
            duration_ms: end.duration_ms,
            at: BootTime::from_ms(1000),
        }
    }

    fn attempt(after_ms: u64) -> Next {
        Next::Attempt {
            at: BootTime::from_ms(1000 + after_ms),
        }
    }

    const OVER: Next = Next::End { why: None };

    #[test]
    fn a_failure_is_followed_and_a_success_is_not() {
        let rule = Restart::OnFailure { max: None };
        assert_eq!(follows(rule, &[], &end(1, 5)), attempt(1000));
        assert_eq!(follows(rule, &[], &end(0, 5)), OVER);
        assert_eq!(follows(Restart::Always, &[], &end(0, 5)), attempt(1000));
        let lost = Outcome::Lost { reason: "x".into() };
        assert_eq!(follows(rule, &[], &End::unseen(lost, 0, 0)), attempt(1000));
    }

    #[test]
    fn a_command_that_never_ran_is_not_tried_again_unless_it_ran_before() {
        let not_started = Outcome::NotStarted {
            reason: "x".into(),
            cause: NotStarted::NotFound,
        };
        let last = End::unseen(not_started, 0, 0);
        assert_eq!(follows(Restart::Always, &[], &last), OVER);
        assert_eq!(follows(Restart::Always, &[end(1, 5)], &last), attempt(2000));
    }

    #[test]
    fn the_number_of_restarts_is_kept() {
        let rule = Restart::OnFailure { max: Some(2) };
        let failed = end(1, 5);
        let before = vec![failed.clone(); 2];
        assert_eq!(follows(rule, &before[..1], &failed), attempt(2000));
        assert_eq!(follows(rule, &before, &failed), OVER);
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_begin_again_after_a_long_run() {
        let rule = Restart::Always;
        let mut ended = Vec::new();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let Next::Attempt { at } = follows(rule, &ended, &end(1, 5)) else {
                panic!("no attempt follows");
            };
            pauses.push((at.ms() - 1000) / 1000);
            ended.push(end(1, 5));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(follows(rule, &ended, &end(1, 30_000)), attempt(1000));
        ended.push(end(1, 30_000));
        assert_eq!(follows(rule, &ended, &end(1, 5)), attempt(1000));
    }

    #[test]
    fn nothing_is_started_in_an_environment_that_is_not_the_jobs() {
        let state = after(&[]);
        let foreign = |end: &End| {
            next(
                Some(Restart::OnFailure { max: None }),
                &state,
                having(end),
                Environment::Foreign,
            )
        };
        let why = Some(UNKNOWN_ENVIRONMENT);
        assert_eq!(foreign(&end(1, 5)), Next::End { why });
        // There is nothing to explain if none would have followed anyway.
        assert_eq!(foreign(&end(0, 5)), OVER);
    }
}
