//! Finds the job that a name means.
//!
//! A name belongs to a session. Jobs without a session share one space of names. A name means the
//! running job of that name, or else the newest one that has ended. A second running job cannot get the
//! same name, so `stop web` always means one job.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::jobs::twin::Alone;
use crate::verbs::show;
use crate::verbs::stop::{self, Stop};
use outlive_api::request::Namesake;
use outlive_core::{JobId, Label, Spec};
use std::fs;
use std::time::SystemTime;

/// A name, session, task or lock from a caller's text.
pub fn label(what: &'static str, text: &str) -> Result<Label, Error> {
    Label::parse(text).map_err(|reason| Error::BadLabel {
        what,
        text: text.to_owned(),
        reason,
    })
}

/// Finds the job with this name in this session, or among the jobs without a session.
pub fn find(
    outlive: &Outlive,
    name: &Label,
    session: Option<&Label>,
) -> Result<Option<JobId>, Error> {
    match running(outlive, name, session)? {
        Some(id) => Ok(Some(id)),
        None => newest(outlive, name, session),
    }
}

/// Running jobs with this name in any session. An error message suggests them.
pub fn of_others(outlive: &Outlive, name: &Label) -> Result<Vec<JobId>, Error> {
    let live = outlive.live_ids()?.into_iter();
    let is_called = |id: &JobId| outlive.read_spec(id).is_ok_and(|spec| has(&spec, name));
    Ok(live.filter(is_called).collect())
}

/// The newest job with this name in any session, running or not. Reads every job.
pub fn newest_of_others(outlive: &Outlive, name: &Label) -> Result<Option<JobId>, Error> {
    let mut ids = outlive.all_ids()?;
    ids.retain(|id| outlive.read_spec(id).is_ok_and(|spec| has(&spec, name)));
    Ok(latest(outlive, ids))
}

/// Reserves a name for a new job. No other job of this session can get it until the returned lock is
/// dropped.
pub(crate) fn take(
    outlive: &Outlive,
    spec: &Spec,
    namesake: Namesake,
) -> Result<Option<Alone>, Error> {
    let Some(name) = &spec.name else {
        return Ok(None);
    };
    let session = spec.session.as_ref();
    let alone = Alone::take(
        outlive,
        "naming",
        &(session.map(Label::as_str), name.as_str()),
    )?;
    // A repeated start with the same id is reported as such; the job does not replace itself.
    let namesake_id = running(outlive, name, session)?.filter(|id| *id != spec.id);
    let Some(id) = namesake_id else {
        return Ok(Some(alone));
    };
    match namesake {
        Namesake::Refuse => Err(Error::NameTaken(Box::new(show::show(outlive, &id)?))),
        Namesake::Replace => {
            let how = Stop {
                detail: Some(format!("its successor {}", spec.id)),
                ..Stop::default()
            };
            stop::stop(outlive, &[id], &how)?;
            Ok(Some(alone))
        }
    }
}

fn has(spec: &Spec, name: &Label) -> bool {
    spec.name.as_ref() == Some(name)
}

fn running(
    outlive: &Outlive,
    name: &Label,
    session: Option<&Label>,
) -> Result<Option<JobId>, Error> {
    let ids = match session {
        Some(session) => outlive.session_ids(session)?,
        None => outlive.live_ids()?,
    };
    let mut ids = candidates(outlive, ids, name, session);
    ids.retain(|id| {
        outlive.home().live_link(id).symlink_metadata().is_ok() && has_not_ended(outlive, id)
    });
    Ok(latest(outlive, ids))
}

/// Whether it runs, as every verb would see it: a job that was lost in a restart counts as over.
fn has_not_ended(outlive: &Outlive, id: &JobId) -> bool {
    match presence::meet(outlive, id) {
        Ok((_, state)) => state.end().is_none(),
        Err(Error::NoSuchJob(_)) => false,
        // In doubt, assume that it runs.
        Err(_) => true,
    }
}

fn newest(
    outlive: &Outlive,
    name: &Label,
    session: Option<&Label>,
) -> Result<Option<JobId>, Error> {
    let ids = match session {
        Some(session) => outlive.session_ids(session)?,
        None => linked(outlive, name).into_iter().collect(),
    };
    Ok(latest(outlive, candidates(outlive, ids, name, session)))
}

/// The target of the link that jobs without a session make for their name.
fn linked(outlive: &Outlive, name: &Label) -> Option<JobId> {
    let target = fs::read_link(outlive.home().name(name)).ok()?;
    JobId::parse(target.file_name()?.to_str()?).ok()
}

fn candidates(
    outlive: &Outlive,
    ids: Vec<JobId>,
    name: &Label,
    session: Option<&Label>,
) -> Vec<JobId> {
    let is_meant = |id: &JobId| {
        let spec = outlive.read_spec(id);
        spec.is_ok_and(|spec| has(&spec, name) && spec.session.as_ref() == session)
    };
    ids.into_iter().filter(is_meant).collect()
}

/// Generated ids sort by time, but chosen ids do not, so compare the times of the files.
fn latest(outlive: &Outlive, ids: Vec<JobId>) -> Option<JobId> {
    let made_at = |id: &JobId| -> Option<SystemTime> {
        let spec = fs::metadata(outlive.job_dir(id).spec());
        spec.and_then(|metadata| metadata.modified()).ok()
    };
    ids.into_iter().max_by_key(made_at)
}
