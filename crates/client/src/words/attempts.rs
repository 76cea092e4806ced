//! Phrases for the attempts of a job that is restarted.

use outlive_api::attempt::Attempt;
use outlive_api::job::Job;
use outlive_core::outcome::Outcome;
use outlive_core::quote;

/// What a job waits for between two attempts: ` for attempt 3, at 2026-11-15T08:00:03Z`.
pub(super) fn next(job: &Job) -> String {
    match (job.attempt, job.next_attempt_at) {
        (Some(last), Some(at)) => format!(" for attempt {}, at {at}", last.saturating_add(1)),
        _ => String::new(),
    }
}

/// Which attempt it is, and by which rule others follow: `2, restarts on-failure:3`.
pub fn attempt(job: &Job) -> Option<String> {
    let (attempt, rule) = (job.attempt?, job.restart?);
    let why = job.not_restarted.as_ref();
    let why = why.map_or_else(String::new, |why| {
        format!("; not restarted: {}", quote::line(why))
    });
    Some(format!("{attempt} (restart {rule}){why}"))
}

/// An attempt that has ended, for a list: `1: exited 3, bytes 0 to 20 of the output`.
pub fn ended_attempt(attempt: &Attempt) -> Option<String> {
    let how = match attempt.outcome.as_ref()? {
        Outcome::Exited { code } => format!("exited {code}"),
        Outcome::Signaled { signal, .. } => signal.to_string(),
        Outcome::NotStarted { reason, .. } => format!("not started: {}", quote::line(reason)),
        Outcome::Lost { reason } => format!("lost: {}", quote::line(reason)),
    };
    let by = attempt.ended_by.map_or("", super::cause);
    let at = attempt
        .ended_at
        .map_or_else(String::new, |at| format!(" at {at}"));
    Some(format!("{}: {how}{by}{at}", attempt.number))
}
