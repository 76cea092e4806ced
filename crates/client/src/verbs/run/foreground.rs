//! Runs a job in the foreground: this process becomes its keeper.

use super::{Claimed, NewJob, Prepared, Run, placed, prepare, refuse_place};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::launch;
use outlive_core::JobId;
use outlive_core::signal::Signal;
use outlive_sys::process::own;
use std::convert::Infallible;

/// Makes a job and replaces this process by its keeper. The keeper stops the job on TERM or INT, copies
/// its output to standard output, and exits with the job's code. Calls `announce` with the job's id and
/// the notes just before. Returns only if nothing could be started.
pub fn foreground(
    outlive: &Outlive,
    asked: Run,
    announce: impl FnOnce(&JobId, &[String]),
) -> Result<Infallible, Error> {
    let what = "a job in the foreground";
    refuse_place(outlive, &asked, what)?;
    // Block these signals until the keeper handles them: an earlier one would be lost, or kill this
    // process and leave a job without a keeper.
    own::block_signals(&[Signal::TERM, Signal::INT].map(Signal::linux_number))
        .map_err(Error::io("cannot block signals of", "this process"))?;
    let (new, lock) = match prepare(outlive, asked)? {
        Prepared::New(new, Claimed::Here(lock)) => (new, lock),
        Prepared::New(new, Claimed::There(..)) => {
            return Err(placed::only_here(what, new.spec.place));
        }
        Prepared::Already(job, _) => return Err(Error::IdTaken(job)),
    };
    let NewJob {
        spec,
        variables,
        notes,
        _alone,
        ..
    } = *new;
    announce(&spec.id, &notes);
    let error = launch::become_keeper(outlive, &spec, lock, &variables);
    presence::abandon(outlive, &spec.id, &error.to_string())?;
    Err(error)
}
