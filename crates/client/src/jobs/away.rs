//! A job of a place, as it is seen from here.
//!
//! Its record here is the replica, which the courier keeps. So nothing here adopts or recovers such a job, and what its
//! processes are called means nothing on this machine. Only an end that the place can never tell is recorded here: that
//! the job was not started there, or was given up.

pub mod bells;

use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::job::KeeperView;
use crate::moment;
use crate::places::records::{self, Placed, Start, TOO_MANY_RECORDS};
use crate::places::{Place, Unreached, dial};
use outlive_api::failure::ErrorCode;
use outlive_api::job::{Job, JobOutput};
use outlive_api::time::Timestamp;
use outlive_core::ending::{self, Remaining};
use outlive_core::event::{Event, Moment};
use outlive_core::far::{Answer, Call};
use outlive_core::layout::Home;
use outlive_core::outcome::{End, EndedBy, NotStarted, Outcome};
use outlive_core::place::LOCAL;
use outlive_core::told::BootMoment;
use outlive_core::{BootId, BootTime, JobDir, JobId, JournalWriter, Spec, State, WallTime, layout};
use outlive_sys::lock::{self, LockResult};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

/// The place that keeps a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away {
    /// As the spec has it.
    pub place: String,
}

/// Where the record of a job comes from.
#[derive(Debug)]
pub enum Kept {
    Here,
    Away(Away),
    /// Its end was recorded here just now.
    Settled,
}

/// What is known of a job of a place, beside the replica.
#[derive(Clone, Debug)]
pub enum FarSight {
    /// The job as the place shows it.
    Seen(Box<Job>),
    /// It was not asked. This is when it was last heard from.
    NotAsked(Option<Timestamp>),
    Unreached(Unheard),
}

/// A place that is not reached.
#[derive(Clone, Debug)]
pub struct Unheard {
    pub place: String,
    pub reason: String,
    pub since: Option<Timestamp>,
    pub heard_at: Option<Timestamp>,
}

/// How long the courier may keep the job's lock, which it holds while it writes.
const WRITING_TAKES: Duration = Duration::from_secs(1);

/// Finds out whether a job that is not over is one of a place.
pub fn find(outlive: &Outlive, job: &JobDir, id: &JobId) -> Result<Kept, Error> {
    let placed = match Placed::read(job) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Here),
        other => other.map_err(Error::io("cannot read", job.placed()))?,
    };
    // Any job can put a file into its directory.
    let spec = outlive.read_spec(id)?;
    if spec.place == LOCAL {
        return Ok(Kept::Here);
    }
    if let Some(outcome) = decided(&placed)
        && settle(job, &spec, outcome)?
    {
        return Ok(Kept::Settled);
    }
    Ok(Kept::Away(Away { place: spec.place }))
}

/// How a job ended of which no more will be heard, because it was not started or is lost.
pub fn decided(placed: &Placed) -> Option<Outcome> {
    match placed.start() {
        Start::Asked | Start::Answered => None,
        Start::NotStarted(reason) => Some(Outcome::NotStarted {
            reason: reason.to_owned(),
            cause: NotStarted::Failed,
        }),
        Start::Lost(reason) => Some(Outcome::Lost {
            reason: reason.to_owned(),
        }),
    }
}

/// Records that no more will be heard of a job, so that it is over. The caller holds its lock.
pub fn close(
    job: &JobDir,
    spec: Option<&Spec>,
    journal: &mut JournalWriter,
    outcome: Outcome,
) -> io::Result<()> {
    if journal.state().is_final() {
        return Ok(());
    }
    let at = moment::now();
    if let Some(end) = journal.state().end() {
        // The end is known, and what was left running then is not.
        let closed = Event::Closed {
            output_bytes: end.output_bytes,
            dropped_bytes: end.dropped_bytes,
            output_complete: false,
        };
        journal.append(at, &[closed])?;
        return journal.sync();
    }
    let is_lost = matches!(outcome, Outcome::Lost { .. });
    let mut end = End::unseen(outcome, 0, 0);
    if is_lost {
        end.ended_by = EndedBy::Place;
    }
    let findable = ending::make_findable(job, spec);
    ending::record(findable, journal, at, end, Remaining::Nothing)
}

