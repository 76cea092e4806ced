//! The attempts of a job that is restarted, read from its journal.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::redact::redact;
use outlive_api::attempt::{Attempt, AttemptOutput};
use outlive_core::outcome::Outcome;
use outlive_core::state::attempts;
use outlive_core::{JobId, layout};

/// `show` lists at most this many: a job may have thousands.
const MAX_SHOWN: usize = 20;

/// The newest attempts, without secrets unless they are shown.
pub(crate) fn newest(outlive: &Outlive, id: &JobId) -> Result<Vec<Attempt>, Error> {
    let mut all = read(outlive, id)?;
    let mut newest = all.split_off(all.len().saturating_sub(MAX_SHOWN));
    if !outlive.shows_secrets() {
        newest.iter_mut().for_each(hide_secrets);
    }
    Ok(newest)
}

/// The part of the output that an attempt wrote.
pub(crate) fn output(outlive: &Outlive, id: &JobId, number: u32) -> Result<AttemptOutput, Error> {
    let all = read(outlive, id)?;
    let found = all.iter().find(|attempt| attempt.number == number);
    found
        .map(|attempt| attempt.output)
        .ok_or_else(|| Error::NoSuchAttempt {
            id: id.clone(),
            number,
            newest: all.last().map_or(0, |newest| newest.number),
        })
}

fn read(outlive: &Outlive, id: &JobId) -> Result<Vec<Attempt>, Error> {
    let path = outlive.job_dir(id).journal();
    let journal = layout::read(&path).map_err(Error::io("cannot read", path))?;
    Ok(attempts::all(&journal))
}

/// The reason for which a program could not be started may contain its name or its arguments.
fn hide_secrets(attempt: &mut Attempt) {
    if let Some(Outcome::NotStarted { reason, .. }) = &mut attempt.outcome {
        *reason = redact(reason).into_owned();
    }
}
