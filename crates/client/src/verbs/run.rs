//! Starts a job.

mod command_line;
mod foreground;
mod image;
mod limits;
mod placed;
mod spec;
pub(crate) mod turns;

pub use foreground::foreground;
pub use outlive_api::request::{Command, Run};
pub(crate) use spec::{refuse_nul, refuse_patterns, refuse_regexes};

use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::jobs::hold::Hold;
use crate::jobs::job::{self, KeeperView, Sight};
use crate::jobs::naming;
use crate::jobs::presence;
use crate::jobs::twin::{self, Alone, Twin};
use crate::launch::keeper_process::StartResult;
use crate::launch::{self, NameClaim};
use crate::places::records::Placing;
use crate::verbs::{prune, show};
use outlive_api::event::EventKind;
use outlive_api::job::Job;
use outlive_api::request::Namesake;
use outlive_core::event::Event;
use outlive_core::journal;
use outlive_core::layout;
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Notify, Outcome, Phase, Spec, State};
use outlive_sys::lock::Lock;
use placed::{Destination, There};
use spec::Specified;
use std::fs::File;
use std::io::{self, Read};

pub(crate) const KEEPERS_DIED: &str =
    "its keepers ended before they could start it: too few descriptors, processes or memory?";

/// The result of a start.
#[derive(Clone, Debug)]
pub struct Started {
    /// The state when the start was decided: running, waiting for its turn, or ended because it could not
    /// start.
    pub job: Job,
    /// The process ID of its first process, which may have ended already.
    pub pid: Option<i32>,
    /// Differences from what a reader of the command would expect.
    pub notes: Vec<String>,
    /// For which ends its session is told, by the request or by the configuration.
    pub notify: Notify,
    /// It was already running; nothing was started.
    pub already: bool,
    /// Protects the job from pruning until dropped, so that the caller can wait for its end.
    pub hold: Option<Hold>,
    /// Call `told` on it after the caller knows that the job could not start. Until it is dropped,
    /// nobody else tells the session about the job's end, so that a caller that waits can.
    pub receipt: Receipt,
}

impl Started {
    /// Nothing was started, because this job exists.
    pub fn already(outlive: &Outlive, job: Job, notes: Vec<String>) -> Started {
        let spec = outlive.read_spec(&job.id).ok();
        Started {
            pid: job.pid,
            notify: spec.map_or_else(Notify::default, |spec| spec.notify),
            job,
            notes,
            already: true,
            hold: None,
            receipt: Receipt::nothing(outlive),
        }
    }
}

/// Starts a job. Returns after its command was executed or could not be executed.
pub fn run(outlive: &Outlive, asked: Run) -> Result<Started, Error> {
    match prepare(outlive, asked)? {
        Prepared::New(new, Claimed::Here(lock)) => begin(outlive, *new, lock),
        Prepared::New(new, Claimed::There(placing, there)) => {
            placed::begin(outlive, *new, placing, &there)
        }
        Prepared::Already(job, notes) => Ok(Started::already(outlive, *job, notes)),
    }
}

/// Refuses a request for another place, for what needs this machine.
pub(super) fn refuse_place(
    outlive: &Outlive,
    asked: &Run,
    what: &'static str,
) -> Result<(), Error> {
    match placed::named(outlive, asked)? {
        Some(place) => Err(placed::only_here(what, place)),
        None => Ok(()),
    }
}

/// Starts the keepers of a new job.
pub(super) fn begin(outlive: &Outlive, new: NewJob, lock: Lock) -> Result<Started, Error> {
    let NewJob {
        spec,
        variables,
        notes,
        _alone,
        ..
    } = new;
    // Opened before the start: a job that ends at once may be pruned before it is read.
    let journal = outlive.job_dir(&spec.id).journal();
    let opened = layout::open(&journal).map_err(Error::io("cannot open", &journal))?;
    let hold = Hold::on(&outlive.job_dir(&spec.id));
    let reserved = Reservation::on(outlive, &spec, &[EventKind::Ended, EventKind::Ready]);
    let (job, state) = match launch::start(outlive, &spec, lock, &variables) {
        Ok(StartResult::Ready) => read_begun(outlive, &spec, opened)?,
        Ok(StartResult::Died) => abandon(outlive, &spec, KEEPERS_DIED, opened)?,
        Err(error) => abandon(outlive, &spec, &error.to_string(), opened)?,
    };
    Ok(started(outlive, &spec, (job, state), notes, hold, reserved))
}

/// The result of a start that was carried out, here or at a place.
fn started(
    outlive: &Outlive,
    spec: &Spec,
    (job, state): (Job, State),
    mut notes: Vec<String>,
    hold: Option<Hold>,
    reserved: Option<Reservation>,
) -> Started {
    let pid = state.phase.leader().map(|leader| leader.process.pid);
    notes.extend(spec::shell_hint(outlive, spec, &job));
    notes.extend(limits::note(&job));
    let tells: &[EventKind] = match job.outcome {
        Some(Outcome::NotStarted { .. }) => &[EventKind::Ended],
        _ => &[],
    };
    let receipt = Receipt::nothing(outlive)
        .telling(&job.id, ToldBy::Asked, tells, Vec::new())
        .reserving(reserved);
    prune::retain(outlive);
    Started {
        job,
        pid,
        notes,
        notify: spec.notify,
        already: false,
        hold,
        receipt,
    }
}

/// A job that has its directory and no keeper yet.
pub(super) struct NewJob {
    pub spec: Spec,
    variables: JobVariables,
    pub notes: Vec<String>,
    id_is_given: bool,
    /// Until this is dropped, nobody else can start the same command, a job with the same name, or one job too many.
    _alone: [Option<Alone>; 3],
}

