//! Starts of jobs at the place: sent, repeated over new wires, and settled later if nobody knows how they went.
//!
//! ```text
//!  asked ─► launch sent ─► there ─────────────► answered, followed
//!    │           ├─► not made ────────────────► not started, ended
//!    │           └─► the wire is lost ─► sent again, until the time is over
//!    └─ a later wire, and nobody is starting it: is it there?
//!                    ├─ there ────────────────► answered, followed
//!                    └─ not there ────────────► not started, ended: no earlier wire can start it any more
//! ```
//! Whoever decides about a start holds its claim, so a start is not repeated after it was given up.

use super::ask::{self, Said};
use super::bells;
use super::claims::Claim;
use super::desk::Courier;
use super::journals;
use super::replicas::{self, Standing};
use super::wire::Wire;
use crate::clock;
use crate::doorbell::ON_END;
use crate::hooks::{self, CourierHook};
use crate::places::Unreached;
use crate::places::dial::Reply;
use crate::places::records::{Placed, PlacedStep, Start};
use outlive_core::far::{self, Answer, Call, FarFailure, FarVariables, Launch, Launched};
use outlive_core::layout;
use outlive_core::place::LOCAL;
use outlive_core::{BootTime, JobId, Label, Spec};
use outlive_sys::lock::{self, LockResult};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Starts a job, and tells the client through `reply`, once. If the client's time is over while a start is on its way,
/// this goes on until it is known how it went, or the wire is lost.
pub fn start(
    courier: &Arc<Courier>,
    job: &JobId,
    variables: FarVariables,
    by: BootTime,
    again: bool,
    reply: impl Fn(&Reply),
) {
    let Some(_claim) = courier.claims.take(job, by) else {
        // Another client has sent it, and that is not answered.
        return reply(&Reply::Lost(Unreached::TimedOut));
    };
    let beginning = match Beginning::of(courier, job, variables) {
        Ok(Some(beginning)) => beginning,
        Ok(None) => return reply(&decided(courier, job, by)),
        // An earlier courier may have sent it.
        Err(error) if again => return reply(&unknown(&error)),
        Err(error) => return reply(&failed(&error)),
    };
    let mut lost = again.then_some(Unreached::TimedOut);
    loop {
        let wire = match lost {
            None => courier.wire(by),
            Some(_) => courier.wire_until(by),
        };
        let wire = match wire {
            Ok(wire) => wire,
            Err(why) => return reply(&beginning.give_up(courier, lost, why)),
        };
        if let Err(why) = beginning.check(&wire) {
            return reply(&beginning.give_up(courier, lost, why));
        }
        let asked = match ask::send(&wire, &beginning.call(&wire)) {
            Ok(asked) => asked,
            Err(_) if wire.is_lost() => continue,
            Err(why) => return reply(&beginning.give_up(courier, lost, why)),
        };
        hooks::reach_courier(CourierHook::LaunchSent);
        let said = asked.wait(Some(by)).unwrap_or_else(|| {
            reply(&Reply::Lost(Unreached::TimedOut));
            // The client has left by now, and what the far end does is recorded all the same.
            asked.wait(None).unwrap_or(Said::Lost(Unreached::TimedOut))
        });
        match said {
            Said::Lost(_) if clock::boot() >= by => {
                return reply(&Reply::Lost(Unreached::TimedOut));
            }
            Said::Lost(why) => lost = Some(why),
            Said::Unreadable(why) => return reply(&Reply::Lost(why)),
            Said::Answer(Answer::Launch(Launched::Stale)) => {
                // Another courier has said hello since. This wire is of no more use.
                wire.cut(Unreached::Refused(
                    "another courier has taken over".to_owned(),
                ));
                lost.get_or_insert(Unreached::TimedOut);
            }
            Said::Answer(answer) => {
                return reply(&beginning.take(courier, &wire, lost.is_some(), answer, by));
            }
        }
    }
}

/// A start that is not decided.
struct Beginning {
    job: JobId,
    home: far::HomeId,
    launch: Launch,
}

