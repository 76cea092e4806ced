//! The part of a start that concerns other jobs: those it waits for, and how many a session may run.

use crate::doorbell;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::jobs::twin::Alone;
use crate::places::records::{Placed, Start};
use crate::places::{Place, dial};
use outlive_core::os_text::OsText;
use outlive_core::place::LOCAL;
use outlive_core::{JobId, Label, Spec};

/// The command that waits for the jobs that a job starts after. The keeper adds the job's id and its own pid.
pub fn waiter(outlive: &Outlive) -> Result<Vec<OsText>, Error> {
    Ok(vec![
        doorbell::own_program(outlive)?.into(),
        "--home".into(),
        outlive.home().root().to_owned().into(),
        "after".into(),
    ])
}

/// Refuses a start after a job that does not exist.
pub fn refuse_unknown(outlive: &Outlive, spec: &Spec) -> Result<(), Error> {
    for id in spec.after.iter().map(|after| &after.job) {
        if !outlive.has(id) {
            return Err(Error::NoSuchJob(id.to_string()));
        }
        // Who waits for another job is at its place, and does not know jobs of others.
        let is_elsewhere = |other: &Spec| other.place != spec.place;
        if let Some(other) = outlive.read_spec(id).ok().filter(is_elsewhere) {
            return Err(PlaceError::AfterOther {
                id: id.clone(),
                place: other.place,
            }
            .into());
        }
        if spec.place != LOCAL {
            settle(outlive, &spec.place, id)?;
        }
    }
    Ok(())
}

/// Makes sure that it is known whether a job of a place was started: what is not there has ended, for those who start
/// after it.
fn settle(outlive: &Outlive, place: &str, id: &JobId) -> Result<(), Error> {
    let placed = Placed::read(&outlive.job_dir(id));
    if !placed.is_ok_and(|placed| placed.start() == Start::Asked) {
        return Ok(());
    }
    let Some(place) = Place::resolve(outlive, place)? else {
        return Ok(());
    };
    dial::follow(outlive, &place, id, place.settings.reach)
}

/// Refuses a start if the session has as many running jobs as the configuration allows. Until the returned lock is
/// dropped, nobody else starts a job of this session that is counted.
///
/// Jobs of a queue are not counted and not refused: the width of the queue limits them.
pub fn refuse_too_many(outlive: &Outlive, spec: &Spec) -> Result<Option<Alone>, Error> {
    let (None, Some(session)) = (&spec.queue, &spec.session) else {
        return Ok(None);
    };
    let Some(cap) = outlive.config()?.limits.jobs_per_session else {
        return Ok(None);
    };
    let alone = Alone::take(outlive, "counting", &session.as_str())?;
    let running = count_running(outlive, session)?;
    match running < cap as usize {
        true => Ok(Some(alone)),
        false => Err(Error::TooManyJobs {
            session: session.to_string(),
            running,
            cap,
        }),
    }
}

fn count_running(outlive: &Outlive, session: &Label) -> Result<usize, Error> {
    let mut ids = outlive.session_ids(session)?;
    ids.retain(|id| {
        let is_live = outlive.home().live_link(id).symlink_metadata().is_ok();
        is_live && counts(outlive, id, session)
    });
    Ok(ids.len())
}

/// Whether it is a job of this session that has not ended and is in no queue. In doubt it is.
fn counts(outlive: &Outlive, id: &JobId, session: &Label) -> bool {
    let is_counted = |spec: Spec| spec.session.as_ref() == Some(session) && spec.queue.is_none();
    match outlive.read_spec(id).map(is_counted) {
        Ok(false) | Err(Error::NoSuchJob(_)) => false,
        Ok(true) | Err(_) => match presence::meet(outlive, id) {
            Ok((_, state)) => state.end().is_none(),
            Err(Error::NoSuchJob(_)) => false,
            Err(_) => true,
        },
    }
}
