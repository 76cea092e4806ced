//! Where events come from: a job's journal, or a post.

use super::event::{EventId, InboxEvent};
use super::text;
use crate::error::Error;
use crate::moment;
use crate::outlive::Outlive;
use crate::presence;
use outlive_core::event::Moment;
use outlive_core::layout;
use outlive_core::notice::{self, Kind, Notice};
use outlive_core::post::Post;
use outlive_core::told::{self, Durable, Line, Note, Told, When};
use outlive_core::words::timestamp;
use outlive_core::{BootId, Event, JobId, Label, Spec, State};
use std::fs;
use std::io;
use std::path::PathBuf;

/// A job or a post, with what it has to tell.
#[derive(Clone, Debug)]
pub struct Source {
    pub id: JobId,
    /// The record of who has been told.
    pub told: PathBuf,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub enum Origin {
    Job {
        spec: Box<Spec>,
        state: Box<State>,
        notices: Vec<Notice>,
    },
    Post(Box<Post>),
}

/// One thing to tell, borrowed from its source.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    pub seq: u64,
    pub at: Moment,
    pub kind: Kind,
    pub what: What<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    Event(&'a Event),
    Post(&'a Post),
}

impl Source {
    /// Reads a source; `None` if there is none of this id any more.
    pub fn read(outlive: &Outlive, id: &JobId) -> Result<Option<Source>, Error> {
        match Source::read_job(outlive, id) {
            Err(Error::NoSuchJob(_)) => Source::read_post(outlive, id),
            other => other.map(Some),
        }
    }

    fn read_job(outlive: &Outlive, id: &JobId) -> Result<Source, Error> {
        let dir = outlive.job_dir(id);
        if !dir.path().is_dir() {
            return Err(Error::NoSuchJob(id.to_string()));
        }
        let spec = outlive.read_spec(id)?;
        // A job whose keepers both died is taken care of first: its end is to be told too.
        let (_, met) = presence::meet(outlive, id)?;
        let path = dir.journal();
        let journal = layout::read(&path).map_err(Error::io("cannot read", &path));
        let journal = journal.map_err(|error| outlive.unless_removed(id, error))?;
        let noticed = notice::read(&journal, &spec);
        if met.end().is_none() {
            let _ = presence::sync_end(outlive, id, &noticed.state);
        }
        Ok(Source {
            id: id.clone(),
            told: dir.told(),
            origin: Origin::Job {
                spec: Box::new(spec),
                state: Box::new(noticed.state),
                notices: noticed.notices,
            },
        })
    }

    /// The post of this id, whatever jobs there are.
    pub fn read_post(outlive: &Outlive, id: &JobId) -> Result<Option<Source>, Error> {
        let dir = outlive.home().post(id);
        match layout::read(&dir.post()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("cannot read", dir.post())(error)),
            Ok(bytes) => {
                let damaged =
                    |error: serde_json::Error| Error::io("cannot read", dir.post())(error.into());
                Ok(Some(Source {
                    id: id.clone(),
                    told: dir.told(),
                    origin: Origin::Post(Box::new(
                        serde_json::from_slice(&bytes).map_err(damaged)?,
                    )),
                }))
            }
        }
    }

    pub fn read_told(&self) -> Result<Told, Error> {
        Told::read(&self.told).map_err(Error::io("cannot read", &self.told))
    }

    /// What its event of this number is called.
    pub fn event(&self, seq: u64) -> EventId {
        EventId {
            source: self.id.clone(),
            seq,
        }
    }

    pub fn task(&self) -> Option<&Label> {
        match &self.origin {
            Origin::Job { spec, .. } => spec.task.as_ref(),
            Origin::Post(post) => post.task.as_ref(),
        }
    }

    pub fn session(&self) -> Option<&Label> {
        match &self.origin {
            Origin::Job { spec, .. } => spec.session.as_ref(),
            Origin::Post(post) => Some(&post.session),
        }
    }

    /// Everything it has to tell, told or not.
    pub fn items(&self) -> Vec<Item<'_>> {
        match &self.origin {
            Origin::Job { notices, .. } => notices.iter().filter_map(item).collect(),
            Origin::Post(post) => vec![Item {
                seq: Post::SEQ,
                at: post.at,
                kind: post.kind,
                what: What::Post(post),
            }],
        }
    }

    /// Whether nothing more can come of it.
    pub fn is_final(&self) -> bool {
        match &self.origin {
            Origin::Job { state, .. } => state.is_final(),
            Origin::Post(_) => true,
        }
    }

    /// One of its events as the interface shows it.
    pub fn present(&self, outlive: &Outlive, told: &Told, item: &Item<'_>) -> InboxEvent {
        InboxEvent {
            event: EventId {
                source: self.id.clone(),
                seq: item.seq,
            },
            kind: item.kind,
            job: self.id.clone(),
            session: self.session().cloned(),
            task: self.task().cloned(),
            at: timestamp(item.at.wall_ms),
            attempt: told.of(item.seq).map_or(0, |delivery| delivery.attempts),
            data: text::data(self, item),
            text: text::text(outlive, self, item),
        }
    }

    /// Nothing more is to be done about these. Once that is so of all it has to tell, now and ever, the
    /// session's inbox lets go of it.
    pub fn settle(&self, outlive: &Outlive, seqs: &[u64], note: Note) -> Result<(), Error> {
        let mut told = self.read_told()?;
        let open = seqs.iter().copied().filter(|seq| !told.is_settled(*seq));
        let seqs: Vec<u64> = open.collect();
        if !seqs.is_empty() {
            let when = moment::when()?;
            let line = Line { when, seqs, note };
            self.append(&line, Durable::Yes)?;
            told.apply(&line);
        }
        let all_settled = self.items().iter().all(|item| told.is_settled(item.seq));
        if let (Some(session), true, true) = (self.session(), self.is_final(), all_settled) {
            let _ = fs::remove_file(outlive.home().inbox(session).join(self.id.as_str()));
        }
        Ok(())
    }

    pub fn append(&self, line: &Line, durable: Durable) -> Result<(), Error> {
        told::append(&self.told, line, durable).map_err(Error::io("cannot write", &self.told))
    }

    /// When something happened, as far as clocks can tell.
    pub fn happened(&self, at: Moment) -> When {
        let boot = match &self.origin {
            Origin::Job { state, .. } => state.boot.clone(),
            Origin::Post(post) => Some(post.boot.clone()),
        };
        When {
            boot: boot.unwrap_or(BootId(String::new())),
            at,
        }
    }
}

fn item(notice: &Notice) -> Option<Item<'_>> {
    Some(Item {
        seq: notice.seq,
        at: notice.at,
        kind: Kind::of(&notice.event)?,
        what: What::Event(&notice.event),
    })
}
