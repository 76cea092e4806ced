//! The one place that phrases jobs for people and agents. Every face uses these phrases.
//!
//! What keepers say too (the sentence about an end, numbers with their nouns) is in `outlive_core::words`.

mod resources;

pub use resources::{cpu, limits, usage};

use crate::error::Error;
use crate::random;
use outlive_api::job::{DoorbellState, DoorbellStatus, Job, JobOutput, WaitingFor};
use outlive_core::outcome::{EndedBy, Outcome};
use outlive_core::quote::{self, MAX_WORD};
use outlive_core::units::{show_duration, show_size};
pub use outlive_core::words::{agree, count};
use outlive_core::words::{awaited, left_running};
use outlive_core::{JobId, Label, Millis};

mod attempts;

pub use attempts::{attempt, ended_attempt};

/// The outcome of a job, or its state if it has not ended: `exited 0`, `SIGKILL (stopped)`, `running`.
pub fn outcome(job: &Job) -> String {
    let Some(outcome) = &job.outcome else {
        return match &job.unreachable {
            Some(why) => {
                let since = why.since.map(|at| format!(" since {at}"));
                let last = job.last.as_ref().map(|last| last.state);
                let last = last.filter(|_| since.is_some());
                format!(
                    "{}{}: {}{}",
                    job.state,
                    since.unwrap_or_default(),
                    quote::line(&why.reason),
                    last.map_or_else(String::new, |last| format!("; it was {last}"))
                )
            }
            None if job.suspended => format!("{} (suspended)", job.state),
            None => job.state.to_string(),
        };
    };
    let by = job.ended_by.map_or("", cause);
    match outcome {
        Outcome::Exited { code } => format!("exited {code}{by}"),
        Outcome::Signaled {
            signal,
            core_dumped,
        } => {
            let core = if *core_dumped { ", core dumped" } else { "" };
            format!("{signal}{core}{by}")
        }
        Outcome::NotStarted { reason, .. } => format!("not started: {}", quote::line(reason)),
        Outcome::Lost { reason } => format!("lost: {}", quote::line(reason)),
    }
}

fn cause(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Stop => " (stopped)",
        EndedBy::Timeout => " (timed out)",
        EndedBy::Memory => " (out of memory)",
        EndedBy::Place => " (stopped with its foreground process)",
        EndedBy::Itself | EndedBy::Signal | EndedBy::Unknown => "",
    }
}

/// How long it ran, or has run; `-` if that is not known.
pub fn duration(job: &Job) -> String {
    job.duration_ms
        .map_or_else(|| "-".to_owned(), |ms| show_duration(ms.into()))
}

/// A length of time.
pub fn span(time: Millis) -> String {
    show_duration(time.into())
}

/// The state of a job in a few words: outcome or state, time, and what is special about it.
pub fn state(job: &Job) -> String {
    let mut text = outcome(job);
    if let Some(waiting) = &job.waiting_for {
        text.push_str(&waiting_for(waiting));
    }
    text.push_str(&attempts::next(job));
    if job.duration_ms.is_some() && job.next_attempt_at.is_none() {
        let word = if job.has_ended() { "after" } else { "for" };
        text.push_str(&format!(" {word} {}", duration(job)));
    }
    text.push_str(&special(job));
    text
}

/// The same for a column of a table, without the time, the holder of a lock first: a lock may have a long name.
pub fn short_state(job: &Job) -> String {
    let on = match &job.waiting_for {
        None => special(job),
        Some(WaitingFor::Lock {
            lock,
            holder: Some(holder),
        }) => format!(" for {holder} ({})", name(lock)),
        Some(WaitingFor::Lock { lock, holder: None }) => format!(" ({})", name(lock)),
        Some(WaitingFor::Queue {
            queue, position, ..
        }) => format!(", position {position} in {}", name(queue)),
        Some(WaitingFor::After { after }) => format!(" for {}", ids(after)),
    };
    format!("{}{on}", outcome(job))
}

/// Whether a job that runs is ready, if it was started with a sign of that.
pub fn readiness(job: &Job) -> &'static str {
    match job.ready.filter(|_| !job.has_ended()) {
        Some(true) => ", ready",
        Some(false) => ", not ready yet",
        None => "",
    }
}

fn waiting_for(on: &WaitingFor) -> String {
    match on {
        WaitingFor::Lock {
            lock,
            holder: Some(holder),
        } => format!(" for the lock {}, which {holder} has", name(lock)),
        WaitingFor::Lock { lock, holder: None } => format!(" for the lock {}", name(lock)),
        WaitingFor::Queue {
            queue,
            position,
            width,
        } => format!(
            " in the queue {}, position {position}; {width} at once",
            name(queue)
        ),
        WaitingFor::After { after } if after.is_empty() => " for other jobs".to_owned(),
        WaitingFor::After { after } => format!(" for the end of {}", ids(after)),
    }
}

/// The first of these ids, and how many more there are.
fn ids(all: &[JobId]) -> String {
    match all {
        [] => "other jobs".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Long text of a job, between two lines with a key that it cannot know.
pub fn fenced(text: &str) -> Result<String, Error> {
    Ok(quote::fenced(text, &random::token()?))
}

/// A name, session or lock within a sentence.
pub fn name(label: &Label) -> String {
    quote::word(label.as_str(), MAX_WORD)
}

/// The processes that still run after the end, what is unknown because the keeper does not answer, and what
/// the job waits for.
fn special(job: &Job) -> String {
    let left = match job.lingering {
        _ if job.keeper_silent => ", its keeper does not answer".to_owned(),
        None | Some(0) => String::new(),
        Some(number) => format!(", {}", left_running(number.into())),
    };
    let left = match job.adopted {
        Some(_) => format!("{left}, adopted"),
        None => left,
    };
    match job.input_kind {
        None => left,
        Some(kind) => format!("{left}, waits for {}", awaited(kind)),
    }
}

/// The state of a doorbell: `ops rung after 2 attempts`.
pub fn doorbell(bell: &DoorbellStatus) -> String {
    let times = match bell.attempts {
        0 => String::new(),
        attempts => format!(" after {}", count(attempts as u64, "attempt")),
    };
    let state = match (bell.state, bell.attempts) {
        (DoorbellState::Rung, 1) => "rung".to_owned(),
        (DoorbellState::Rung, _) => format!("rung{times}"),
        (DoorbellState::Waiting, 0) => "being rung".to_owned(),
        (DoorbellState::Waiting, _) => format!("to be rung again{times}"),
        (DoorbellState::GivenUp, _) => format!("given up{times}"),
    };
    let failure = match &bell.failure {
        Some(failure) => format!(": {}", one_line(failure)),
        None => String::new(),
    };
    format!("{} {state}{failure}", bell.name)
}

/// The missing parts of an output: dropped because of the limit, or impossible to store.
pub fn dropped(output: &JobOutput) -> String {
    let by_limit = output.dropped_by_limit_bytes;
    let failed = output.dropped_bytes.saturating_sub(by_limit);
    let mut text = String::new();
    if by_limit > 0 {
        text.push_str(&format!(
            ", {} of it dropped because of the output limit",
            show_size(by_limit)
        ));
    }
    if failed > 0 {
        text.push_str(&format!(
            ", {} of it could not be stored",
            show_size(failed)
        ));
    }
    text
}

/// Text on one line, for a person: what would act instead of being shown becomes a blank.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    line.extend(
        text.chars()
            .map(|c| if quote::is_shown(c) { c } else { ' ' }),
    );
    line
}

/// The beginning of a text, at most so many characters.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
