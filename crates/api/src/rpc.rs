//! What a harness and `outlive rpc` say to each other.
//!
//! Each side writes JSON, one message per line. Where a message says so in `bytes`, that many raw bytes follow its
//! line, and the next line begins right after them.
//!
//! A request is answered by any number of [parts](Part) and then by exactly one [answer](Answer) or
//! [refusal](Refusal). Many requests may be under way at once; `id` says to which one an answer belongs.

use crate::event_id::EventId;
use crate::failure::Failure;
use crate::id::JobId;
use crate::job::{Job, JobState};
use crate::label::Label;
use crate::log::LogLine;
use crate::os_text::OsText;
use crate::request::Selector;
use crate::streams::Stream;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

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

/// The text that a person calls a job by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Its id, the beginning of its id, or its name.
    pub text: String,
    /// A name may also be that of a running job of another session.
    #[serde(default)]
    pub any_session: bool,
}

/// What `find` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// The job.
    pub job: JobId,
}

/// What `run` and `adopt` answer: the job as it was when its start was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// It ran already, and nothing was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
}

/// Which events to mark as told, of any session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AckAny {
    /// Only those of this session; of any session if `None`.
    pub session: Option<Label>,
    /// These events.
    pub events: Vec<EventId>,
    /// Every event so far of these jobs and posts.
    pub jobs: Vec<JobId>,
    /// Every event that was delivered and not acknowledged.
    pub delivered: bool,
}

/// What `ack` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Acked {
    /// It is recorded, and synced to the disk. Always `true`.
    pub acked: bool,
}

/// Which output to follow. Each part is an [`OutputPart`]; the answer comes when the job has ended and all of it was
/// sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowOutput {
    /// The job.
    pub job: JobId,
    /// The offset of the first byte. After an interruption: the one after the last byte that arrived.
    #[serde(default)]
    pub from: u64,
    /// Only this stream, of a job that tells its streams apart. Offsets are those of the whole output.
    #[serde(default)]
    pub stream: Option<Stream>,
    /// Say of each part which stream it is of, if the job tells its streams apart.
    #[serde(default)]
    pub apart: bool,
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OutputPart {
    /// The raw bytes after this line are output.
    Bytes {
        /// The offset of the first of them.
        at: u64,
        /// Their stream, if the streams are told apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<Stream>,
    },
    /// Output that was not kept.
    Dropped {
        /// Its first byte, and the byte after its last.
        dropped: [u64; 2],
    },
}

/// How an output that was followed ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputEnd {
    /// The job, which has ended.
    pub job: Job,
    /// The offset after the last byte.
    pub at: u64,
}

/// Lines of an output: a part of the answer to `log` line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinesPart {
    /// The lines.
    pub lines: Vec<LogLine>,
}

/// What `log` line by line or piece by piece answers after its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogRead {
    /// The job.
    pub id: JobId,
    /// The offset after the last byte that was read.
    pub at: u64,
    /// How far the job had come when its output was read.
    pub state: JobState,
    /// The number that a shell would give for its end. `null` while it runs, and if the outcome is unknown.
    pub exit_code: Option<i32>,
}

/// Whose events to deliver as they come. Each part is an event, claimed for this connection: when the connection
/// ends, what was not acknowledged is due again at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FollowEvents {
    /// Those of these sessions; of every session if `None`.
    pub sessions: Option<Vec<Label>>,
    /// Only look: claim nothing. Each event comes once.
    pub peek: bool,
    /// How long an event is held back from others before it is delivered again. Without it, as configured.
    #[serde(rename = "claim_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub claim: Option<Duration>,
}

/// Which jobs to watch for changes. Each part is a [`JobChange`]: first those that there are, then each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FollowJobs {
    /// Only jobs that this selects.
    #[serde(flatten)]
    pub select: Selector,
    /// At the beginning, also so many of the newest ended ones.
    pub ended: usize,
}

/// Whose usage to follow. Each part is a `UsageSample`; the answer is the job, and comes when it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowUsage {
    /// The job.
    pub job: JobId,
    /// How often to look at it; every second if `None`.
    #[serde(default, rename = "every_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub every: Option<Duration>,
}

/// The place that a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OfPlace {
    /// Its name in the configuration, or its address.
    pub place: String,
}

/// Which place to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RemovePlace {
    /// Its name in the configuration, or its address.
    pub place: String,
    /// Remove it in any case. The outcome of jobs that are not over becomes `lost`; they may still run there.
    #[serde(default)]
    pub forget: bool,
}

/// A sandbox that the harness has, and lends as the place `caller:NAME`. Each part is a [`LendPart`]; it is lent until the
/// request is cancelled or the connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LendPlace {
    /// Its name.
    pub name: Label,
    /// Commands can have a standard input.
    #[serde(default)]
    pub input: bool,
    /// One command is executed at a time, and keeps the sandbox from everything else.
    #[serde(default)]
    pub serial: bool,
}

/// What the harness is told about a sandbox that it lends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LendPart {
    /// It is lent from now on.
    Lent {
        /// The place: `caller:NAME`.
        place: String,
    },
    /// Execute this, and [answer](AnswerTo).
    Execute {
        /// The number of the command.
        id: u64,
        /// For a shell of the sandbox.
        command: String,
        /// The standard input of the command, if that was offered. It may be a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
        /// After this time it may be ended.
        timeout_ms: u64,
    },
    /// Nobody waits for this command any more. It may be ended, and needs no answer.
    Cancel {
        /// The number of the command.
        id: u64,
    },
}

/// Which places to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CheckPlaces {
    /// These; without any, all that are configured.
    pub places: Vec<String>,
}

/// A change in a list of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum JobChange {
    /// The job is new, or something that its record says has changed. What it writes and uses changes all the time
    /// and is no change here.
    Job {
        /// The job.
        job: Box<Job>,
    },
    /// The job was removed.
    Gone {
        /// Its id.
        gone: JobId,
    },
    /// All jobs that there were at the beginning have been sent.
    Current {
        /// Always `true`.
        current: bool,
    },
}
