//! Parts of the texts of errors.

use super::MAX_REASON;
use crate::verbs::wait::WaitFor;
use crate::words;
use outlive_api::job::Job;
use outlive_core::outcome::Outcome;
use outlive_core::{JobId, quote};

/// What a job must be started with, so that this can come.
pub(super) fn missing(what: WaitFor) -> &'static str {
    match what {
        WaitFor::Ready => "a sign of readiness",
        WaitFor::Match => "a watch",
        WaitFor::Quiet => "a limit of silence",
        WaitFor::End | WaitFor::Input => "anything to wait for",
    }
}

pub(super) fn show_ids(ids: &[JobId]) -> String {
    const MAX_SHOWN: usize = 5;
    let mut text = ids
        .iter()
        .take(MAX_SHOWN)
        .map(JobId::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > MAX_SHOWN {
        text.push_str(&format!(" and {} more", ids.len() - MAX_SHOWN));
    }
    text
}

pub(super) fn describe(job: &Job) -> String {
    match &job.outcome {
        // A job can write to its own journal, so the reason may be its words.
        Some(Outcome::Lost { reason }) => {
            let reason = quote::string(reason, MAX_REASON);
            format!("has ended (lost: {reason})")
        }
        Some(_) => format!("has ended ({})", words::outcome(job)),
        None => format!("is {}", job.state),
    }
}
