//! What a job was asked for, and whether anybody knows of its end.

use crate::labels::Labels;
use crate::notify::Notify;
use crate::time::{Millis, Timestamp};
use crate::watch::Watch;
use serde::{Deserialize, Serialize};

/// What was asked for, as it holds now: labels, watches and `notify` can be changed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Details {
    /// Its labels.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub labels: Labels,
    /// It is stopped after this long. Absent if never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub timeout_ms: Option<Millis>,
    /// Of which ends its session is told. Absent if of every end.
    #[serde(default, skip_serializing_if = "is_every_end")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub notify: Notify,
    /// What its output is watched for. Absent if for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub watch: Option<Watch>,
    /// Whether its session knows of its end. Absent while it runs, and if nobody is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub told: Option<Told>,
}

fn is_every_end(notify: &Notify) -> bool {
    *notify == Notify::End
}

/// Whether the session of a job knows of the job's end. An answer that tells the end itself still says what
/// was so before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Told {
    /// How far that has come.
    pub state: ToldState,
    /// Since when that is so. Absent for `waiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// How it was told, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ToldBy>,
    /// How often it was delivered without being acknowledged at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deliveries: u32,
    /// The process of the agent that was handed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_pid: Option<i32>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How far telling an end has come. More will be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToldState {
    /// It waits in the inbox.
    Waiting,
    /// A consumer has claimed it and has not said that it printed it.
    Claimed,
    /// It was printed and not acknowledged.
    Delivered,
    /// A hook printed it for an agent, which has not shown yet that its model read it.
    Handed,
    /// The session knows of it.
    Told,
    /// It will not be told: it was too old, was delivered too often, or its session was ended.
    Dropped,
}

/// How a session learned of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// It took it from its inbox.
    Inbox,
    /// It waited for the end.
    Wait,
    /// It read the whole output after the end.
    Log,
    /// It was the answer to something else that it asked, such as a stop.
    Asked,
}
