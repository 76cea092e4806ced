//! Events: what a session is told.

use serde::{Deserialize, Serialize};

/// What kind of event a session is told.
///
/// More kinds will be added. Receivers ignore kinds that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The job has ended.
    Ended,
    /// Lines of its output matched its watch.
    Matched,
    /// Its watch matched so often that it turned itself off.
    WatchDisabled,
    /// The watches of the session's jobs matched so often that they are silent for a while.
    WatchOverflow,
    /// The watches of the session's jobs are told again.
    WatchResumed,
    /// The job is ready, by the sign that it was started with.
    Ready,
    /// The job has written nothing for as long as it was started to be watched for.
    Quiet,
    /// A process of the job waits for input.
    AwaitingInput,
    /// The processes that the job left running have ended.
    LingeringEnded,
    /// Work was finished elsewhere and posted.
    Delegation,
}
