//! The events of a job: each is one line of its journal.

use crate::change::Changed;
use crate::clocks::{BootTime, WallTime};
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
    /// 1, 2, 3, …; together with the job's id it names the event for ever.
    pub seq: u64,
    pub at: Moment,
    pub event: Event,
}

/// When something happened, on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// For people, and for the age of an event that happened before the last restart.
    #[serde(rename = "wall_ms")]
    pub wall: WallTime,
    /// For durations and deadlines.
    #[serde(rename = "boot_ms")]
    pub boot: BootTime,
}

impl Moment {
    /// The same as the interface writes it.
    pub fn timestamp(self) -> Timestamp {
        self.wall.into()
    }
}

/// What happened to the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The job directory is complete; written by the launcher.
    Accepted {
        boot: BootId,
        /// The host whose process IDs the later events name. The first release did not write it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<Host>,
    },
    /// A new keeper takes charge.
    Kept {
        how: Keeping,
        keeper: ProcRef,
        /// `None` if the standby itself became the keeper.
        standby: Option<ProcRef>,
    },
    /// The keeper has started a new standby in place of one that is gone.
    NewStandby { standby: ProcRef },
    /// The first process of the job exists and waits for permission to execute the command.
    Spawned { leader: ProcRef },
    /// The command has been executed.
    Started,
    /// A stop of the job begins.
    StopRequested(StopRequest),
    /// The output between these offsets could not be stored.
    Gap { from: u64, to: u64 },
    /// From this offset of the output on, the job's terminal has this size.
    Resized { size: Size, output: u64 },
    /// From byte `from` on, byte `n` of the output is at byte `offset + n` of the caller's own log.
    LogBase { offset: u64, from: u64 },
    /// Lines of the output matched a watch.
    Matched(Matched),
    /// The watch turned itself off because too many lines matched for too long.
    WatchDisabled {
        /// All matches, and the matches that no event told.
        matches: u64,
        untold: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// The watches of all jobs of the session told too many matches and pause together.
    WatchOverflow {
        silence_ms: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// The pause is over.
    WatchResumed {
        /// The matches that were not told during the pause.
        silenced: u64,
        /// As for [`Matched`].
        #[serde(default, skip_serializing_if = "Value::is_null")]
        resume: Value,
    },
    /// The job is ready, by the sign it was asked to wait for.
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
    /// Watches, `notify` or labels were changed. Releases before this one skip the line.
    Changed(Box<Changed>),
    /// A doorbell rang, or failed to ring.
    Rung {
        doorbell: String,
        /// 1, 2, 3, …
        attempt: u32,
        /// Why it failed; `None` if it rang.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// The job's first process has ended. A journal has at most one such event.
    Ended(End),
    /// The processes that still ran after the end are gone.
    LingeringEnded(LingeringEnded),
    /// No process of the job is left and the output is final.
    Closed {
        output_bytes: u64,
        dropped_bytes: u64,
        /// `false` if no keeper was there all the time: the last output may be missing.
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

/// The end of the processes that outlived the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LingeringEnded {
    /// How many there were when the job ended.
    pub lingering: u32,
    /// `stop` for every stop by Outlive, also by a timeout or `--leftovers stop`. `unknown` if a keeper that
    /// may have begun a stop was killed meanwhile.
    pub ended_by: EndedBy,
    /// A keeper was there when they ended. Otherwise the event's time is when their end was noticed.
    pub seen: bool,
    /// How many bytes the job and these processes wrote in total.
    pub output_bytes: u64,
}

/// Matching lines that are told as one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// How many lines this event stands for.
    pub count: u64,
    /// The newest of these lines.
    pub last: Match,
    /// The text of the pattern that the last line matched. Releases before this one did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The newest of these lines, the oldest first, if there is more than one. Long ones are cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// They were found in output from before the watch began.
    #[serde(default, skip_serializing_if = "is_no")]
    pub looked_back: bool,
    /// Where the keeper would have resumed its watch, in a format only keepers read.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub resume: Value,
}

/// How a keeper took charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// The launcher started it.
    Launched,
    /// It was the standby of a keeper that died.
    TakenOver,
    /// Both keepers had died; a verb noticed it and started a new pair.
    Adopted,
}

/// A request to stop the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenStop", into = "WrittenStop")]
pub struct StopRequest {
    pub by: StopCause,
    pub detail: Option<String>,
    /// The time from the request to killing.
    pub grace_ms: u64,
    /// The session that requested the stop, if any.
    pub session: Option<Label>,
}

/// The cause of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Stop,
    Timeout,
    /// A signal to the process that runs the job in the foreground. It comes from a batch engine, a
    /// container runtime or a terminal.
    Place,
}

/// A [`StopRequest`] in the form that journals store. The first release knows only two causes and skips
/// a line with a third. So the third is written as `stop` with an extra field, which the first release
/// ignores: it still sees that the job is being stopped.
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
    fn every_stop_cause_survives_the_journal() {
        for by in [StopCause::Stop, StopCause::Timeout, StopCause::Place] {
            let line = serde_json::to_string(&request(by)).expect("JSON");
            let read: StopRequest = serde_json::from_str(&line).expect("a request");
            assert_eq!(read, request(by), "{line}");
        }
    }

    /// The fields that the first release reads.
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
