//! Recognises the sandbox of an agent, in which a job cannot be started or recorded.
//!
//! Agents run the commands of their model where most files are read-only and some system calls are refused (Codex:
//! `accept4`). The errors of the system do not say so, and a model then tries the same again.

use outlive::api::outcome::{NotStarted, Outcome};
use outlive::{Error, Job, environment};
use std::error::Error as _;
use std::fs;
use std::io::{self, ErrorKind};

/// What the system says when a sandbox refuses something.
const REFUSALS: [&str; 3] = [
    "Operation not permitted",
    "Permission denied",
    "Read-only file system",
];

/// The next step after a failure that a sandbox may have caused, if this process runs in one.
pub fn hint(error: &Error) -> Option<String> {
    let is_refused = match error {
        Error::Io { source, .. } => is_refusal(source),
        _ => has_refusal(error.source()),
    };
    // A file can be out of reach for many reasons, so only the word of an agent counts.
    let variable = environment::sandbox().filter(|_| is_refused)?;
    Some(advice(&by(variable)))
}

fn has_refusal(cause: Option<&(dyn std::error::Error + 'static)>) -> bool {
    cause.is_some_and(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(is_refusal) || has_refusal(cause.source())
    })
}

/// The same for a job that was not started. No job can be supervised without the calls that a sandbox refuses.
pub fn hint_for(job: &Job) -> Option<String> {
    match &job.outcome {
        Some(Outcome::NotStarted {
            cause: NotStarted::Failed,
            reason,
        }) if REFUSALS.iter().any(|refusal| reason.contains(refusal)) => {}
        _ => return None,
    }
    match environment::sandbox() {
        Some(variable) => Some(advice(&by(variable))),
        None => is_filtered().then(|| advice(FILTERED)),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// What is said of a sandbox that no variable names.
const FILTERED: &str = "a sandbox (it may not gain rights, and system calls are filtered)";

fn by(variable: &str) -> String {
    format!("the sandbox of an agent ({variable} is set)")
}

fn advice(sandbox: &str) -> String {
    format!(
        "this command runs in {sandbox}, which may forbid that; use the tool `run` and the other tools of the MCP \
         server `outlive`, whose jobs run outside the sandbox, or let the agent run this command outside its sandbox; \
         if the tool is refused too, its user can allow it with `outlive setup AGENT --approve`"
    )
}

/// Whether this process is confined as sandboxes do it.
fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is = |name: &str, value: &str| {
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        lines.any(|(own, found)| own == name && found.trim() == value)
    };
    is("NoNewPrivs", "1") && is("Seccomp", "2")
}
