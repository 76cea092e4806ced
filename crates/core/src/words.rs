//! Describes an end in sentences and in the JSON of the interface, for keepers and clients alike.

use crate::adopted;
use crate::control::InputKind;
use crate::event::{LingeringEnded, Moment};
use crate::label::Label;
use crate::next_step::Reader;
use crate::outcome::{End, EndedBy, NotStarted, Outcome};
use crate::quote::{self, MAX_WORD};
use crate::spec::Spec;
use crate::state::State;
use crate::units::show_duration;
use outlive_api::event::{Event, EventKind};
use outlive_api::event_data::{self, EndedOutput, LingeringOutput, OfJob};
use outlive_api::time::Millis;
use std::time::Duration;

mod attempts;

pub use attempts::{restarted_data, restarted_sentence};

/// The job's end as an event, for the commands that ring. `None` if it has not ended.
pub fn end_event(spec: &Spec, state: &State) -> Option<Event> {
    let (end, at, seq) = (state.end()?, state.ended_at()?, state.end_seq?);
    let mut data = end_data(spec, end);
    if let Some(command) = &spec.redacted_command {
        data.command.clone_from(command);
    }
    Some(Event {
        event: spec.event(seq),
        kind: EventKind::Ended,
        job: spec.id.clone(),
        session: spec.session.clone(),
        task: spec.task.clone(),
        labels: state.labels(spec).clone(),
        at: at.timestamp(),
        attempt: 0,
        last: None,
        data: serde_json::to_value(data).ok()?,
        text: end_sentence(spec, end, Reader::Shell),
    })
}

/// The data of an `ended` event.
pub fn end_data(spec: &Spec, end: &End) -> OfJob<event_data::Ended> {
    of_job(
        spec,
        event_data::Ended {
            outcome: end.outcome.clone(),
            exit_code: end.outcome.exit_code(),
            ended_by: end.ended_by,
            ended_by_detail: end.ended_by_detail.clone(),
            duration_ms: end.duration_ms.map(Millis),
            lingering: end.lingering,
            output: EndedOutput {
                bytes: end.output_bytes,
                dropped_bytes: end.dropped_bytes,
                complete: end.output_complete,
            },
            usage: end.usage,
        },
    )
}

/// The data of a `lingering_ended` event.
pub fn lingering_data(
    spec: &Spec,
    state: &State,
    ended: &LingeringEnded,
) -> OfJob<event_data::LingeringEnded> {
    let at = state.lingering_ended.filter(|_| ended.seen);
    of_job(
        spec,
        event_data::LingeringEnded {
            lingering: ended.lingering,
            ended_by: ended.ended_by,
            ended_at: at.map(Moment::timestamp),
            after_ms: after_end(state, ended).map(Millis),
            output: LingeringOutput {
                bytes: ended.output_bytes,
                bytes_since_end: since_end(state, ended),
            },
        },
    )
}

/// The data of any event of a job.
pub fn of_job<D>(spec: &Spec, data: D) -> OfJob<D> {
    OfJob {
        command: spec.command.clone(),
        name: spec.name.clone(),
        data,
    }
}

/// How long after the job's end the lingering processes ended, if a keeper saw it.
fn after_end(state: &State, ended: &LingeringEnded) -> Option<u64> {
    let (left, job) = (state.lingering_ended?, state.ended_at()?);
    ended
        .seen
        .then(|| Millis::from(left.boot.since(job.boot)).0)
}

fn since_end(state: &State, ended: &LingeringEnded) -> u64 {
    let before = state.end().map_or(0, |end| end.output_bytes);
    ended.output_bytes.saturating_sub(before)
}

