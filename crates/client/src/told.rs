//! Who has been told of an end.
//!
//! A job of a session is not to be forgotten before somebody has heard how it ended. The mark is a
//! file, made by whoever was told: `wait`; `stop`, whose caller sees the end it asked for; and `run`,
//! of a job that could not be started.

use crate::job::Job;
use crate::outlive::Outlive;
use outlive_core::layout::PRIVATE;
use outlive_core::{JobDir, Notify, Outcome, Spec};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

/// Notes that the end of this job has been told. Where that cannot be written down, a full disk say,
/// the job is only kept longer than it need be: whoever asks is to hear of the end all the same.
pub fn mark(outlive: &Outlive, job: &Job) {
    if job.has_ended() {
        let path = outlive.job_dir(&job.id).told();
        let _ = File::options()
            .write(true)
            .create_new(true)
            .mode(PRIVATE)
            .open(path);
    }
}

/// Whether somebody is still to be told of this end.
pub fn is_awaited(dir: &JobDir, spec: &Spec, outcome: &Outcome) -> bool {
    let wanted = match spec.notify {
        Notify::End => true,
        Notify::Failure => !outcome.is_success(),
        Notify::Never => false,
    };
    spec.session.is_some() && wanted && !dir.told().exists()
}