impl Beginning {
    /// `None` if the start is decided already.
    fn of(
        courier: &Arc<Courier>,
        job: &JobId,
        variables: FarVariables,
    ) -> io::Result<Option<Beginning>> {
        let placed = Placed::read(&courier.outlive.job_dir(job))?;
        let spec = courier.outlive.read_spec(job).map_err(io::Error::other)?;
        let (Start::Asked, Some(instance)) = (placed.start(), placed.instance()) else {
            return Ok(None);
        };
        // Before it is sent: the first records come before the answer. If they were passed over, a later one could be
        // taken before they are sent again, and they would count as old then.
        courier.replicas.follow(&courier.outlive, job)?;
        Ok(Some(Beginning {
            job: job.clone(),
            home: instance.home.clone(),
            launch: Launch {
                spec: far_spec(courier, spec)?,
                variables,
                login: courier.place.settings.login,
                epoch: 0,
            },
        }))
    }

    /// The start must go to the home that was greeted before the job was made.
    fn check(&self, wire: &Wire) -> Result<(), Unreached> {
        match wire.greeting() {
            Some(greeting) if greeting.instance.home == self.home => Ok(()),
            _ => Err(Unreached::OtherInstance(
                "another home answers there than when the job was made".to_owned(),
            )),
        }
    }

    fn call(&self, wire: &Wire) -> Call {
        let epoch = wire.greeting().map_or(0, |greeting| greeting.epoch);
        Call::Launch(Box::new(Launch {
            epoch,
            ..self.launch.clone()
        }))
    }

    /// No wire was to be had.
    fn give_up(&self, courier: &Arc<Courier>, lost: Option<Unreached>, why: Unreached) -> Reply {
        match lost {
            // It may be there. A later contact settles it.
            Some(_) => {
                courier.replicas.leave(&self.job);
                Reply::Lost(why)
            }
            None => {
                let reason = format!("{} was not reached: {why}", courier.place.name);
                not_started(courier, &self.job, reason)
            }
        }
    }

    fn take(
        &self,
        courier: &Arc<Courier>,
        wire: &Wire,
        was_sent_before: bool,
        answer: Answer,
        by: BootTime,
    ) -> Reply {
        match answer {
            Answer::Launch(Launched::There) => {
                hooks::reach_courier(CourierHook::Launched);
                self.is_there(courier, wire, by)
            }
            Answer::Launch(Launched::IdTaken) => {
                courier.replicas.leave(&self.job);
                Reply::IdTaken
            }
            Answer::Launch(Launched::NotMade { reason }) if was_sent_before => {
                self.ask_whether_there(courier, wire, reason, by)
            }
            Answer::Launch(Launched::NotMade { reason }) => not_started(courier, &self.job, reason),
            // Nothing was changed by this one, but perhaps by one before it.
            Answer::Failed(failure) if was_sent_before => {
                Reply::Lost(Unreached::Refused(failure.message))
            }
            Answer::Failed(failure) => not_started(courier, &self.job, failure.message),
            _ => Reply::Lost(Unreached::NotUnderstood(
                "it gave an answer to another question".to_owned(),
            )),
        }
    }

    /// This start was not made for this reason, and perhaps one before it was.
    fn ask_whether_there(
        &self,
        courier: &Arc<Courier>,
        wire: &Wire,
        reason: String,
        by: BootTime,
    ) -> Reply {
        let standing = stand(wire, vec![self.job.clone()], by).and_then(|mut all| all.pop());
        match standing {
            Some(far::Standing::There) => self.is_there(courier, wire, by),
            Some(far::Standing::NotThere | far::Standing::OtherJob) => {
                not_started(courier, &self.job, reason)
            }
            None => Reply::Lost(Unreached::Refused(reason)),
        }
    }

    fn is_there(&self, courier: &Arc<Courier>, wire: &Wire, by: BootTime) -> Reply {
        match is_there(courier, wire, &self.job, by) {
            Ok(()) => Reply::Started,
            // It is there all the same, and a later contact records it.
            Err(error) => unknown(&error),
        }
    }
}

/// The spec as it is written there.
fn far_spec(courier: &Arc<Courier>, spec: Spec) -> io::Result<Spec> {
    let session = Label::parse(&format!("near-{}", courier.home)).map_err(io::Error::other)?;
    let mut doorbells = spec.doorbells;
    // The others are configured here, and ring here.
    doorbells.retain(|bell| bell.name == ON_END);
    Ok(Spec {
        name: None,
        session: Some(session),
        place: LOCAL.to_owned(),
        doorbells,
        log: None,
        keep_awake: Vec::new(),
        ..spec
    })
}

