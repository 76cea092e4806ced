//! What every command gets: the home, the session, where to print.

use crate::args::Global;
use crate::commands::Secrets;
use crate::exit::Failure;
use crate::json;
use outlive::{Caller, Error, JobId, Label, Outlive, environment};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

#[derive(Clone, Debug)]
pub struct Context {
    pub outlive: Outlive,
    pub json: bool,
    quiet: bool,
}

impl Context {
    pub fn new(global: Global) -> Result<Context, Failure> {
        Ok(Context {
            outlive: global
                .home
                .map_or_else(Outlive::open, Outlive::open_at)?
                .as_own_keeper()
                .called_by(caller())
                .showing_secrets(),
            json: global.json,
            quiet: global.quiet,
        })
    }

    /// This context for a caller that named the session of the job it starts.
    pub fn speaking_for(&self, session: Option<&Label>) -> Context {
        Context {
            outlive: self.outlive.clone().speaking_for(session),
            ..*self
        }
    }

    /// This context, which hides secrets if that was asked for.
    pub fn with_secrets(&self, secrets: &Secrets) -> Context {
        let outlive = self.outlive.clone();
        Context {
            outlive: match secrets.redact {
                true => outlive.hiding_secrets(),
                false => outlive,
            },
            ..*self
        }
    }

    /// This context, in which nothing counts as told if the caller only looks.
    pub fn only_looking_if(&self, peek: bool) -> Context {
        let outlive = self.outlive.clone();
        Context {
            outlive: match peek {
                true => outlive.only_looking(),
                false => outlive,
            },
            ..*self
        }
    }

    /// Prints data on stdout.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') && !text.is_empty() {
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }

    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.print(&json::harmless(text))
    }

    /// After an answer was printed: records that the caller was told, unless nobody has read it. A
    /// command whose exit code says something too goes on then.
    pub fn noted_if_read(
        &self,
        printed: Result<(), Failure>,
        record: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Failure> {
        match printed {
            Err(failure) if failure.is_unread() => Ok(()),
            printed => {
                printed?;
                self.noted(record());
                Ok(())
            }
        }
    }

    /// Prints a message on stderr, unless `--quiet` was given.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.say_error(text);
        }
    }

    /// Prints an error on stderr, also with `--quiet`.
    pub fn say_error(&self, text: &str) {
        // A message that cannot be printed is no reason to fail.
        let _ = writeln!(io::stderr(), "{}", outlive::visible(text));
    }

    /// Prints a note if it could not be recorded that the caller was told, for example because the disk is full.
    /// Then the inbox tells it again. The answer itself is not held back for that.
    pub fn noted(&self, heard: Result<(), Error>) {
        if let Err(error) = heard {
            self.say(&format!(
                "outlive: note: you may be told of this again: {error}"
            ));
        }
    }

    /// Says that a place is not reached while somebody waits for a job of it.
    pub fn say_silent(&self, place: &str, why: &str) {
        self.say(&format!(
            "outlive: {place} is not reached ({why}); waiting on"
        ));
    }

    pub fn find(&self, text: &str) -> Result<JobId, Failure> {
        Ok(self.outlive.find(text)?)
    }

    pub fn find_all(&self, texts: &[String]) -> Result<Vec<JobId>, Failure> {
        texts.iter().map(|text| self.find(text)).collect()
    }

    /// The given session, else the session of this process.
    pub fn session(&self, given: Option<&str>) -> Result<Option<Label>, Failure> {
        match given {
            Some(text) => label("the session", Some(text)),
            None => label(
                "the session in the environment,",
                environment::session().as_deref(),
            ),
        }
    }
}

/// Checks a name, session or task.
pub fn label(what: &'static str, text: Option<&str>) -> Result<Option<Label>, Failure> {
    text.map(|text| {
        Label::parse(text).map_err(|reason| {
            Failure::from(Error::BadLabel {
                what,
                text: text.to_owned(),
                reason,
            })
        })
    })
    .transpose()
}

/// Who runs this program, as far as it can tell.
fn caller() -> Caller {
    let session = environment::session();
    match session.and_then(|key| Label::parse(&key).ok()) {
        Some(session) => Caller::Session(session),
        None if io::stdin().is_terminal() => Caller::Person,
        None => Caller::Unknown,
    }
}
