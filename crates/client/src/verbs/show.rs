//! One job now. Changes nothing about it, except that a job nobody looks after is looked after.

use crate::error::Error;
use crate::job::{Job, Seen};
use crate::outlive::Outlive;
use crate::output::{Look, Output};
use crate::presence::{self, Presence};
use crate::told;
use crate::view;
use outlive_core::{Input, JobId, Spec, State};

/// The job as it is now.
pub fn show(outlive: &Outlive, id: &JobId) -> Result<Job, Error> {
    read(outlive, id).map(|(job, ..)| job)
}

/// Notes, once the face has shown it, that the caller has seen how it ended. That does not count as
/// having been told.
pub fn seen(outlive: &Outlive, job: &Job) {
    if job.has_ended() {
        told::shown(outlive, &job.id);
    }
}

/// The last lines of its output, for a glance.
pub fn preview(outlive: &Outlive, id: &JobId, lines: u64) -> Result<String, Error> {
    let state = outlive.job_dir(id).read_journal()?.state;
    let output = Output::open(outlive, &outlive.read_spec(id)?, &state)?;
    let failed = || Error::io("cannot read", outlive.job_dir(id).output());
    // A line may be of any length; a glance is not.
    const MOST: u64 = 4096;
    let from = output
        .tail(lines)
        .map_err(failed())?
        .max(output.size.saturating_sub(MOST));
    output
        .text(id, from..output.size, Look::Plain(view::Options::default()))
        .map(|log| log.text)
        .map_err(failed())
}

/// The job with what it was made from.
pub(crate) fn read(outlive: &Outlive, id: &JobId) -> Result<(Job, Spec, State), Error> {
    let dir = outlive.job_dir(id);
    if !dir.path().is_dir() {
        return Err(Error::NoSuchJob(id.to_string()));
    }
    let spec = outlive.read_spec(id)?;
    let (presence, state) = presence::meet(outlive, id)?;
    // Only a keeper can tell what lingers, or waits for input.
    let worth_asking = state.end().is_some() || spec.input != Input::Null;
    let seen = match presence {
        Presence::Kept if worth_asking => presence::look(outlive, id)?,
        Presence::Kept | Presence::Over => Seen::default(),
    };
    Ok((Job::new(&dir, &spec, &state, seen), spec, state))
}
