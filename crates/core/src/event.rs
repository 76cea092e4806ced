//! What happened to a job: one line of its journal each.

use crate::control::Awaiting;
use crate::host::Host;
use crate::label::Label;
use crate::outcome::End;
use crate::process::{BootId, ProcRef};
use crate::spec::Size;
use crate::watch::Match;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The newest format this program writes.
pub const FORMAT: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format of this line.
    pub v: u32,
    /// 1, 2, 3, …: with the job's id this names the event for ever.
    pub seq: u64,
    pub at: Moment,
    pub event: Event,
}

/// When something happened, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Wall clock, Unix milliseconds: for people, decides nothing.
    pub wall_ms: u64,
    /// Milliseconds since boot, through suspend: durations and deadlines.
    pub boot_ms: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The job directory is complete; written by the launcher.
    Accepted {
        boot: BootId,
        /// Whose process numbers the later events name. The first release did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<Host>,
    },
    /// A keeper acts from here on.
    Kept {
        how: Keeping,
        keeper: ProcRef,
        /// `None` once the standby has itself become the keeper.
        standby: Option<ProcRef>,
    },
    /// The keeper has made itself a new standby in place of one that is gone.
    NewStandby { standby: ProcRef },
    /// The leader exists and waits for leave to execute the command.
    Spawned { leader: ProcRef },
    /// The command has been executed.
    Started,
    /// From here on the job is being stopped.
    StopRequested(StopRequest),
    /// Output between these offsets could not be kept.
    Gap { from: u64, to: u64 },
    /// The job's terminal has this size from this offset of the output on.
    Resized { size: Size, output: u64 },
    /// Byte `n` of the output is at byte `offset + n` of the caller's own log, from byte `from` on.
    LogBase { offset: u64, from: u64 },
    /// Lines of the output matched a watch.
    Matched(Matched),
    /// So many lines matched for so long that the watch turned itself off.
    WatchDisabled {
        /// Matches seen in all, and those among them that no event told of.
        matches: u64,
        untold: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// Watches of all the session's jobs together told too much: they are silent for a while.
    WatchOverflow {
        silence_ms: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// The silence is over.
    WatchResumed {
        /// Matches that were not told of meanwhile.
        silenced: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// The job is ready for use, by the sign it was asked to wait for.
    Ready,
    /// It has written nothing for this long.
    Quiet {
        after_ms: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// A process of the job waits for input.
    AwaitingInput {
        awaiting: Awaiting,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// A doorbell was rung, or could not be.
    Rung {
        doorbell: String,
        /// 1, 2, 3, …
        attempt: u32,
        /// Why it failed, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// The leader has ended. There is at most one.
    Ended(End),
    /// What lingered after the end is gone too, and the output is final.
    Closed {
        output_bytes: u64,
        dropped_bytes: u64,
        /// `false` when what lingered was not kept all along: what it wrote last may be missing.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        output_complete: bool,
    },
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// Lines that matched, told as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// How many lines this tells of.
    pub count: u64,
    /// The newest of them.
    pub last: Match,
    /// Where the keeper that told it would have gone on watching, in the keeper's own words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub resume: Value,
}

/// How a keeper came to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// Started by the launcher.
    Launched,
    /// It was the standby of a keeper that died.
    TakenOver,
    /// Both had died; a verb that met the job started a fresh pair.
    Adopted,
}

/// A stop that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    pub by: StopCause,
    pub detail: Option<String>,
    /// From asking to killing.
    pub grace_ms: u64,
    /// The session that asked, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
}

/// What asked for a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    Stop,
    Timeout,
}
