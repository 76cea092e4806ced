//! Why an agent could not be set up.

use crate::setup::Refused;
use outlive::api::failure::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{what} {}: {source}", .path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0}; nothing was changed")]
    RolledBack(#[source] Box<Error>),
    #[error(
        "{error}; what was changed could not be restored: {rollback}; the next `outlive setup` tries that again"
    )]
    NotRolledBack {
        #[source]
        error: Box<Error>,
        rollback: Box<Error>,
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

    /// What went wrong, for programs. These words never change.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Refused(_) => ErrorCode::SetupRefused,
            Error::Io { .. } => ErrorCode::Io,
            Error::RolledBack(error) | Error::NotRolledBack { error, .. } => error.code(),
        }
    }

    /// Whether the request was wrong and another request would succeed.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Error::Refused(refused) if refused.is_bad_input())
    }
}
