//! Reaches a place through its courier, which is started if there is none.
//!
//! The courier's socket speaks lines first: the client sends one [`Request`] line and reads one [`Reply`] line. After
//! `opened`, the connection is the far stream itself, byte for byte: closing it for writing is `shut`, closing it
//! altogether ends the stream. If the place refuses a stream to a keeper, one line with [`Reply::Failed`] comes instead of
//! anything of the keeper. When the bytes of a file end in order, the courier closes only its writing side; when they
//! break off, it closes both. [`ended_well`] tells which.
//!
//! A courier that is killed loses nothing: each request can be repeated, and is repeated here, to the next courier,
//! until its time is over.

mod connect;

use super::records::{self, Known, Silence};
use super::settings::Place;
use super::unreached::Unreached;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use connect::Exchange;
pub use connect::LISTENS;
use outlive_core::far::{Answer, Call, FarFailure, FarVariables, Greeting, Opening};
use outlive_core::{JobId, WallTime};
use outlive_sys::control::Stream;
use outlive_sys::poll::{self, Interest};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;
use std::time::Duration;

/// What a client asks of a courier; the first line of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Reach the place if it is not reached, and say who answers there.
    Greet { within_ms: u64 },
    /// Open a stream there. Only `control` and `bytes`.
    Open { opening: Opening, within_ms: u64 },
    /// One question to the place, with one answer.
    Call { call: Box<Call>, within_ms: u64 },
    /// Start the job of this id, whose directory here is complete and whose `placed` says `asked`.
    Start {
        job: JobId,
        variables: FarVariables,
        within_ms: u64,
        /// An earlier courier may have sent this start.
        again: bool,
    },
    /// Follow the job's journal. The answer is `started` when the replica has all that the journal had then.
    Follow { job: JobId, within_ms: u64 },
    /// Keep the wire, and reach the place again when it is lost, as long as this connection is open. The answer is
    /// `opened`; then a line comes with each change.
    Listen,
    /// End: nobody needs it any more. Jobs are not touched.
    Leave,
}

/// What a courier answers: one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Greeting(Box<Greeting>),
    Opened,
    Answer(Box<Answer>),
    /// The job is there, and the replica has what its journal had then.
    Started,
    /// The job is not there. Nothing of it ran, and `placed` says so.
    NotStarted {
        reason: String,
    },
    /// Another job has this id there; nothing was started. Make a new id.
    IdTaken,
    /// The place was not reached, and nothing was sent.
    Unreached(Unreached),
    /// The wire was lost after the request was sent.
    Lost(Unreached),
    /// The place answered that it cannot.
    Failed(FarFailure),
    /// The courier ends when this connection does.
    Leaving,
}

/// What a connection of [`listen`] tells; one JSON object a line, the first at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tidings {
    /// The wire is there.
    Reached { at: WallTime },
    /// The wire is not there, or no more.
    Unreached(Silence),
    /// The replica of this job has new records, or what is known of its start has changed.
    Changed { job: JobId },
}

/// How a start went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartAnswer {
    /// The job is there, and the replica has what its journal had then.
    Started,
    /// The job is not there. Nothing of it ran, and `placed` says so.
    NotStarted { reason: String },
    /// Another job has this id there; nothing was started.
    IdTaken,
}

/// Reaches the place, and says who answers there.
pub fn greet(outlive: &Outlive, place: &Place, within: Duration) -> Result<Greeting, Error> {
    let exchange = Exchange::new(outlive, place, within);
    match exchange.ask(|within_ms, _| Request::Greet { within_ms })? {
        Reply::Greeting(greeting) => Ok(*greeting),
        other => Err(refused(place, other)),
    }
}

/// Asks the place one question. If the wire is lost meanwhile, it is asked again over the next one.
pub fn call(
    outlive: &Outlive,
    place: &Place,
    call: Call,
    within: Duration,
) -> Result<Answer, Error> {
    let call = Box::new(call);
    let changes = matches!(*call, Call::Remove { .. } | Call::Clean);
    let exchange = Exchange::new(outlive, place, within);
    let reply = exchange.ask(|within_ms, _| Request::Call {
        call: call.clone(),
        within_ms,
    });
    let reply = reply.map_err(|error| match error {
        // It may have been done.
        Error::Place(PlaceError::Unreached { place, why }) if changes && exchange.was_asked() => {
            PlaceError::Unanswered { place, why }.into()
        }
        error => error,
    });
    match reply? {
        Reply::Lost(why) if changes => {
            let place = place.name.clone();
            Err(PlaceError::Unanswered { place, why }.into())
        }
        Reply::Answer(answer) => match *answer {
            Answer::Failed(failure) => Err(refused(place, Reply::Failed(failure))),
            answer => Ok(answer),
        },
        other => Err(refused(place, other)),
    }
}

