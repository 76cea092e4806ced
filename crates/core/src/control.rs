//! What a client and a keeper say to each other over the control socket: one JSON object a line.
//!
//! A client sends one request and reads one reply; it may send more on the same connection. A reply
//! may take as long as what it waits for. A connection that ends without a reply means that this
//! keeper is gone: the journal tells what became of the job, and the next connection reaches
//! whoever keeps it now. So every request can be repeated.

use crate::signal::Signal;
use serde::{Deserialize, Serialize};

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Answer when the journal has an event after `seq`, or the output has bytes beyond `output`.
    News { seq: u64, output: Option<u64> },
    /// Stop the whole tree; answer when none of it is left.
    Stop {
        grace_ms: Option<u64>,
        detail: Option<String>,
    },
    /// Send one signal to every process of the tree.
    Signal { signal: Signal },
    /// Count the processes of the tree.
    Count,
}

/// What a keeper answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    News { seq: u64, output: u64 },
    Stopped,
    Signaled { reached: u32, denied: u32 },
    Count { processes: u32 },
    Refused { reason: String },
}

/// Longer requests are not ours.
pub const MAX_LINE: usize = 64 * 1024;