/// Tells what happened to the processes that a job left running, and what they wrote.
pub fn lingering_sentence(spec: &Spec, state: &State, ended: &LingeringEnded) -> String {
    let number = u64::from(ended.lingering);
    let who = match number {
        1 => "the process".to_owned(),
        _ => format!("the {}", count(number, "process")),
    };
    let (have, were) = (agree(number, "has", "have"), agree(number, "was", "were"));
    let after = after_end(state, ended).map_or_else(String::new, |ms| {
        format!(", {} after the job's end", duration(ms))
    });
    let gone = match (ended.ended_by, ended.seen) {
        (EndedBy::Stop, _) => format!("{were} stopped{after}"),
        (_, true) => format!("{have} ended{after}"),
        (_, false) => format!(
            "{have} ended while nobody kept the job: when and how is not known, and what was written last may be missing"
        ),
    };
    let wrote = match since_end(state, ended) {
        0 => "Nothing was written after the job's end.".to_owned(),
        bytes => format!(
            "{} {} written after the job's end.",
            count(bytes, "byte"),
            agree(bytes, "was", "were")
        ),
    };
    format!("{}: {who} it left behind {gone}. {wrote}", title(spec))
}

/// Formats a number with its noun: `1 job`, `2 jobs`, `0 processes`, `2 matches`.
pub fn count(number: u64, what: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| what.ends_with(end));
    match number {
        1 => format!("1 {what}"),
        _ if hisses => format!("{number} {what}es"),
        _ => format!("{number} {what}s"),
    }
}

/// Picks the verb form for a number: `1 waits`, `2 wait`.
pub fn agree<'a>(number: u64, one: &'a str, many: &'a str) -> &'a str {
    if number == 1 { one } else { many }
}

/// `1 of its processes still runs`
pub fn left_running(number: u64) -> String {
    format!(
        "{number} of its processes still {}",
        agree(number, "runs", "run")
    )
}

/// What a process waits for, after "waits for".
pub fn awaited(kind: InputKind) -> &'static str {
    match kind {
        InputKind::Password => "a password",
        InputKind::Line => "a line of input",
        InputKind::Keys => "a key",
        InputKind::Data => "input",
    }
}

/// `Job 1pzrj72dak (build)`.
pub fn title(spec: &Spec) -> String {
    match &spec.name {
        Some(name) => format!("Job {} ({})", spec.id, quote::word(name.as_str(), MAX_WORD)),
        None => format!("Job {}", spec.id),
    }
}

/// Tells what ended, how, after how long, and the usual cause.
pub fn end_sentence(spec: &Spec, end: &End, reader: Reader) -> String {
    let took = end.duration_ms.map_or_else(String::new, |ms| {
        let took = duration(ms);
        match spec.adopted {
            Some(_) => format!(" {took} after it was adopted"),
            None => format!(" after {took}"),
        }
    });
    let mut text = format!("{} {}{took}.", title(spec), how(end, spec));
    if let Some(why) = cause(end) {
        text.push_str(&format!(" {why}"));
    }
    text.push_str(&attempts::not_restarted(end));
    if end.lingering > 0 {
        let number = u64::from(end.lingering);
        text.push_str(&format!(
            " {}; {} ends {}.",
            left_running(number),
            reader.stop(&spec.id),
            agree(number, "it", "them"),
        ));
    }
    if let Some(adopted) = &spec.adopted {
        let said = adopted::output_sentence(&adopted.as_found);
        text.push_str(&format!(" {}.", capitalized(&said)));
    } else if !end.output_complete {
        text.push_str(" Nobody kept it when it ended, so what it wrote last may be missing.");
    }
    text
}

/// The text as the beginning of a sentence.
fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

pub fn duration(ms: u64) -> String {
    show_duration(Duration::from_millis(ms))
}

/// Why a job that was stopped before its turn was not started.
pub fn stopped_waiting(spec: &Spec) -> String {
    format!("it was stopped while it waited{}", for_turn(spec))
}

/// Why a job whose keepers were killed before its turn was not started.
pub fn unkept_waiting(spec: &Spec) -> String {
    format!("its keepers were killed while it waited{}", for_turn(spec))
}

fn for_turn(spec: &Spec) -> String {
    let name = |label: &Label| quote::word(label.as_str(), MAX_WORD);
    match (spec.after.as_slice(), &spec.queue, &spec.lock) {
        ([], None, Some(lock)) => format!(" for the lock {}", name(lock)),
        ([], Some(queue), None) => format!(" in the queue {}", name(&queue.name)),
        ([after], None, None) => format!(" for job {}", after.job),
        ([], None, None) => String::new(),
        _ => " for its turn".to_owned(),
    }
}

