//! Run a job in the foreground: this process becomes its keeper.

use super::{NewJob, Prepared, Run, prepare};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::launch;
use outlive_core::JobId;
use outlive_core::signal::Signal;
use outlive_sys::process::own;
use std::convert::Infallible;

/// Makes a job and becomes its keeper: the same process, which from then on stops the job when it gets TERM or INT,
/// copies its output to standard output and ends with its code. `announce` is called with the job's id and what there
/// is to note, just before. Returns only where nothing could be started.
pub fn foreground(
    outlive: &Outlive,
    asked: Run,
    announce: impl FnOnce(&JobId, &[String]),
) -> Result<Infallible, Error> {
    // From now on they wait for the keeper: one that came before it listens would be lost, or be the end of this
    // process and leave a job that nobody keeps.
    own::block_signals(&[Signal::TERM, Signal::INT].map(Signal::linux_number))
        .map_err(Error::io("cannot block signals of", "this process"))?;
    let NewJob {
        spec,
        lock,
        variables,
        notes,
        _alone,
    } = match prepare(outlive, asked)? {
        Prepared::New(new) => *new,
        Prepared::Already(job, _) => return Err(Error::IdTaken(job)),
    };
    announce(&spec.id, &notes);
    let error = launch::become_keeper(outlive, &spec, lock, &variables);
    presence::abandon(outlive, &spec.id, &error.to_string())?;
    Err(error)
}
