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
//! Whoever decides about a start holds its claim, so a start is not repeated after it was given up. The later wires are
//! in `settling`.

use super::ask::{self, Said};
use super::bells;
use super::desk::Courier;
use super::journals;
use super::replicas;
use super::settling::{catch_up, stand_one};
use super::wire::Wire;
use crate::clock;
use crate::doorbell::ON_END;
use crate::hooks::{self, CourierHook};
use crate::places::Unreached;
use crate::places::dial::Reply;
use crate::places::records::{Placed, PlacedStep, Start};
use outlive_core::far::{self, Answer, Call, FarFailure, FarVariables, Launch, Launched};
use outlive_core::place::LOCAL;
use outlive_core::spec::{After, Needs};
use outlive_core::{BootTime, JobId, Label, Spec, after};
use std::io;
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
        Ok(Begins::With(beginning)) => *beginning,
        Ok(Begins::Never(reason)) => return reply(&not_started(courier, job, reason)),
        Ok(Begins::Already) => return reply(&decided(courier, job, by)),
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

/// Whether a start is to be sent.
enum Begins {
    With(Box<Beginning>),
    /// It must not be started, for this reason.
    Never(String),
    /// That is decided already.
    Already,
}

impl Beginning {
    fn of(courier: &Arc<Courier>, job: &JobId, variables: FarVariables) -> io::Result<Begins> {
        let placed = Placed::read(&courier.outlive.job_dir(job))?;
        let spec = courier.outlive.read_spec(job).map_err(io::Error::other)?;
        let (Start::Asked, Some(instance)) = (placed.start(), placed.instance()) else {
            return Ok(Begins::Already);
        };
        let after = match left_to_wait_for(courier, &spec) {
            Ok(after) => after,
            Err(reason) => return Ok(Begins::Never(reason)),
        };
        let spec = Spec { after, ..spec };
        // Before it is sent: the first records come before the answer. If they were passed over, a later one could be
        // taken before they are sent again, and they would count as old then.
        courier.replicas.follow(courier, job)?;
        Ok(Begins::With(Box::new(Beginning {
            job: job.clone(),
            home: instance.home.clone(),
            launch: Launch {
                spec: far_spec(courier, spec)?,
                variables,
                login: courier.place.settings.login,
                epoch: 0,
            },
        })))
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
        match stand_one(wire, &self.job, by) {
            Ok(far::Standing::There) => self.is_there(courier, wire, by),
            Ok(far::Standing::NotThere | far::Standing::OtherJob) => {
                not_started(courier, &self.job, reason)
            }
            Err(_) => Reply::Lost(Unreached::Refused(reason)),
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

/// The jobs that this one starts after and whose end is not known here. The others may have been removed there since.
/// The error is why the job must not start.
fn left_to_wait_for(courier: &Courier, spec: &Spec) -> Result<Vec<After>, String> {
    let mut left = Vec::new();
    for after in &spec.after {
        let journal = courier.outlive.job_dir(&after.job).read_journal();
        let state = journal.map(|journal| journal.state).unwrap_or_default();
        match (state.end(), after.needs) {
            (None, _) => left.push(after.clone()),
            (Some(end), Needs::Success) if !end.outcome.is_success() => {
                let other = courier.outlive.read_spec(&after.job);
                return Err(other.map_or_else(
                    |_| after::refusal_unknown(&after.job),
                    |other| after::refusal(&other, end),
                ));
            }
            (Some(_), _) => {}
        }
    }
    Ok(left)
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
pub fn is_there(courier: &Arc<Courier>, wire: &Wire, job: &JobId, by: BootTime) -> io::Result<()> {
    let at = clock::wall();
    let spec = courier.outlive.read_spec(job).map_err(io::Error::other)?;
    bells::remember(&courier.outlive, &courier.place, &spec)?;
    replicas::note(&courier.outlive, job, &PlacedStep::Answered { at })?;
    hooks::reach_courier(CourierHook::Answered);
    courier.follow(wire, job)?;
    // As a rule its first records came before the answer.
    if courier.replicas.seq(job) == Some(0) {
        let _ = stand_one(wire, job, by);
    }
    Ok(())
}

/// Records and tells that a job was not started and never will be.
pub fn not_started(courier: &Arc<Courier>, job: &JobId, reason: String) -> Reply {
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

pub fn failed(error: &io::Error) -> Reply {
    Reply::Failed(FarFailure {
        code: "io".to_owned(),
        message: error.to_string(),
    })
}
