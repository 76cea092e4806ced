//! Finding out about a job of which it is not known whether it is there: its `run` was killed, or its start was given up.
//!
//! While somebody starts it, that is left to him.

use super::ask::{self, Said};
use super::claims::Claim;
use super::desk::Courier;
use super::journals;
use super::replicas::{self, Standing};
use super::starts::{failed, is_there, not_started};
use super::wire::Wire;
use crate::clock;
use crate::hooks::{self, CourierHook};
use crate::places::Unreached;
use crate::places::dial::Reply;
use crate::places::records::{Placed, Start};
use outlive_api::failure::ErrorCode;
use outlive_core::far::{self, Answer, Call, FarFailure};
use outlive_core::layout;
use outlive_core::{BootTime, JobId};
use outlive_sys::lock::{self, LockResult};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Before a question is asked again whose answer changed nothing.
const PAUSE: Duration = Duration::from_millis(20);

/// Makes sure that the replica has all that the journal of the job has now.
pub fn follow(courier: &Arc<Courier>, job: &JobId, by: BootTime) -> Reply {
    let placed = match Placed::read(&courier.outlive.job_dir(job)) {
        Ok(placed) => placed,
        Err(error) => return failed(&error),
    };
    if placed.start() == Start::Asked {
        let wire = match courier.wire(by) {
            Ok(wire) => wire,
            Err(why) => return Reply::Unreached(why),
        };
        settle(courier, &wire, Some(job));
    }
    catch_up(courier, job, by)
}

/// Makes sure that it is known whether a job was started. Waits while somebody starts it. The error is the answer for a
/// client that wants something of a job that is not there.
pub fn decide(courier: &Arc<Courier>, job: &JobId, by: BootTime) -> Result<(), Reply> {
    loop {
        let Ok(placed) = Placed::read(&courier.outlive.job_dir(job)) else {
            // Nobody knows how it was started. The place knows whether it is there.
            return Ok(());
        };
        match placed.start() {
            Start::Answered => return Ok(()),
            Start::NotStarted(reason) | Start::Lost(reason) => return Err(not_there(reason)),
            Start::Asked if clock::boot() >= by => {
                let why = "whether it was started is not known yet";
                return Err(Reply::Unreached(Unreached::Refused(why.to_owned())));
            }
            Start::Asked => {}
        }
        let wire = courier.wire(by).map_err(Reply::Unreached)?;
        if !settle(courier, &wire, Some(job)) {
            // Who starts it here has its claim. If nobody has, its `run` is about to send it.
            drop(courier.claims.take(job, by));
            thread::sleep(PAUSE);
        }
    }
}

fn not_there(reason: &str) -> Reply {
    Reply::Failed(FarFailure {
        code: ErrorCode::NoSuchJob.as_str().to_owned(),
        message: reason.to_owned(),
    })
}

pub fn catch_up(courier: &Arc<Courier>, job: &JobId, by: BootTime) -> Reply {
    loop {
        let placed = match Placed::read(&courier.outlive.job_dir(job)) {
            Ok(placed) => placed,
            Err(error) => return failed(&error),
        };
        match placed.start() {
            Start::Answered => {}
            Start::NotStarted(reason) | Start::Lost(reason) => {
                return Reply::NotStarted {
                    reason: reason.to_owned(),
                };
            }
            Start::Asked => {
                let why = "whether it was started is not known yet";
                return Reply::Unreached(Unreached::Refused(why.to_owned()));
            }
        }
        let wire = match courier.wire(by) {
            Ok(wire) => wire,
            Err(why) => return Reply::Unreached(why),
        };
        let home = wire.greeting().map(|greeting| &greeting.instance.home);
        if placed.instance().map(|instance| &instance.home) != home {
            let why = "another home answers there than the one that has this job";
            return Reply::Unreached(Unreached::OtherInstance(why.to_owned()));
        }
        if let Err(error) = courier.follow(&wire, job) {
            return failed(&error);
        }
        match stand_one(&wire, job, by) {
            Ok(far::Standing::There) => return Reply::Started,
            Ok(far::Standing::NotThere | far::Standing::OtherJob) => {
                if let Err(error) = journals::gone(courier, job) {
                    return failed(&error);
                }
            }
            Err(Unstood::Refused(failure)) => return Reply::Failed(failure),
            // The next wire is asked.
            Err(Unstood::NoAnswer) => {}
        }
        if clock::boot() >= by {
            return Reply::Unreached(Unreached::TimedOut);
        }
        thread::sleep(PAUSE);
    }
}

