//! Who has been told of an end.
//!
//! A job of a session is not to be forgotten before somebody has heard how it ended. The mark is a
//! file, made by whoever was told: `wait`; `stop`, whose caller sees the end it asked for; and `run`,
//! of a job that could not be started.

use crate::error::Error;
use crate::job::Job;
use crate::outlive::Outlive;
use outlive_core::{JobDir, Notify, Outcome, Spec};
use std::fs::File;

/// Notes that the end of this job has been told.
pub fn mark(outlive: &Outlive, job: &Job) -> Result<(), Error> {
    if !job.has_ended() {
        return Ok(());
    }
    let path = outlive.job_dir(&job.id).told();
    match File::create_new(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::io("cannot write", path)(error))
        }
        _ => Ok(()),
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
