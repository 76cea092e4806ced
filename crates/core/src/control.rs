//! What a client and a keeper say to each other over the control socket: one JSON object a line.
//!
//! A client sends one request and reads one reply; it may send more on the same connection. A reply
//! may take as long as what it waits for. A connection that ends without a reply means that this
//! keeper is gone: the journal tells what became of the job, and the next connection reaches
//! whoever keeps it now. So every request can be repeated.

use crate::label::Label;
use crate::os_text::OsText;
use crate::signal::Signal;
use crate::spec::Size;
pub use outlive_api::input::{BadWriteId, InputKind, WriteId};
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
        /// The session that asks.
        #[serde(default)]
        session: Option<Label>,
    },
    /// Send one signal to every process of the tree.
    Signal { signal: Signal },
    /// Count the processes of the tree, and see whether one waits for input.
    Look,
    /// Write to the job's input; answer when it is accepted and there is room for more.
    Write(Write),
    /// Give the job's terminal another size.
    Resize { size: Size },
    /// Answer when a process of the job waits for input.
    AwaitInput,
}

/// A piece of input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// A second write of this id is taken for a repetition of the first, and not written.
    pub id: WriteId,
    pub data: OsText,
    /// The next piece follows, and nobody else's comes in between.
    pub more: bool,
    /// Afterwards the input is at its end.
    pub eof: bool,
    /// The client understands [`Reply::Accepted`], which those of the first release do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_repeated: bool,
}

/// What a keeper answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    News {
        seq: u64,
        output: u64,
    },
    Stopped,
    Signaled {
        reached: u32,
        denied: u32,
    },
    Look {
        processes: u32,
        awaiting: Option<InputKind>,
        /// Whether its terminal hands over whole lines now; `None` without one.
        #[serde(default)]
        line_mode: Option<bool>,
    },
    Written,
    /// The same, for a client that asked whether a write of this id was accepted before.
    Accepted {
        repeated: bool,
    },
    Resized,
    InputAwaited {
        awaiting: InputKind,
    },
    Refused {
        reason: String,
    },
}

/// The most data in one write; longer input is written in pieces.
pub const MAX_DATA: usize = 128 * 1024;
/// Longer requests are not ours: [`MAX_DATA`] bytes, each written as a number.
pub const MAX_LINE: usize = 1024 * 1024;