/// The answer about a start that was decided before.
fn decided(courier: &Arc<Courier>, job: &JobId, by: BootTime) -> Reply {
    let placed = match Placed::read(&courier.outlive.job_dir(job)) {
        Ok(placed) => placed,
        Err(error) => return unknown(&error),
    };
    match placed.start() {
        Start::Answered => match catch_up(courier, job, by) {
            // It is there, though nothing can be heard of it now.
            Reply::Unreached(_) | Reply::Failed(_) => Reply::Started,
            reply => reply,
        },
        Start::NotStarted(reason) | Start::Lost(reason) => Reply::NotStarted {
            reason: reason.to_owned(),
        },
        Start::Asked => failed(&io::Error::other("its record of the start is damaged")),
    }
}

/// Records that a job is there, and follows it.
fn is_there(courier: &Arc<Courier>, wire: &Wire, job: &JobId, by: BootTime) -> io::Result<()> {
    let at = clock::wall();
    let spec = courier.outlive.read_spec(job).map_err(io::Error::other)?;
    bells::remember(courier, &spec)?;
    replicas::note(&courier.outlive, job, &PlacedStep::Answered { at })?;
    hooks::reach_courier(CourierHook::Answered);
    courier.follow(wire, job)?;
    // As a rule its first records came before the answer.
    if courier.replicas.seq(job) == Some(0) {
        let _ = stand(wire, vec![job.clone()], by);
    }
    Ok(())
}

/// Records and tells that a job was not started and never will be.
fn not_started(courier: &Arc<Courier>, job: &JobId, reason: String) -> Reply {
    let step = PlacedStep::NotStarted {
        reason: reason.clone(),
        at: clock::wall(),
    };
    let noted = replicas::note(&courier.outlive, job, &step);
    hooks::reach_courier(CourierHook::NotStarted);
    match noted.and_then(|()| journals::finish(courier, job)) {
        Ok(()) => Reply::NotStarted { reason },
        Err(error) => failed(&error),
    }
}

/// Something failed here, and the job may be there.
fn unknown(error: &io::Error) -> Reply {
    Reply::Lost(Unreached::NoCourier(format!("its courier: {error}")))
}

fn failed(error: &io::Error) -> Reply {
    Reply::Failed(FarFailure {
        code: "io".to_owned(),
        message: error.to_string(),
    })
}

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

fn catch_up(courier: &Arc<Courier>, job: &JobId, by: BootTime) -> Reply {
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
        match stand(&wire, vec![job.clone()], by) {
            Some(standing) if standing == [far::Standing::There] => return Reply::Started,
            Some(_) => {
                if let Err(error) = journals::gone(courier, job) {
                    return failed(&error);
                }
                if clock::boot() >= by {
                    return Reply::Unreached(Unreached::TimedOut);
                }
            }
            None if clock::boot() >= by => return Reply::Unreached(Unreached::TimedOut),
            None => {}
        }
    }
}

/// Asks which jobs are there. `None` if there is no answer.
fn stand(wire: &Wire, jobs: Vec<JobId>, by: BootTime) -> Option<Vec<far::Standing>> {
    let count = jobs.len();
    let asked = ask::send(wire, &Call::Standing { jobs }).ok()?;
    match asked.wait(Some(by))? {
        Said::Answer(Answer::Standing(all)) if all.len() == count => Some(all),
        _ => None,
    }
}

/// A start that nobody is making any more.
pub struct Abandoned<'a> {
    pub job: JobId,
    _claim: Claim<'a>,
    /// The process that started it would hold it.
    _placing: File,
}

/// Finds out about starts that were sent over earlier wires and whose makers have ended. All of them, or this one.
pub fn settle(courier: &Arc<Courier>, wire: &Arc<Wire>, only: Option<&JobId>) {
    let Some(greeting) = wire.greeting() else {
        return;
    };
    let live = replicas::live(courier).into_iter();
    let undecided = live.filter(|standing| {
        standing.placed.start() == Start::Asked
            && standing.is_at(&greeting.instance.home)
            && only.is_none_or(|only| *only == standing.id)
    });
    let abandoned: Vec<Abandoned<'_>> = undecided
        .filter_map(|standing| Abandoned::take(courier, standing))
        .collect();
    if abandoned.is_empty() {
        return;
    }
    let jobs = abandoned.iter().map(|one| one.job.clone()).collect();
    let by = clock::boot() + courier.place.settings.reach;
    // Otherwise the next wire asks again.
    let Some(standing) = stand(wire, jobs, by) else {
        return;
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
