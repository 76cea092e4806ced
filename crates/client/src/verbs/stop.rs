//! Stop jobs: TERM, grace, KILL, the whole tree of each.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::jobs::connection::{Answer, Connection, PATIENCE};
use crate::jobs::descriptors;
use crate::jobs::presence;
use crate::verbs::show;
use outlive_api::job::Job;
use outlive_core::control::Request;
use outlive_core::notice::Kind;
use outlive_core::told::ToldBy;
use outlive_core::{JobId, State, doorbell};
use std::time::Duration;

/// How to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Else the job's own.
    pub grace: Option<Duration>,
    /// Who asks, for the record.
    pub detail: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Stopped {
    pub job: Job,
    pub what: What,
    /// To be told once the answer is out.
    pub receipt: Receipt,
}

/// What the answer to a stop tells.
const ANSWERED: [Kind; 2] = [Kind::Ended, Kind::LingeringEnded];

/// What there was to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    TheJob,
    /// It had ended; processes it had left behind were stopped.
    Leftovers,
    /// It had ended, and only a doorbell of it was still to be rung, which was given up.
    Doorbell,
    /// It was over.
    AlreadyEnded,
}

/// What came of stopping several.
#[derive(Debug, Default)]
pub struct Stops {
    /// In the order asked for.
    pub stopped: Vec<Stopped>,
    /// Those that could not be stopped, or of which nobody knows whether they were.
    pub failed: Vec<(JobId, Error)>,
}

/// Stops all of these at once; returns when nothing of any of them is left, but for those that failed.
pub fn stop_all(outlive: &Outlive, ids: &[JobId], how: &Stop) -> Stops {
    let mut stops = Stops::default();
    let budget = descriptors::budget(ids.len());
    let mut numbers = 0..;
    for some in ids.chunks(budget.connections) {
        // What is reserved stays so until all are stopped.
        let reserves = |number: Option<usize>| number.is_some_and(|n| n < budget.reserved);
        let asked: Vec<_> = some
            .iter()
            .map(|id| Asked::of(outlive, id, how, reserves(numbers.next())))
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

/// The same, for a caller who wants all of them stopped or to know why not: the first error is returned, once
/// the others are stopped.
pub fn stop(outlive: &Outlive, ids: &[JobId], how: &Stop) -> Result<Vec<Stopped>, Error> {
    let stops = stop_all(outlive, ids, how);
    match stops.failed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(stops.stopped),
    }
}

/// A job that was asked to stop.
struct Asked {
    what: What,
    connection: Option<Connection>,
    request: Request,
    reserved: Option<Reservation>,
}

impl Asked {
    fn of(outlive: &Outlive, id: &JobId, how: &Stop, reserves: bool) -> Result<Asked, Error> {
        let reserved = reserves.then(|| Reservation::of(outlive, id, &ANSWERED));
        let request = Request::Stop {
            grace_ms: how.grace.map(|grace| grace.as_millis() as u64),
            detail: how.detail.clone(),
            session: outlive.calling_session().cloned(),
        };
        let (what, connection) = ask(outlive, id, &request)?;
        Ok(Asked {
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
) -> Result<(What, Option<Connection>), Error> {
    let (what, connection) = match presence::meet(outlive, id) {
        Ok((_, state)) => {
            let connection = presence::reach(outlive, id)?;
            let what = match (&connection, state.end()) {
                (None, _) => What::AlreadyEnded,
                (Some(_), Some(_)) if only_rings(outlive, id, &state) => What::Doorbell,
                (Some(_), Some(_)) => What::Leftovers,
                (Some(_), None) => What::TheJob,
            };
            (what, connection)
        }
        // A disk that has failed may not even be read. Its keeper can be asked all the same, if there is one.
        Err(error) => match Connection::open(&outlive.job_dir(id), PATIENCE) {
            Ok(Some(connection)) => (What::TheJob, Some(connection)),
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

fn finish(
    outlive: &Outlive,
    id: &JobId,
    mut connection: Option<Connection>,
    request: &Request,
) -> Result<(), Error> {
    while let Some(mut open) = connection {
        if let Answer::Reply(_) = presence::answer(outlive, id, &mut open)? {
            break;
        }
        // Another keeper has it now, which is asked again; or it is over.
        connection = presence::reach(outlive, id)?;
        if let Some(open) = &connection {
            open.send(request)?;
        }
    }
    Ok(())
}
