//! Failures as HTTP answers: the contract's own shape, with a status that fits.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use outlive::Error;
use outlive_api::failure::{ErrorCode, ErrorReply, Failure};
use outlive_guard::Refusal;
use std::io;

pub const JSON: &str = "application/json";

/// Why a request was not carried out.
#[derive(Clone, Debug)]
pub struct Refused {
    failure: Box<Failure>,
    /// If it is not the one that fits the code.
    status: Option<StatusCode>,
}

impl Refused {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refused {
        let failure = Failure {
            code,
            message: message.into(),
            hint: None,
            data: None,
        };
        Refused {
            failure: Box::new(failure),
            status: None,
        }
    }

    /// The request makes no sense.
    pub fn bad_input(message: impl Into<String>) -> Refused {
        Refused::new(ErrorCode::BadInput, message)
    }

    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Refused {
        self.status = Some(status);
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Refused {
        self.failure.hint = Some(hint.to_owned());
        self
    }

    pub fn into_failure(self) -> Failure {
        *self.failure
    }

    /// Something outside of the verbs failed.
    pub fn io(what: &str, error: &io::Error) -> Refused {
        Refused::new(ErrorCode::Io, format!("{what}: {error}"))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused {
            failure: Box::new(failure(&error)),
            status: None,
        }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let code = match refusal {
            Refusal::Token => ErrorCode::Unauthorized,
            Refusal::Host | Refusal::Page => ErrorCode::Forbidden,
        };
        let refused = Refused::new(code, refusal.words());
        match refusal {
            Refusal::Token => {
                refused.with_hint("`outlive serve` prints it; send it as `Authorization: Bearer`")
            }
            Refusal::Host | Refusal::Page => refused,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = self.status.unwrap_or_else(|| status(self.failure.code));
        let error = *self.failure;
        let body = serde_json::to_vec(&ErrorReply { error }).unwrap_or_default();
        let answer = (status, [(CONTENT_TYPE, JSON)], body);
        match status {
            StatusCode::UNAUTHORIZED => ([(WWW_AUTHENTICATE, "Bearer")], answer).into_response(),
            _ => answer.into_response(),
        }
    }
}

/// A failure with what to do about it, in the words of this face.
pub fn failure(error: &Error) -> Failure {
    Failure {
        hint: hint(error).map(str::to_owned),
        ..error.failure()
    }
}

fn hint(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoSuchJob(_) => "POST /v1/list lists the jobs",
        Error::NamedElsewhere { .. } => "use its id",
        Error::Ambiguous { .. } => "use one of these ids",
        Error::NoSuchEvent(_) | Error::BadEventId(_) => "GET /v1/events shows what waits",
        Error::NameTaken(_) => {
            "stop that job, pass \"namesake\": \"replace\", or choose another name"
        }
        Error::IdTaken(_) => "choose another id, or use that job",
        Error::NoTerminal(_) | Error::NotResizable(_) => {
            "a job started with \"input\": {\"pty\": {…}} has one"
        }
        Error::ReadsNothing(_) => {
            "a job started with \"input\": \"pipe\" or a pty can be written to"
        }
        Error::NotSplit(_) => "a job started with \"streams\": \"split\" tells them apart",
        Error::SecretsHidden => "the owner can add ?secrets=show",
        _ => return None,
    })
}

/// The status that fits a code.
pub fn status(code: ErrorCode) -> StatusCode {
    use ErrorCode as Code;
    match code {
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::BadInput | Code::Usage | Code::NoSession | Code::Canceled => StatusCode::BAD_REQUEST,
        Code::NoSuchRoute
        | Code::NoSuchJob
        | Code::NoSuchEvent
        | Code::NoSuchSession
        | Code::NoSuchPlace
        | Code::NoSuchDoorbell => StatusCode::NOT_FOUND,
        Code::Ambiguous
        | Code::IdTaken
        | Code::NameTaken
        | Code::PostIdTaken
        | Code::Refused
        | Code::NotAdoptable
        | Code::NoTerminal
        | Code::BadLog => StatusCode::CONFLICT,
        Code::TooManyJobs => StatusCode::TOO_MANY_REQUESTS,
        Code::TooFewFiles | Code::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        Code::NoAnswer => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asked_wrongly_is_told_so_and_only_our_own_failures_are_ours() {
        let ours = ErrorCode::ALL
            .iter()
            .filter(|code| status(**code).is_server_error());
        let ours: Vec<&str> = ours.map(|code| code.as_str()).collect();
        assert_eq!(
            ours,
            [
                "too_few_files",
                "bad_config",
                "no_home",
                "no_keeper",
                "keeper_failed",
                "no_answer",
                "unreachable",
                "unreadable",
                "io",
                "not_rung",
                "setup_refused",
                "failed",
            ]
        );
    }
}
