//! One job now. Changes nothing about it, except that a job nobody looks after is looked after.

use crate::error::Error;
use crate::job::{Job, Seen};
use crate::outlive::Outlive;
use crate::output::{Look, Output};
use crate::presence::{self, Presence};
use crate::redact::redact;
use crate::told;
use crate::view;
use outlive_core::{Input, JobId, Spec, State};
use std::io;

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
    let output = output(outlive, id)?;
    let earliest = output.size.saturating_sub(MOST as u64);
    output
        .tail(lines)
        .and_then(|from| text(&output, id, from.max(earliest)))
        .map_err(Error::io("cannot read", outlive.job_dir(id).output()))
}

/// The same without what looks like a credential.
pub fn redacted_preview(outlive: &Outlive, id: &JobId, lines: u64) -> Result<String, Error> {
    // What is a secret may be told by what stands long before it: the first line of a key.
    const CONTEXT: u64 = 64 * 1024;
    let output = output(outlive, id)?;
    let from = output.size.saturating_sub(CONTEXT);
    let context =
        text(&output, id, from).map_err(Error::io("cannot read", outlive.job_dir(id).output()))?;
    let redacted = redact(&context);
    let shown = last_lines(&redacted, lines);
    // A line that was cut may begin within a secret.
    let is_cut = from > 0 && shown.len() == redacted.len();
    Ok(match is_cut {
        true => shown.split_once('\n').map_or("", |(_, rest)| rest),
        false => shown,
    }
    .to_owned())
}

/// A line may be of any length; a glance is not.
const MOST: usize = 4096;

fn output(outlive: &Outlive, id: &JobId) -> Result<Output, Error> {
    let state = outlive.job_dir(id).read_journal()?.state;
    Output::open(outlive, &outlive.read_spec(id)?, &state)
}

fn text(output: &Output, id: &JobId, from: u64) -> io::Result<String> {
    // As much as was read.
    let whole = view::Options {
        budget: usize::MAX,
        ..view::Options::default()
    };
    let text = output.text(id, from..output.size, Look::Plain(whole))?;
    Ok(text.text)
}

fn last_lines(text: &str, lines: u64) -> &str {
    let mut from = text.len();
    for line in text.split_inclusive('\n').rev().take(lines as usize) {
        from -= line.len();
    }
    &text[text.ceil_char_boundary(from.max(text.len().saturating_sub(MOST)))..]
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
