//! What happened to a job: one line of its journal each.

use crate::control::InputKind;
use crate::host::Host;
use crate::label::Label;
use crate::outcome::{End, EndedBy};
use crate::process::{BootId, ProcRef};
use crate::spec::Size;
use crate::watch::Match;
use outlive_api::time::Timestamp;
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

impl Moment {
    /// The same as the interface writes it.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_unix_ms(self.wall_ms)
    }
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
        awaiting: InputKind,
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
    /// The processes that lingered after the end are gone.
    LingeringEnded(LingeringEnded),
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

/// That processes which had outlived the leader are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LingeringEnded {
    /// How many there were when the job ended.
    pub lingering: u32,
    /// `stop` for any stop of ours, also by a time-out or `--leftovers stop`; `unknown` where a keeper was killed
    /// meanwhile that may have begun one.
    pub ended_by: EndedBy,
    /// Somebody kept the job when they ended. Otherwise this is when they were found to be gone.
    pub seen: bool,
    /// How much the job and they wrote in all.
    pub output_bytes: u64,
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
#[serde(from = "WrittenStop", into = "WrittenStop")]
pub struct StopRequest {
    pub by: StopCause,
    pub detail: Option<String>,
    /// From asking to killing.
    pub grace_ms: u64,
    /// The session that asked, where one did.
    pub session: Option<Label>,
}

/// What asked for a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Stop,
    Timeout,
    /// A signal to the process that runs the job in the foreground: a batch engine, a container's runtime, a
    /// terminal.
    Place,
}

/// A [`StopRequest`] as journals have it. The first release knows two causes and passes over a line with a third, so
/// the third is written as a `stop` with a field that the first release does not read: it sees that the job is being
/// stopped.
#[derive(Serialize, Deserialize)]
struct WrittenStop {
    by: WrittenCause,
    #[serde(default, skip_serializing_if = "is_no")]
    by_place: bool,
    detail: Option<String>,
    grace_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Label>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenCause {
    Stop,
    Timeout,
}

fn is_no(value: &bool) -> bool {
    !*value
}

impl From<WrittenStop> for StopRequest {
    fn from(written: WrittenStop) -> StopRequest {
        StopRequest {
            by: match (written.by, written.by_place) {
                (_, true) => StopCause::Place,
                (WrittenCause::Stop, false) => StopCause::Stop,
                (WrittenCause::Timeout, false) => StopCause::Timeout,
            },
            detail: written.detail,
            grace_ms: written.grace_ms,
            session: written.session,
        }
    }
}

impl From<StopRequest> for WrittenStop {
    fn from(request: StopRequest) -> WrittenStop {
        WrittenStop {
            by: match request.by {
                StopCause::Stop | StopCause::Place => WrittenCause::Stop,
                StopCause::Timeout => WrittenCause::Timeout,
            },
            by_place: request.by == StopCause::Place,
            detail: request.detail,
            grace_ms: request.grace_ms,
            session: request.session,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(by: StopCause) -> StopRequest {
        StopRequest {
            by,
            detail: Some("SIGTERM".to_owned()),
            grace_ms: 2000,
            session: None,
        }
    }

    #[test]
    fn every_cause_is_read_as_it_was_written() {
        for by in [StopCause::Stop, StopCause::Timeout, StopCause::Place] {
            let line = serde_json::to_string(&request(by)).expect("JSON");
            let read: StopRequest = serde_json::from_str(&line).expect("a request");
            assert_eq!(read, request(by), "{line}");
        }
    }

    /// What the first release reads.
    #[derive(Deserialize)]
    struct FirstRelease {
        by: WrittenCause,
    }

    #[test]
    fn the_first_release_sees_a_stop_by_the_place_as_a_stop() {
        let line = serde_json::to_string(&request(StopCause::Place)).expect("JSON");
        let read: FirstRelease = serde_json::from_str(&line).expect("a request");
        assert!(matches!(read.by, WrittenCause::Stop), "{line}");
    }
}
