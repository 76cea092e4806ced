//! Who has been told of an end.
//!
//! A job of a session is not to be forgotten before somebody has heard how it ended. The mark is a
//! file, made by whoever was told: `wait`, and `stop`, whose caller sees the end it asked for.

use crate::error::Error;
use crate::job::Job;
use crate::outlive::Outlive;
use outlive_core::{JobDir, Notify, Spec};
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

/// Whether somebody is still to be told.
pub fn is_awaited(dir: &JobDir, spec: &Spec) -> bool {
    spec.session.is_some() && spec.notify != Notify::Never && !dir.told().exists()
}
