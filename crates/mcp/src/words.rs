//! Jobs as text. It says what the structured content says, because a client shows its model only one of them.

use crate::answer::Glance;
use crate::call::{Call, Teller};
use outlive::{Job, Notify, quote, words};

/// One line about a job's state or outcome, and its command. What the job chose is quoted.
pub fn line(job: &Job) -> String {
    let name = job.name.as_ref().map_or_else(String::new, |name| {
        format!(" {}", quote::string(name.as_str(), quote::MAX_WORD))
    });
    let session = job.session.as_ref().map_or_else(String::new, |session| {
        format!(" (session {})", words::name(session))
    });
    // The answer has cut it already.
    let command = quote::string(&job.command, usize::MAX);
    format!("{}{name}{session} {}: {command}", job.id, state(job))
}

/// The state of a job in a few words.
pub fn state(job: &Job) -> String {
    let missing = match (&job.output, job.has_ended()) {
        (output, true) if !output.complete && job.adopted.is_none() => {
            ", its last output may be missing"
        }
        _ => "",
    };
    format!(
        "{}{}{}{missing}",
        words::state(job),
        words::readiness(job),
        words::dropped(&job.output)
    )
}

/// A job with the end of its output.
pub fn glance(glance: &Glance) -> String {
    with_output(line(&glance.job), glance)
}

/// The same with where it runs and since when.
pub fn glance_in_detail(glance: &Glance) -> String {
    let mut text = format!("{}\n{}", line(&glance.job), details(&glance.job));
    for attempt in attempts(&glance.job) {
        text.push_str(&format!("\n{attempt}"));
    }
    with_output(text, glance)
}

/// Which attempt it is, and how the earlier ones ended, if it is restarted.
fn attempts(job: &Job) -> Vec<String> {
    let present = words::attempt(job).into_iter();
    let ended = job.attempts.iter().filter_map(words::ended_attempt);
    present
        .chain(ended)
        .map(|attempt| format!("Attempt {attempt}"))
        .collect()
}

fn with_output(mut text: String, glance: &Glance) -> String {
    if !glance.preview.trim_end().is_empty() {
        text.push('\n');
        text.push_str(&quote::block(glance.preview.trim_end()));
    }
    if let Some(cursor) = &glance.cursor {
        text.push_str(&format!("\n[next cursor {cursor}]"));
    }
    text
}

/// Where a job runs, since when, and with which first process.
fn details(job: &Job) -> String {
    let mut text = format!("In {}", quote::word(&job.cwd, quote::MAX_PATH));
    if let Some(at) = job.started_at {
        text.push_str(&format!(", started at {at}"));
    }
    if let Some(at) = job.ended_at {
        text.push_str(&format!(", ended at {at}"));
    }
    if let Some(who) = &job.ended_by_detail {
        text.push_str(&format!(", stopped by {}", quote::line(who)));
    }
    if let Some(pid) = job.pid {
        text.push_str(&format!(", pid {pid}"));
    }
    if job.pty {
        text.push_str(", with a terminal");
    }
    text
}

/// How the caller learns of the end of a job.
pub fn telling(call: &Call, notify: Notify) -> &'static str {
    match (notify, call.teller) {
        (Notify::Never, _) => {
            "you will not be told when it ends, as you asked; `wait` waits for it"
        }
        (Notify::End, Teller::Hooks) => "you will be told when it ends, do not poll",
        (Notify::Failure, Teller::Hooks) => "you will be told if it fails, do not poll",
        (Notify::End, Teller::HooksOfAgent) => {
            "your agent is told when it ends; if you need its end yourself, use `wait`. Do not poll"
        }
        (Notify::Failure, Teller::HooksOfAgent) => {
            "your agent is told if it fails; if you need its end yourself, use `wait`. Do not poll"
        }
        (Notify::End, Teller::Replies) => {
            "nothing wakes you when it ends: `wait` waits for it, and the reply to a later call of these tools \
             tells it. Do not poll"
        }
        (Notify::Failure, Teller::Replies) => {
            "nothing wakes you if it fails: `wait` waits for its end, and the reply to a later call of these tools \
             tells a failure. Do not poll"
        }
    }
}
