//! What a keeper sleeps on.

use crate::clients::ClientId;

/// Why a keeper woke. They are handled in this order: an end that has happened comes before a stop
/// that is asked for, and output before both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Output,
    LeaderEnded,
    /// A child, or a process of the tree that is watched, has ended.
    ProcessEnded,
    Deadline,
    Connection,
    Client(ClientId),
}
