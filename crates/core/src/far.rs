//! What a courier and a far end say to each other on the wire (see [`wire`](crate::wire)).
//!
//! A **far end** is our program at a place; a **courier** is the process here that holds the wire of one place. The
//! job directory at the place is the truth. The courier keeps a **replica** of each journal here.
//!
//! | stream | the courier sends | the far end sends |
//! |---|---|---|
//! | [`Opening::Call`] | nothing | one [`Answer`] as data, in as many frames as it needs, then `end` |
//! | [`Opening::LongCall`] | the [`Call`] as data, then `shut` | the same |
//! | [`Opening::Control`] | the bytes of the keeper's control protocol | the same; `end` when that keeper is gone |
//! | [`Opening::Bytes`] | nothing | the bytes of the range, then `end` |
//! | [`Opening::Exec`] | the input of the program | its output, then `end`; [`Call::Ended`] tells how it ended |
//! | [`Opening::Journals`] | lines of [`ToJournals`] | lines of [`FromJournals`] |
//!
//! The rules that everything else relies on:
//!
//! 1. The first stream of a wire is a call with [`Call::Hello`]. Before its answer, nothing else is sent.
//! 2. The second one is `Journals`, and it stays open as long as the wire.
//! 3. Before the far end sends a frame of a control stream of a job, or the answer of a call about it, it has sent all
//!    records that the journal of that job had when the frame was made. So whoever reads an answer here finds in the
//!    replica what the answer speaks of. The courier applies the records before it passes on later frames.
//! 4. Every call can be repeated. A launch is recognised by the incarnation in its spec.

use crate::clocks::{BootTime, WallTime};
use crate::id::JobId;
use crate::os_text::OsText;
use crate::place::ContainerRef;
use crate::spec::Spec;
use outlive_api::job::Job;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the wire and of the messages on it. Both sides must have the same one: the program at the place is
/// named by its digest, so this differs only if a program there was installed by hand.
pub const WIRE: u32 = 1;

/// Names a home for ever, here or at a place: 32 hexadecimal digits, in the file `home-id`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HomeId(String);

/// Why a text is no [`HomeId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a home has 32 hexadecimal digits")]
pub struct BadHomeId;

impl HomeId {
    /// Reads an id that came from outside. It becomes part of a path, so nothing else is accepted.
    pub fn parse(text: &str) -> Result<HomeId, BadHomeId> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 32 && text.bytes().all(is_hex) {
            true => Ok(HomeId(text.to_owned())),
            false => Err(BadHomeId),
        }
    }

    pub fn from_bits(bits: u128) -> HomeId {
        HomeId(format!("{bits:032x}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HomeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for HomeId {
    type Error = BadHomeId;

    fn try_from(text: String) -> Result<HomeId, BadHomeId> {
        HomeId::parse(&text)
    }
}

impl From<HomeId> for String {
    fn from(id: HomeId) -> String {
        id.0
    }
}

/// What a stream carries: the payload of `open`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    Call(Box<Call>),
    /// A call that is too long for one frame. Its JSON follows as data, then `shut`. The rest is as for `Call`.
    LongCall,
    /// The control socket of a job's keeper. The far end meets the job first, so that it has a keeper or is over.
    Control {
        job: JobId,
    },
    /// The bytes of a file of a job from `from` up to `to`, or to its present end. Bytes of an output that were dropped
    /// read as zeros: the reader knows from the spec and the journal which they are.
    Bytes {
        job: JobId,
        file: FarFile,
        from: u64,
        to: Option<u64>,
    },
    Journals,
    /// A program that reaches another place from here. It ends with the stream.
    Exec {
        program: FarProgram,
        /// What [`Call::Ended`] asks by. Nobody uses it twice.
        ticket: String,
    },
}

/// A program to run at a place. No shell reads its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarProgram {
    pub program: String,
    /// What helps if there is no such program.
    pub advice: String,
    pub words: Vec<OsText>,
    /// It gets all of the environment, and not only what tools need.
    pub inherits_all: bool,
    pub set: Vec<(String, String)>,
}

/// How a program at a place ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarEnded {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The end of what it wrote on its standard error; or why it was not started.
    pub words: String,
}

/// A file of a job that can be read from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FarFile {
    Output,
    Index,
    Streams,
}

/// One question with one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Hello(Hello),
    /// Start a job, unless it is there. If it is there, its journal is followed from now on, as after
    /// [`ToJournals::Follow`] from its first record. So by rule 3 its records come before the answer.
    Launch(Box<Launch>),
    /// Which of these jobs are there. After the [`Hello`] of this wire, no earlier wire of this place can start one any
    /// more, so "not there" is final.
    Standing {
        jobs: Vec<JobId>,
    },
    /// The job as `show` there has it, with what it uses now; and the size of its output.
    Look {
        job: JobId,
    },
    /// Remove jobs that are over and whose news was acked. Those that are not there count as removed.
    Remove {
        jobs: Vec<JobId>,
    },
    /// What this machine supports, as `outlive doctor` says it.
    Doctor,
    /// Remove the programs of other versions that no keeper runs.
    Clean,
    /// Run a program to its end, without input. It changes nothing.
    Ask {
        program: FarProgram,
        within_ms: u64,
    },
    /// How the program of an [`Opening::Exec`] with this ticket ended. Waits for a moment until it has.
    Ended {
        ticket: String,
    },
}

