//! Jobs as text.

use crate::answer::Glance;
use outlive::{InputKind, Job, agree, count};

/// One line about how a job is or ended, and what it runs. Secrets are left out.
pub fn line(job: &Job) -> String {
    let name = job
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!(" \"{name}\""));
    format!("{}{name} {}: {}", job.id, state(job), command(job))
}

/// The state of a job in a few words.
pub fn state(job: &Job) -> String {
    let mut text = job.outcome_text();
    if job.duration_ms.is_some() {
        let word = if job.has_ended() { "after" } else { "for" };
        text.push_str(&format!(" {word} {}", job.duration_text()));
    }
    if job.keeper_silent {
        text.push_str(", its keeper does not answer (suspended?)");
    }
    if let Some(number) = job.lingering.map(u64::from).filter(|number| *number > 0) {
        let run = agree(number, "runs", "run");
        text.push_str(&format!(", {} of it still {run}", count(number, "process")));
    }
    match job.input_kind {
        None => {}
        Some(InputKind::Line) => text.push_str(", waits for a line of input"),
        Some(InputKind::Password) => text.push_str(", waits for a password"),
        Some(InputKind::Keys) => text.push_str(", waits for a key"),
        Some(InputKind::Data) => text.push_str(", waits for input"),
    }
    if !job.has_ended() {
        match job.ready {
            Some(true) => text.push_str(", ready"),
            Some(false) => text.push_str(", not ready yet"),
            None => {}
        }
    }
    if let Some(waiting) = &job.waiting_for {
        text.push_str(&format!(", waits for the lock {}", waiting.lock));
    }
    text
}

/// The command on one line, its middle left out where it is long.
fn command(job: &Job) -> String {
    const MOST: usize = 160;
    let text: String = job
        .command
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A job with the end of its output.
pub fn glance(job: &Job, glance: &Glance) -> String {
    match glance.preview.trim_end() {
        "" => line(job),
        preview => format!("{}\n{preview}", line(job)),
    }
}