/// Records an end that the place will never tell. Returns `false` if somebody else writes to the replica.
fn settle(job: &JobDir, spec: &Spec, outcome: Outcome) -> Result<bool, Error> {
    let failed = || Error::io("cannot write the journal of", job.path());
    let until = clock::boot() + WRITING_TAKES;
    let _lock = loop {
        let file = layout::open_or_replace(&job.lock()).map_err(failed())?;
        match lock::take(file).map_err(failed())? {
            LockResult::Acquired(lock) => break lock,
            LockResult::Held if clock::boot() > until => return Ok(false),
            LockResult::Held => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut journal = JournalWriter::open(&job.journal())?;
    if journal.state().is_final() {
        return Ok(true);
    }
    close(job, Some(spec), &mut journal, outcome).map_err(failed())?;
    retire(job, Some(spec)).map_err(failed())?;
    Ok(true)
}

/// Removes a job of a place that is over from the running ones.
pub fn retire(job: &JobDir, spec: Option<&Spec>) -> io::Result<()> {
    // The clock of the place may be wrong. And its control groups are not here.
    ending::note(job, spec, clock::wall())?;
    ending::retire(job, spec, None)
}

/// Asks the place about the job. The replica has what the answer speaks of.
pub fn look(
    outlive: &Outlive,
    away: &Away,
    id: &JobId,
    within: Duration,
) -> Result<FarSight, Error> {
    let place = resolve(outlive, away)?;
    if records::has_too_many(&outlive.job_dir(id)) {
        return Ok(FarSight::Unreached(not_understood(outlive, &place)));
    }
    let asked = Call::Look { job: id.clone() };
    let within = within.min(place.settings.reach);
    match dial::call(outlive, &place, asked, within) {
        Ok(Answer::Look { job, .. }) => {
            // Its start has not been answered yet, so it is not followed.
            if outlive.job_dir(id).read_journal()?.state.seq == 0 {
                let _ = dial::follow(outlive, &place, id, within);
            }
            Ok(FarSight::Seen(job))
        }
        Ok(_) => Ok(FarSight::NotAsked(heard_at(outlive, &place))),
        Err(Error::Place(PlaceError::Unreached { why, .. })) => {
            Ok(FarSight::Unreached(unheard(outlive, &place, Some(&why))))
        }
        // It is over by now, or was never there; the replica tells.
        Err(Error::Place(PlaceError::Refused { code, .. }))
            if code == ErrorCode::NoSuchJob.as_str() =>
        {
            Ok(FarSight::NotAsked(heard_at(outlive, &place)))
        }
        // A disk there that cannot be read, for example. Nothing is known of the job now.
        Err(Error::Place(PlaceError::Refused { message, .. })) => {
            let why = Unreached::Refused(message);
            Ok(FarSight::Unreached(unheard(outlive, &place, Some(&why))))
        }
        Err(error) => Err(error),
    }
}

/// What is known without asking.
pub fn recall(outlive: &Outlive, away: &Away, id: &JobId) -> FarSight {
    let Ok(place) = resolve(outlive, away) else {
        return FarSight::Unreached(Unheard {
            place: away.place.clone(),
            reason: format!("no place {:?} is configured", away.place),
            since: None,
            heard_at: None,
        });
    };
    if records::has_too_many(&outlive.job_dir(id)) {
        return FarSight::Unreached(not_understood(outlive, &place));
    }
    match dial::known(outlive, &place).is_some_and(|known| known.unreached.is_some()) {
        true => FarSight::Unreached(unheard(outlive, &place, None)),
        false => FarSight::NotAsked(heard_at(outlive, &place)),
    }
}

/// What is said of a job whose place is not believed any more.
fn not_understood(outlive: &Outlive, place: &Place) -> Unheard {
    let why = Unreached::NotUnderstood(TOO_MANY_RECORDS.to_owned());
    Unheard {
        since: None,
        ..unheard(outlive, place, Some(&why))
    }
}

/// The name of a job's place, unless that is this machine.
pub fn place_of(outlive: &Outlive, id: &JobId) -> Option<String> {
    let spec = outlive.read_spec(id).ok()?;
    Some(spec.place).filter(|place| place != LOCAL)
}

/// The file at its place to which a job writes. `None` if it was not started there, as far as is known.
pub fn output_path(job: &JobDir, id: &JobId) -> Option<PathBuf> {
    let placed = Placed::read(job).ok()?;
    let is_there = matches!(placed.start(), Start::Answered | Start::Lost(_));
    let root = placed.instance().filter(|_| is_there)?.root.as_path();
    Some(Home::at(root.to_owned()).job(id).output())
}

/// When the place of a job that is lost with it was last heard from.
pub fn heard_before_lost(job: &JobDir, state: &State) -> Option<Timestamp> {
    let end = state.end().filter(|end| end.ended_by == EndedBy::Place)?;
    let is_lost = matches!(end.outcome, Outcome::Lost { .. });
    let placed = is_lost.then(|| Placed::read(job).ok())??;
    placed.last_heard_at().map(Timestamp::from)
}

/// The place of a job.
pub fn resolve(outlive: &Outlive, away: &Away) -> Result<Place, Error> {
    let place = Place::resolve(outlive, &away.place)?;
    place.ok_or_else(|| PlaceError::NoSuch(away.place.clone()).into())
}

fn heard_at(outlive: &Outlive, place: &Place) -> Option<Timestamp> {
    dial::known(outlive, place).map(|known| known.heard_at.into())
}

fn unheard(outlive: &Outlive, place: &Place, why: Option<&Unreached>) -> Unheard {
    let known = dial::known(outlive, place);
    let heard_at = known.as_ref().map(|known| known.heard_at.into());
    let silence = known.and_then(|known| known.unreached);
    let since = silence.as_ref().map(|silence| silence.since);
    let why = why.map(ToString::to_string);
    Unheard {
        place: place.name.clone(),
        reason: why
            .or(silence.map(|silence| silence.why))
            .unwrap_or_else(|| Unreached::TimedOut.to_string()),
        since: since.map(Timestamp::from),
        heard_at,
    }
}

impl FarSight {
    /// What its keeper sees, if it was asked.
    pub fn keeper_view(&self) -> Option<KeeperView> {
        match self {
            FarSight::Seen(job) => Some(KeeperView {
                processes: job.lingering.unwrap_or(0),
                awaiting: job.input_kind,
                line_mode: None,
            }),
            FarSight::NotAsked(_) | FarSight::Unreached(_) => None,
        }
    }

    /// When the place was last heard from.
    pub fn heard_at(&self) -> Option<Timestamp> {
        match self {
            FarSight::Seen(_) => Some(clock::wall().into()),
            FarSight::NotAsked(at) => *at,
            FarSight::Unreached(unheard) => unheard.heard_at,
        }
    }
}

/// Completes a job that was built from the replica.
pub fn complete(job: Job, state: &State, sight: FarSight) -> Job {
    let heard_at = sight.heard_at();
    match sight {
        FarSight::Seen(far) => Job {
            heard_at,
            // A reply to the same question as to a keeper here.
            lingering: far.lingering,
            awaiting_input: far.awaiting_input,
            input_kind: far.input_kind,
            waiting_for: far.waiting_for,
            suspended: far.suspended,
            keeper_silent: far.keeper_silent,
            duration_ms: far.duration_ms,
            usage: far.usage,
            limits: far.limits,
            output: JobOutput {
                path: None,
                path_there: job.output.path_there,
                ..far.output
            },
            ..job
        },
        FarSight::NotAsked(_) => Job {
            heard_at,
            duration_ms: job.duration_ms.or_else(|| since_start(state)),
            ..job
        },
        FarSight::Unreached(_) => Job { heard_at, ..job },
    }
}

/// Roughly, because the clock of the place counts.
fn since_start(state: &State) -> Option<outlive_api::time::Millis> {
    let started = state.started().filter(|_| state.end().is_none())?;
    Some(clock::wall().since(started.wall).into())
}

/// When the newest record of a job of a place arrived; `None` for a job of this machine. The age of its records is
/// counted from then: the clocks of a place are others, and a record may arrive long after it was made.
pub fn arrived(job: &JobDir, spec: &Spec) -> Option<BootMoment> {
    if spec.place == LOCAL {
        return None;
    }
    let journal = fs::metadata(job.journal()).ok()?;
    let since = journal.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(BootMoment {
        // So the wall clock counts.
        boot: BootId(String::new()),
        at: Moment {
            wall: WallTime::default() + since,
            boot: BootTime::default(),
        },
    })
}
