//! Reaches a place through its courier, which is started if there is none.
//!
//! The courier's socket speaks lines first: the client sends one [`Request`] line and reads one [`Reply`] line. After
//! `opened`, the connection is the far stream itself, byte for byte: closing it for writing is `shut`, closing it
//! altogether ends the stream.

use super::unreached::Unreached;
use outlive_core::JobId;
use outlive_core::far::{Answer, Call, FarFailure, FarVariables, Greeting, Opening};
use serde::{Deserialize, Serialize};

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
    },
    /// Follow the job's journal: it was placed by another process, or a verb wants to be sure.
    Follow { job: JobId },
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
}