/// What protects the directory of a new job until it is started.
enum Claimed {
    Here(Lock),
    There(Placing, Box<There>),
}

enum Prepared {
    New(Box<NewJob>, Claimed),
    /// Nothing was created, because this job already runs.
    Already(Box<Job>, Vec<String>),
}

/// Makes the directory of a new job.
fn prepare(outlive: &Outlive, asked: Run) -> Result<Prepared, Error> {
    let asked = match image::named(outlive, &asked)? {
        Some((place, image)) => {
            asked.check()?;
            image::enter(asked, &place, &image)?
        }
        None => asked,
    };
    let (unless_running, namesake, id_is_given) =
        (asked.unless_running, asked.namesake, asked.id.is_some());
    let destination = Destination::of(outlive, &asked)?;
    let there = destination.there();
    let Specified {
        mut spec,
        variables,
        notes,
    } = spec::specify(outlive, asked, there)?;
    // Jobs and posts share an inbox that uses their ids.
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
    let capped = match is_repeated(outlive, &spec, id_is_given) {
        true => None,
        false => {
            turns::refuse_unknown(outlive, &spec)?;
            turns::refuse_too_many(outlive, &spec)?
        }
    };
    let named = take_name(outlive, &spec, namesake, id_is_given)?;
    let claimed = match destination {
        Destination::Here => Claimed::Here(make_directory(outlive, &mut spec, id_is_given)?),
        Destination::There(there) => {
            let placing = placed::make_directory(outlive, &mut spec, id_is_given, &there)?;
            Claimed::There(placing, there)
        }
    };
    let new = NewJob {
        spec,
        variables,
        notes,
        id_is_given,
        _alone: [alone, named, capped],
    };
    Ok(Prepared::New(Box::new(new), claimed))
}

/// The spec of a job that does not execute the command of the request: it has no use for variables and notes.
pub(super) fn specify(outlive: &Outlive, asked: Run) -> Result<Spec, Error> {
    Ok(spec::specify(outlive, asked, None)?.spec)
}

/// Makes the directory of a job that is specified already.
pub(super) fn claim(
    outlive: &Outlive,
    mut spec: Spec,
    id_is_given: bool,
) -> Result<(NewJob, Lock), Error> {
    let named = take_name(outlive, &spec, Namesake::Refuse, id_is_given)?;
    let lock = make_directory(outlive, &mut spec, id_is_given)?;
    let new = NewJob {
        spec,
        variables: JobVariables::default(),
        notes: Vec::new(),
        id_is_given,
        _alone: [None, named, None],
    };
    Ok((new, lock))
}

/// Whether the job exists already. A repeated start with the same id is reported as such, whatever else would refuse
/// it.
fn is_repeated(outlive: &Outlive, spec: &Spec, id_is_given: bool) -> bool {
    id_is_given && outlive.job_dir(&spec.id).path().is_dir()
}

/// Reserves the name of a job.
fn take_name(
    outlive: &Outlive,
    spec: &Spec,
    namesake: Namesake,
    id_is_given: bool,
) -> Result<Option<Alone>, Error> {
    // Jobs and posts share an inbox that uses their ids.
    if outlive.home().post(&spec.id).path().exists() {
        return Err(Error::IdOfPost(spec.id.clone()));
    }
    match is_repeated(outlive, spec, id_is_given) {
        true => Ok(None),
        false => naming::take(outlive, spec, namesake),
    }
}

fn make_directory(outlive: &Outlive, spec: &mut Spec, id_is_given: bool) -> Result<Lock, Error> {
    make_unless_taken(outlive, spec, id_is_given, |spec| {
        launch::make(outlive, spec)
    })
}

/// Makes the directory, under the id of the spec, or under another one if that is taken and was not given.
fn make_unless_taken<C>(
    outlive: &Outlive,
    spec: &mut Spec,
    id_is_given: bool,
    make: impl Fn(&Spec) -> Result<NameClaim<C>, Error>,
) -> Result<C, Error> {
    loop {
        match make(spec)? {
            NameClaim::Claimed(claim) => return Ok(claim),
            NameClaim::Taken if !id_is_given => spec.id = spec::make_id()?,
            NameClaim::Taken => match show::show(outlive, &spec.id) {
                // The job was pruned meanwhile, so the id is free. Anything that is no directory keeps
                // the id taken.
                Err(Error::NoSuchJob(_)) if is_free(outlive, &spec.id) => {}
                job => return Err(Error::IdTaken(Box::new(job?))),
            },
        }
    }
}

/// Records what is known about a job whose keepers died during the start or never started.
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

/// The job according to its journal, without asking its keeper, which has just started.
fn read_begun(outlive: &Outlive, spec: &Spec, mut journal: File) -> Result<(Job, State), Error> {
    let dir = outlive.job_dir(&spec.id);
    let mut bytes = Vec::new();
    journal
        .read_to_end(&mut bytes)
        .map_err(Error::io("cannot read", dir.journal()))?;
    let state = begun(&bytes);
    let leader = presence::leader_now(&state);
    let sight = Sight::Clear(KeeperView::default());
    let job = job::build(outlive, spec.clone(), &state, sight, leader.as_ref());
    Ok((job, state))
}

/// How far the start had come. Later events are left out: they may not be on disk yet, and a caller
/// that starts a job must not wait for the disk.
fn begun(journal: &[u8]) -> State {
    let mut state = State::default();
    let mut is_later = false;
    journal::for_each(journal, |record| {
        let has_run = matches!(state.phase, Phase::Running(_) | Phase::Stopping(..));
        is_later |= has_run && matches!(record.event, Event::Ended(_) | Event::AttemptEnded(_));
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
