//! Changes what was asked for of a job: through its keeper while it has one, else in its journal.

use crate::error::Error;
use crate::home::bell;
use crate::home::outlive::Outlive;
use crate::jobs::connection::Answer;
use crate::jobs::presence;
use crate::moment;
use outlive_core::change::{self, Changed};
use outlive_core::control::{Change, Reply, Request, UNKNOWN_REQUEST};
use outlive_core::event::Event;
use outlive_core::{JobDir, JobId, JournalWriter, Spec, State, labels, layout};
use outlive_sys::lock::{self, LockResult};
use std::thread;
use std::time::Duration;

/// The last keeper of an ended job holds the lock for a moment longer.
const SHORT_PAUSE: Duration = Duration::from_millis(1);

/// Makes the change, and syncs it. Whoever is killed meanwhile: a repeated change is made once.
pub fn change(outlive: &Outlive, id: &JobId, asked: &Change) -> Result<(), Error> {
    loop {
        let Some(mut connection) = presence::reach(outlive, id)? else {
            match change_ended(outlive, id, asked)? {
                Done::Yes => return Ok(()),
                // Its keeper is about to exit.
                Done::NotYet => {
                    thread::sleep(SHORT_PAUSE);
                    continue;
                }
            }
        };
        let request = Request::Change(asked.clone());
        match presence::ask(outlive, id, &mut connection, &request) {
            Ok(Answer::Reply(Reply::Changed)) => break,
            Ok(Answer::Reply(_)) => return Err(Error::NoAnswer(id.clone())),
            // The next keeper is asked.
            Ok(Answer::KeeperGone) => {}
            Err(Error::RefusedByKeeper { reason, .. }) if reason.starts_with(UNKNOWN_REQUEST) => {
                return Err(Error::OldKeeper(id.clone()));
            }
            Err(error) => return Err(error),
        }
    }
    // A keeper never waits for a disk. If this fails, the change survives all but a power loss.
    let journal = layout::open(&outlive.job_dir(id).journal());
    let _ = journal.and_then(|journal| layout::sync(&journal));
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Yes,
    NotYet,
}

/// The job is over, so only its labels can be changed, by whoever holds its lock.
fn change_ended(outlive: &Outlive, id: &JobId, asked: &Change) -> Result<Done, Error> {
    let job = outlive.job_dir(id);
    let spec = outlive.read_spec(id)?;
    if !is_watched_so(&spec, &job.read_journal()?.state, asked) {
        return Err(Error::Refused {
            id: id.clone(),
            reason: "it has ended, so there is nothing to watch any more",
        });
    }
    let Some(_lock) = lock(&job)? else {
        return Ok(Done::NotYet);
    };
    // It may have been removed, and its id used again, before the lock was taken.
    if outlive.read_spec(id)? != spec {
        return Err(Error::NoSuchJob(id.to_string()));
    }
    let mut journal = JournalWriter::open(&job.journal())?;
    let state = journal.state();
    let now = state.labels(&spec);
    let new = asked.labels.apply(now);
    if new == *now {
        return Ok(Done::Yes);
    }
    labels::check(&new).map_err(|bad| Error::BadSetting(bad.into()))?;
    let changed = Changed {
        labels: Some(new),
        session: asked.session.clone(),
        ..Changed::default()
    };
    let written = journal
        .append(moment::now(), &[Event::Changed(Box::new(changed))])
        .and_then(|()| journal.sync());
    written.map_err(Error::io("cannot write", job.journal()))?;
    bell::tell(outlive, id);
    Ok(Done::Yes)
}

/// Whether the job ended with the watch and the `notify` that are asked for. Its keeper may have been killed before it
/// could say so.
fn is_watched_so(spec: &Spec, state: &State, asked: &Change) -> bool {
    let now = state.watch(spec);
    let new = change::rewatched(now, &asked.usual, &asked.watch).watch;
    let is_same = now.map_or(new.patterns.is_empty(), |now| *now == new);
    is_same
        && asked
            .watch
            .notify
            .is_none_or(|notify| notify == state.notify(spec))
}

fn lock(job: &JobDir) -> Result<Option<lock::Lock>, Error> {
    let taken = layout::open_or_replace(&job.lock()).and_then(lock::take);
    match taken.map_err(Error::io("cannot take the lock", job.lock()))? {
        LockResult::Acquired(lock) => Ok(Some(lock)),
        LockResult::Held => Ok(None),
    }
}
