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
    #[error("{place} was not reached: {why}")]
    Unreached {
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
    /// The place keeps its jobs in the home of whoever asks, so both would use the same directories.
    #[error("the home of the place is {}, which is also the home here; give the place another one", .0.display())]
    OwnHome(PathBuf),
    /// Something that only works on this machine.
    #[error("{what} does not work at a place ({place})")]
    OnlyHere {
        /// What was asked for.
        what: &'static str,
        /// The place.
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
    pub(super) fn code(&self) -> ErrorCode {
        match self {
            PlaceError::Bad(_) | PlaceError::OnlyHere { .. } | PlaceError::OwnHome(_) => {
                ErrorCode::BadInput
            }
            PlaceError::NoSuch(_) => ErrorCode::NoSuchPlace,
            PlaceError::Unreached { .. } | PlaceError::PerhapsStarted { .. } => {
                ErrorCode::Unreachable
            }
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
