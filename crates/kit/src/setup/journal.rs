//! The journal of setup: what it wrote, into which files, and what was there before. Undo removes nothing else.
//!
//! It is one file in the home of Outlive, `setup/journal.json`. It is written before the first file of an agent is
//! touched and again after the last one. In between it holds the changes that are `unfinished`: if the process dies
//! there, the next one rolls them back.

use super::piece::Piece;
use super::{Refused, Scope, file};
use crate::agent::Agent;
use crate::error::Error;
use outlive_core::layout::{PRIVATE, make_directory, open_or_make};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

/// The format that this version writes. A journal of a newer format is not touched.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    format: u32,
    pub files: Vec<WrittenFile>,
    /// The directories that setup made.
    pub directories: Vec<PathBuf>,
    /// What the user answered when setup offered to let an agent call our tools without asking.
    pub answers: Vec<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

/// A file that holds pieces of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// The path without links.
    pub real: PathBuf,
    /// The text before setup first wrote to it; none if there was no file.
    pub before: Option<String>,
    /// In the order in which they were written.
    pub pieces: Vec<WrittenPiece>,
    /// The copy of `before` that an older version left beside the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenPiece {
    pub agent: Agent,
    pub scope: Scope,
    pub piece: Piece,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub agent: Agent,
    pub scope: Scope,
    pub may_call: bool,
}

/// Changes that have begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    pub files: Vec<UnfinishedFile>,
    /// The directories that are made for them, the outermost first.
    pub directories: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnfinishedFile {
    pub real: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    pub mode: Option<u32>,
    /// Where the new text is written before it takes the place of the old one.
    pub staged: PathBuf,
}

impl UnfinishedFile {
    /// Whether a rollback changes the file, which has this text now. If somebody has changed it since, it stays.
    pub fn is_restored(&self, now: Option<&str>) -> bool {
        now == self.after.as_deref() && now != self.before.as_deref()
    }
}

impl Default for Journal {
    fn default() -> Journal {
        Journal {
            format: FORMAT,
            files: Vec::new(),
            directories: Vec::new(),
            answers: Vec::new(),
            unfinished: None,
        }
    }
}

impl Journal {
    pub fn with_unfinished(mut self, unfinished: Option<Unfinished>) -> Journal {
        self.unfinished = unfinished;
        self
    }

    /// Whether setup wrote anything for this agent.
    pub fn knows(&self, agent: Agent, scope: &Scope) -> bool {
        let mut pieces = self.files.iter().flat_map(|file| &file.pieces);
        pieces.any(|written| written.is_for(agent, scope))
    }

    pub fn answer(&self, agent: Agent, scope: &Scope) -> Option<bool> {
        let mut answers = self.answers.iter();
        let answer = answers.find(|answer| answer.agent == agent && answer.scope == *scope)?;
        Some(answer.may_call)
    }

    /// Notes an answer, or forgets it.
    pub fn set_answer(&mut self, agent: Agent, scope: &Scope, may_call: Option<bool>) {
        self.answers
            .retain(|answer| answer.agent != agent || answer.scope != *scope);
        self.answers.extend(may_call.map(|may_call| Answer {
            agent,
            scope: scope.clone(),
            may_call,
        }));
    }
}

impl WrittenPiece {
    pub fn is_for(&self, agent: Agent, scope: &Scope) -> bool {
        self.agent == agent && self.scope == *scope
    }
}

/// Where the journal is.
#[derive(Clone, Debug)]
pub struct Store {
    home: PathBuf,
}

/// As long as it exists, no other process changes the journal.
#[derive(Debug)]
pub struct Locked<'s> {
    store: &'s Store,
    _lock: File,
}

impl Store {
    pub fn new(home: PathBuf) -> Store {
        Store { home }
    }

    fn directory(&self) -> PathBuf {
        self.home.join("setup")
    }

    pub fn path(&self) -> PathBuf {
        self.directory().join("journal.json")
    }

    pub fn load(&self) -> Result<Journal, Error> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::default()),
            other => other.map_err(Error::io("cannot read", &path))?,
        };
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Option<Head> = serde_json::from_str(&text).ok();
        if head.is_some_and(|head| head.format > FORMAT) {
            return Err(Refused::NewerJournal(path).into());
        }
        serde_json::from_str(&text).map_err(|error| {
            Refused::DoesNotParse {
                path,
                line: error.line(),
                reason: error.to_string(),
            }
            .into()
        })
    }

    /// Waits until no other setup is writing.
    pub fn lock(&self) -> Result<Locked<'_>, Error> {
        let directory = self.directory();
        make_directory(&self.home)
            .and_then(|()| make_directory(&directory))
            .map_err(Error::io("cannot make the directory", &directory))?;
        let path = directory.join("lock");
        let lock = open_or_make(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(Error::io("cannot lock", &path))?;
        Ok(Locked {
            store: self,
            _lock: lock,
        })
    }
}

impl Locked<'_> {
    pub fn load(&self) -> Result<Journal, Error> {
        self.store.load()
    }

    pub fn save(&self, journal: &Journal) -> Result<(), Error> {
        let path = self.store.path();
        let text = serde_json::to_string_pretty(journal)
            .map_err(io::Error::from)
            .map_err(Error::io("cannot write", &path))?;
        let staged = file::staged(&path)?;
        file::stage(&staged, &format!("{text}\n"), Some(PRIVATE), None)
            .map_err(Error::io("cannot write", &path))?;
        file::publish(&staged, &path)
    }
}
