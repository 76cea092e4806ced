//! Failures: a stable code, a message, and data.

use crate::id::JobId;
use crate::job::Job;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a failed request answers.
///
/// The message says what happened, and nothing about any face. A face adds its own hint about the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// What kind of failure it is, for programs.
    pub code: ErrorCode,
    /// What happened, for people.
    pub message: String,
    /// What to do about it, in the words of the face that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What is known about it, for programs.
    #[serde(flatten)]
    pub data: Option<FailureData>,
}

/// What a program may want to know about a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FailureData {
    /// Of `id_taken` and `name_taken`.
    Job {
        /// The job that has the id or the name.
        job: Box<Job>,
    },
    /// Of `ambiguous`.
    Candidates {
        /// The jobs that could be meant.
        candidates: Vec<JobId>,
    },
    /// Of `unreachable`.
    Host {
        /// The host that keeps the job.
        host: String,
    },
}

/// A failure as a face prints it in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorReply {
    /// The failure.
    pub error: Failure,
}

/// Why a job cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unreachable {
    /// The host that keeps it.
    pub host: String,
    /// Why it cannot be asked.
    pub reason: String,
    /// Since when its place is not reached, if it was started at another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What kind of failure it is. The spellings never change; more will be added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $name,)+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name),+];

            /// Its spelling in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => $text,)+
                }
            }
        }
    };
}

error_codes! {
    /// No job has this id or name.
    NoSuchJob = "no_such_job",
    /// The text could mean more than one job; `candidates` lists them.
    Ambiguous = "ambiguous",
    /// The session has no event of this id.
    NoSuchEvent = "no_such_event",
    /// No job or event belongs to this session.
    NoSuchSession = "no_such_session",
    /// The request needs a session, and none is known.
    NoSession = "no_session",
    /// A job has this id already (`job`), or something posted has it.
    IdTaken = "id_taken",
    /// A running job has this name (`job`).
    NameTaken = "name_taken",
    /// A job has the id of what was to be posted, or it was posted to another session.
    PostIdTaken = "post_id_taken",
    /// The request makes no sense, whatever the state of the jobs.
    BadInput = "bad_input",
    /// The arguments of the command line are wrong.
    Usage = "usage",
    /// The job cannot do this in its state, or with the options that it was started with.
    Refused = "refused",
    /// Fewer files may be open here than a wait for so many jobs takes.
    TooFewFiles = "too_few_files",
    /// The process cannot become a job: it is gone, or it is not one that the caller may take over.
    NotAdoptable = "not_adoptable",
    /// The session has as many running jobs as the configuration allows.
    TooManyJobs = "too_many_jobs",
    /// The job has no terminal.
    NoTerminal = "no_terminal",
    /// The file cannot be a copy of the job's output.
    BadLog = "bad_log",
    /// The configuration file is wrong.
    BadConfig = "bad_config",
    /// There is no directory for jobs, or it is not safe to use.
    NoHome = "no_home",
    /// The program `outlive-keeper` was not found.
    NoKeeper = "no_keeper",
    /// The keeper of the job ended without an answer.
    KeeperFailed = "keeper_failed",
    /// The keeper of the job does not answer in time.
    NoAnswer = "no_answer",
    /// Another host keeps the job (`host`).
    Unreachable = "unreachable",
    /// No place of this name is configured.
    NoSuchPlace = "no_such_place",
    /// A file of the job cannot be understood.
    Unreadable = "unreadable",
    /// A file or a system call failed.
    Io = "io",
    /// No doorbell of this name is configured.
    NoSuchDoorbell = "no_such_doorbell",
    /// The doorbell did not ring.
    NotRung = "not_rung",
    /// The files of an agent were not changed.
    SetupRefused = "setup_refused",
    /// Over HTTP: the request brings no token that this server knows.
    Unauthorized = "unauthorized",
    /// Over HTTP: the token only allows to look, or the request comes from a web page or names a host that is refused.
    Forbidden = "forbidden",
    /// Over HTTP: there is nothing at this address, or not with this method.
    NoSuchRoute = "no_such_route",
    /// Whoever sent the request did not want its answer any more.
    Canceled = "canceled",
    /// Outlive failed in another way: it could not print its answer or serve requests.
    Failed = "failed",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn codes_are_spelled_as_they_are_listed() {
        for code in ErrorCode::ALL {
            assert_eq!(json!(code), json!(code.as_str()));
        }
    }

    #[test]
    fn data_stands_beside_the_message_and_reads_back() {
        let plain = json!({"code": "no_home", "message": "x"});
        let ambiguous = json!({"code": "ambiguous", "message": "x", "candidates": ["a", "b"]});
        let far = json!({"code": "unreachable", "message": "x", "host": "h"});
        for written in [plain, ambiguous, far] {
            let failure: Failure = serde_json::from_value(written.clone()).expect("a failure");
            assert_eq!(json!(failure), written);
        }
    }
}
