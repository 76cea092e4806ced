//! What a harness and `outlive rpc` say to each other.
//!
//! Each side writes JSON, one message per line. Where a message says so in `bytes`, that many raw bytes follow its
//! line, and the next line begins right after them.
//!
//! A request is answered by any number of [parts](Part) and then by exactly one [answer](Answer) or
//! [refusal](Refusal). Many requests may be under way at once; `id` says to which one an answer belongs.

mod verbs;

pub use verbs::{
    AckAny, Acked, CheckPlaces, Find, FollowEvents, FollowJobs, FollowOutput, FollowUsage, Found,
    JobChange, LendPart, LendPlace, LinesPart, LogRead, OfPlace, OutputEnd, OutputPart,
    RemovePlace, Started,
};

use crate::failure::Failure;
use crate::label::Label;
use crate::os_text::OsText;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The version of these messages. It changes when a client of an earlier version could not go on.
pub const PROTOCOL: u32 = 1;

/// The longest line, without raw bytes. A request starts a job or writes to one, and needs far less.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The most raw bytes after a line of the harness.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The longest text that can be the id of a request.
pub const MAX_ID: usize = 200;

/// The id of a request, which its sender chooses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Number(i64),
    /// A text of at most 200 bytes.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Number(number) => number.fmt(f),
            RequestId::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// A message from the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Message {
    /// Do this.
    Ask(Ask),
    /// Do it no more.
    Cancel(Cancel),
    /// Go on sending parts.
    Taken(Taken),
    /// The session that a request spoke for knows what its answer told.
    Told(ToldOf),
    /// What came of a command that a part asked to execute.
    Answer(AnswerTo),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Names the request in its answer. No other request that is under way may have it.
    pub id: RequestId,
    /// What to do.
    pub verb: String,
    /// What the verb takes.
    #[serde(default)]
    pub request: Value,
    /// The session that is speaking. Without one, nobody counts as told of anything by the answer.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub speaker: Option<Label>,
    /// Leave out of the answer what looks like a credential.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redact: bool,
    /// Send parts only until so many bytes of them are not [taken](Taken). Without it, they come as fast as they are
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// So many raw bytes follow this line. Only `send` takes them: they are its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Ends a request that is under way. It is answered with the code `canceled`, unless it was answered before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The request.
    pub cancel: RequestId,
}

/// Says how much of the parts of a request was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The request.
    pub taken: RequestId,
    /// What the last part that was taken said in `sent`.
    pub sent: u64,
}

/// Records what an answer with a `receipt` told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToldOf {
    /// The request.
    pub told: RequestId,
}

/// What came of a command in a sandbox that is lent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerTo {
    /// The request `place_lend`.
    pub answer: RequestId,
    /// What came of it.
    pub result: Executed,
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Executed {
    /// The number of the command.
    pub id: u64,
    /// What it printed. Errors may stand among the rest.
    #[serde(default)]
    pub output: String,
    /// It was ended because it took too long.
    #[serde(default)]
    pub timed_out: bool,
    /// Why it could not be executed, or may not have been.
    #[serde(default)]
    pub error: Option<String>,
    /// The sandbox is not there any more, so nothing can be executed in it.
    #[serde(default)]
    pub gone: bool,
}

/// The first line that `outlive rpc` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Who it is.
    pub hello: Greeting,
}

/// Who `outlive rpc` is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Greeting {
    /// The version of the program.
    pub version: String,
    /// The version of these messages.
    pub protocol: u32,
    /// Its process.
    pub pid: u32,
    /// The directory with the jobs.
    pub home: OsText,
    /// Every verb that it knows.
    pub verbs: Vec<String>,
}

/// The answer to a request, which is over with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer<R = Value> {
    /// The request.
    pub id: RequestId,
    /// What the verb answers.
    pub reply: R,
    /// What a reader of the request would not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The answer tells something to the session that the request spoke for. It counts as told once the harness
    /// [says so](ToldOf), within half a minute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receipt: bool,
}

/// Why a request failed. It is over with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The request; `null` if the message did not say which.
    pub id: Option<RequestId>,
    /// The failure.
    pub error: Failure,
}

/// A part of an answer. More may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part<P = Value> {
    /// The request.
    pub id: RequestId,
    /// The part.
    pub part: P,
    /// So many raw bytes follow this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many bytes the parts of this request have had so far: raw ones, and those of `part` as JSON.
    pub sent: u64,
}
