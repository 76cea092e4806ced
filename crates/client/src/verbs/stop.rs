//! Stops jobs: TERM, a grace period, then KILL, for the whole process tree of each.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::jobs::connection::{Answer, Connection, PATIENCE};
use crate::jobs::descriptors;
use crate::jobs::presence;
use crate::verbs::show;
use outlive_api::event::EventKind;
use outlive_api::job::Job;
pub use outlive_api::request::Stop;
use outlive_core::control::Request;
use outlive_core::event::{StopCause, StopRequest};
use outlive_core::told::ToldBy;
use outlive_core::{JobId, State, doorbell};

/// The result of stopping one job.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The job as it is now.
    pub job: Job,
    /// What there was to stop.
    pub what: StoppedPart,
    /// Call `told` on it after the answer is printed.
    pub receipt: Receipt,
}

/// The events that the answer to a stop tells.
const ANSWERED: [EventKind; 2] = [EventKind::Ended, EventKind::LingeringEnded];

/// What there was to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedPart {
    /// It ran, and was stopped.
    TheJob,
    /// The job had ended; the processes that it left running were stopped.
    Leftovers,
    /// The job had ended, and only a doorbell was left to ring. It was given up.
    Doorbell,
    /// The job was over.
    AlreadyEnded,
}

/// The result of stopping several jobs.
#[derive(Debug, Default)]
pub struct Stops {
    /// In the order of the request.
    pub stopped: Vec<Stopped>,
    /// The jobs that could not be stopped, or whose stop is unknown.
    pub failed: Vec<(JobId, Error)>,
}

/// Stops all of these jobs at once. Returns when no process of any of them is left, except of those
/// that failed.
pub fn stop_all(outlive: &Outlive, ids: &[JobId], how: &Stop) -> Stops {
    let mut stops = Stops::default();
    let budget = descriptors::budget(ids.len());
    let mut numbers = 0..;
    for some in ids.chunks(budget.connections) {
        // The reservations last until all jobs are stopped.
        let reserves = |number: Option<usize>| number.is_some_and(|n| n < budget.reserved);
        let asked: Vec<_> = some
            .iter()
            .map(|id| PendingStop::of(outlive, id, how, reserves(numbers.next())))
            .collect();
        for (id, asked) in some.iter().zip(asked) {
            match asked.and_then(|asked| asked.finish(outlive, id)) {
                Ok(stopped) => stops.stopped.push(stopped),
                Err(error) => stops.failed.push((id.clone(), error)),
            }
        }
    }
    stops
}

/// Like [`stop_all`], for a caller that wants all of them stopped or an error. Returns the first error,
/// after the others are stopped.
pub fn stop(outlive: &Outlive, ids: &[JobId], how: &Stop) -> Result<Vec<Stopped>, Error> {
    let stops = stop_all(outlive, ids, how);
    match stops.failed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(stops.stopped),
    }
}

/// Stops one job.
pub fn stop_one(outlive: &Outlive, id: &JobId, stop: &Stop) -> Result<Stopped, Error> {
    PendingStop::of(outlive, id, stop, true)?.finish(outlive, id)
}

/// A job that was asked to stop.
struct PendingStop {
    what: StoppedPart,
    connection: Option<Connection>,
    request: Request,
    reserved: Option<Reservation>,
}

impl PendingStop {
    fn of(outlive: &Outlive, id: &JobId, how: &Stop, reserves: bool) -> Result<PendingStop, Error> {
        let reserved = reserves.then(|| Reservation::of(outlive, id, &ANSWERED));
        let request = Request::Stop {
            grace_ms: how.grace.map(|grace| grace.as_millis() as u64),
            detail: how.detail.clone(),
            session: outlive.calling_session().cloned(),
        };
        let (what, connection) = ask(outlive, id, &request)?;
        Ok(PendingStop {
            what,
            connection,
            request,
            reserved: reserved.flatten(),
        })
    }

    fn finish(self, outlive: &Outlive, id: &JobId) -> Result<Stopped, Error> {
        finish(outlive, id, self.connection, &self.request)?;
        Ok(Stopped {
            job: show::show(outlive, id)?,
            what: self.what,
            receipt: Receipt::nothing(outlive)
                .telling(id, ToldBy::Asked, &ANSWERED, Vec::new())
                .reserving(self.reserved),
        })
    }
}

fn ask(
    outlive: &Outlive,
    id: &JobId,
    request: &Request,
) -> Result<(StoppedPart, Option<Connection>), Error> {
    let (what, connection) = match presence::meet(outlive, id) {
        Ok((_, state)) => {
            let connection = presence::reach(outlive, id)?;
            let what = match (&connection, state.end()) {
                (None, _) => StoppedPart::AlreadyEnded,
                (Some(_), Some(_)) if only_rings(outlive, id, &state) => StoppedPart::Doorbell,
                (Some(_), Some(_)) => StoppedPart::Leftovers,
                (Some(_), None) => StoppedPart::TheJob,
            };
            (what, connection)
        }
        // If the disk has failed, the job's files may be unreadable. Its keeper, if any, can still be
        // asked.
        Err(error) => match Connection::open(&outlive.job_dir(id), PATIENCE) {
            Ok(Some(connection)) => (StoppedPart::TheJob, Some(connection)),
            _ => return Err(error),
        },
    };
    if let Some(connection) = &connection {
        connection.send(request)?;
    }
    Ok((what, connection))
}

fn only_rings(outlive: &Outlive, id: &JobId, state: &State) -> bool {
    let spec = outlive.read_spec(id);
    spec.is_ok_and(|spec| doorbell::only_rings(state, &spec.doorbells, clock::boot()))
}

/// Waits until the job is stopped.
fn finish(
    outlive: &Outlive,
    id: &JobId,
    mut connection: Option<Connection>,
    request: &Request,
) -> Result<(), Error> {
    let mut is_taken_back = false;
    while let Some(mut open) = connection {
        match presence::answer(outlive, id, &mut open) {
            Ok(Answer::KeeperGone) => {}
            answer if presence::is_of_keeper(outlive, id, &answer) => return answer.map(drop),
            // The job itself has answered. If it does that again, it is stopped nevertheless, but nobody tells when.
            answer if is_taken_back => return answer.and(Err(Error::NoAnswer(id.clone()))),
            _ => {
                drop(open);
                presence::take_back(outlive, id, &to_journal(outlive, id, request))?;
                is_taken_back = true;
            }
        }
        // Another keeper has taken over and is asked again, or the job is over.
        connection = presence::reach(outlive, id).map_err(presence::sent_before)?;
        if let Some(open) = &connection {
            open.send(request)?;
        }
    }
    Ok(())
}

/// The stop as a keeper would journal it.
fn to_journal(outlive: &Outlive, id: &JobId, request: &Request) -> StopRequest {
    let own_grace = || outlive.read_spec(id).map_or(0, |spec| spec.grace_ms);
    let (grace_ms, detail, session) = match request {
        Request::Stop {
            grace_ms,
            detail,
            session,
        } => (*grace_ms, detail.clone(), session.clone()),
        _ => (None, None, None),
    };
    StopRequest {
        by: StopCause::Stop,
        detail,
        grace_ms: grace_ms.unwrap_or_else(own_grace),
        session,
    }
}
