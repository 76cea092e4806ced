//! Jobs as text.

use crate::answer::Glance;
use outlive::Job;
use outlive::{quote, words};

/// One line about a job's state or outcome, and its command. Contains no secrets. What the job chose is quoted.
pub fn line(job: &Job) -> String {
    let name = job.name.as_ref().map_or_else(String::new, |name| {
        format!(" {}", quote::string(name.as_str(), quote::MAX_WORD))
    });
    format!("{}{name} {}: {}", job.id, state(job), command(job))
}

/// The state of a job in a few words.
pub fn state(job: &Job) -> String {
    format!("{}{}", words::state(job), words::readiness(job))
}

/// The command, cut if it is long.
fn command(job: &Job) -> String {
    const MAX_COMMAND: usize = 160;
    quote::string(&job.command, MAX_COMMAND)
}

/// A job with the end of its output, quoted.
pub fn glance(job: &Job, glance: &Glance) -> String {
    match glance.preview.trim_end() {
        "" => line(job),
        preview => format!("{}\n{}", line(job), quote::block(preview)),
    }
}