/// How it ended, as the rest of a sentence.
pub fn how(end: &End, spec: &Spec) -> String {
    let by = match end.ended_by {
        EndedBy::Stop => match &end.ended_by_detail {
            Some(who) => format!(" (stopped by {})", quote::line(who)),
            None => " (stopped on request)".to_owned(),
        },
        EndedBy::Timeout => match spec.timeout_ms {
            Some(ms) => format!(" (stopped: its time of {} was up)", duration(ms)),
            None => " (stopped: its time was up)".to_owned(),
        },
        EndedBy::Memory => " (it was out of memory)".to_owned(),
        EndedBy::Place => match &end.ended_by_detail {
            Some(signal) if signal.starts_with("SIG") => {
                let signal = quote::line(signal);
                format!(" (stopped: its foreground process got {signal})")
            }
            Some(why) => format!(" (stopped: {})", quote::line(why)),
            None => " (stopped with its foreground process)".to_owned(),
        },
        EndedBy::Itself | EndedBy::Signal | EndedBy::Unknown => String::new(),
    };
    match &end.outcome {
        Outcome::Exited { code: 0 } => format!("succeeded (exit code 0){by}"),
        Outcome::Exited { code } => format!("failed with exit code {code}{by}"),
        Outcome::Signaled {
            signal,
            core_dumped,
        } => {
            let core = if *core_dumped { ", core dumped" } else { "" };
            format!("was ended by {signal}{core}{by}")
        }
        Outcome::NotStarted { reason, .. } => {
            format!("could not be started: {}", quote::line(reason))
        }
        Outcome::Lost { reason } => format!("ended, and nobody knows how: {}", quote::line(reason)),
    }
}

/// The usual cause, where the outcome alone does not show it.
fn cause(end: &End) -> Option<&'static str> {
    let asked = matches!(
        end.ended_by,
        EndedBy::Stop | EndedBy::Timeout | EndedBy::Memory | EndedBy::Place
    );
    match &end.outcome {
        _ if asked => None,
        Outcome::Lost { .. } => Some(
            "Do not take it for a success or a failure: look at what it was to make, or run it again.",
        ),
        Outcome::Signaled { signal, .. } => signal_cause(signal.linux_number()),
        Outcome::Exited { code } => exit_cause(*code),
        Outcome::NotStarted {
            cause: NotStarted::NotFound,
            ..
        } => Some("Is it installed, and on the PATH of whoever started the job?"),
        Outcome::NotStarted { .. } => None,
    }
}

fn signal_cause(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "Its terminal or connection was closed.",
        2 => "It was interrupted, as by Ctrl-C.",
        4 | 5 => "It crashed on an instruction it may not execute.",
        6 => "It aborted itself: a failed assertion, a panic, or memory it found damaged.",
        7 | 11 => "It crashed: it used memory that is not its own.",
        8 => "It crashed in arithmetic, such as a division by zero.",
        9 => "Somebody killed it: most often the kernel, out of memory; else kill -9.",
        13 => "It wrote to something nobody reads any more.",
        15 => "Somebody asked it to end, and it was not outlive.",
        24 => "It used up its limit of processor time.",
        25 => "It wrote a file larger than its limit.",
        31 => "It made a system call that is forbidden to it.",
        _ => return None,
    })
}

/// What shells and common tools mean by an exit code.
fn exit_cause(code: i32) -> Option<&'static str> {
    Some(match code {
        124 => "`timeout` and its like say by this code that time was up.",
        126 => "A command in it could not be executed.",
        127 => "A command in it was not found.",
        130 => "A command in it was interrupted (SIGINT).",
        134 => "A command in it aborted (SIGABRT).",
        137 => "A command in it was killed (SIGKILL), most often out of memory.",
        139 => "A command in it crashed (SIGSEGV).",
        143 => "A command in it was asked to end (SIGTERM).",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
