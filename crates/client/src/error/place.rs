//! What can go wrong with a place.

use crate::places::Unreached;
use outlive_api::failure::ErrorCode;
use outlive_core::JobId;
use outlive_core::place::BadPlace;
use std::path::PathBuf;

/// Why a place could not be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The text names no place.
    #[error(transparent)]
    Bad(BadPlace),
    /// The configuration has no place with this name.
    #[error("no place {0:?} is configured")]
    NoSuch(String),
    /// The place was not reached, and nothing was sent or started.
    #[error("{place} was not reached: {why}; nothing was sent")]
    Unreached {
        /// The place.
        place: String,
        /// Why it was not reached.
        why: Unreached,
    },
    /// The connection was lost after a request was sent.
    #[error("{place} was not reached again: {why}; it is not known whether the request arrived")]
    Unanswered {
        /// The place.
        place: String,
        /// Why it was not reached.
        why: Unreached,
    },
    /// The connection was lost after a start was sent.
    #[error("{place} was not reached again: {why}; it is not known whether {id} was started")]
    PerhapsStarted {
        /// The place.
        place: String,
        /// The job.
        id: JobId,
        /// Why it was not reached.
        why: Unreached,
    },
    /// This machine was named where another one is needed.
    #[error("\"local\" is this machine; name a place")]
    Local,
    /// A name that is to be added is in the configuration.
    #[error("a place {0:?} is configured already")]
    Configured(String),
    /// A setting of a place that is to be added makes no sense.
    #[error("{what}: {why}")]
    Setting {
        /// What was wrong.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// The configuration file is written in a way that cannot be changed safely.
    #[error("cannot change the place {name:?} in {} without touching the rest of it; edit the file", .file.display())]
    NotEdited {
        /// The file.
        file: PathBuf,
        /// The place.
        name: String,
    },
    /// A place that is to be removed has jobs.
    #[error(
        "{place} has jobs: {running} that are not over, and {ended} ended ones whose output is there"
    )]
    HasJobs {
        /// The place.
        place: String,
        /// How many are not known to be over.
        running: usize,
        /// How many are over.
        ended: usize,
    },
    /// A place that is not reached with ssh is to be logged in to.
    #[error("{0} is not reached with ssh, so there is nothing to log in to")]
    NoLogin(String),
    /// The place keeps its jobs in the home of whoever asks, so both would use the same directories.
    #[error("the home of the place is {}, which is also the home here; give the place another one", .0.display())]
    OwnHome(PathBuf),
    /// The far end has greeted a courier, and its home has been removed since.
    #[error("the home of the jobs there, {}, was removed", .0.display())]
    HomeGone(PathBuf),
    /// Another process lends under this name.
    #[error("{0:?} is lent by another process; end that, or choose another name")]
    Lent(String),
    /// A lender was told something that is no answer.
    #[error("standard input has a line that is no result of a command: {0}")]
    NotAnswer(String),
    /// Something that only works on this machine.
    #[error("{what} does not work at a place ({place})")]
    OnlyHere {
        /// What was asked for.
        what: &'static str,
        /// The place.
        place: String,
    },
    /// A variable would be in an argument there, which other processes can see.
    #[error(
        "the value of {name} would stand in an argument at {place}, where other processes can see it; nothing was sent"
    )]
    Shown {
        /// The variable.
        name: String,
        /// The place.
        place: String,
        /// The command of the place may pass on its standard input.
        can_pass_input: bool,
    },
    /// A job is to start after one of another place.
    #[error("{id} is a job of {place}, and a job can only start after jobs of its own place")]
    AfterOther {
        /// The job that it is to start after.
        id: JobId,
        /// The place of that job.
        place: String,
    },
    /// The place answered that it cannot do this.
    #[error("{place}: {message}")]
    Refused {
        /// The place.
        place: String,
        /// The code of the contract.
        code: String,
        /// What it said.
        message: String,
    },
}

impl PlaceError {
    /// The request can never succeed, whatever the state of the place.
    pub(super) fn is_bad_input(&self) -> bool {
        matches!(
            self,
            PlaceError::Bad(_)
                | PlaceError::NoSuch(_)
                | PlaceError::Local
                | PlaceError::Configured(_)
                | PlaceError::Setting { .. }
                | PlaceError::NoLogin(_)
                | PlaceError::OnlyHere { .. }
                | PlaceError::Shown { .. }
                | PlaceError::NotAnswer(_)
                | PlaceError::AfterOther { .. }
        )
    }

    /// The place gave an answer that fits another question.
    pub(crate) fn strange(place: &str) -> PlaceError {
        PlaceError::Refused {
            place: place.to_owned(),
            code: ErrorCode::Failed.as_str().to_owned(),
            message: "it answered another question; are both sides of one version?".to_owned(),
        }
    }

    pub(super) fn code(&self) -> ErrorCode {
        match self {
            PlaceError::Bad(_)
            | PlaceError::OnlyHere { .. }
            | PlaceError::Shown { .. }
            | PlaceError::NotAnswer(_)
            | PlaceError::AfterOther { .. }
            | PlaceError::Local
            | PlaceError::Setting { .. }
            | PlaceError::OwnHome(_)
            | PlaceError::NoLogin(_) => ErrorCode::BadInput,
            PlaceError::Configured(_)
            | PlaceError::Lent(_)
            | PlaceError::NotEdited { .. }
            | PlaceError::HasJobs { .. } => ErrorCode::Refused,
            PlaceError::NoSuch(_) => ErrorCode::NoSuchPlace,
            PlaceError::Unreached { .. }
            | PlaceError::Unanswered { .. }
            | PlaceError::PerhapsStarted { .. }
            | PlaceError::HomeGone(_) => ErrorCode::Unreachable,
            // A code that only a later release has.
            PlaceError::Refused { code, .. } => {
                let mut known = ErrorCode::ALL.iter().copied();
                known
                    .find(|known| known.as_str() == code)
                    .unwrap_or(ErrorCode::Refused)
            }
        }
    }
}
