//! What can go wrong, each with what to do about it.

use crate::config::BadConfig;
use crate::doorbell::NotRung;
use crate::inbox::BadEventId;
use crate::job::Job;
use crate::setup::Refused;
use outlive_core::control::BadWriteId;
use outlive_core::id::BadId;
use outlive_core::layout::ReadError;
use outlive_core::{JobId, journal};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no job {0:?}; `outlive list --state all` shows what there is")]
    NoSuchJob(String),
    #[error("no event {0:?} of this session; `outlive inbox --peek` shows what waits")]
    NoSuchEvent(String),
    #[error("no session is known here: pass --session KEY, or set OUTLIVE_SESSION")]
    NoSession,
    #[error(transparent)]
    BadEventId(#[from] BadEventId),
    #[error("{text:?} could be any of {}; type more of the id", show_ids(.candidates))]
    Ambiguous {
        text: String,
        candidates: Vec<JobId>,
    },
    #[error("the id {} is taken by a job that is {}; choose another id, or use that job", .0.id, describe(.0))]
    IdTaken(Box<Job>),
    #[error("{}: {reason}", .path.display())]
    BadPost { path: PathBuf, reason: String },
    #[error("the id {0} is that of something posted; choose another for the job")]
    IdOfPost(JobId),
    #[error("the id {0} is a job's; choose another for what is posted")]
    PostIdTaken(JobId),
    #[error("id {0} was already posted to another session; choose another id")]
    PostOfOther(JobId),
    #[error(transparent)]
    BadId(#[from] BadId),
    #[error("{what} {text:?} cannot be used: {reason}")]
    BadLabel {
        what: &'static str,
        text: String,
        reason: outlive_core::label::BadLabel,
    },
    #[error("job {id} was started without {option}, so this never comes")]
    NeverComes { id: JobId, option: &'static str },
    #[error("{pattern:?} is not a pattern: {reason}")]
    BadPattern { pattern: String, reason: String },
    #[error("there is no command to run; give one after `--`, or a string with --shell")]
    NoCommand,
    #[error("{0:?} contains a NUL byte, which no command, directory or variable can")]
    Nul(String),
    #[error("{0:?} is not KEY=VALUE")]
    BadVariable(String),
    #[error("no directory for Outlive's state: set OUTLIVE_HOME or HOME, or pass --home")]
    NoHome,
    #[error("the home {} belongs to another user; set OUTLIVE_HOME to a directory of your own", .0.display())]
    ForeignHome(PathBuf),
    #[error("the home {} is a link that another user made; set OUTLIVE_HOME to a directory of your own", .0.display())]
    PlantedHome(PathBuf),
    #[error("outlive-keeper was not found beside {} or on PATH; install both programs together, or set OUTLIVE_KEEPER", .0.display())]
    NoKeeper(PathBuf),
    #[error("the keeper of job {0} ended without a word; `outlive doctor` may tell why")]
    KeeperFailed(JobId),
    #[error(
        "job {0} is held by a process that does not answer; `outlive show {0}` tells its state"
    )]
    NoAnswer(JobId),
    #[error("job {id}: {reason}")]
    Refused { id: JobId, reason: String },
    #[error("job {0} has no terminal, so it has no screen; start it with --pty to give it one")]
    NoTerminal(JobId),
    #[error(transparent)]
    BadWriteId(#[from] BadWriteId),
    #[error("{} cannot be a log; name a regular file", .0.display())]
    NotALog(PathBuf),
    #[error("{} is being written by another job; choose another log", .0.display())]
    LogTaken(PathBuf),
    #[error(transparent)]
    Config(#[from] BadConfig),
    #[error("no doorbell {name:?} is configured; {known}")]
    NoSuchDoorbell { name: String, known: String },
    #[error("the doorbell {name:?} did not ring: {why}")]
    NotRung { name: String, why: Box<NotRung> },
    #[error(transparent)]
    Setup(#[from] Refused),
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

impl Error {
    /// For `map_err`: what was being done, to what.
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

    /// The job that was asked for is not there, or not one.
    pub fn is_no_such_job(&self) -> bool {
        matches!(
            self,
            Error::NoSuchJob(_) | Error::Ambiguous { .. } | Error::NoSuchEvent(_)
        )
    }

    /// What was asked makes no sense, whatever the state of things.
    pub fn is_bad_input(&self) -> bool {
        if let Error::Setup(refused) = self {
            return refused.is_bad_input();
        }
        matches!(
            self,
            Error::BadId(_)
                | Error::BadEventId(_)
                | Error::NoSession
                | Error::NeverComes { .. }
                | Error::BadPattern { .. }
                | Error::BadPost { .. }
                | Error::BadWriteId(_)
                | Error::BadLabel { .. }
                | Error::NoCommand
                | Error::Nul(_)
                | Error::BadVariable(_)
                | Error::NoSuchDoorbell { .. }
        )
    }
}

fn show_ids(ids: &[JobId]) -> String {
    const MOST: usize = 5;
    let mut text = ids
        .iter()
        .take(MOST)
        .map(JobId::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > MOST {
        text.push_str(&format!(" and {} more", ids.len() - MOST));
    }
    text
}

fn describe(job: &Job) -> String {
    match &job.outcome {
        Some(_) => format!("ended ({})", job.outcome_text()),
        None => job.state.to_owned(),
    }
}