/// Opens a far stream. Reads from it block, and it must be closed by its end (see [`ended_well`]).
pub fn open(
    outlive: &Outlive,
    place: &Place,
    opening: Opening,
    within: Duration,
) -> Result<Stream, Error> {
    let exchange = Exchange::new(outlive, place, within);
    let (reply, stream) = exchange.connect(|within_ms, _| Request::Open {
        opening: opening.clone(),
        within_ms,
    })?;
    match (reply, stream) {
        (Reply::Opened, Some(stream)) => Ok(stream),
        (other, _) => Err(refused(place, other)),
    }
}

/// Whether a stream of [`Opening::Bytes`] that has no more bytes came to its end. If not, it broke off: the wire or the courier is
/// gone, and what was not read must be asked for again.
pub fn ended_well(stream: &Stream) -> bool {
    let gone = poll::wait(&[(stream.as_fd(), Interest::HangUp)], Some(Duration::ZERO));
    gone.is_ok_and(|gone| gone == [false])
}

/// Starts a job whose directory here is complete. The caller holds its [`Placing`](records::Placing) until this has
/// returned: until then nobody concludes from the state of the place that the job was given up.
pub fn start(
    outlive: &Outlive,
    place: &Place,
    job: &JobId,
    variables: FarVariables,
    within: Duration,
) -> Result<StartAnswer, Error> {
    let exchange = Exchange::new(outlive, place, within);
    let perhaps = |why: Unreached| -> Error {
        let (place, id) = (place.name.clone(), job.clone());
        PlaceError::PerhapsStarted { place, id, why }.into()
    };
    let reply = exchange.ask(|within_ms, again| Request::Start {
        job: job.clone(),
        variables: variables.clone(),
        within_ms,
        again,
    });
    let reply = reply.map_err(|error| match (exchange.was_asked(), error) {
        (false, error) => error,
        // A courier that is gone, or does not answer, may have sent it.
        (true, Error::Place(PlaceError::Unreached { why, .. })) => perhaps(why),
        (true, error) => perhaps(Unreached::NoCourier(error.to_string())),
    });
    match reply? {
        Reply::Started => Ok(StartAnswer::Started),
        Reply::NotStarted { reason } => Ok(StartAnswer::NotStarted { reason }),
        Reply::IdTaken => Ok(StartAnswer::IdTaken),
        // The courier says `not_started` if it knows that nothing was sent.
        Reply::Unreached(why) | Reply::Lost(why) => Err(perhaps(why)),
        other => Err(refused(place, other)),
    }
}

/// Makes sure that the replica has all that the job's journal has now, and gets what comes. The record of a job that was
/// not started says so then.
pub fn follow(
    outlive: &Outlive,
    place: &Place,
    job: &JobId,
    within: Duration,
) -> Result<(), Error> {
    let exchange = Exchange::new(outlive, place, within);
    let reply = exchange.ask(|within_ms, _| Request::Follow {
        job: job.clone(),
        within_ms,
    });
    match reply? {
        Reply::Started | Reply::NotStarted { .. } => Ok(()),
        other => Err(refused(place, other)),
    }
}

/// Keeps the courier, and lets it reach the place again when the wire is lost, as long as this is open. Does not wait for
/// the place. Each line is one of [`Tidings`].
pub fn listen(outlive: &Outlive, place: &Place) -> Result<Stream, Error> {
    listen_within(outlive, place, connect::PATIENCE)
}

/// The same for whoever cannot wait for a courier that does not answer.
pub fn listen_within(outlive: &Outlive, place: &Place, within: Duration) -> Result<Stream, Error> {
    let exchange = Exchange::new(outlive, place, within);
    let (reply, stream) = exchange.connect(|_, _| Request::Listen)?;
    match (reply, stream) {
        (Reply::Opened, Some(stream)) => Ok(stream),
        (other, _) => Err(refused(place, other)),
    }
}

/// Ends the courier of a place, if there is one. Returns when it has ended. The next verb starts another, which reads the
/// configuration anew.
pub fn leave(outlive: &Outlive, place: &Place) -> Result<(), Error> {
    Exchange::new(outlive, place, connect::PATIENCE).leave()
}

/// Lets the courier of a place try at once to reach it, if there is a courier. Nobody waits for that.
pub fn wake(outlive: &Outlive, place: &Place) {
    connect::wake(outlive, place);
}

/// What is known of a place without asking it.
pub fn known(outlive: &Outlive, place: &Place) -> Option<Known> {
    records::read_known(outlive, place)
}

fn refused(place: &Place, reply: Reply) -> Error {
    let place = place.name.clone();
    match reply {
        Reply::Unreached(why) | Reply::Lost(why) => PlaceError::Unreached { place, why },
        Reply::Failed(failure) => PlaceError::Refused {
            place,
            code: failure.code,
            message: failure.message,
        },
        _ => PlaceError::Unreached {
            place,
            why: Unreached::NoCourier("its courier gave an answer to another question".to_owned()),
        },
    }
    .into()
}

#[cfg(test)]
mod tests;
