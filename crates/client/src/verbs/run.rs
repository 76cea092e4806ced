//! Start a job.

mod foreground;
mod request;
mod spec;

pub use foreground::foreground;
pub use request::{Command, Run};

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::jobs::hold::Hold;
use crate::jobs::job::{self, KeeperView, Sight};
use crate::jobs::naming;
use crate::jobs::presence;
use crate::jobs::twin::{self, Alone, Twin};
use crate::launch::keeper_process::Begun;
use crate::launch::{self, Named};
use crate::verbs::show;
use outlive_api::job::Job;
use outlive_core::event::Event;
use outlive_core::journal;
use outlive_core::layout;
use outlive_core::notice::Kind;
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Outcome, Phase, Spec, State};
use outlive_sys::lock::Lock;
use spec::Specified;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};

const KEEPERS_DIED: &str =
    "its keepers ended before they could start it: too few descriptors, processes or memory?";

/// What came of it.
#[derive(Clone, Debug)]
pub struct Started {
    /// As its start was decided: running, waiting for a lock, or ended because it could not be started.
    pub job: Job,
    /// Of its first process, which may have ended already.
    pub pid: Option<i32>,
    /// What was done otherwise than a reader of the command would expect.
    pub notes: Vec<String>,
    /// It was running already, and was not started now.
    pub already: bool,
    /// Until this is dropped it is not pruned, so that whoever started it can wait for its end.
    pub hold: Option<Hold>,
    /// To be told once the caller knows that the job could not be started. Until it is dropped nobody else
    /// tells the session of the job's end, so that a caller that stays with the job can.
    pub receipt: Receipt,
}

impl Started {
    /// Nothing was started: this one runs already.
    fn already(outlive: &Outlive, job: Job, notes: Vec<String>) -> Started {
        Started {
            pid: job.pid,
            job,
            notes,
            already: true,
            hold: None,
            receipt: Receipt::nothing(outlive),
        }
    }
}

/// Starts a job; returns once its command has been executed or could not be.
pub fn run(outlive: &Outlive, asked: Run) -> Result<Started, Error> {
    let NewJob {
        spec,
        lock,
        variables,
        mut notes,
        _alone,
    } = match prepare(outlive, asked)? {
        Prepared::New(new) => *new,
        Prepared::Already(job, notes) => return Ok(Started::already(outlive, *job, notes)),
    };
    // Open from before the start: a job that ends at once may be pruned before it is looked at.
    let journal = outlive.job_dir(&spec.id).journal();
    let opened = layout::open(&journal).map_err(Error::io("cannot open", &journal))?;
    let hold = Hold::on(&outlive.job_dir(&spec.id));
    let reserved = Reservation::on(outlive, &spec, &[Kind::Ended, Kind::Ready]);
    let (job, state) = match launch::start(outlive, &spec, lock, &variables) {
        Ok(Begun::Ready) => read_begun(outlive, &spec, opened)?,
        Ok(Begun::Died) => abandon(outlive, &spec, KEEPERS_DIED, opened)?,
        Err(error) => abandon(outlive, &spec, &error.to_string(), opened)?,
    };
    let pid = state.phase.leader().map(|leader| leader.process.pid);
    notes.extend(spec::shell_hint(&spec, &job));
    let tells: &[Kind] = match job.outcome {
        Some(Outcome::NotStarted { .. }) => &[Kind::Ended],
        _ => &[],
    };
    let receipt = Receipt::nothing(outlive)
        .telling(&job.id, ToldBy::Asked, tells, Vec::new())
        .reserving(reserved);
    Ok(Started {
        job,
        pid,
        notes,
        already: false,
        hold,
        receipt,
    })
}

/// A job that has its directory and no keeper yet.
struct NewJob {
    spec: Spec,
    lock: Lock,
    variables: Vec<(OsString, OsString)>,
    notes: Vec<String>,
    /// Nobody else starts the same, or one of the same name, before this is dropped.
    _alone: [Option<Alone>; 2],
}

enum Prepared {
    New(Box<NewJob>),
    /// Nothing was made: this one runs already.
    Already(Box<Job>, Vec<String>),
}

/// Makes the directory of a job that is asked for.
fn prepare(outlive: &Outlive, asked: Run) -> Result<Prepared, Error> {
    let (unless_running, namesake, id_is_given) =
        (asked.unless_running, asked.namesake, asked.id.is_some());
    let Specified {
        mut spec,
        variables,
        notes,
    } = spec::specify(outlive, asked)?;
    // Both are told through the same inbox, by their ids.
    if outlive.home().post(&spec.id).path().exists() {
        return Err(Error::IdOfPost(spec.id));
    }
    let alone = match unless_running {
        true => match twin::look(outlive, &spec)? {
            Twin::Runs(job) => return Ok(Prepared::Already(job, notes)),
            Twin::None(alone) => Some(alone),
        },
        false => None,
    };
    spec::refuse_patterns(&spec)?;
    // A start that is repeated under its own id is told that, whatever its name.
    let is_repeated = id_is_given && outlive.job_dir(&spec.id).path().is_dir();
    let named = match is_repeated {
        true => None,
        false => naming::take(outlive, &spec, namesake)?,
    };
    let lock = loop {
        match launch::make(outlive, &spec)? {
            Named::Yes(lock) => break lock,
            Named::Taken if !id_is_given => spec.id = spec::make_id()?,
            Named::Taken => match show::show(outlive, &spec.id) {
                // It was pruned meanwhile: the id is free. What is no directory keeps it taken.
                Err(Error::NoSuchJob(_)) if is_free(outlive, &spec.id) => {}
                job => return Err(Error::IdTaken(Box::new(job?))),
            },
        }
    };
    Ok(Prepared::New(Box::new(NewJob {
        spec,
        lock,
        variables,
        notes,
        _alone: [alone, named],
    })))
}

/// What is known of a job whose keepers died over its start, or never were.
fn abandon(
    outlive: &Outlive,
    spec: &Spec,
    reason: &str,
    journal: File,
) -> Result<(Job, State), Error> {
    presence::abandon(outlive, &spec.id, reason)?;
    match show::read(outlive, &spec.id) {
        Err(Error::NoSuchJob(_)) => read_begun(outlive, spec, journal),
        other => other.map(|(job, _, state)| (job, state)),
    }
}

/// The job as its journal tells it. Its keeper, which is about to look after it, is not asked.
fn read_begun(outlive: &Outlive, spec: &Spec, mut journal: File) -> Result<(Job, State), Error> {
    let dir = outlive.job_dir(&spec.id);
    let mut bytes = Vec::new();
    journal
        .read_to_end(&mut bytes)
        .map_err(Error::io("cannot read", dir.journal()))?;
    let state = begun(&bytes);
    Ok((
        job::build(outlive, spec, &state, Sight::Clear(KeeperView::default())),
        state,
    ))
}

/// How far its start had come. What became of it since is not told here: that may not be on the disk yet,
/// and nobody is to wait for a disk who starts something.
fn begun(journal: &[u8]) -> State {
    let mut state = State::default();
    let mut is_later = false;
    journal::for_each(journal, |record| {
        let has_run = matches!(state.phase, Phase::Running(_) | Phase::Stopping(..));
        is_later |= has_run && matches!(record.event, Event::Ended(_));
        if !is_later {
            state.apply(record);
        }
    });
    state
}

fn is_free(outlive: &Outlive, id: &JobId) -> bool {
    let there = outlive.job_dir(id).path().symlink_metadata();
    there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
