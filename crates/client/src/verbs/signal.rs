//! Send one signal to every process of a job.

use crate::connection::Answer;
use crate::error::Error;
use crate::outlive::Outlive;
use crate::presence;
use outlive_core::JobId;
use outlive_core::control::{Reply, Request};
use outlive_core::signal::Signal;

/// What became of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signaled {
    /// So many processes got it; so many belong to somebody else.
    Sent { reached: u32, denied: u32 },
    /// Nothing of the job is left.
    AlreadyEnded,
}

pub fn signal(outlive: &Outlive, id: &JobId, signal: Signal) -> Result<Signaled, Error> {
    let Some(mut connection) = presence::reach(outlive, id)? else {
        return Ok(Signaled::AlreadyEnded);
    };
    match connection.ask(id, &Request::Signal { signal })? {
        Answer::Reply(Reply::Signaled { reached, denied }) => {
            Ok(Signaled::Sent { reached, denied })
        }
        // A keeper that died here may have sent it or not. Some signals are not to be sent twice.
        Answer::Reply(_) | Answer::KeeperGone => Err(Error::NoAnswer(id.clone())),
    }
}
