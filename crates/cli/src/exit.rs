//! Exit codes, and how failures become exit codes.

use crate::hints;
use crate::json;
use outlive::api::failure::{self, ErrorCode, ErrorReply};
use outlive::api::outcome::NotStarted;
use outlive::{Error, Job, JobId, Outcome};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// How the program exits. README and `--help` show the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Success,
    /// The exit code of the job, if the program waited for its end.
    Job(u8),
    /// The command line is wrong.
    Usage,
    /// No job fits the given ID or name, or more than one does.
    NoSuchJob,
    /// The time limit for waiting was reached; the job continues.
    OutOfTime,
    /// Outlive failed, or the outcome of the job is unknown.
    Unknown,
    /// The job's command exists, but it could not be executed.
    NotExecutable,
    /// The job's command was not found.
    NotFound,
}

/// The codes with a fixed number, in the order of the table.
const FIXED: [Exit; 6] = [
    Exit::Usage,
    Exit::NoSuchJob,
    Exit::OutOfTime,
    Exit::Unknown,
    Exit::NotExecutable,
    Exit::NotFound,
];

/// The meaning of all other codes.
const JOBS_OWN: &str =
    "the job's own, from `wait`, `run --wait` and `run --foreground` (128+n after signal n)";

impl Exit {
    /// The exit code as a number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Job(code) => code,
            Exit::Usage => 2,
            Exit::NoSuchJob => 3,
            Exit::OutOfTime => 124,
            Exit::Unknown => 125,
            Exit::NotExecutable => 126,
            Exit::NotFound => 127,
        }
    }

    /// The meaning of the code, for the table.
    fn meaning(self) -> &'static str {
        match self {
            Exit::Success | Exit::Job(_) => JOBS_OWN,
            Exit::Usage => "wrong usage",
            Exit::NoSuchJob => "no such job, or more than one job fits",
            Exit::OutOfTime => "out of time; the job continues",
            Exit::Unknown => "outlive failed, or the outcome of the job is unknown",
            Exit::NotExecutable => "the command could not be executed",
            Exit::NotFound => "the command was not found",
        }
    }

    /// The exit code for an ended job. An unknown outcome is never a success.
    pub fn of(job: &Job) -> Exit {
        if let Some(Outcome::NotStarted { cause, .. }) = &job.outcome {
            return match cause {
                NotStarted::NotFound => Exit::NotFound,
                NotStarted::NotExecutable => Exit::NotExecutable,
                NotStarted::Failed => Exit::Unknown,
            };
        }
        match job.exit_code.map(u8::try_from) {
            Some(Ok(code)) => Exit::Job(code),
            _ => Exit::Unknown,
        }
    }
}

/// The table as `--help` shows it.
pub fn help() -> String {
    let mut text = format!("Exit codes:\n  0-255  {JOBS_OWN}");
    for exit in FIXED {
        text.push_str(&format!("\n  {:<5}  {}", exit.code(), exit.meaning()));
    }
    text
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    Outlive(Error),
    /// The arguments are valid one by one, but not together or not in this situation.
    Usage(&'static str),
    /// The text of an argument cannot be used.
    BadValue(String),
    Doorbell(outlive_doorbell::Error),
    Setup(outlive_kit::Error),
    /// The output could not be written.
    Output(io::Error),
    /// The reader of the job's output went away before the job ended, so its exit code is not known.
    Unread(JobId),
    /// A server could not start or could not continue.
    Server(io::Error),
}

impl Failure {
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Outlive(error) if error.is_no_such_job() => Exit::NoSuchJob,
            Failure::Outlive(error) if error.is_bad_input() => Exit::Usage,
            Failure::Usage(_) | Failure::BadValue(_) => Exit::Usage,
            Failure::Doorbell(error) if error.is_bad_input() => Exit::Usage,
            Failure::Setup(error) if error.is_bad_input() => Exit::Usage,
            // The reader closed the pipe because it has read enough.
            Failure::Output(_) if self.is_unread() => Exit::Success,
            Failure::Outlive(_)
            | Failure::Doorbell(_)
            | Failure::Setup(_)
            | Failure::Output(_)
            | Failure::Unread(_)
            | Failure::Server(_) => Exit::Unknown,
        }
    }

    /// Whether the reader of the output went away. For a command that only prints, that is no failure.
    /// One that exits with a job's code must not report a success instead.
    pub fn is_unread(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The failure as programs get it in JSON.
    fn for_programs(&self) -> failure::Failure {
        let code = match self {
            Failure::Outlive(error) => return hints::failure(error),
            Failure::Usage(_) | Failure::BadValue(_) => ErrorCode::BadInput,
            Failure::Doorbell(error) => error.code(),
            Failure::Setup(error) => error.code(),
            Failure::Output(_) | Failure::Unread(_) | Failure::Server(_) => ErrorCode::Failed,
        };
        failure::Failure {
            code,
            message: self.to_string(),
            hint: None,
            data: None,
        }
    }

    /// Prints the reason on stderr, and with --json also as JSON. `--quiet` does not apply to errors.
    pub fn report(&self, json: bool) -> ExitCode {
        let exit = self.exit();
        if json && exit != Exit::Success {
            print_json(self.for_programs());
        }
        if exit != Exit::Success {
            let text = self.to_string();
            let text = outlive::visible(&text);
            // If this fails, there is nowhere to report it.
            let _ =
                io::Write::write_all(&mut io::stderr(), format!("outlive: {text}\n").as_bytes());
        }
        exit.into()
    }
}

/// Prints a failure as JSON on stdout, in the place of an answer.
pub fn print_json(error: failure::Failure) {
    // If this fails, there is nowhere to report it.
    if let Ok(line) = json::line(&ErrorReply { error }) {
        let _ = io::Write::write_all(&mut io::stdout(), line.as_bytes());
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Outlive(error) => f.write_str(&hints::with_hint(error)),
            Failure::Usage(reason) => f.write_str(reason),
            Failure::BadValue(reason) => f.write_str(reason),
            Failure::Doorbell(error) => error.fmt(f),
            Failure::Setup(error) => error.fmt(f),
            Failure::Output(error) => write!(f, "cannot write the output: {error}"),
            Failure::Unread(id) => {
                write!(f, "nobody reads the output any more; {id} continues")
            }
            Failure::Server(error) => write!(f, "cannot serve: {error}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Outlive(error)
    }
}

impl From<outlive_doorbell::Error> for Failure {
    fn from(error: outlive_doorbell::Error) -> Failure {
        Failure::Doorbell(error)
    }
}

impl From<outlive_kit::Error> for Failure {
    fn from(error: outlive_kit::Error) -> Failure {
        Failure::Setup(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_same_table() {
        let readme = include_str!("../../../README.md");
        let own = format!("| 0-255 | {JOBS_OWN} |\n");
        assert!(readme.contains(&own), "README.md lacks {own}");
        let rows = FIXED.map(|exit| format!("| {} | {} |\n", exit.code(), exit.meaning()));
        let rows = rows.concat();
        assert!(readme.contains(&rows), "README.md lacks\n{rows}");
    }

    #[test]
    fn a_command_that_cannot_run_has_the_code_of_a_shell() {
        for (cause, exit) in [
            (NotStarted::NotFound, Exit::NotFound),
            (NotStarted::NotExecutable, Exit::NotExecutable),
            (NotStarted::Failed, Exit::Unknown),
        ] {
            assert_eq!(i32::from(exit.code()), cause.exit_code());
        }
    }
}
