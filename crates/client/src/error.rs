//! What can go wrong. A message states facts. What to do about it depends on the face, so each face adds its own
//! hint: options to the command line, arguments to MCP.

use crate::config::BadConfig;
use crate::inbox::BadEventId;
use crate::verbs::wait::WaitFor;
use crate::words;
use outlive_api::failure::{ErrorCode, Failure, FailureData};
use outlive_api::job::Job;
use outlive_api::request::BadSetting;
use outlive_core::control::BadWriteId;
use outlive_core::id::BadId;
use outlive_core::layout::ReadError;
use outlive_core::{JobId, journal};
use std::io;
use std::path::{Path, PathBuf};

/// Why a verb failed. The message of each says what it is about.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the message documents each variant and its fields"
)]
#[non_exhaustive]
pub enum Error {
    #[error("no job {0:?}")]
    NoSuchJob(String),
    #[error("no job {name:?} outside a session; a session has one: {}", show_ids(.candidates))]
    NamedElsewhere {
        name: String,
        candidates: Vec<JobId>,
    },
    #[error("no event {0:?} of this session")]
    NoSuchEvent(String),
    #[error("no session {0:?} has jobs or events here")]
    NoSuchSession(String),
    #[error("no session is known here")]
    NoSession,
    #[error(transparent)]
    BadEventId(#[from] BadEventId),
    #[error("{text:?} is the beginning of several ids: {}", show_ids(.candidates))]
    Ambiguous {
        text: String,
        candidates: Vec<JobId>,
    },
    #[error("the id {} is taken by a job that is {}", .0.id, describe(.0))]
    IdTaken(Box<Job>),
    #[error("the name {} is taken by job {}, which is {}", .0.name.as_ref().map_or("", |name| name.as_str()), .0.id, describe(.0))]
    NameTaken(Box<Job>),
    #[error("{}: {reason}", .path.display())]
    BadPost { path: PathBuf, reason: String },
    #[error("the id {0} belongs to a posted event")]
    IdOfPost(JobId),
    #[error("the id {0} belongs to a job")]
    PostIdTaken(JobId),
    #[error("the id {0} was already posted to another session")]
    PostOfOther(JobId),
    #[error(transparent)]
    BadId(#[from] BadId),
    #[error("{what} {text:?} cannot be used: {reason}")]
    BadLabel {
        what: &'static str,
        text: String,
        reason: outlive_core::label::BadLabel,
    },
    #[error("job {id} was started without {}, so there is nothing to wait for", missing(*.what))]
    NeverComes { id: JobId, what: WaitFor },
    #[error("{pattern:?} is not a valid regular expression: {reason}")]
    BadPattern { pattern: String, reason: String },
    #[error(transparent)]
    BadReady(#[from] outlive_core::ready::BadReady),
    #[error("no command was given")]
    NoCommand,
    #[error("{0:?} contains a NUL byte, which a command, directory or variable must not")]
    Nul(String),
    #[error("{0:?} is not KEY=VALUE")]
    BadVariable(String),
    #[error("cannot find a directory for jobs")]
    NoHome,
    #[error("the home {} belongs to another user", .0.display())]
    ForeignHome(PathBuf),
    #[error("other users can write to the home {}", .0.display())]
    OpenHome(PathBuf),
    #[error("the home {} is a symbolic link of another user", .0.display())]
    PlantedHome(PathBuf),
    #[error("outlive-keeper was not found beside {} or on PATH; install both programs together, or set OUTLIVE_KEEPER", .0.display())]
    NoKeeper(PathBuf),
    #[error("the keeper of job {0} ended without a report")]
    KeeperFailed(JobId),
    #[error("the keeper of job {0} does not answer; it may be suspended")]
    NoAnswer(JobId),
    #[error("job {id} is {reason}")]
    Unreachable {
        id: JobId,
        reason: String,
        host: String,
    },
    #[error("job {id}: {reason}")]
    Refused { id: JobId, reason: String },
    #[error("job {0} has no terminal, so it has no screen")]
    NoTerminal(JobId),
    #[error("job {0} has no terminal to resize")]
    NotResizable(JobId),
    #[error("job {0} reads from nothing")]
    ReadsNothing(JobId),
    #[error("the input of job {0} is a pipe, which has no keys")]
    NoKeys(JobId),
    #[error(transparent)]
    BadWriteId(#[from] BadWriteId),
    /// Read it as text, or call [`crate::Outlive::showing_secrets`] first.
    #[error("the exact output may contain secrets, which are hidden here")]
    SecretsHidden,
    #[error("a caller that only looks cannot acknowledge or drop events")]
    OnlyLooking,
    #[error("{} cannot be used as a log", .0.display())]
    NotALog(PathBuf),
    #[error("another job writes to {}", .0.display())]
    LogTaken(PathBuf),
    #[error(transparent)]
    Config(#[from] BadConfig),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] journal::WriterError),
    #[error("{what} {}: {source}", .path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl From<BadSetting> for Error {
    fn from(bad: BadSetting) -> Error {
        match bad {
            BadSetting::Label { what, text, reason } => Error::BadLabel { what, text, reason },
            BadSetting::Ready(reason) => Error::BadReady(reason),
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
            Error::NoSuchJob(_) | Error::NamedElsewhere { .. } => ErrorCode::NoSuchJob,
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
            | Error::BadPost { .. }
            | Error::BadWriteId(_)
            | Error::BadVariable(_)
            | Error::NoCommand
            | Error::Nul(_)
            | Error::SecretsHidden
            | Error::OnlyLooking
            | Error::NeverComes { .. } => ErrorCode::BadInput,
            Error::NoHome | Error::ForeignHome(_) | Error::OpenHome(_) | Error::PlantedHome(_) => {
                ErrorCode::NoHome
            }
            Error::NoKeeper(_) => ErrorCode::NoKeeper,
            Error::KeeperFailed(_) => ErrorCode::KeeperFailed,
            Error::NoAnswer(_) => ErrorCode::NoAnswer,
            Error::Unreachable { .. } => ErrorCode::Unreachable,
            Error::Refused { .. }
            | Error::NotResizable(_)
            | Error::ReadsNothing(_)
            | Error::NoKeys(_) => ErrorCode::Refused,
            Error::NoTerminal(_) => ErrorCode::NoTerminal,
            Error::NotALog(_) | Error::LogTaken(_) => ErrorCode::BadLog,
            Error::Config(_) => ErrorCode::BadConfig,
            Error::Read(_) | Error::Journal(_) => ErrorCode::Unreadable,
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

    /// There is no such job.
    pub fn is_no_such_job(&self) -> bool {
        matches!(
            self,
            Error::NoSuchJob(_)
                | Error::NamedElsewhere { .. }
                | Error::Ambiguous { .. }
                | Error::NoSuchEvent(_)
                | Error::NoSuchSession(_)
        )
    }

    /// The request can never succeed, whatever the state of the job.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Error::BadId(_)
                | Error::BadEventId(_)
                | Error::NoSession
                | Error::NeverComes { .. }
                | Error::BadPattern { .. }
                | Error::BadReady(_)
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

/// What a job must be started with, so that this can come.
fn missing(what: WaitFor) -> &'static str {
    match what {
        WaitFor::Ready => "a sign of readiness",
        WaitFor::Match => "a watch",
        WaitFor::Quiet => "a limit of silence",
        WaitFor::End | WaitFor::Input => "anything to wait for",
    }
}

fn show_ids(ids: &[JobId]) -> String {
    const MAX_SHOWN: usize = 5;
    let mut text = ids
        .iter()
        .take(MAX_SHOWN)
        .map(JobId::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > MAX_SHOWN {
        text.push_str(&format!(" and {} more", ids.len() - MAX_SHOWN));
    }
    text
}

fn describe(job: &Job) -> String {
    match &job.outcome {
        Some(_) => format!("ended ({})", words::outcome(job)),
        None => job.state.to_string(),
    }
}