/// The first call of a wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub wire: u32,
    /// The home that the courier works for.
    pub home: HomeId,
    /// The directory name of the place there, so that two places of one home that are the same host do not disturb
    /// each other.
    pub place: String,
    /// The formats that the courier's side reads.
    pub journal_format: u32,
    pub spec_format: u32,
}

/// Who answers a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub wire: u32,
    pub instance: Instance,
    /// Raised with each hello of this home and place. A launch with an older epoch is refused.
    pub epoch: u64,
    /// Where a login begins: the home directory of the user there, else `/`.
    pub login_directory: OsText,
    /// The shell for `--shell`: bash where there is one, else sh.
    pub shell: OsText,
    pub user: String,
    /// The system in words: kernel, release and machine type.
    pub system: String,
    pub clock: FarClock,
    /// What is less than it would be here, one sentence each.
    pub notes: Vec<String>,
}

/// Which machine and which home answers at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// The id of the far home. Jobs of a place are only looked for where this answers.
    pub home: HomeId,
    /// The directory of the far home.
    pub root: OsText,
    pub host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    pub boot: String,
    /// The container that it is, as its engine says. The courier fills this in: a container cannot know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerRef>,
}

/// The clocks of a place when it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarClock {
    pub wall_ms: WallTime,
    pub boot_ms: BootTime,
}

/// A start at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// As it shall be written there: its session is the one that holds all jobs of this home, it has no name, and a
    /// relative `cwd` is below the login directory.
    pub spec: Spec,
    pub variables: FarVariables,
    /// Give the job the environment of a login shell.
    pub login: bool,
    pub epoch: u64,
}

/// What changes the environment that a job inherits from the far end. Values may be secrets: they travel in frames
/// only, and are never written down.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarVariables {
    pub removed: Vec<OsText>,
    pub set: Vec<(OsText, OsText)>,
}

impl fmt::Debug for FarVariables {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.set.iter().map(|(name, _)| name.lossy()).collect();
        write!(out, "FarVariables {{ set: {names:?} }}")
    }
}

/// The answer of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Hello(Box<Greeting>),
    Launch(Launched),
    Standing(Vec<Standing>),
    Look {
        job: Box<Job>,
        output_size: u64,
    },
    Removed {
        /// Those that cannot be removed now, with the reason.
        left: Vec<(JobId, String)>,
    },
    Doctor(serde_json::Value),
    Cleaned {
        /// The names of the files that were removed.
        removed: Vec<String>,
    },
    Asked {
        output: String,
        ended: FarEnded,
    },
    /// `None` if the ticket is not known: the wire was another one.
    Ended(Option<FarEnded>),
    /// The call could not be carried out, and nothing was changed.
    Failed(FarFailure),
}

/// How a launch went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launched {
    /// The job is there: started by this call or by an earlier one. Its journal tells the rest.
    There,
    /// Another job has this id there. Nothing was started.
    IdTaken,
    /// A later wire of this place has said hello. Nothing was started.
    Stale,
    /// Nothing was started, for this reason.
    NotMade { reason: String },
}

/// Whether a job is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    There,
    /// Another job has this id there.
    OtherJob,
    NotThere,
}

/// Why a stream or a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarFailure {
    /// A code of the contract, such as `no_such_job`.
    pub code: String,
    pub message: String,
}

/// The payload of `end`, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnd {
    pub error: FarFailure,
}

/// What the courier asks on the stream of journals; one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToJournals {
    /// Send the records of this job after this number, now and as they come.
    Follow {
        job: JobId,
        after: u64,
        /// What it was started in has been stopped since, so nothing of that time runs any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stopped: bool,
    },
    /// Send no more of this job.
    Leave { job: JobId },
    /// The replica has the records up to this number, synced to disk.
    Ack { job: JobId, seq: u64 },
}

/// What the far end tells on the stream of journals; one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromJournals {
    /// A line of the journal of a job, without its newline, as it is there.
    Record { job: JobId, line: String },
    /// There is no such job in this home.
    Gone { job: JobId },
    /// The job cannot be followed now, for this reason. It is tried again, after longer and longer pauses.
    Failed { job: JobId, reason: String },
}

/// The longest [`Call`] and the longest [`Answer`] as JSON.
pub const MAX_CALL: usize = 32 * 1024 * 1024;

/// The longest line on the stream of journals. A record is never near it.
pub const MAX_LINE: usize = 1024 * 1024;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_home_is_hexadecimal() {
        let id = HomeId::from_bits(0xabc);
        assert_eq!(HomeId::parse(id.as_str()), Ok(id));
        for text in [
            "",
            "..",
            "ABCDEFABCDEFABCDEFABCDEFABCDEFAB",
            &"0".repeat(33),
        ] {
            assert_eq!(HomeId::parse(text), Err(BadHomeId));
        }
    }

    #[test]
    fn openings_are_short_json() {
        let job = JobId::parse("1abc").unwrap();
        let opening = Opening::Bytes {
            job,
            file: FarFile::Output,
            from: 7,
            to: None,
        };
        let text = serde_json::to_string(&opening).unwrap();
        assert_eq!(
            text,
            r#"{"bytes":{"job":"1abc","file":"output","from":7,"to":null}}"#
        );
        assert_eq!(serde_json::from_str::<Opening>(&text).unwrap(), opening);
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let variables = FarVariables {
            removed: Vec::new(),
            set: vec![("TOKEN".into(), "hunter2".into())],
        };
        assert_eq!(
            format!("{variables:?}"),
            r#"FarVariables { set: ["TOKEN"] }"#
        );
    }
}