/// Why a place has not said which jobs are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unstood {
    /// There was no answer in time, or the wire was lost.
    NoAnswer,
    /// It answered that it cannot, or something else.
    Refused(FarFailure),
}

/// Asks which jobs are there.
fn stand(wire: &Wire, jobs: Vec<JobId>, by: BootTime) -> Result<Vec<far::Standing>, Unstood> {
    let count = jobs.len();
    let asked = ask::send(wire, &Call::Standing { jobs }).map_err(|_| Unstood::NoAnswer)?;
    match asked.wait(Some(by)) {
        Some(Said::Answer(Answer::Standing(all))) if all.len() == count => Ok(all),
        Some(Said::Answer(Answer::Failed(failure))) => Err(Unstood::Refused(failure)),
        Some(Said::Answer(_) | Said::Unreadable(_)) => Err(Unstood::Refused(FarFailure {
            code: "refused".to_owned(),
            message: "it gave an answer to another question".to_owned(),
        })),
        Some(Said::Lost(_)) | None => Err(Unstood::NoAnswer),
    }
}

/// Asks whether one job is there.
pub fn stand_one(wire: &Wire, job: &JobId, by: BootTime) -> Result<far::Standing, Unstood> {
    let mut all = stand(wire, vec![job.clone()], by)?;
    all.pop().ok_or(Unstood::NoAnswer)
}

/// A start that nobody is making any more.
pub struct Abandoned<'a> {
    pub job: JobId,
    _claim: Claim<'a>,
    /// The process that started it would hold it.
    _placing: File,
}

/// Finds out about starts that were sent over earlier wires and whose makers have ended. All of them, or this one.
/// Returns whether anything was found out.
pub fn settle(courier: &Arc<Courier>, wire: &Arc<Wire>, only: Option<&JobId>) -> bool {
    let Some(greeting) = wire.greeting() else {
        return false;
    };
    let live: Vec<Standing> = match only {
        Some(job) => replicas::standing(courier, job).into_iter().collect(),
        None => replicas::live(courier),
    };
    let undecided = live.into_iter().filter(|standing| {
        standing.placed.start() == Start::Asked && standing.is_at(&greeting.instance.home)
    });
    let abandoned: Vec<Abandoned<'_>> = undecided
        .filter_map(|standing| Abandoned::take(courier, standing))
        .collect();
    if abandoned.is_empty() {
        return false;
    }
    let jobs = abandoned.iter().map(|one| one.job.clone()).collect();
    let by = clock::boot() + courier.place.settings.reach;
    // Otherwise the next wire asks again.
    let Ok(standing) = stand(wire, jobs, by) else {
        return false;
    };
    hooks::reach_courier(CourierHook::Stood);
    for (one, standing) in abandoned.iter().zip(standing) {
        let not_started = |reason: &str| not_started(courier, &one.job, reason.to_owned());
        match standing {
            far::Standing::There => {
                if let Err(error) = is_there(courier, wire, &one.job, by) {
                    courier
                        .log
                        .note(&format!("cannot record that {} runs: {error}", one.job));
                }
            }
            far::Standing::NotThere => drop(not_started(
                "the connection was lost before it was started, and whoever started it has ended",
            )),
            far::Standing::OtherJob => drop(not_started("another job there has its id")),
        }
    }
    true
}

impl<'a> Abandoned<'a> {
    /// `None` if somebody makes the start, or it is decided.
    pub fn take(courier: &'a Arc<Courier>, standing: Standing) -> Option<Abandoned<'a>> {
        let claim = courier.claims.try_take(&standing.id)?;
        let dir = courier.outlive.job_dir(&standing.id);
        // A launcher holds the first until it sends the start, and the second until that is answered.
        let is_free = |path: &Path| match lock::take(layout::open_or_make(path).ok()?).ok()? {
            LockResult::Acquired(lock) => Some(lock.into_file()),
            LockResult::Held => None,
        };
        is_free(&dir.lock()).map(drop)?;
        let placing = is_free(&dir.placed())?;
        // It may have been decided while this waited.
        let placed = Placed::read(&dir).ok()?;
        (placed.start() == Start::Asked).then(|| Abandoned {
            job: standing.id,
            _claim: claim,
            _placing: placing,
        })
    }
}
