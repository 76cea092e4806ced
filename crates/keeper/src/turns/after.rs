//! Waiting for the end of other jobs.
//!
//! Somebody may have to adopt such a job to learn how it ended, and clients know how. So the errand is a client: the
//! program `outlive`. It also keeps the other job from being pruned before this one has learned of its end.

use outlive_core::layout;
use outlive_core::spec::{After, Needs};
use outlive_core::{Home, JobDir, Spec};
use outlive_sys::process::own;
use std::process::Command;

/// Whether all of them have ended as they must.
pub fn are_over(job: &JobDir, spec: &Spec) -> bool {
    if spec.after.is_empty() || job.after_met().exists() {
        return true;
    }
    let Ok((home, _)) = job.place() else {
        return false;
    };
    spec.after.iter().all(|after| is_over(&home, after))
}

/// Whether the journal says so, and the end is on the disk. If not, the errand finds out more.
fn is_over(home: &Home, after: &After) -> bool {
    // The link is removed once the end is synced.
    if home.live_link(&after.job).symlink_metadata().is_ok() {
        return false;
    }
    let journal = home.job(&after.job).read_journal();
    journal.is_ok_and(|journal| {
        journal.state.end().is_some_and(|end| match after.needs {
            Needs::End => true,
            Needs::Success => end.outcome.is_success(),
        })
    })
}

/// Remembers that all of them have ended. They may be pruned while this job waits for something else.
pub fn note_over(job: &JobDir) {
    // On a full disk the errand finds it out again.
    let _ = layout::make(&job.after_met());
}

/// The command of the errand.
pub fn command(spec: &Spec) -> Option<Command> {
    let (program, arguments) = spec.waiter.split_first()?;
    let mut command = Command::new(program.as_os_str());
    command
        .args(arguments.iter().map(|argument| argument.as_os_str()))
        .arg(spec.id.as_str())
        .arg(own::pid().to_string());
    Some(command)
}
