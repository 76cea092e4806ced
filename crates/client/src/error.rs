//! What can go wrong. A message states facts. What to do about it depends on the face, so each face adds its own
//! hint: options to the command line, arguments to MCP.

mod parts;
mod place;

use crate::config::BadConfig;
use crate::inbox::BadEventId;
pub use crate::jobs::adoptable::NotAdoptable;
use crate::places::Unreached;
use crate::verbs::wait::WaitFor;
use crate::words;
use outlive_api::failure::{ErrorCode, Failure, FailureData};
use outlive_api::job::Job;
use outlive_api::request::BadSetting;
use outlive_api::waiting::BadAfter;
use outlive_core::control::BadWriteId;
use outlive_core::id::BadId;
use outlive_core::layout::ReadError;
use outlive_core::{JobId, journal, quote};
use parts::{describe, missing, show_ids};
pub use place::PlaceError;
use std::io;
use std::path::{Path, PathBuf};

/// The most characters of a reason that a job may have written.
const MAX_REASON: usize = 300;

/// Why a verb failed. The message of each says what it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No job has this id or name.
    #[error("no job {0:?}")]
    NoSuchJob(String),
    /// A caller without a session asked for a name that only a job of a session has.
    #[error("no job {name:?} outside a session; a session has one: {}", show_ids(.candidates))]
    NamedElsewhere {
        /// The name that was asked for.
        name: String,
        /// The jobs of sessions that have the name.
        candidates: Vec<JobId>,
    },
    /// The session has no event with this id.
    #[error("no event {0:?} of this session")]
    NoSuchEvent(String),
    /// This session has neither jobs nor events in this home.
    #[error("no session {0:?} has jobs or events here")]
    NoSuchSession(String),
    /// The request needs a session, and none is known.
    #[error("no session is known here")]
    NoSession,
    /// The text is not the id of an event.
    #[error(transparent)]
    BadEventId(#[from] BadEventId),
    /// The text is the beginning of several ids, or the name of several jobs.
    #[error("{text:?} fits several jobs: {}", show_ids(.candidates))]
    Ambiguous {
        /// The text that was asked for.
        text: String,
        /// The jobs whose ids begin with it.
        candidates: Vec<JobId>,
    },
    /// Another job has the id that was asked for.
    #[error("the id {} is taken by a job that {}", .0.id, describe(.0))]
    IdTaken(Box<Job>),
    /// Another job has the name that was asked for.
    #[error("the name {} is taken by job {}, which {}", .0.name.as_ref().map_or_else(String::new, words::name), .0.id, describe(.0))]
    NameTaken(Box<Job>),
    /// The post cannot be read or is too large.
    #[error("{}: {reason}", .path.display())]
    BadPost {
        /// The file with the post.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The id was asked for a job, but a posted event has it.
    #[error("the id {0} belongs to a posted event")]
    IdOfPost(JobId),
    /// The id was asked for a posted event, but a job has it.
    #[error("the id {0} belongs to a job")]
    PostIdTaken(JobId),
    /// An event with this id was already posted to another session.
    #[error("the id {0} was already posted to another session")]
    PostOfOther(JobId),
    /// The text is not a valid id.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A text cannot be used as a label, such as the name of a job or of a session.
    #[error("{what} {text:?} cannot be used: {reason}")]
    BadLabel {
        /// What the label is for.
        what: &'static str,
        /// The text.
        text: String,
        /// Why the text cannot be used.
        reason: outlive_core::label::BadLabel,
    },
    /// The job was started without what it would need for this to happen.
    #[error("job {id} was started without {}, so there is nothing to wait for", missing(*.what))]
    NeverComes {
        /// The job.
        id: JobId,
        /// What cannot happen.
        what: WaitFor,
    },
    /// The job has no attempt with this number.
    #[error("job {id} has no attempt {number}; the newest is {newest}")]
    NoSuchAttempt {
        /// The job.
        id: JobId,
        /// The number that was asked for.
        number: u32,
        /// The number of its newest attempt.
        newest: u32,
    },
    /// The text is not a valid regular expression.
    #[error("{pattern:?} is not a valid regular expression: {reason}")]
    BadPattern {
        /// The text.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A place cannot be used, or was not reached.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The sign of readiness is not valid.
    #[error(transparent)]
    BadReady(#[from] outlive_core::ready::BadReady),
    /// A size, a time or a limit in the request cannot be used.
    #[error(transparent)]
    BadSetting(BadSetting),
    /// The text does not name a job to start after.
    #[error(transparent)]
    BadAfter(#[from] BadAfter),
    /// The session has as many running jobs as it may have.
    #[error("session {session:?} has {}, and jobs_per_session in the configuration allows {cap}", words::count(*.running as u64, "running job"))]
    TooManyJobs {
        /// The session.
        session: String,
        /// How many of its jobs run.
        running: usize,
        /// How many may.
        cap: u32,
    },
    /// The request names no command.
    #[error("no command was given")]
    NoCommand,
    /// A command, a directory or a variable contains a NUL byte.
    #[error("{0:?} contains a NUL byte, which a command, directory or variable must not")]
    Nul(String),
    /// The text does not have the form KEY=VALUE.
    #[error("{0:?} is not of the form KEY=VALUE, with a KEY that is not empty")]
    BadVariable(String),
    /// No directory for the home was found.
    #[error("cannot find a directory for jobs")]
    NoHome,
    /// The home belongs to another user.
    #[error("the home {} belongs to another user", .0.display())]
    ForeignHome(PathBuf),
    /// Other users can write to the home.
    #[error("other users can write to the home {}", .0.display())]
    OpenHome(PathBuf),
    /// The directory has a purpose of its own.
    #[error("{} is not used as the home: it contains other files, and other users can read it", .0.display())]
    NotAHome(PathBuf),
    /// The home is a symbolic link that belongs to another user.
    #[error("the home {} is a symbolic link of another user", .0.display())]
    PlantedHome(PathBuf),
    /// The program `outlive-keeper` was not found beside this path or on the PATH.
    #[error("outlive-keeper was not found beside {} or on PATH; install both programs together, or set OUTLIVE_KEEPER", .0.display())]
    NoKeeper(PathBuf),
    /// A keeper was started for the job and ended without a report.
    #[error("the keeper of job {0} ended without a report")]
    KeeperFailed(JobId),
    /// The keeper of the job does not answer.
    #[error("the keeper of job {0} does not answer; it may be suspended")]
    NoAnswer(JobId),
    /// The keeper of the job is of a release that cannot change a running job.
    #[error("the keeper of job {0} is of an earlier release, which cannot change a running job")]
    OldKeeper(JobId),
    /// No job is selected.
    #[error("no running job is selected")]
    NothingSelected,
    /// The job may run on another host, so it cannot be reached from here.
    #[error("job {id} is {reason}")]
    Unreachable {
        /// The job.
        id: JobId,
        /// Why it cannot be reached.
        reason: String,
        /// The host that the job was started on.
        host: String,
    },
    /// The job cannot do what was asked.
    #[error("job {id}: {reason}")]
    Refused {
        /// The job.
        id: JobId,
        /// Why it cannot. These are words of ours, never of a job.
        reason: &'static str,
    },
    /// Whoever listens on the socket of the job refused the request. A job can take the place of its keeper there, so
    /// these may be its own words.
    #[error("job {id}: its keeper refused that: {}", quote::string(.reason, MAX_REASON))]
    RefusedByKeeper {
        /// The job.
        id: JobId,
        /// What the keeper said.
        reason: String,
    },
    /// A wait has a connection to each running job, and the hard limit on open files allows too few.
    #[error(
        "waiting for {jobs} running jobs takes a file for each, and at most {most} can be waited for with the limits here"
    )]
    TooFewFiles {
        /// How many jobs were asked about.
        jobs: usize,
        /// How many running ones can be waited for.
        most: usize,
    },
    /// The process cannot become a job.
    #[error("process {pid} cannot be adopted: {why}")]
    NotAdoptable {
        /// The number of the process.
        pid: i32,
        /// Why it cannot.
        why: NotAdoptable,
    },
    /// A screen was asked for, but the job has no terminal.
    #[error("job {0} has no terminal, so it has no screen")]
    NoTerminal(JobId),
    /// One stream was asked for, but the job has only one.
    #[error("the stdout and stderr of job {0} are one stream")]
    NotSplit(JobId),
    /// One stream was asked for, but nobody knows which bytes are of it.
    #[error(
        "the record of which output of job {0} is stdout and which is stderr is missing or damaged"
    )]
    StreamsUnknown(JobId),
    /// A new size was asked for, but the job has no terminal.
    #[error("job {0} has no terminal to resize")]
    NotResizable(JobId),
    /// Input was sent to a job that has none.
    #[error("job {0} reads from nothing")]
    ReadsNothing(JobId),
    /// Keys were sent to a job whose input is a pipe.
    #[error("the input of job {0} is a pipe, which has no keys")]
    NoKeys(JobId),
    /// The id of a write is not valid.
    #[error(transparent)]
    BadWriteId(#[from] BadWriteId),
    /// Read it as text, or call [`crate::Outlive::showing_secrets`] first.
    #[error("the exact output may contain secrets, which are hidden here")]
    SecretsHidden,
    /// Events were acknowledged or dropped for a caller that may only look at them.
    #[error("a caller that only looks cannot acknowledge or drop events")]
    OnlyLooking,
    /// The file cannot be used as a log.
    #[error("{} cannot be used as a log", .0.display())]
    NotALog(PathBuf),
    /// Another job writes to this log.
    #[error("another job writes to {}", .0.display())]
    LogTaken(PathBuf),
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] BadConfig),
    /// A file of a job cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal of a job cannot be opened or written.
    #[error(transparent)]
    Journal(#[from] journal::WriterError),
    /// A system call failed.
    #[error("{what} {}: {source}", .path.display())]
    Io {
        /// What failed, for example "cannot read".
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl From<BadSetting> for Error {
    fn from(bad: BadSetting) -> Error {
        match bad {
            BadSetting::Label { what, text, reason } => Error::BadLabel { what, text, reason },
            BadSetting::Ready(reason) => Error::BadReady(reason),
            other => Error::BadSetting(other),
        }
    }
}

impl Error {
    /// For `map_err`: the failed action and its object.
    pub(crate) fn io(
        what: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io {
            what,
            path: path.as_ref().to_owned(),
            source,
        }
    }

    /// What went wrong, for programs: the code of the contract.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::NoSuchJob(_) | Error::NamedElsewhere { .. } | Error::NothingSelected => {
                ErrorCode::NoSuchJob
            }
            Error::NameTaken(_) => ErrorCode::NameTaken,
            Error::NoSuchEvent(_) => ErrorCode::NoSuchEvent,
            Error::Ambiguous { .. } => ErrorCode::Ambiguous,
            Error::IdTaken(_) | Error::IdOfPost(_) => ErrorCode::IdTaken,
            Error::PostIdTaken(_) | Error::PostOfOther(_) => ErrorCode::PostIdTaken,
            Error::NoSession => ErrorCode::NoSession,
            Error::NoSuchSession(_) => ErrorCode::NoSuchSession,
            Error::BadId(_)
            | Error::BadEventId(_)
            | Error::BadLabel { .. }
            | Error::BadPattern { .. }
            | Error::BadReady(_)
            | Error::BadSetting(_)
            | Error::BadAfter(_)
            | Error::BadPost { .. }
            | Error::BadWriteId(_)
            | Error::BadVariable(_)
            | Error::NoCommand
            | Error::Nul(_)
            | Error::SecretsHidden
            | Error::OnlyLooking
            | Error::NoSuchAttempt { .. }
            | Error::NeverComes { .. } => ErrorCode::BadInput,
            Error::NoHome
            | Error::ForeignHome(_)
            | Error::OpenHome(_)
            | Error::NotAHome(_)
            | Error::PlantedHome(_) => ErrorCode::NoHome,
            Error::NoKeeper(_) => ErrorCode::NoKeeper,
            Error::KeeperFailed(_) => ErrorCode::KeeperFailed,
            Error::NoAnswer(_) => ErrorCode::NoAnswer,
            Error::Unreachable { .. } => ErrorCode::Unreachable,
            Error::Place(error) => error.code(),
            Error::Refused { .. }
            | Error::RefusedByKeeper { .. }
            | Error::NotSplit(_)
            | Error::NotResizable(_)
            | Error::ReadsNothing(_)
            | Error::OldKeeper(_)
            | Error::NoKeys(_) => ErrorCode::Refused,
            Error::TooFewFiles { .. } => ErrorCode::TooFewFiles,
            Error::NotAdoptable { .. } => ErrorCode::NotAdoptable,
            Error::TooManyJobs { .. } => ErrorCode::TooManyJobs,
            Error::NoTerminal(_) => ErrorCode::NoTerminal,
            Error::NotALog(_) | Error::LogTaken(_) => ErrorCode::BadLog,
            Error::Config(_) => ErrorCode::BadConfig,
            Error::Read(_) | Error::Journal(_) | Error::StreamsUnknown(_) => ErrorCode::Unreadable,
            Error::Io { .. } => ErrorCode::Io,
        }
    }

    /// The same for whoever asked, at whatever distance.
    pub fn failure(&self) -> Failure {
        Failure {
            code: self.code(),
            message: self.to_string(),
            hint: None,
            data: match self {
                Error::IdTaken(job) | Error::NameTaken(job) => {
                    Some(FailureData::Job { job: job.clone() })
                }
                Error::Ambiguous { candidates, .. } => Some(FailureData::Candidates {
                    candidates: candidates.clone(),
                }),
                Error::Unreachable { host, .. } => Some(FailureData::Host { host: host.clone() }),
                _ => None,
            },
        }
    }

    /// A keeper exists but does not answer or accept connections.
    pub(crate) fn is_silence(&self) -> bool {
        match self {
            Error::NoAnswer(_) => true,
            Error::Io { source, .. } => source.kind() == io::ErrorKind::TimedOut,
            _ => false,
        }
    }

    /// The place of the job was not reached, and may be later.
    pub fn is_unreached(&self) -> bool {
        match self {
            Error::Place(PlaceError::Unreached { why, .. }) => {
                !matches!(why, Unreached::OtherInstance(_))
            }
            // What reads the output sees errors of the system only.
            Error::Io { source, .. } => source
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<Error>())
                .is_some_and(Error::is_unreached),
            _ => false,
        }
    }

    /// There is no such job.
    pub fn is_no_such_job(&self) -> bool {
        matches!(
            self,
            Error::NoSuchJob(_)
                | Error::NothingSelected
                | Error::NamedElsewhere { .. }
                | Error::Ambiguous { .. }
                | Error::NoSuchEvent(_)
                | Error::NoSuchAttempt { .. }
                | Error::NoSuchSession(_)
        )
    }

    /// The request can never succeed, whatever the state of the job.
    pub fn is_bad_input(&self) -> bool {
        if let Error::Place(error) = self {
            return error.is_bad_input();
        }
        matches!(
            self,
            Error::BadId(_)
                | Error::BadEventId(_)
                | Error::NoSession
                | Error::NeverComes { .. }
                | Error::BadPattern { .. }
                | Error::BadReady(_)
                | Error::BadSetting(_)
                | Error::BadAfter(_)
                | Error::BadPost { .. }
                | Error::BadWriteId(_)
                | Error::BadLabel { .. }
                | Error::NoCommand
                | Error::Nul(_)
                | Error::SecretsHidden
                | Error::OnlyLooking
                | Error::BadVariable(_)
        )
    }
}
