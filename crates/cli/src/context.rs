//! What every command gets: the home, the session, where to print.

use crate::args::Global;
use crate::commands::Secrets;
use crate::exit::Failure;
use crate::json;
use outlive::{Caller, Error, JobId, Label, Outlive, environment};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

#[derive(Debug)]
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

    /// The same for a caller that said for which session it starts a job.
    pub fn speaking_for(&self, session: Option<&Label>) -> Context {
        Context {
            outlive: self.outlive.clone().speaking_for(session),
            ..*self
        }
    }

    /// The same, with or without secrets in what it shows.
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

    /// The same for a caller that only looks, and so has not been told of anything.
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

    /// Prints data.
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

    /// Says something about the data, unless `--quiet` was given.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.say_error(text);
        }
    }

    /// Says what went wrong, also with `--quiet`.
    pub fn say_error(&self, text: &str) {
        // Words that cannot be said are no reason to fail.
        let _ = writeln!(io::stderr(), "{}", outlive::visible(text));
    }

    /// Takes note that somebody was told. Where that cannot be written down, a full disk say, they are
    /// told again; what they asked for is not withheld for it.
    pub fn noted(&self, heard: Result<(), Error>) {
        if let Err(error) = heard {
            self.say(&format!(
                "outlive: note: you may be told of this again: {error}"
            ));
        }
    }

    pub fn find(&self, text: &str) -> Result<JobId, Failure> {
        Ok(self.outlive.find(text)?)
    }

    pub fn find_all(&self, texts: &[String]) -> Result<Vec<JobId>, Failure> {
        texts.iter().map(|text| self.find(text)).collect()
    }

    /// The session given, else the one this process runs in.
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

/// Who calls, as far as can be told.
fn caller() -> Caller {
    let session = environment::session();
    match session.and_then(|key| Label::parse(&key).ok()) {
        Some(session) => Caller::Session(session),
        None if io::stdin().is_terminal() => Caller::Person,
        None => Caller::Unknown,
    }
}
