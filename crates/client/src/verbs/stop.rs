//! Stop jobs: TERM, grace, KILL, the whole tree of each.

use crate::answering::{self, Answering};
use crate::connection::{Answer, Connection};
use crate::error::Error;
use crate::job::Job;
use crate::outlive::Outlive;
use crate::presence;
use crate::told;
use crate::verbs::show;
use outlive_core::JobId;
use outlive_core::control::Request;
use outlive_core::notice::Kind;
use outlive_core::told::How;
use std::time::Duration;

/// How to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Else the job's own.
    pub grace: Option<Duration>,
    /// Who asks, for the record.
    pub detail: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Stopped {
    pub job: Job,
    pub what: What,
    /// Nobody else tells the calling session of the end until this is dropped.
    _answering: Option<Answering>,
}

impl Stopped {
    /// Notes, once the face has said so, that whoever asked knows how it ended.
    pub fn heard(&self, outlive: &Outlive) -> Result<(), Error> {
        told::heard(outlive, &self.job.id, How::Asked, |kind, _| {
            kind == Kind::Ended
        })
    }
}

/// What there was to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    TheJob,
    /// It had ended; processes it had left behind were stopped.
    Leftovers,
    /// It was over.
    AlreadyEnded,
}

/// Stops all of these at once; returns when nothing of any of them is left.
pub fn stop(outlive: &Outlive, ids: &[JobId], how: &Stop) -> Result<Vec<Stopped>, Error> {
    let mut asked = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let is_held = number < answering::MOST;
        let answering = is_held.then(|| Answering::of(outlive, id, &[Kind::Ended]));
        let answering = answering.flatten();
        let request = Request::Stop {
            grace_ms: how.grace.map(|grace| grace.as_millis() as u64),
            detail: how.detail.clone(),
            session: outlive.calling_session().cloned(),
        };
        let (what, connection) = ask(outlive, id, &request)?;
        asked.push((what, connection, request, answering));
    }
    ids.iter()
        .zip(asked)
        .map(|(id, (what, connection, request, answering))| {
            finish(outlive, id, connection, &request)?;
            Ok(Stopped {
                job: show::show(outlive, id)?,
                what,
                _answering: answering,
            })
        })
        .collect()
}

fn ask(
    outlive: &Outlive,
    id: &JobId,
    request: &Request,
) -> Result<(What, Option<Connection>), Error> {
    let (_, state) = presence::meet(outlive, id)?;
    let connection = presence::reach(outlive, id)?;
    let what = match (&connection, state.end()) {
        (None, _) => What::AlreadyEnded,
        (Some(_), Some(_)) => What::Leftovers,
        (Some(_), None) => What::TheJob,
    };
    if let Some(connection) = &connection {
        connection.send(request)?;
    }
    Ok((what, connection))
}

fn finish(
    outlive: &Outlive,
    id: &JobId,
    mut connection: Option<Connection>,
    request: &Request,
) -> Result<(), Error> {
    while let Some(mut open) = connection {
        if let Answer::Reply(_) = open.receive(id)? {
            break;
        }
        // Another keeper has it now, which is asked again; or it is over.
        connection = presence::reach(outlive, id)?;
        if let Some(open) = &connection {
            open.send(request)?;
        }
    }
    Ok(())
}
