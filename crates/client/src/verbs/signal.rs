//! Sends one signal to every process of a job.

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::away;
use crate::jobs::connection::Answer;
use crate::jobs::presence;
use crate::places::Unreached;
pub use outlive_api::request::SendSignal;
use outlive_core::JobId;
use outlive_core::control::{Reply, Request};

/// The result of sending a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signaled {
    /// The number of processes that got it.
    pub reached: u32,
    /// The number of processes that belong to another user.
    pub denied: u32,
}

/// Sends a signal to every process of a job.
pub fn signal(outlive: &Outlive, id: &JobId, asked: SendSignal) -> Result<Signaled, Error> {
    let SendSignal { signal } = asked;
    let Some(mut connection) = presence::reach(outlive, id)? else {
        return Err(Error::Refused {
            id: id.clone(),
            reason: "it has ended, so there is nothing to send a signal to",
        });
    };
    match presence::ask(outlive, id, &mut connection, &Request::Signal { signal })? {
        Answer::Reply(Reply::Signaled { reached, denied }) => Ok(Signaled { reached, denied }),
        // The keeper died and may have sent the signal or not. Some signals must not be sent twice.
        Answer::Reply(_) | Answer::KeeperGone => Err(match away::place_of(outlive, id) {
            None => Error::NoAnswer(id.clone()),
            Some(place) => {
                let why = Unreached::Refused("the connection was lost".to_owned());
                PlaceError::Unanswered { place, why }.into()
            }
        }),
    }
}

/// The results of sending a signal to several jobs.
#[derive(Debug, Default)]
pub struct Signals {
    /// The jobs that were reached, in the order of the request.
    pub reached: Vec<(JobId, Signaled)>,
    /// The jobs that were not.
    pub failed: Vec<(JobId, Error)>,
}

/// Sends a signal to every process of each of these jobs. A job that fails does not keep the others from it.
pub fn signal_all(outlive: &Outlive, ids: &[JobId], asked: SendSignal) -> Signals {
    let mut signals = Signals::default();
    for id in ids {
        match signal(outlive, id, asked) {
            Ok(signaled) => signals.reached.push((id.clone(), signaled)),
            Err(error) => signals.failed.push((id.clone(), error)),
        }
    }
    signals
}
