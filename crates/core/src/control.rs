//! The messages between a client and a keeper on the control socket: one JSON object per line.
//!
//! A client sends a request and reads one reply, and may then send more on the same connection. A reply
//! can take as long as the thing it waits for. If a connection ends without a reply, that keeper is
//! gone: the journal tells what happened to the job, and a new connection reaches the current keeper.
//! So every request must be safe to repeat.

use crate::change::{ChangeLabels, ChangeWatch};
use crate::label::Label;
use crate::os_text::OsText;
use crate::signal::Signal;
use crate::spec::Size;
use crate::watch::Watch;
pub use outlive_api::input::{BadWriteId, InputKind, WriteId};
use serde::{Deserialize, Serialize};

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Answer when the journal has an event after `seq`, or the output has bytes beyond `output`.
    News { seq: u64, output: Option<u64> },
    /// Stop the whole process tree; answer when no process of it is left.
    Stop {
        grace_ms: Option<u64>,
        detail: Option<String>,
        /// The session that sent the request.
        #[serde(default)]
        session: Option<Label>,
    },
    /// Send one signal to every process of the tree.
    Signal { signal: Signal },
    /// Count the processes of the tree, and check whether one waits for input.
    Look,
    /// Write to the job's input; answer when the data is accepted and there is room for more.
    Write(Write),
    /// Change the size of the job's terminal.
    Resize { size: Size },
    /// Answer when a process of the job waits for input.
    AwaitInput,
    /// Change watches, `notify` or labels; answer when the journal says so. Keepers of earlier releases refuse it.
    Change(Change),
}

/// What to change of a job that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    #[serde(default, skip_serializing_if = "ChangeWatch::is_empty")]
    pub watch: ChangeWatch,
    /// The rules of a watch that begins, which has no patterns.
    pub usual: Watch,
    #[serde(default, skip_serializing_if = "ChangeLabels::is_empty")]
    pub labels: ChangeLabels,
    /// The session that sent the request.
    #[serde(default)]
    pub session: Option<Label>,
}

/// One piece of input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// A later write with the same id counts as a repeat of this one and is not written again.
    pub id: WriteId,
    pub data: OsText,
    /// Another piece follows, and no other client's data may come in between.
    pub more: bool,
    /// Close the input after this piece.
    pub eof: bool,
    /// The client understands [`Reply::Accepted`]. Clients of the first release do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_repeated: bool,
}

/// The answer of a keeper.
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
        /// Whether its terminal passes on whole lines now; `None` without a terminal.
        #[serde(default)]
        line_mode: Option<bool>,
    },
    Written,
    /// Like `Written`, for a client that asked whether a write with this id was accepted before.
    Accepted {
        repeated: bool,
    },
    Resized,
    /// The journal has the change, or it was so already.
    Changed,
    InputAwaited {
        awaiting: InputKind,
    },
    Refused {
        reason: String,
    },
}

/// Why a keeper refuses to write to a job that was started without input. Earlier keepers say more after it.
pub const READS_NOTHING: &str = "it reads from nothing";
/// Why a keeper refuses to resize the terminal of a job that has none. Earlier keepers say more after it.
pub const NO_TERMINAL: &str = "it has no terminal";

/// How a keeper refuses a request that only later releases know. It says more after it.
pub const UNKNOWN_REQUEST: &str = "not a request this keeper knows";

/// The most data in one write. Longer input is sent in pieces.
pub const MAX_DATA: usize = 128 * 1024;
/// The longest request line: [`MAX_DATA`] bytes, each written as a decimal number.
pub const MAX_LINE: usize = 1024 * 1024;
