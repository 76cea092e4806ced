//! Why a doorbell did not ring.

use outlive::api::failure::ErrorCode;
use outlive::config::Url;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// An error of a doorbell, with its name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no doorbell {name:?} is configured; {known}")]
    NoSuchDoorbell { name: String, known: String },
    #[error("the doorbell {name:?} did not ring: {why}")]
    NotRung { name: String, why: Box<NotRung> },
}

impl Error {
    /// The kind of error, for programs. These words never change.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::NoSuchDoorbell { .. } => ErrorCode::NoSuchDoorbell,
            Error::NotRung { .. } => ErrorCode::NotRung,
        }
    }

    /// Whether the request was wrong, so that another request could succeed.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Error::NoSuchDoorbell { .. })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotRung {
    #[error(
        "its input is not an event: {0}; an event is a JSON object with the texts \"event\" and \"text\""
    )]
    NoEvent(serde_json::Error),
    #[error(
        "the event is larger than {} bytes, the most that is sent",
        crate::MAX_EVENT
    )]
    TooLarge,
    #[error("the event's id {0:?} has characters that cannot be sent in a header")]
    BadId(String),
    #[error("{url} answered {status}{}", advice(*.status))]
    Refused { url: Url, status: u16 },
    #[error("{url} did not answer within {}", outlive_core::units::show_duration(*.limit))]
    NoAnswer { url: Url, limit: Duration },
    #[error("{url} cannot be reached: {reason}")]
    Unreachable { url: Url, reason: String },
    #[error("cannot read {}, which SSL_CERT_FILE names: {source}", .path.display())]
    Certificates { path: PathBuf, source: io::Error },
    #[error("{}, which SSL_CERT_FILE names, contains no certificate", .0.display())]
    NoCertificates(PathBuf),
    #[error(
        "the variable {0}, which holds its secret, is not set; set it where jobs are started, or name a file in the configuration"
    )]
    NoVariable(String),
    #[error("other users can read {}, which holds its secret; make it your own, and run `chmod 600` on it", .0.display())]
    ExposedSecret(PathBuf),
    #[error("its secret is empty")]
    EmptySecret,
    #[error("cannot read {}, which holds its secret: {source}", .path.display())]
    SecretFile { path: PathBuf, source: io::Error },
    #[error("{program} was not found; install it ({hint}), or use another kind of doorbell")]
    NoProgram {
        program: &'static str,
        hint: &'static str,
    },
    #[error("cannot run {program}: {source}")]
    NotRun {
        program: &'static str,
        source: io::Error,
    },
    #[error("{program} failed ({status})")]
    Failed {
        program: &'static str,
        status: ExitStatus,
    },
    #[error("{program} took longer than {} and was killed", outlive_core::units::show_duration(*.limit))]
    TooSlow {
        program: &'static str,
        limit: Duration,
    },
}

/// The usual reason for such a status.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => {
            ": it redirects, and redirects are not followed; write the final address as url"
        }
        401 | 403 => ": check its url and secret",
        404 | 410 => ": check its url",
        _ => "",
    }
}
